#include "programs.h"

#include <fmt/format.h>

#include <algorithm>

namespace pglocklint::differential {

const std::vector<ProgramShape> kProgramShapes{
    {"session-lock", 400}, {"transaction-lock", 400}, {"shared", 200}, {"pair-key", 100}, {"try", 200}, {"unlock", 200}, {"unlock-all", 50},
    {"two-in-one-statement", 50}, {"transaction", 200}, {"savepoint", 50}, {"rollback-to", 30}, {"release", 15}, {"one-transaction", 30},
    {"string", 50}, {"branch", 40}, {"discard-all", 20}, {"do", 100}, {"function", 100}, {"sql-function", 50}, {"procedure", 50},
    {"procedure-commit", 20}, {"nested-call", 30}, {"parameter-key", 100}, {"exception", 100}, {"error", 100}, {"try-branch", 100},
    {"try-variable", 50}, {"loop", 50}, {"return", 50}, {"boolean-result", 20}, {"cursor", 20}, {"with-hold", 5}, {"rows", 20}, {"condition", 20},
    {"chain", 10}, {"prepared", 10}, {"dynamic", 20}, {"unlock-branch", 15}, {"loop-key", 10}, {"variable-key", 10}, {"query-loop", 15},
    {"call-branch", 2},
};

std::string Program::text() const {
  std::string out;
  for (const std::string& d : definitions) out += d + ";\n";
  for (const Step& s : steps) switch (s.kind) {
      case Step::Kind::Send: out += fmt::format("{};\n", fmt::join(s.statements, " \\; ")); break;
      case Step::Kind::If: out += fmt::format("\\if :s{}\n", s.branch); break;
      case Step::Kind::Else: out += "\\else\n"; break;
      case Step::Kind::EndIf: out += "\\endif\n"; break;
    }
  return out;
}

// mark() is of interest to the lock state, as a routine with a lock call in it, and does nothing.
std::string programSetup() {
  return "CREATE FUNCTION mark(n int, k bigint, j bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF false THEN PERFORM pg_advisory_lock(0); END IF; END $$;\n"
         "CREATE TABLE one(id int, v int CHECK (v <> 7));\n";
}

namespace {

// A routine or DO block while it is written.
struct Body {
  int number = -1;
  bool parameters = false;   // k and j
  bool may_commit = false;   // a procedure
  bool boolean = false;      // RETURNS boolean
  int handlers = 0;          // EXCEPTION blocks around
  int loops = 0;             // FOR i around
  std::string key;           // a variable that keys may be
  std::string declare;
  int variables = 0;
};

struct Callable {
  std::string name;
  bool procedure = false, boolean = false;
};

class Generator {
 public:
  explicit Generator(Choices& choices) : c_(choices) {}

  Program finish() {
    while (c_.chance(routines_.empty() ? 55 : 35) && routines_.size() < 3) routine();
    out_.one_transaction = c_.chance(8);
    if (out_.one_transaction) shape("one-transaction"), open_ = true;
    do step(0);
    while (c_.chance(70) && out_.steps.size() < 40);
    send(mark(nullptr));
    return std::move(out_);
  }

 private:
  void shape(const char* name) { out_.shapes.insert(name); }
  void send(std::string statement) { out_.steps.push_back({Step::Kind::Send, {std::move(statement)}, 0}); }

  std::string mark(const Body* body, bool entry = false) {
    out_.marks.push_back({body ? body->number : -1, entry});
    const bool parameters = body && body->parameters;
    return fmt::format("{} mark({}, {})", body ? "PERFORM" : "SELECT", out_.marks.size() - 1, parameters ? "k, j" : "0, 0");
  }

  // --- locks ---------------------------------------------------------------------------------------------------------------

  // Keys 3, 4 and (1, 2) are contended: what waits for them may fail.
  std::string key(const Body* body, bool waits) {
    const bool contended = waits ? c_.chance(3) : c_.chance(40);
    if (body && body->loops > 0 && c_.chance(25)) return shape("loop-key"), "(i)";
    if (body && !body->key.empty() && c_.chance(40)) return "(" + body->key + ")";
    if (body && body->parameters && c_.chance(45)) {
      shape("parameter-key");
      switch (c_.weighted({50, 30, 8, 12})) {
        case 0: return "(k)";
        case 1: return "(j)";
        case 2: return "(k + 1)";
        default: return shape("pair-key"), "(k::int, 1)";
      }
    }
    if (c_.chance(18)) return shape("pair-key"), contended ? "(1, 2)" : c_.pick({"(1, 1)", "(2, 1)"});
    return contended ? c_.pick({"(3)", "(4)"}) : c_.pick({"(1)", "(2)"});
  }

