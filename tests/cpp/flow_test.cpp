// The control flow of C++ functions as facts: what happens in which order, where conditions come from, and where exceptions go.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/process.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

using nlohmann::json;

constexpr char kPrelude[] = R"cpp(
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <cstdlib>
#include <cstring>
void work();
struct Guard {
  Guard(PGconn* c) : c_(c), owns_(true) { PQexec(c_, "SELECT pg_advisory_lock(1)"); }
  Guard(Guard&& o) noexcept : c_(o.c_), owns_(std::exchange(o.owns_, false)) {}
  ~Guard() { if (owns_) PQexec(c_, "SELECT pg_advisory_unlock(1)"); }
  PGconn* c_;
  bool owns_;
};
)cpp";

// The facts of a source, as JSON; its prelude is in front of it.
json facts(const std::string& source, const std::vector<std::string>& flags = {"-std=c++20"}) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "a.cpp", std::ios::binary) << source;
  std::string command = (fs::path(PGLOCKLINT_BIN).parent_path() / "pglocklint-clang").string() + " --root . --file a.cpp --";
  for (const std::string& flag : flags) command += " " + flag;
  const Outcome outcome = run({"/bin/sh", "-c", "root=$(pwd); " + command.replace(command.find("--root ."), 8, "--root \"$root\"") +
                                                    " < a.cpp"},
                              folder.path());
  REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
  return json::parse(outcome.out);
}

std::string text(const json& v, const char* key, const char* otherwise = "") {
  return v.contains(key) ? v.at(key).get<std::string>() : otherwise;
}

// Paths without the places of their variables: "local g", "made".
std::string plain(const std::string& path) {
  std::string out;
  std::istringstream words(path);
  for (std::string w; words >> w;) {
    const std::size_t colon = w.find(':');
    const bool place = colon != std::string::npos && colon > 0 && w.find_first_not_of("0123456789:.") > colon &&
                       std::isdigit(static_cast<unsigned char>(w[0]));
    if (place) {
      const std::size_t field = w.find('.');
      if (field != std::string::npos) out += w.substr(field);
      continue;
    }
    out += (out.empty() ? "" : " ") + w;
  }
  return out;
}

std::string truth(const json& t, const json& host) {
  const std::string kind = text(t, "kind", "unknown");
  if (kind == "unknown") return "?";
  if (kind == "constant") return t.value("value", false) ? "true" : "false";
  if (kind == "variable") return plain(text(t, "name"));
  if (kind == "answer" || kind == "success") {
    const json& call = host.at("calls").at(t.at("call").get<std::size_t>());
    const std::string name = text(call, "kind", "execute") == "function" ? text(call, "api") : "";
    return kind + (name.empty() ? "" : " of " + name);
  }
  if (kind == "rows") return "rows " + t.at("name").get<std::string>();
  if (kind == "not") return "!" + truth(t.at("args")[0], host);
  return "(" + truth(t.at("args")[0], host) + (kind == "and" ? " && " : " || ") + truth(t.at("args")[1], host) + ")";
}

const json& function(const json& unit, const char* name) {
  for (const json& f : unit.at("functions"))
    if (text(f, "name").starts_with(std::string(name) + "(")) return f;
  FAIL("no function " << name);
  return unit;
}

std::string event(const json& e, const json& host) {
  const std::size_t index = e.at("host_call").get<std::size_t>();
  if (text(e, "kind") == "host-step") {
    const json& s = host.at("steps").at(index);
    const std::string kind = text(s, "kind", "assign"), t = truth(s.value("truth", json::object()), host);
    if (kind == "assign") return plain(text(s, "target")) + " = " + t;
    if (kind == "condition") return "if " + t;
    if (kind == "return") return t == "?" ? "return" : "return " + t;
    return text(s, "target").empty() ? kind : kind + " " + text(s, "target");
  }
  const json& c = host.at("calls").at(index);
  std::string out = text(c, "kind", "execute");
  if (out == "function") out = text(c, "api").empty() ? "?" : text(c, "api");
  if (out == "execute")
    for (const json& piece : c.at("texts").at(0).at("pieces")) {
      const std::string sql = text(piece, "text");
      const std::size_t at = sql.find("pg_");
      out = at == std::string::npos ? sql : sql.substr(at, sql.find('(') - at);
      break;
    }
  return out + " <" + plain(text(c, "connection")) + ">";
}

