// Shapes of code between a lock and its release, for the comparison with clang's own landing pads. Nothing here runs.
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

void work();
int number(int = 0);
bool ask();
bool quiet() noexcept;
struct Guard {
  Guard(int);
  Guard(Guard&&) noexcept;
  Guard(const Guard&);
  ~Guard();
  Guard& operator=(const Guard&);
  bool owns() const;
  Guard& self();
  int n;
};
struct Other {
  Other();
  Other(int, const Guard& = Guard(9));
  ~Other();
};
Guard make(int = 0);
Other operator+(const Other&, const Guard&);
bool check(const Guard&);
void take(Guard);
void take2(Guard, Other);
struct Plain { int n; };

// --- local objects
void plain() { Guard g(1); work(); }
void two() { Guard g(1); Other o; work(); }
void nested() { Guard g(1); { Other o; work(); } work(); }
void sequence() { { Guard g(1); work(); } work(); { Guard g(2); work(); } }
void array() { Guard gs[2] = {Guard(1), Guard(2)}; work(); }
void arrayOfThree() { Other os[3]; work(); }
void late() { work(); Guard g(number()); work(); }
void reference() { const Guard& g = make(); work(); }
void referenceToField() { const int& n = make().n; work(); }
void bound() { auto [a, b] = std::pair<int, int>(number(), 2); work(); }
void staticLocal() { static Guard g(number()); work(); }
void threadLocal() { thread_local Guard g(number()); work(); }
void viaPointer() { Guard* g = new Guard(number()); work(); delete g; }
void pointers() { auto g = std::make_unique<Guard>(1); work(); }
void cleanupAttribute() {
  extern void release(int*);
  __attribute__((cleanup(release))) int n = number();
  work();
}
void heldMutex(std::mutex& m) { std::lock_guard<std::mutex> l(m); work(); }
void uniqueLock(std::mutex& m) { std::unique_lock<std::mutex> l(m, std::defer_lock); work(); l.lock(); work(); }
void optional() { std::optional<Guard> g; if (ask()) g.emplace(1); work(); }
void moved() { Guard g(1); Guard h(std::move(g)); work(); }
Guard named() { Guard g(1); work(); return g; }
Guard either(bool b) { Guard g(1), h(2); work(); if (b) return g; return h; }
Guard returned() { Other o; return make(number()); }
int valued() { Guard g(1); return number(); }

// --- temporaries
void temporary() { make(); work(); }
void argument() { take(make()); work(); }
void arguments() { take2(make(), Other()); }
void passed() { check(make(number())); work(); }
void chained() { make().self().owns(); work(); }
void comma() { (Guard(1), work()); }
void sum() { Other o = Other() + make(); work(); }
void defaultArgument() { Other o(1); work(); }
void logical(bool b) { if (b && check(make())) work(); }
void logicalOr(bool b) { if (b || check(make()) || ask()) work(); work(); }
void choice(bool b) { const bool r = b ? check(make(1)) : check(make(2)); work(); (void)r; }
void chosen(bool b) { Guard g = b ? make(1) : Guard(2); work(); }
void condition() { if (Guard g = make(); g.owns()) work(); else number(); work(); }
void inWhile() { while (check(make())) work(); }
void assigned(Guard& g) { g = make(number()); work(); }
void assignedInto() { int n; n = number(make().n) + number(make().n); (void)n; }
void list() { std::vector<std::string> v{"a", "b"}; work(); }
void lambdaArgument() { Guard g(1); auto f = [g, o = Other()] { work(); }; f(); }
void functionObject() { std::function<void()> f = [g = std::make_shared<Guard>(1)] { work(); }; f(); }
void strings(const std::string& s) { std::string q = "select " + s + std::to_string(number()) + ")"; work(); }
void conditionalString(bool b, const std::string& s) { std::string q = s + (b ? std::to_string(number()) : std::string("x")); work(); }
void elvis(int n) { const int r = n ?: number(make().n); work(); (void)r; }