  std::string acquire(const Body* body) {
    const bool transaction = c_.chance(45), shared = c_.chance(30);
    shape(transaction ? "transaction-lock" : "session-lock");
    if (shared) shape("shared");
    return fmt::format("pg_advisory_{}lock{}{}", transaction ? "xact_" : "", shared ? "_shared" : "", key(body, true));
  }
  std::string tryLock(const Body* body) {
    const bool transaction = c_.chance(40), shared = c_.chance(30);
    shape(transaction ? "transaction-lock" : "session-lock"), shape("try");
    if (shared) shape("shared");
    return fmt::format("pg_try_advisory_{}lock{}{}", transaction ? "xact_" : "", shared ? "_shared" : "", key(body, false));
  }
  std::string unlock(const Body* body) {
    if (c_.chance(12)) return shape("unlock-all"), "pg_advisory_unlock_all()";
    const bool shared = c_.chance(30);
    shape("unlock");
    return fmt::format("pg_advisory_unlock{}{}", shared ? "_shared" : "", key(body, false));
  }
  std::string lockCall(const Body* body) {
    switch (c_.weighted({62, 33, 5})) {
      case 0: return acquire(body);
      case 1: return unlock(body);
      default: return tryLock(body);
    }
  }
  // Lock calls as a select list, sometimes of several rows or none.
  std::string lockCalls(const Body* body) {
    std::string calls = lockCall(body);
    if (c_.chance(12)) shape("two-in-one-statement"), calls += ", " + lockCall(body);
    if (c_.chance(2)) return shape("condition"), calls + " WHERE " + condition();
    if (c_.chance(2)) return shape("rows"), rows();
    return calls;
  }
  std::string rows() {
    const std::string what = c_.pick({"pg_advisory_lock", "pg_advisory_unlock", "pg_advisory_xact_lock", "pg_try_advisory_lock_shared"});
    return fmt::format("{}(g) FROM generate_series({}) g", what, c_.pick({"1, 2", "1, 1", "5, 7"}));
  }

  // An UPDATE that some switch lets fail: division by zero, NOT NULL, CHECK.
  std::string work() {
    shape("error");
    const std::string s = fmt::format("current_setting('run.s{}')::int", c_.below(kSwitches));
    switch (c_.below(3)) {
      case 0: return fmt::format("UPDATE one SET v = 1 / {}", s);
      case 1: return fmt::format("UPDATE one SET v = nullif({}, 1)", s);
      default: return fmt::format("UPDATE one SET v = {} + 5", s);
    }
  }

  // --- the script ------------------------------------------------------------------------------------------------------------

  void step(int depth) {
    switch (c_.weighted({24, 20, 14, 18, 10, 6, 17, 3, 2, 3, 2})) {
      case 0: send("SELECT " + lockCalls(nullptr)); break;
      case 1: transactionStep(); break;
      case 2: callStep(); break;
      case 3: savepointStep(); break;
      case 4: doStep(); break;
      case 5: stringStep(); break;
      case 6: discardStep(); break;
      case 7: branchStep(depth); break;
      case 9: cursorStep(); break;
      case 10: preparedStep(); break;
      default: send(work()); break;
    }
    if (c_.chance(60)) send(mark(nullptr));
  }

  void transactionStep() {
    shape("transaction");
    if (!open_ && !c_.chance(8)) {
      open_ = true, savepoints_.clear();
      return send("BEGIN");
    }
    savepoints_.clear();
    if (open_ && c_.chance(8)) return shape("chain"), send(c_.pick({"COMMIT AND CHAIN", "ROLLBACK AND CHAIN"}));
    open_ = false;
    send(c_.pick({"COMMIT", "ROLLBACK"}));
  }

  void cursorStep() {
    const bool hold = c_.chance(30);
    if (!open_ && !hold) transactionStep();
    shape("cursor");
    if (hold) shape("with-hold");
    const std::string name = fmt::format("c{}", cursors_++);
    send(fmt::format("DECLARE {} CURSOR{} FOR SELECT {}", name, hold ? " WITH HOLD" : "", c_.chance(60) ? lockCall(nullptr) : rows()));
    do {
      switch (c_.weighted({50, 15, 15, 20})) {
        case 0: send(fmt::format("FETCH {} FROM {}", c_.pick({"1", "ALL", "2"}), name)); break;
        case 1: return send("CLOSE " + name);
        case 2: send(mark(nullptr)); break;
        default: savepointStep(); break;
      }
    } while (c_.chance(70));
  }