// One line a block, blocks in order of first being reached: "a: one; two -> b, T c, F d | x" where x takes its exceptions.
std::string shape(const json& f) {
  const json &blocks = f.at("blocks"), &host = f.at("host").at(0);
  const auto list = [](const json& b, const char* key) { return b.contains(key) ? b.at(key) : json::array(); };
  // Blocks without events that lead to one other are not worth a line.
  const auto through = [&](int i) {
    for (int steps = 0; steps < 50; ++steps) {
      const json& b = blocks.at(static_cast<std::size_t>(i));
      const json next = list(b, "successors");
      if (!list(b, "events").empty() || next.size() != 1) break;
      i = next[0].value("target", -1);
    }
    return i;
  };
  std::vector<int> order{through(0)};
  const auto letter = [&](int i) {
    i = through(i);
    const auto at = std::find(order.begin(), order.end(), i);
    const auto n = at - order.begin();
    if (at == order.end()) order.push_back(i);
    return std::string(1, static_cast<char>('a' + n));
  };
  std::string out;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const json& b = blocks.at(static_cast<std::size_t>(order[n]));
    std::string line = letter(order[n]) + ":";
    for (const json& e : list(b, "events")) line += (line.back() == ':' ? " " : "; ") + event(e, host);
    std::string edges;
    for (const json& s : list(b, "successors")) {
      const std::string kind = text(s, "kind", "next");
      edges += std::string(edges.empty() ? " -> " : ", ") + (kind == "true" ? "T " : kind == "false" ? "F " : "") +
               letter(s.value("target", -1));
    }
    line += edges;
    if (b.value("unwind", -1) >= 0) line += " | " + letter(b.at("unwind").get<int>());
    out += line + "\n";
  }
  return out;
}

std::vector<std::string> aliases(const json& f) {
  std::vector<std::string> out;
  if (f.at("host").at(0).contains("aliases"))
    for (const json& a : f.at("host").at(0).at("aliases"))
      out.push_back(plain(text(a, "path")) + " <- " +
                    (text(a, "target").empty() ? text(a.at("value"), "kind") + " " + text(a.at("value"), "name") : plain(text(a, "target"))));
  return out;
}

}  // namespace

