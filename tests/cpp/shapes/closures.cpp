// Lambdas, function pointers, std::function.
#include <pqxx/pqxx>

#include <functional>
#include <stdexcept>
#include <utility>

int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

void lock(pqxx::connection& c, int key) {
  pqxx::nontransaction n(c);
  n.exec_params("SELECT pg_advisory_lock(504, $1)", key);
}
void unlock(pqxx::connection& c, int key) {
  pqxx::nontransaction n(c);
  n.exec_params("SELECT pg_advisory_unlock(504, $1)", key);
}

template <class F>
class Finally {
 public:
  explicit Finally(F f) : f_(std::move(f)) {}
  ~Finally() { f_(); }

 private:
  F f_;
};

void scopeExit(pqxx::connection& c) {
  lock(c, 1);
  Finally end([&] { unlock(c, 1); });
  number(1);
}

void called(pqxx::connection& c) {
  const auto locked = [&] {
    lock(c, 2);
    number(2);  // expect: session-lock-not-released
    unlock(c, 2);
  };
  locked();
}

void generic(pqxx::connection& c) {
  const auto with = [&](auto key) {
    lock(c, 3);
    number(static_cast<int>(key));  // expect: session-lock-not-released
    unlock(c, 3);
  };
  with(1);
  with(2L);
}

void genericAndReleased(pqxx::connection& c) {
  lock(c, 4);
  Finally end([&](auto... nothing) { unlock(c, 4); (number(nothing), ...); });
  number(4);
}

void through(void (*take)(pqxx::connection&, int), void (*give)(pqxx::connection&, int), pqxx::connection& c) {
  take(c, 5);
  give(c, 5);
}
void pointers(pqxx::connection& c) { through(lock, unlock, c); }

void pointer(pqxx::connection& c) {
  void (*const give)(pqxx::connection&, int) = unlock;
  pqxx::nontransaction n(c);
  try {
    n.exec("SELECT pg_advisory_lock(504, 6)");
    number(6);
  } catch (...) {
  }
  give(c, 6);
}

void pointerAndReturn(pqxx::connection& c, bool early) {
  void (*const give)(pqxx::connection&, int) = unlock;
  lock(c, 7);
  if (early) return;  // expect: session-lock-not-released
  give(c, 7);
}

void plainFunction(pqxx::connection& c) {
  const std::function<void(pqxx::connection&, int)> give = unlock;
  lock(c, 8);
  try {
    number(8);
  } catch (...) {
  }
  give(c, 8);
}

void plainFunctionAndReturn(pqxx::connection& c, bool early) {
  const std::function<void(pqxx::connection&, int)> give = unlock;
  lock(c, 10);
  if (early) return;  // expect: session-lock-not-released
  give(c, 10);
}

void functionOfLambda(pqxx::connection& c) {
  const std::function<void()> give = [&] { unlock(c, 9); };
  lock(c, 9);
  try {
    number(9);
  } catch (...) {
  }
  give();
}
