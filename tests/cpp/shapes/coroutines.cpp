// Coroutines: the body runs in pieces; what lives in it ends as in any function.
#include <pqxx/pqxx>

#include <coroutine>
#include <stdexcept>

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
struct Timer {
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  void await_resume();
};
int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

class Guard {
 public:
  Guard(pqxx::connection& c, int key) : c_(c), key_(key) {
    pqxx::nontransaction n(c_);
    n.exec_params("SELECT pg_advisory_lock(505, $1)", key_);
  }
  ~Guard() {
    try {
      pqxx::nontransaction n(c_);
      n.exec_params("SELECT pg_advisory_unlock(505, $1)", key_);
    } catch (...) {
    }
  }

 private:
  pqxx::connection& c_;
  int key_;
};

Task guarded(pqxx::connection& c) {
  Guard g(c, 1);
  co_await Timer();
  number(1);
}

Task early(pqxx::connection& c, bool done) {
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_lock(505, 2)");
  co_await Timer();
  if (done) co_return;
  n.exec("SELECT pg_advisory_unlock(505, 2)");
}  // expect: session-lock-not-released