// --- loops and jumps
void loop() { for (int i = number(); i < number(1); number(2)) { Guard g(i); work(); if (ask()) continue; if (ask()) break; work(); } work(); }
void rangeLoop() { for (const std::string& s : std::vector<std::string>{"a"}) { Guard g(1); work(); (void)s; } work(); }
struct Answer { Answer(int); ~Answer(); explicit operator bool() const; };
void whileVariable() { while (Answer a = Answer(number())) { Other o; work(); } }
void doLoop() { do { Guard g(1); work(); } while (ask()); }
void choose(int n) {
  switch (n) {
    case 1: { Guard g(1); work(); break; }
    case 2: work(); [[fallthrough]];
    default: { Other o; work(); }
  }
  work();
}
void jumps(bool b) {
  Guard g(1);
  if (b) goto out;
  work();
out:
  work();
}
void jumpOver(bool b) {
  { Guard g(1); if (b) goto out; work(); }
  number();
out:
  work();
}
void early(bool b) { Guard g(1); if (b) return; Other o; work(); }

// --- handlers
void handled() { try { Guard g(1); work(); } catch (const std::exception&) { number(); } work(); }
void handledAll() { try { Guard g(1); work(); } catch (...) { number(); } }
void several() { Other o; try { Guard g(1); work(); } catch (const std::logic_error&) { number(1); } catch (int) { number(2); } work(); }
void rethrown() { Other o; try { work(); } catch (...) { Guard g(1); number(); throw; } }
void byValue() { try { work(); } catch (std::runtime_error e) { number(); } }
void inHandler() { Guard g(1); try { work(); } catch (const std::exception& e) { Other o; try { number(1); } catch (...) { number(2); } number(3); } }
void nestedTries() { try { Guard g(1); try { Other o; work(); } catch (int) { number(); } } catch (const std::exception&) { number(2); } }
void thrown() { Guard g(1); throw std::runtime_error("x" + std::to_string(number())); }
void thrownObject(bool b) { Guard g(1); if (b) throw Guard(number()); work(); }
void tryInLoop() { for (int i = 0; i < 3; ++i) { try { Guard g(i); work(); continue; } catch (const std::exception&) { if (ask()) break; } number(); } }
int wholeFunction() try { Guard g(1); work(); return 1; } catch (...) { number(); return 0; }
void pointerHandler() { try { work(); } catch (const char* s) { number(); } catch (const Guard*) { number(1); } }
void lambdaInTry() { try { [] { Guard g(1); work(); }(); } catch (const std::exception&) { number(); } }

// --- no way out
void never() noexcept { Guard g(1); work(); }
void neverTry() noexcept { Other o; try { Guard g(1); work(); } catch (const std::exception&) { number(); } work(); }
void neverAll() noexcept { try { Guard g(1); work(); } catch (...) { } }
[[noreturn]] void die();
void dies() { Guard g(1); die(); }
void asksQuiet() { Guard g(1); if (quiet()) work(); }

// --- construction and destruction
struct Whole { Guard g; Whole() : g(1) { work(); } ~Whole() { work(); } };
struct Parts { Parts(int) : a(number(1)), o(number(2)), b(number(3)) { work(); } Guard a; Other o; Guard b; };
struct Base { Base(); virtual ~Base(); };
struct Derived : Base, Guard { Derived() : Guard(number()) { work(); } ~Derived() { work(); } Other o; };
struct Delegates { Delegates(int) : g(1) {} Delegates() : Delegates(number()) { work(); } ~Delegates(); Guard g; };
struct Defaulted { Guard g{number()}; Other o = Other(number(2)); Defaulted() { work(); } };
struct FunctionTry { FunctionTry() try : g(number()) { work(); } catch (const std::exception&) { number(); } Guard g; };
struct FunctionTryEnd { ~FunctionTryEnd() noexcept(false) try { work(); } catch (int) { number(); } Guard g; };
struct Throwing { Throwing(int n) : g(n) {} ~Throwing() noexcept(false) { work(); } Guard g; Other o; };
struct Inherits : Guard { using Guard::Guard; Other o; };
struct Virtual : virtual Guard { Virtual() : Guard(number()) { work(); } Other o; };
struct Aggregate { Guard g; int n; Other o; };
struct Nested { Aggregate a; Guard g; };
union Either { int n; Guard g; Either() : g(number()) { work(); } ~Either(); };
struct Optional { std::optional<Guard> g; Optional() { g.emplace(number()); work(); } };
struct Owner { std::unique_ptr<Guard> g = std::make_unique<Guard>(1); Owner() { work(); } };
struct Array { Guard gs[2] = {Guard(number()), Guard(number())}; Array() { work(); } };
void inherited() { Inherits i(number()); work(); }
void aggregate() { Aggregate a{Guard(1), number(), Other(2)}; work(); }
void aggregates() { Nested n{{make(1), number(), Other()}, make(2)}; work(); }
void parens() { Aggregate a(Guard(1), number(), Other(2)); work(); }
void allocated() { auto* a = new Aggregate{make(), number(), Other()}; work(); delete a; }
void allocatedArray() { auto* a = new Guard[2]{Guard(number()), Guard(1)}; work(); delete[] a; }
void placed(void* p) { new (p) Guard(number()); work(); }
void throwingEnd() { Throwing t(1); work(); }
Whole* chainOfNew() { return new Whole(); }