  void preparedStep() {
    shape("prepared");
    const std::string name = fmt::format("q{}", cursors_++);
    const bool parameter = c_.chance(40);
    send(fmt::format("PREPARE {}{} AS SELECT {}", name, parameter ? "(bigint)" : "", parameter ? "pg_advisory_lock($1)" : lockCalls(nullptr)));
    if (c_.chance(30)) send(mark(nullptr));
    do send(fmt::format("EXECUTE {}{}", name, parameter ? c_.pick({"(1)", "(2)"}) : ""));
    while (c_.chance(30));
  }

  void savepointStep() {
    if (!open_) transactionStep();
    if (!open_) return;
    const std::size_t what = savepoints_.empty() ? 0 : c_.weighted({20, 45, 35});
    if (what == 0) {
      shape("savepoint");
      savepoints_.push_back(c_.pick({"a", "b"}));
      return send("SAVEPOINT " + savepoints_.back());
    }
    const std::string name = savepoints_[c_.below(static_cast<std::uint32_t>(savepoints_.size()))];
    while (savepoints_.back() != name) savepoints_.pop_back();
    if (what == 1) return shape("rollback-to"), send("ROLLBACK TO " + name);
    savepoints_.pop_back();
    shape("release"), send("RELEASE " + name);
  }

  std::string call(const Body* body) {
    const Callable& f = routines_[c_.below(static_cast<std::uint32_t>(routines_.size()))];
    std::string arguments;
    for (int i = 0; i < 2; ++i) {
      if (i) arguments += ", ";
      if (body && body->parameters && c_.chance(50)) arguments += c_.pick({"k", "j"});
      else arguments += c_.pick({"1", "2", "1", "2", "5", "3"});
    }
    return fmt::format("{}{}({})", f.procedure ? "CALL " : body ? "PERFORM " : "SELECT ", f.name, arguments);
  }

  void callStep() {
    if (routines_.empty()) return doStep();
    send(call(nullptr));
  }

  void discardStep() {
    if (open_ || c_.chance(40)) return shape("unlock-all"), send("SELECT pg_advisory_unlock_all()");
    shape("discard-all");
    send("DISCARD ALL");
  }

  void stringStep() {
    shape("string");
    Step s;
    do {
      switch (c_.weighted({60, 20, 12, 8})) {
        case 0: s.statements.push_back("SELECT " + lockCalls(nullptr)); break;
        case 1: s.statements.push_back(mark(nullptr)); break;
        case 2: open_ = false, savepoints_.clear(), s.statements.push_back(c_.pick({"COMMIT", "ROLLBACK"})); break;
        default: open_ = true, s.statements.push_back("BEGIN"); break;
      }
    } while (s.statements.size() < 2 || (c_.chance(55) && s.statements.size() < 6));
    out_.steps.push_back(std::move(s));
  }

  void branchStep(int depth) {
    if (depth > 1) return send("SELECT " + lockCalls(nullptr));
    shape("branch");
    const bool was_open = open_;
    out_.steps.push_back({Step::Kind::If, {}, static_cast<int>(c_.below(kSwitches))});
    do step(depth + 1);
    while (c_.chance(40));
    const bool open_after = open_;
    if (c_.chance(40)) {
      out_.steps.push_back({Step::Kind::Else, {}, 0});
      open_ = was_open;
      do step(depth + 1);
      while (c_.chance(40));
    }
    open_ = open_ && open_after;
    out_.steps.push_back({Step::Kind::EndIf, {}, 0});
  }

  void doStep() {
    shape("do");
    Body b;
    b.number = bodies_++;
    b.may_commit = !open_;
    send(fmt::format("DO $${}$$", block(b)));
  }

  // --- routines ----------------------------------------------------------------------------------------------------------------

  void routine() {
    Body b;
    b.number = bodies_++;
    b.parameters = true;
    Callable f{fmt::format("f{}", routines_.size()), false, false};
    const std::string head = f.name + "(k bigint, j bigint)";
    switch (c_.weighted({50, 20, 30})) {
      case 0:
        shape("function");
        f.boolean = b.boolean = c_.chance(30);
        if (f.boolean) shape("boolean-result");
        out_.definitions.push_back(fmt::format("CREATE FUNCTION {} RETURNS {} LANGUAGE plpgsql AS $${}$$", head, f.boolean ? "boolean" : "void", block(b)));
        break;
      case 1: out_.definitions.push_back(sqlFunction(head, b)); break;
      default:
        shape("procedure");
        f.procedure = b.may_commit = true;
        out_.definitions.push_back(fmt::format("CREATE PROCEDURE {} LANGUAGE plpgsql AS $${}$$", head, block(b)));
        break;
    }
    routines_.push_back(f);
  }