TEST_CASE("a guard ends on every way out") {
  const json unit = facts(std::string(kPrelude) + R"cpp(
void plain(PGconn* c) { Guard g(c); work(); }
void temporary(PGconn* c) { (Guard(c), work()); }
void never(PGconn* c) noexcept { Guard g(c); work(); }
bool ask(const Guard&) noexcept;
void perhaps(PGconn* c, bool b) { if (b && ask(Guard(c))) PQfinish(c); }
Guard factory(PGconn* c) { Guard g(c); return g; }
void optional(PGconn* c, bool b) { std::optional<Guard> g; if (b) g.emplace(c); PQreset(c); }
void owned(PGconn* c) { auto g = std::make_unique<Guard>(c); PQreset(c); }
void ends(PGconn* c) { PQreset(c); std::exit(1); }
[[noreturn]] void die();
void dies(PGconn* c) { PQreset(c); die(); }
)cpp");
  CHECK(shape(function(unit, "plain")) ==
        "a: Guard <local g>; work <>; Guard's destructor <local g> -> b | c\n"
        "b:\n"
        "c: Guard's destructor <local g> -> d\n"
        "d: throw\n");
  CHECK(shape(function(unit, "temporary")) ==
        "a: Guard <made>; work <>; Guard's destructor <made> -> b | c\n"
        "b:\n"
        "c: Guard's destructor <made> -> d\n"
        "d: throw\n");
  CHECK(shape(function(unit, "never")) ==
        "a: Guard <local g>; work <>; Guard's destructor <local g> -> b | c\n"
        "b:\n"
        "c: exit\n");
  // A temporary ends only where it was made.
  CHECK(shape(function(unit, "perhaps")) ==
        "a: if parameter 1 -> T b, F c\n"
        "b: Guard <made>; ask <> -> c\n"
        "c: if parameter 1 -> T d, F e\n"
        "d: Guard's destructor <made> -> e\n"
        "e: if (parameter 1 && answer of ask) -> T f, F g\n"
        "f: disconnect <parameter 0> -> g\n"
        "g:\n");
  CHECK(shape(function(unit, "factory")) == "a: Guard <local g>; return\n");
  CHECK(aliases(function(unit, "factory")) == std::vector<std::string>{"return <- local g"});
  CHECK(shape(function(unit, "optional")) ==
        "a: local g = false; if parameter 1 -> T b, F c\n"
        "b: local g = true; Guard <local g> -> c\n"
        "c: reset <parameter 0>; if local g -> T d, F e\n"
        "d: Guard's destructor <local g> -> e\n"
        "e:\n");
  CHECK(shape(function(unit, "owned")) ==
        "a: Guard <local g>; local g = true; reset <parameter 0>; Guard's destructor <local g> -> b\n"
        "b:\n");
  CHECK(shape(function(unit, "ends")) == "a: reset <parameter 0>; exit\n");
  CHECK(shape(function(unit, "dies")) == "a: reset <parameter 0>; die <>; exit\n");
}

TEST_CASE("handlers take what fits them") {
  const json unit = facts(std::string(kPrelude) + R"cpp(
#include <pqxx/pqxx>
void typed(PGconn* c) { try { Guard g(c); work(); } catch (const std::logic_error&) { PQfinish(c); } }
void library(pqxx::work& t) { try { t.exec("SELECT pg_advisory_lock(1)"); } catch (const std::exception&) { abort(); } }
void known(PGconn* c) {
  try { throw std::runtime_error("x"); } catch (int) { PQfinish(c); } catch (const std::exception&) { PQreset(c); }
}
int whole(PGconn* c) try { Guard g(c); work(); return 1; } catch (...) { PQreset(c); throw; }
)cpp");
  CHECK(shape(function(unit, "typed")) ==
        "a: Guard <local g>; work <>; Guard's destructor <local g> -> b | c\n"
        "b:\n"
        "c: Guard's destructor <local g> -> d\n"
        "d: -> e, f\n"
        "e: disconnect <parameter 0> -> b\n"
        "f: throw\n");
  // Statements of libpqxx throw what derives from std::exception; so, by decision, does what is not known.
  CHECK(shape(function(unit, "library")) ==
        "a: pg_advisory_lock <parameter 0> -> b | c\n"
        "b:\n"
        "c: exit\n");
  CHECK(shape(function(unit, "known")) ==
        "a: throw std::runtime_error | b\n"
        "b: reset <parameter 0> -> c\n"
        "c:\n");
  CHECK(shape(function(unit, "whole")) ==
        "a: Guard <local g>; work <>; return.=1 = true; Guard's destructor <local g>; return true | b\n"
        "b: Guard's destructor <local g> -> c\n"
        "c: reset <parameter 0>; throw\n");
}