// --- lambdas, templates, closures
void lambda() { Guard g(1); auto f = [&g](int n) { Other o; number(n); return g.owns(); }; f(1); }
void generic() { auto f = [](auto x) { Guard g(x); work(); return x; }; f(1); f(2L); }
void captured() { auto f = [g = make(number()), h = make(number(1))] { work(); }; f(); }
template <class F> struct Finally { explicit Finally(F f) : f_(std::move(f)) {} ~Finally() { f_(); } F f_; };
void finally() { Finally f([] { number(); }); work(); }
template <class T> T templated(T t) { Guard g(1); Other o(t); work(); return t; }
template int templated<int>(int);
template long templated<long>(long);
template <class T, bool Lock> void dependent(T t) {
  if constexpr (Lock) {
    Guard g(t);
    work();
  } else {
    work();
  }
  number(t);
}
template void dependent<int, true>(int);
template void dependent<int, false>(int);
template <class... T> void pack(T... t) { Guard g(1); (number(t), ...); take2(make(t...), Other()); }
template void pack<int>(int);
template <class F> void with(F f) { Guard g(1); f(); }
void withLambda() { Other o; with([&] { number(); }); }
struct Virtuals { virtual ~Virtuals() = default; virtual void run(); };
void virtualCall(Virtuals& v) { Guard g(1); v.run(); }
void pointerCall(void (*f)()) { Guard g(1); f(); }
void memberPointer(Virtuals& v, void (Virtuals::*f)()) { Guard g(1); (v.*f)(); }
void casts(Virtuals& v) { struct D : Virtuals {}; Guard g(1); dynamic_cast<D&>(v).run(); }
void statementExpression() { const int n = ({ Guard g(1); number(); }); work(); (void)n; }
bool compared(const std::string& a) { Guard g(1); return a == "x" && a < std::to_string(number()); }
void spaceship(const std::tuple<std::string, int>& a) { Guard g(1); if (a < std::make_tuple(std::string("x"), number())) work(); }

// --- unions and virtual bases
struct Anonymous { union { int n; Guard g; }; Anonymous() : g(number()) { work(); } ~Anonymous(); };
struct Indirect : Virtual { Indirect() : Guard(number()) { work(); } };

// --- coroutines
struct Task {
  struct promise_type {
    promise_type();
    ~promise_type();
    Task get_return_object();
    std::suspend_never initial_suspend() noexcept;
    std::suspend_never final_suspend() noexcept;
    void return_void();
    void unhandled_exception();
  };
  ~Task();
};
struct Awaited {
  ~Awaited();
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  int await_resume();
};
Awaited later(int = 0);
Task coroutine() { Guard g(1); work(); co_await later(); work(); }
Task awaits(int n) { Other o; if (n) { Guard g(co_await later(number())); work(); } co_return; }
Task triesToAwait() { try { Guard g(1); co_await later(); } catch (const std::exception&) { number(); } }