  std::string sqlFunction(const std::string& head, const Body& b) {
    shape("sql-function");
    std::string body = select(mark(&b, true)) + "; ";
    do body += "SELECT " + lockCalls(&b) + "; ";
    while (c_.chance(50));
    return fmt::format("CREATE FUNCTION {} RETURNS void LANGUAGE sql AS $${}{}$$", head, body, select(mark(&b)));
  }
  static std::string select(const std::string& perform) { return "SELECT" + perform.substr(perform.find(' ')); }

  std::string block(Body& b) {
    const std::string entry = mark(&b, true);
    const std::string inside = statements(b, 0);
    const std::string last = b.boolean ? fmt::format(" RETURN {};", c_.chance(40) ? tryLock(&b) : c_.pick({"true", "false"})) : "";
    return fmt::format("{}BEGIN {}; {} {};{} END", b.declare.empty() ? "" : "DECLARE" + b.declare + " ", entry, inside, mark(&b), last);
  }

  std::string statements(Body& b, int depth) {
    std::string out;
    do {
      out += statement(b, depth);
      if (c_.chance(45)) out += mark(&b) + "; ";
    } while (c_.chance(depth == 0 ? 50 : 30));
    return out;
  }

  std::string condition() { return fmt::format("current_setting('run.s{}') = '{}'", c_.below(kSwitches), c_.below(kSwitchValues)); }

  std::string statement(Body& b, int depth) {
    const std::string plain = "PERFORM ";
    switch (c_.weighted({40, depth < 3 ? 9U : 0, depth < 3 ? 6U : 0, depth < 3 ? 9U : 0, 9, depth < 2 ? 5U : 0, 5, 5, 5, 6, 2, depth < 3 ? 2U : 0, 2, depth < 2 ? 2U : 0,
                         depth < 3 ? 3U : 0})) {
      case 0: return plain + lockCalls(&b) + "; ";
      case 1: return tryBranch(b, depth);
      case 2: return fmt::format("IF {} THEN {}{}END IF; ", condition(), statements(b, depth + 1), c_.chance(35) ? "ELSE " + statements(b, depth + 1) : "");
      case 3: return exceptionBlock(b, depth);
      case 4: return work() + "; ";
      case 5: return loop(b, depth);
      case 6: return fmt::format("IF {} THEN {}; END IF; ", condition(), c_.chance(50) ? leave(b) : raise());
      case 7: return b.may_commit && (b.handlers == 0 || c_.chance(10)) ? (shape("procedure-commit"), c_.pick({"COMMIT; ", "ROLLBACK; "})) : plain + lockCall(&b) + "; ";
      case 8: return tryVariable(b, depth);
      case 9:
        if (routines_.empty()) return plain + lockCalls(&b) + "; ";
        shape("nested-call");
        return call(&b) + "; ";
      case 10: return shape("dynamic"), fmt::format("EXECUTE 'SELECT {}'; ", lockCall(nullptr));
      case 11: return shape("unlock-branch"), fmt::format("IF {}{} THEN {}END IF; ", c_.chance(50) ? "NOT " : "", unlockOne(&b), statements(b, depth + 1));
      case 12: return variableKey(b, depth);
      case 13: return queryLoop(b, depth);
      default: return callBranch(b, depth);
    }
  }

  std::string unlockOne(const Body* body) { return fmt::format("pg_advisory_unlock{}{}", c_.chance(30) ? "_shared" : "", key(body, false)); }

  std::string variableKey(Body& b, int depth) {
    shape("variable-key");
    if (b.key.empty()) b.key = "v", b.declare += " v bigint := 1;";
    return fmt::format("v := {}; {}", c_.pick({"2", "1", "v + 1"}), depth < 3 ? statement(b, depth + 1) : "");
  }

  std::string queryLoop(Body& b, int depth) {
    shape("query-loop");
    const std::string record = fmt::format("r{}", b.variables++);
    b.declare += fmt::format(" {} record;", record);
    const std::string inside = statements(b, depth + 1) + (c_.chance(30) ? "EXIT; " : "");
    return fmt::format("FOR {} IN SELECT {} LOOP {}END LOOP; ", record, c_.chance(50) ? lockCall(&b) : rows(), inside);
  }