TEST_CASE("a constructor that throws after a lock leaves what is built to its members' destructors") {
  const json unit = facts(std::string(kPrelude) +
                          "struct Whole { Guard g_; Whole(PGconn* c) : g_(c) { work(); } ~Whole() { work(); } };");
  CHECK(shape(function(unit, "Whole::constructor")) ==
        "a: Guard <this.g_>; work <> -> b | c\n"
        "b:\n"
        "c: Guard's destructor <this.g_> -> d\n"
        "d: throw\n");
  CHECK(shape(function(unit, "Whole::destructor")) ==
        "a: work <>; Guard's destructor <this.g_> -> b | c\n"
        "b:\n"
        "c: exit\n");
  CHECK(shape(function(unit, "Guard::destructor")) ==
        "a: if this.owns_ -> T b, F c\n"
        "b: pg_advisory_unlock <this.c_> -> c\n"
        "c:\n");
  CHECK(aliases(function(unit, "Guard::constructor")) == std::vector<std::string>{"this.c_ <- parameter 0"});
}

TEST_CASE("answers are followed to where they decide") {
  const json unit = facts(std::string(kPrelude) + R"cpp(
#include <pqxx/pqxx>
const char* const kTry = "SELECT pg_try_advisory_lock(1)";
bool first(PGconn* c) {
  PGresult* r = PQexec(c, kTry);
  const bool mine = PQgetvalue(r, 0, 0)[0] == 't';
  PQclear(r);
  return mine;
}
bool compared(PGconn* c) { PGresult* r = PQexec(c, kTry); return !std::strcmp(PQgetvalue(r, 0, 0), "t"); }
bool copied(PGconn* c) { PGresult* r = PQexec(c, kTry); std::string v = PQgetvalue(r, 0, 0); PQclear(r); return v != "t"; }
bool status(PGconn* c) { PGresult* r = PQexec(c, kTry); auto s = PQresultStatus(r); return s != PGRES_TUPLES_OK; }
bool later(PGconn* c) {
  bool ok = false;
  PGresult* r = PQexec(c, kTry);
  if (PQntuples(r) == 1) ok = *PQgetvalue(r, 0, 0) == 't';
  return ok;
}
struct R { bool ok; };
bool field(PGconn* c) {
  R r{};
  PGresult* p = PQexec(c, kTry);
  r.ok = PQgetvalue(p, 0, 0)[0] == 't';
  if (!r.ok) return false;
  return true;
}
bool ask(PGconn*) noexcept;
void asks(PGconn* c) { if (auto ok = ask(c); !ok) return; PQreset(c); }
bool pqxx1(pqxx::work& t) { return t.exec(kTry)[0][0].as<bool>(); }
bool pqxx2(pqxx::work& t) { return t.exec1(kTry)[0].as<bool>(); }
bool pqxx3(pqxx::work& t) { return t.exec1(kTry).front().as<bool>(false); }
bool pqxx4(pqxx::work& t) { return t.exec(kTry).at(0).at(0).as<std::string>() == "t"; }
bool pqxx5(pqxx::work& t) { auto r = t.exec(kTry); auto got = r[0]["got"].as<bool>(); return !got; }
)cpp");
  const std::string answered = "a: pg_try_advisory_lock <parameter 0>; return ";
  for (const char* name : {"first", "compared", "pqxx1", "pqxx2", "pqxx3", "pqxx4"})
    CHECK_MESSAGE(shape(function(unit, name)) == answered + "answer\n", name);
  CHECK(shape(function(unit, "copied")) == answered + "!answer\n");
  CHECK(shape(function(unit, "pqxx5")) == answered + "!answer\n");
  CHECK(shape(function(unit, "status")) == answered + "!success\n");
  CHECK(shape(function(unit, "later")) ==
        "a: local ok = false; pg_try_advisory_lock <parameter 0>; if rows =1 -> T b, F c\n"
        "b: local ok = answer -> c\n"
        "c: return local ok\n");
  CHECK(shape(function(unit, "field")) ==
        "a: local r.ok = false; pg_try_advisory_lock <parameter 0>; local r.ok = answer; if !local r.ok -> T b, F c\n"
        "b: return false\n"
        "c: return true\n");
  CHECK(shape(function(unit, "asks")) ==
        "a: ask <>; if !answer of ask -> T b, F c\n"
        "b: return\n"
        "c: reset <parameter 0> -> d\n"
        "d:\n");
}

