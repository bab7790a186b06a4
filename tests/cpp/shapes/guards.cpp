// Objects that release a lock when they end.
#include <pqxx/pqxx>

#include <memory>
#include <optional>
#include <stdexcept>

int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

class Guard {
 public:
  Guard(pqxx::connection& c, int key) : c_(c), key_(key) {
    pqxx::nontransaction n(c_);
    n.exec_params("SELECT pg_advisory_lock(500, $1)", key_);
  }
  ~Guard() {
    try {
      pqxx::nontransaction n(c_);
      n.exec_params("SELECT pg_advisory_unlock(500, $1)", key_);
    } catch (...) {
    }
  }

 private:
  pqxx::connection& c_;
  int key_;
};

void guard(pqxx::connection& c) {
  Guard g(c, 1);
  number(1);
}

void noGuard(pqxx::connection& c) {
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_lock(500, 2)");
  number(2);  // expect: session-lock-not-released
  n.exec("SELECT pg_advisory_unlock(500, 2)");
}

void guardInTry(pqxx::connection& c) {
  try {
    Guard g(c, 3);
    number(3);
  } catch (const std::exception&) {
    number(4);
  }
}

// The handler takes everything and forgets the lock.
void lockInTry(pqxx::connection& c) {
  pqxx::nontransaction n(c);
  try {
    n.exec("SELECT pg_advisory_lock(500, 4)");
    number(4);
    n.exec("SELECT pg_advisory_unlock(500, 4)");
  } catch (const std::exception&) {
  }
}  // expect: session-lock-not-released

// Releases in the handler, too.
void handledInTry(pqxx::connection& c) {
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_lock(500, 5)");
  try {
    number(5);
  } catch (...) {
    n.exec("SELECT pg_advisory_unlock(500, 5)");
    throw;
  }
  n.exec("SELECT pg_advisory_unlock(500, 5)");
}

// A constructor that throws behind its lock: the object was never made, so it never ends.
class Hasty {
 public:
  explicit Hasty(pqxx::connection& c) : c_(c) {
    pqxx::nontransaction n(c_);
    n.exec("SELECT pg_advisory_lock(500, 6)");
    if (number(6) == 0) throw std::runtime_error("too late");  // expect: session-lock-not-released
  }
  ~Hasty() {
    try {
      pqxx::nontransaction n(c_);
      n.exec("SELECT pg_advisory_unlock(500, 6)");
    } catch (...) {
    }
  }

 private:
  pqxx::connection& c_;
};
void hasty(pqxx::connection& c) { Hasty h(c); }

// A member that is there already ends, although the whole was never made.
class HalfBuilt {
 public:
  explicit HalfBuilt(pqxx::connection& c) : guard_(c, 7), n_(number(7)) {
    if (n_ == 0) throw std::runtime_error("no number");
  }

 private:
  Guard guard_;
  int n_;
};
void halfBuilt(pqxx::connection& c) {
  HalfBuilt h(c);
  number(7);
}

// Of an aggregate and of an array, too.
struct Pair {
  Guard guard;
  int n;
};
void aggregate(pqxx::connection& c) { Pair p{Guard(c, 8), number(8)}; }
void array(pqxx::connection& c) { Guard both[] = {Guard(c, 9), Guard(c, 10)}; }

// Only as long as the statement.
void temporary(pqxx::connection& c) { (Guard(c, 11), number(11)); }

bool holds(const Guard&);
void temporaryIfAsked(pqxx::connection& c, bool wanted) {
  if (wanted && holds(Guard(c, 12))) number(12);
}

void optional(pqxx::connection& c, bool wanted) {
  std::optional<Guard> g;
  if (wanted) g.emplace(c, 13);
  number(13);
}

// Nothing releases what a pointer points to that nobody deletes.
void leaked(pqxx::connection& c) {
  Guard* g = new Guard(c, 14);
  number(14);
}  // false-negative: session-lock-not-released - an object that new makes is taken to be kept somewhere

void deleted(pqxx::connection& c) {
  const auto g = std::make_unique<Guard>(c, 15);
  number(15);
}