  // What a routine returns decides.
  std::string callBranch(Body& b, int depth) {
    std::vector<Callable> functions;
    for (const Callable& f : routines_)
      if (f.boolean) functions.push_back(f);
    if (functions.empty()) return "PERFORM " + lockCalls(&b) + "; ";
    shape("call-branch");
    const Callable& f = functions[c_.below(static_cast<std::uint32_t>(functions.size()))];
    return fmt::format("IF {}{}({}, {}) THEN {}END IF; ", c_.chance(40) ? "NOT " : "", f.name, c_.pick({"1", "2"}), c_.pick({"1", "2"}), statements(b, depth + 1));
  }

  std::string leave(const Body& b) {
    shape("return");
    return b.boolean ? c_.pick({"RETURN false", "RETURN true"}) : "RETURN";
  }

  std::string raise() {
    shape("error");
    return c_.pick({"RAISE EXCEPTION 'stop'", "RAISE unique_violation", "RAISE division_by_zero", "RAISE SQLSTATE '40001'"});
  }

  std::string tryBranch(Body& b, int depth) {
    shape("try-branch");
    std::string test = tryLock(&b);
    switch (c_.weighted({50, 30, 8, 6, 6})) {
      case 0: break;
      case 1: test = "NOT " + test; break;
      case 2: test += " AND " + tryLock(&b); break;
      case 3: test += " OR " + tryLock(&b); break;
      default: test += " AND " + condition(); break;
    }
    const std::string release = c_.chance(75) && test.starts_with("pg_try_advisory_lock") ? "PERFORM " + releaseOf(test) + "; " : "";
    const std::string then = c_.chance(15) ? leave(b) + "; " : statements(b, depth + 1);
    return fmt::format("IF {} THEN {}{}{}END IF; ", test, then, release, c_.chance(40) ? "ELSE " + statements(b, depth + 1) : "");
  }

  // Of the session lock that the first call of a condition tries.
  static std::string releaseOf(const std::string& attempt) {
    constexpr std::string_view kTry = "pg_try_advisory_lock";
    return "pg_advisory_unlock" + attempt.substr(kTry.size(), attempt.find(')') + 1 - kTry.size());
  }

  std::string tryVariable(Body& b, int depth) {
    shape("try-variable");
    const std::string v = fmt::format("ok{}", b.variables++);
    b.declare += fmt::format(" {} boolean;", v);
    const std::string call = tryLock(&b);
    std::string out = c_.chance(30) ? fmt::format("SELECT {} INTO {}; ", call, v) : fmt::format("{} := {}; ", v, call);
    if (c_.chance(50)) out += statement(b, depth + 1);
    const bool session = call.find("xact") == std::string::npos;
    out += fmt::format("IF {}{} THEN {}END IF; ", c_.chance(20) ? "NOT " : "", v, session && !c_.chance(30) ? "PERFORM " + releaseOf(call) + "; " : statements(b, depth + 1));
    return out;
  }

  std::string exceptionBlock(Body& b, int depth) {
    shape("exception");
    ++b.handlers;
    const std::string inside = statements(b, depth + 1) + (c_.chance(50) ? c_.chance(30) ? raise() + "; " : work() + "; " : "");
    --b.handlers;
    const std::string when = c_.pick({"OTHERS", "unique_violation", "division_by_zero", "raise_exception OR check_violation", "SQLSTATE '40001'", "lock_not_available"});
    const std::string handled = c_.chance(80) ? mark(&b) + "; " : c_.chance(50) ? "RAISE; " : "";
    const std::string more = c_.chance(30) ? statements(b, depth + 1) : "";
    return fmt::format("BEGIN {}EXCEPTION WHEN {} THEN {}{}{}END; ", inside, when, handled, more, handled.empty() && more.empty() ? "NULL; " : "");
  }

  std::string loop(Body& b, int depth) {
    shape("loop");
    ++b.loops;
    std::string inside = statements(b, depth + 1);
    if (c_.chance(40)) inside += fmt::format("EXIT WHEN {}; ", c_.chance(40) ? tryLock(&b) : condition());
    --b.loops;
    switch (c_.below(3)) {
      case 0: return fmt::format("FOR i IN 1..2 LOOP {}END LOOP; ", inside);
      case 1: return fmt::format("FOR i IN 1..current_setting('run.s{}')::int LOOP {}END LOOP; ", c_.below(kSwitches), inside);
      default: return fmt::format("FOR i IN 1..3 LOOP CONTINUE WHEN {}; {}END LOOP; ", condition(), inside);
    }
  }

  Choices& c_;
  Program out_;
  std::vector<Callable> routines_;
  std::vector<std::string> savepoints_;
  bool open_ = false;  // a transaction, as far as one can say beside branches
  int bodies_ = 0, cursors_ = 0;
};

}  // namespace

Program generateProgram(Choices& choices) { return Generator(choices).finish(); }

}  // namespace pglocklint::differential