TEST_CASE("sessions have one path, whatever they are reached through") {
  const json unit = facts(std::string(kPrelude) + R"cpp(
#include <pqxx/pqxx>
struct Db { PGconn* conn() const { return c_; } PGconn* c_; };
struct Pool { std::shared_ptr<pqxx::connection> checkout(); };
struct Raw { PGconn* take(); void give(PGconn*); };
void accessor(Db& d) { PQexec(d.conn(), "SELECT pg_advisory_lock(1)"); }
void obtained(Pool& p) { auto c = p.checkout(); pqxx::nontransaction n(*c); n.exec("SELECT pg_advisory_lock(1)"); }
void given(Raw& p) { PGconn* c = p.take(); PQexec(c, "SELECT pg_advisory_lock(1)"); p.give(c); }
void references(PGconn* c) { PGconn*& r = c; auto* p = r; PQexec(p, "SELECT pg_advisory_lock(1)"); }
void deleter() { std::unique_ptr<PGconn, decltype(&PQfinish)> c(PQconnectdb("host=a"), PQfinish); PQreset(c.get()); }
struct Lead { pqxx::connection c_; std::unique_ptr<pqxx::work> t_; Lead(const char* d) : c_(d), t_(new pqxx::work(c_)) {} };
void levels(pqxx::connection& c) {
  pqxx::transaction<pqxx::isolation_level::serializable> t(c); pqxx::subtransaction s(t, "x"); s.commit(); t.commit();
}
)cpp");
  CHECK(shape(function(unit, "accessor")).starts_with("a: Db::conn <parameter 0>; pg_advisory_lock <parameter 0.c_>"));
  CHECK(shape(function(unit, "obtained")) ==
        "a: obtain <local c>; local c = ? -> b\n"
        "b: autocommit <local c>; pg_advisory_lock <local c>; give-back <local c> -> c | d\n"
        "c:\n"
        "d: give-back <local c> -> e\n"
        "e: throw\n");
  CHECK(shape(function(unit, "given")).starts_with("a: obtain <local c>; local c = ?; pg_advisory_lock <local c>; give-back <local c>"));
  CHECK(shape(function(unit, "references")).starts_with("a: pg_advisory_lock <parameter 0>"));
  CHECK(shape(function(unit, "deleter")) ==
        "a: connect <local c>; local c = ?; reset <local c>; disconnect <local c> -> b\nb:\n");
  CHECK(aliases(function(unit, "Lead::constructor")) == std::vector<std::string>{"this.t_ <- this.c_"});
  CHECK(shape(function(unit, "levels"))
            .starts_with("a: begin <parameter 0> -> b\nb: savepoint <parameter 0> -> c | d\nc: release <parameter 0>; "));
  const json& begin = function(unit, "levels").at("host").at(0).at("calls").at(0);
  CHECK(begin.at("name") == "serializable");
}

