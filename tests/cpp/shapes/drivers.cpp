// Classes that nobody in view makes: constructor, public functions, destructor.
#include <pqxx/pqxx>

#include <stdexcept>

int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

class Released {
 public:
  explicit Released(pqxx::connection& c) : c_(c) {
    pqxx::nontransaction n(c_);
    n.exec("SELECT pg_advisory_lock(508, 1)");
  }
  ~Released() {
    try {
      pqxx::nontransaction n(c_);
      n.exec("SELECT pg_advisory_unlock(508, 1)");
    } catch (...) {
    }
  }
  void work() { number(1); }

 private:
  pqxx::connection& c_;
};

// Locks in a function of its own, releases when it ends.
class Lazy {
 public:
  explicit Lazy(pqxx::connection& c) : c_(c) {}
  ~Lazy() {
    if (!held_) return;
    try {
      pqxx::nontransaction n(c_);
      n.exec("SELECT pg_advisory_unlock(508, 2)");
    } catch (...) {
    }
  }
  void lock() {
    pqxx::nontransaction n(c_);
    n.exec("SELECT pg_advisory_lock(508, 2)");
    held_ = true;
  }

 private:
  pqxx::connection& c_;
  bool held_ = false;
};

// The destructor releases another key than the constructor takes.
class Wrong {
 public:
  explicit Wrong(pqxx::connection& c) : c_(c) {
    pqxx::nontransaction n(c_);
    n.exec("SELECT pg_advisory_lock(508, 3)");
  }
  ~Wrong() {
    try {
      pqxx::nontransaction n(c_);
      n.exec("SELECT pg_advisory_unlock(508, 4)");  // expect: unlock-mismatch
    } catch (...) {
    }
  }

 private:
  pqxx::connection& c_;
};
