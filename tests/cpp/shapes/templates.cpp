// Templates: dependent code is read in its instances, each finding once.
#include <pqxx/pqxx>

#include <stdexcept>

int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

template <class T>
void twice(pqxx::connection& c, T n) {
  pqxx::nontransaction tx(c);
  tx.exec("SELECT pg_advisory_lock(507, 1)");
  number(static_cast<int>(n));  // expect: session-lock-not-released
  tx.exec("SELECT pg_advisory_unlock(507, 1)");
}
template void twice<int>(pqxx::connection&, int);
template void twice<long>(pqxx::connection&, long);

// Not in use: what it would do nobody knows, and nothing is said.
template <class T>
void unused(T& c) {
  c.exec("SELECT pg_advisory_lock(507, 2)");
}

template <class Policy>
class Locked {
 public:
  explicit Locked(pqxx::connection& c) : c_(c) {
    pqxx::nontransaction n(c_);
    n.exec_params("SELECT pg_advisory_lock(507, $1)", Policy::kKey);
  }
  ~Locked() {
    try {
      pqxx::nontransaction n(c_);
      n.exec_params("SELECT pg_advisory_unlock(507, $1)", Policy::kKey);
    } catch (...) {
    }
  }

 private:
  pqxx::connection& c_;
};
struct Three { static constexpr int kKey = 3; };
struct Four { static constexpr int kKey = 4; };
void policies(pqxx::connection& c) {
  Locked<Three> three(c);
  Locked<Four> four(c);
  number(3);
}

template <bool Keep>
void perhaps(pqxx::connection& c) {
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_lock(507, 5)");
  if constexpr (Keep) {
    return;
  } else {
    n.exec("SELECT pg_advisory_unlock(507, 5)");
  }
}
template void perhaps<false>(pqxx::connection&);