TEST_CASE("a lambda whose calls are seen is a function of its own") {
  const json unit = facts(std::string(kPrelude) + R"cpp(
template <class F> struct Finally { explicit Finally(F f) : f_(std::move(f)) {} ~Finally() { f_(); } F f_; };
template <class F> void with(PGconn* c, F f) { Guard g(c); f(); }
void library(void (*)(), const std::string&);
void leave(PGconn* c) { Finally end([&] { PQfinish(c); }); work(); }
void passed(PGconn* c, long key) { with(c, [c, key] { PQreset(c); }); }
void named(PGconn* c) { const auto again = [&] { PQreset(c); }; again(); }
)cpp");
  CHECK(shape(function(unit, "leave")) ==
        "a: Finally <local end>; work <>; Finally's destructor <local end> -> b | c\n"
        "b:\n"
        "c: Finally's destructor <local end> -> d\n"
        "d: throw\n");
  CHECK(aliases(function(unit, "leave")) == std::vector<std::string>{"made.c <- parameter 0"});
  CHECK(aliases(function(unit, "Finally::constructor")) == std::vector<std::string>{"this.f_ <- parameter 0"});
  CHECK(aliases(function(unit, "passed")) == std::vector<std::string>{"made.c <- parameter 0", "made.key <- parameter key"});
  CHECK(shape(function(unit, "named")).starts_with("a: operator() <local again>"));
  int bodies = 0;
  for (const json& f : unit.at("functions"))
    if (text(f, "name").starts_with("(lambda ")) {
      ++bodies;
      CHECK(shape(f).find(" <this.c>") != std::string::npos);
    }
  CHECK(bodies == 3);
}

TEST_CASE("goto, setjmp and C") {
  const json unit = facts(R"cpp(
#include <libpq-fe.h>
#include <setjmp.h>
extern jmp_buf buf;
void raise(void);
int cleanup(PGconn* c) {
  if (!PQexec(c, "SELECT pg_advisory_lock(1)")) goto out;
  PQreset(c);
out:
  PQfinish(c);
  return 1;
}
void jump(PGconn* c) {
  if (setjmp(buf) == 0) { PQexec(c, "SELECT pg_advisory_lock(1)"); longjmp(buf, 1); } else { PQfinish(c); }
}
)cpp",
                         {"-x", "c"});
  CHECK(shape(function(unit, "cleanup")) ==
        "a: pg_advisory_lock <parameter 0> -> b, c\n"
        "b: disconnect <parameter 0>; return.=1 = true; return true\n"
        "c: reset <parameter 0> -> b\n");
  CHECK(shape(function(unit, "jump")) ==
        "a: -> b, c\n"
        "b: pg_advisory_lock <parameter 0>; throw | c\n"
        "c: disconnect <parameter 0> -> d\n"
        "d:\n");
}

TEST_CASE("virtual calls say of which class their object is, and methods what they override") {
  const json unit = facts(R"cpp(
struct pg_conn; typedef struct pg_conn PGconn; struct pg_result;
extern "C" pg_result* PQexec(PGconn*, const char*);
struct Lockable { virtual ~Lockable() = default; virtual void lock() = 0; };
struct Named : Lockable {};
struct Orders : Named {
  explicit Orders(PGconn* c) : c_(c) {}
  void lock() override { PQexec(c_, "SELECT pg_advisory_lock(1)"); }
  PGconn* c_;
};
struct Last final : Orders { using Orders::Orders; void lock() override { PQexec(c_, "SELECT pg_advisory_lock(2)"); } };
void any(Lockable& l) { l.lock(); }
void last(Last& l) { l.lock(); }
void own(PGconn* c) { Orders o(c); o.lock(); o.Orders::lock(); }
)cpp");
  const auto call = [&](const char* name, std::size_t i) { return function(unit, name).at("host").at(0).at("calls").at(i); };
  CHECK(text(call("any", 0), "dispatch") == "Lockable");
  CHECK(text(call("any", 0), "name") == "Lockable::lock()");
  CHECK(text(call("last", 0), "dispatch").empty());
  CHECK(text(call("last", 0), "name") == "Last::lock()");
  CHECK(text(call("own", 1), "dispatch").empty());
  CHECK(text(call("own", 2), "dispatch").empty());
  const json& method = function(unit, "Last::lock").at("host").at(0).at("method").at(0);
  CHECK(text(method, "of_class") == "Last");
  CHECK(method.at("bases") == json{"Lockable", "Named", "Orders"});
  CHECK(method.at("overrides") == json{"Lockable::lock()", "Orders::lock()"});
  CHECK(shape(function(unit, "own")).find("local o.#Orders = true") != std::string::npos);
}
