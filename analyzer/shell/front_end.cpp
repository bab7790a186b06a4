#include "shell/front_end.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "model/ascii.h"
#include "shell/psql_call.h"
#include "shell/syntax.h"
#include "shell/words.h"
#include "sql/script.h"
#include "sql/script_comments.h"
#include "sql/script_reader.h"

namespace pglocklint::shell {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepestCall = 8;           // functions calling functions
constexpr std::size_t kMostCalls = 2000;  // calls taken in, of one script

// What a command gets on standard input and does with its output.
struct Io {
  std::optional<std::vector<PsqlInput>> input;  // nullopt: the script's own
  bool output_taken = false;                    // by a pipe, a substitution or a file
  std::map<std::string, std::string> environment;  // set for this command alone: PGHOST=… psql
};

// libpq's environment variables (manual 34.15) and the parameters that they stand for.
const std::map<std::string, std::string> kEnvironment{{"PGHOST", "host"},     {"PGPORT", "port"},
                                                      {"PGDATABASE", "dbname"}, {"PGUSER", "user"},
                                                      {"PGOPTIONS", "options"}, {"PGTARGETSESSIONATTRS", "target_session_attrs"}};

class Walker {
 public:
  Walker(const std::string& path, std::string_view text, const std::function<bool(const std::string&)>& exists)
      : path_(path), exists_(exists), lines_(text), reader_(facts_.unit, lines_) {
    facts_.unit.files = {path};
    facts_.unit.language = "shell";
    facts_.unit.runner.profile = "psql";
    facts_.unit.runner.transaction = TransactionMode::Autocommit;
    whole_ = lines_.range(0, static_cast<std::uint32_t>(text.size()));
    source(sql::MappedText(std::string(text), 0));
  }

  ShellFacts run() {
    const Source& main = *sources_.front();
    collect(main, main.syntax.root);
    beginFunction();
    walk(main, main.syntax.root, {});
    if (at_exit_) nested(*at_exit_, {});
    endFunction();
    // Functions that nothing here calls: other scripts source this one.
    for (auto& [name, f] : functions_)
      if (!f.called) {
        beginFunction();
        callFunction(f, {}, {});
        endFunction();
      }
    if (!main.syntax.complete && facts_.unit.statements == 0)
      facts_.unit.not_understood.push_back({lines_.range(main.syntax.error, main.syntax.error), "this shell script was not understood", false});
    sql::findShellAllows(main.text.text(), facts_.unit.allows, facts_.unit.not_understood);
    placeFunctions();
    std::sort(facts_.unit.not_understood.begin(), facts_.unit.not_understood.end());
    std::sort(facts_.runs.begin(), facts_.runs.end());
    return std::move(facts_);
  }

 private:
  struct ShellFunction {
    const Source* source = nullptr;
    const Node* body = nullptr;
    bool called = false, active = false;
  };
  struct Assignment {
    const Source* source = nullptr;
    const Node* value = nullptr;  // nullptr: set, but not to something in the text
    std::size_t count = 0;
    bool busy = false;
    std::optional<Word> word;
  };
  struct Growing {
    Function function;
    std::size_t index = 0;  // in the unit
    std::unique_ptr<sql::ScriptFlow> flow;
  };

  // --- sources, functions and variables --------------------------------------------------------------------------------

  const Source& source(sql::MappedText text) {
    sources_.push_back(std::make_unique<Source>(parseSource(std::move(text))));
    return *sources_.back();
  }

  std::string_view textOf(const Source& s, const Node& n) const { return std::string_view(s.text.text()).substr(n.begin, n.end - n.begin); }
  SourceRange range(const Source& s, const Node& n) const { return lines_.range(s.text.toFile(n.begin), s.text.toFile(n.end)); }

  // Functions and assignments of a tree, wherever they stand.
  void collect(const Source& s, const Node& n) {
    if (n.is("function_definition")) {
      if (const Node* name = n.withField("name"))
        if (const Node* body = n.withField("body")) functions_[std::string(textOf(s, *name))] = {&s, body};
    } else if (n.is("variable_assignment")) {
      if (const Node* name = n.withField("name")) assign(std::string(textOf(s, *name)), &s, n.withField("value"));
    } else if (n.is("for_statement")) {
      if (const Node* name = n.withField("variable")) assign(std::string(textOf(s, *name)), &s, nullptr);
    } else if (n.is("command") && !n.children.empty() && textOf(s, n.children[0]) == "read") {
      for (const Node& c : n.children)
        if (c.field == "argument") assign(std::string(textOf(s, c)), &s, nullptr);
    }
    for (const Node& c : n.children)
      if (!n.is("command") || !c.is("variable_assignment")) collect(s, c);  // PGPORT=6432 psql: for this command alone
  }

  void assign(const std::string& name, const Source* s, const Node* value) {
    Assignment& a = assignments_[name];
    a.source = s, a.value = value, ++a.count;
  }

  const Word* variable(std::string_view name) {
    if (!arguments_.empty() && !name.empty() && name[0] >= '1' && name[0] <= '9') {
      const auto& words = arguments_.back();
      const std::size_t i = std::strtoul(std::string(name).c_str(), nullptr, 10) - 1;
      return i < words.size() ? &words[i] : nullptr;
    }
    if (!arguments_.empty() && (name == "@" || name == "*") && arguments_.back().size() == 1) return &arguments_.back()[0];
    const auto it = assignments_.find(name);
    if (it == assignments_.end() || it->second.count != 1 || !it->second.value || it->second.busy) return nullptr;
    Assignment& a = it->second;
    if (!a.word) {
      a.busy = true;
      // A value that depends on a function's arguments differs from call to call.
      const auto saved = std::exchange(arguments_, {});
      a.word = expandNode(*a.source, *a.value);
      arguments_ = saved;
      a.busy = false;
    }
    return &*a.word;
  }

  Word expandNode(const Source& s, const Node& n) {
    // SQL=$(cat <<'EOF' … EOF): the text is the here-document.
    if (n.is("command_substitution") || (n.is("string") && n.children.size() == 3 && n.children[1].is("command_substitution"))) {
      const Node& substitution = n.is("string") ? n.children[1] : n;
      if (const Node* redirected = substitution.child("redirected_statement"))
        if (const Node* body = redirected->withField("body"); body && textOf(s, *body) == "cat")
          if (const auto text = hereText(s, *redirected)) return *text;
    }
    return expand(s, n, [this](std::string_view name) { return variable(name); });
  }

  // --- functions of the unit ----------------------------------------------------------------------------------------------

  void beginFunction() {
    auto g = std::make_unique<Growing>();
    g->function.kind = FunctionKind::Script, g->function.language = "shell";
    g->function.range = g->function.body_range = whole_;
    g->index = facts_.unit.functions.size();
    g->flow = std::make_unique<sql::ScriptFlow>(g->function);
    facts_.unit.functions.emplace_back();
    open_.push_back(g.get());
    growing_.push_back(std::move(g));
  }
  void endFunction() { open_.pop_back(); }
  sql::ScriptFlow& flow() { return *open_.back()->flow; }

  void placeFunctions() {
    for (auto& g : growing_) {
      g->flow->finish();
      g->flow.reset();
      facts_.unit.functions[g->index] = std::move(g->function);
    }
  }

  // --- the script's statements ---------------------------------------------------------------------------------------------

  void walkChildren(const Source& s, const Node& n, const Io& io) {
    for (std::size_t i = 0; i < n.children.size(); ++i) {
      const Node& c = n.children[i];
      if (!c.named) continue;
      if (i + 1 < n.children.size() && n.children[i + 1].is("&")) {  // runs beside the rest
        beginFunction();
        walk(s, c, io);
        endFunction();
      } else {
        walk(s, c, io);
      }
    }
  }

  void walk(const Source& s, const Node& n, const Io& io) {
    if (n.is("function_definition") || n.is("comment")) return;
    if (n.is("command")) return command(s, n, io);
    if (n.is("redirected_statement")) return redirected(s, n, io);
    if (n.is("pipeline")) return pipeline(s, n, io);
    if (n.is("list")) return list(s, n, io);
    if (n.is("if_statement")) return ifStatement(s, n, io);
    if (n.is("while_statement") || n.is("for_statement") || n.is("c_style_for_statement")) {
      for (const Node& c : n.children)
        if (c.field == "value") walk(s, c, io);
      flow().beginLoop();
      for (const Node& c : n.children)
        if (c.named && c.field != "value") walk(s, c, io);
      return flow().endLoop();
    }
    if (n.is("case_statement")) return caseStatement(s, n, io);
    if (n.is("command_substitution") || n.is("process_substitution")) {
      Io taken = io;
      taken.output_taken = true;
      return walkChildren(s, n, taken);
    }
    walkChildren(s, n, io);
  }

  void list(const Source& s, const Node& n, const Io& io) {
    const bool conditional = n.child("&&") || n.child("||");
    bool first = true;
    for (const Node& c : n.children) {
      if (!c.named) continue;
      if (!first && conditional) flow().beginIf();
      walk(s, c, io);
      if (!first && conditional) flow().endIf();
      first = false;
    }
  }

  void ifStatement(const Source& s, const Node& n, const Io& io) {
    bool in_condition = true;
    for (const Node& c : n.children) {
      if (c.is("then") && in_condition) {
        flow().beginIf();
        in_condition = false;
      } else if (c.is("elif_clause")) {
        flow().beginElse(false);
        walkChildren(s, c, io);
      } else if (c.is("else_clause")) {
        flow().beginElse(true);
        walkChildren(s, c, io);
      } else if (c.named) {
        walk(s, c, io);
      }
    }
    if (!in_condition) flow().endIf();
  }

  void caseStatement(const Source& s, const Node& n, const Io& io) {
    bool first = true;
    for (const Node& c : n.children) {
      if (!c.is("case_item")) {
        if (c.field == "value") walk(s, c, io);
        continue;
      }
      const bool any = c.withField("value") && textOf(s, *c.withField("value")) == "*";
      if (first) flow().beginIf();
      else flow().beginElse(any);
      first = false;
      for (const Node& item : c.children)
        if (item.named && item.field != "value") walk(s, item, io);
    }
    if (!first) flow().endIf();
  }

  // Each command's output is the next one's input.
  void pipeline(const Source& s, const Node& n, const Io& io) {
    std::vector<const Node*> commands;
    for (const Node& c : n.children)
      if (c.named) commands.push_back(&c);
    Io here = io;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      Io mine = here;
      mine.output_taken |= i + 1 < commands.size();
      walk(s, *commands[i], mine);
      here.input = i + 1 < commands.size() ? std::optional(outputOf(s, *commands[i], mine)) : std::nullopt;
    }
  }

  void redirected(const Source& s, const Node& n, const Io& io) {
    Io mine = io;
    std::vector<const Node*> after;
    for (const Node& c : n.children) {
      if (c.is("heredoc_redirect")) {
        for (const Node& inner : c.children)  // psql <<EOF | grep …
          if (inner.is("pipeline") || inner.is("list") || inner.is("command")) after.push_back(&inner), mine.output_taken = true;
          else if (inner.is("file_redirect")) fileRedirect(s, inner, mine);
        if (const auto text = hereText(s, n)) mine.input = {{InputKind::Commands, *text}};
      } else if (c.is("herestring_redirect")) {
        mine.input = {{InputKind::Commands, herestring(s, c)}};
      } else if (c.is("file_redirect")) {
        fileRedirect(s, c, mine);
      }
    }
    if (const Node* body = n.withField("body")) walk(s, *body, mine);
    for (const Node* c : after) walk(s, *c, io);
  }

  void fileRedirect(const Source& s, const Node& n, Io& io) {
    const Node* destination = n.withField("destination");
    if (!destination) return;
    if (n.child("<")) io.input = {{InputKind::File, expandNode(s, *destination)}};
    else if ((n.child(">") || n.child(">>")) && textOf(s, *destination) != "/dev/null" && textOf(s, *destination) != "/dev/stderr" &&
             !n.child("file_descriptor"))
      io.output_taken = true;
  }

  std::optional<Word> hereText(const Source& s, const Node& redirected) {
    for (const Node& c : redirected.children) {
      if (!c.is("heredoc_redirect")) continue;
      const Node* start = c.child("heredoc_start");
      const Node* body = c.child("heredoc_body");
      if (!start || !body) continue;
      const bool quoted = textOf(s, *start).find_first_of("'\"\\") != std::string_view::npos;
      return quoted ? literal(s, *body) : expandNode(s, *body);
    }
    return std::nullopt;
  }

  Word herestring(const Source& s, const Node& n) {
    for (const Node& c : n.children)
      if (c.named) return expandNode(s, c);
    return {};
  }

  // What a command that feeds a pipe writes.
  std::vector<PsqlInput> outputOf(const Source& s, const Node& n, const Io& io) {
    if (n.is("redirected_statement")) {
      const Node* body = n.withField("body");
      if (body && textOf(s, *body) == "cat")
        if (const auto text = hereText(s, n)) return {{InputKind::Commands, *text}};
      std::vector<PsqlInput> files;
      for (const Node& c : n.children)
        if (c.is("file_redirect") && c.child("<") && c.withField("destination"))
          files.push_back({InputKind::File, expandNode(s, *c.withField("destination"))});
      return !files.empty() ? files : body ? outputOf(s, *body, io) : std::vector<PsqlInput>{{}};
    }
    if (n.is("compound_statement") || n.is("subshell")) {
      std::vector<PsqlInput> all;
      for (const Node& c : n.children)
        if (c.named && !c.is("comment"))
          for (PsqlInput& i : outputOf(s, c, io)) all.push_back(std::move(i));
      return all;
    }
    if (n.is("command")) return outputOfCommand(words(s, n), io);
    return {{}};
  }

  static std::vector<PsqlInput> outputOfCommand(const std::vector<Word>& words, const Io& io) {
    if (words.empty()) return {{}};
    const std::string& name = words[0].str();
    if (name == "echo" || name == "printf") {
      Word text;
      std::size_t first = 1;
      while (first < words.size() && words[first].str().size() == 2 && words[first].str()[0] == '-') ++first;
      // printf '%s\n' "text": what is printed are the arguments.
      if (name == "printf" && first + 1 < words.size() && words[first].str().starts_with("%s")) ++first;
      const std::size_t end = name == "printf" && first < words.size() && words[first].str().find('%') != std::string::npos ? first + 1 : words.size();
      for (std::size_t i = first; i < end; ++i) {
        if (i > first) text.text.append(" ", words[i].text.toFile(0));
        text.text.append(words[i].text), text.known &= words[i].known;
      }
      text.text.append("\n", text.text.toFile(static_cast<std::uint32_t>(text.str().size())));
      return {{InputKind::Commands, std::move(text)}};
    }
    if (name == "tee" && io.input) return *io.input;
    std::vector<PsqlInput> files;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i].str().ends_with(".sql") || (name == "cat" && !words[i].str().starts_with("-"))) files.push_back({InputKind::File, words[i]});
    if (files.empty() && io.input && (name == "cat" || name == "envsubst" || name == "sed")) return *io.input;
    return files.empty() ? std::vector<PsqlInput>{{}} : files;
  }

  // --- commands -------------------------------------------------------------------------------------------------------------

  // The words of a command; an unquoted variable whose value is known may be several.
  std::vector<Word> words(const Source& s, const Node& n) {
    std::vector<Word> all;
    for (const Node& c : n.children) {
      if (c.field != "name" && c.field != "argument") continue;
      const Node& inner = c.is("command_name") && !c.children.empty() ? c.children[0] : c;
      Word w = expandNode(s, inner);
      if (inner.is("simple_expansion") || inner.is("expansion"))
        for (Word& part : splitWords(w)) all.push_back(std::move(part));
      else all.push_back(std::move(w));
    }
    return all;
  }

  void command(const Source& s, const Node& n, const Io& io) {
    Io mine = io;
    for (const Node& c : n.children) {
      if (c.is("herestring_redirect")) mine.input = {{InputKind::Commands, herestring(s, c)}};
      if (c.is("variable_assignment") && c.withField("name") && c.withField("value"))
        mine.environment[std::string(textOf(s, *c.withField("name")))] = expandNode(s, *c.withField("value")).str();
      if (!c.children.empty()) substitutions(s, c, io);
    }
    const std::vector<Word> all = words(s, n);
    if (all.empty()) return;
    if (const std::size_t psql = findPsql(all); psql < all.size())
      return runPsql(readPsqlCall({all.begin() + static_cast<std::ptrdiff_t>(psql) + 1, all.end()}), range(s, n), mine);
    if (const std::size_t script = findNestedScript(all); script < all.size()) return nested(all[script], mine);
    const std::string& name = all[0].str();
    if (name == "exit" || name == "exec") return flow().leave();
    if (name == "trap") return setTrap(all);
    const auto f = functions_.find(name);
    if (f != functions_.end()) callFunction(f->second, {all.begin() + 1, all.end()}, mine);
  }

  // trap 'psql …' EXIT: what the script does at its end; the last one counts.
  void setTrap(const std::vector<Word>& all) {
    std::size_t first = 1;
    if (first < all.size() && all[first].str() == "--") ++first;
    const auto atExit = [](const Word& signal) { return signal.str() == "EXIT" || signal.str() == "0"; };
    if (first + 1 >= all.size() || std::none_of(all.begin() + static_cast<std::ptrdiff_t>(first) + 1, all.end(), atExit)) return;
    at_exit_ = all[first].known && all[first].str() != "-" ? std::optional(all[first]) : std::nullopt;
  }

  // psql calls inside $(…) among a command's words run before it.
  void substitutions(const Source& s, const Node& n, const Io& io) {
    if (n.is("command_substitution") || n.is("process_substitution")) return walk(s, n, io);
    for (const Node& c : n.children) substitutions(s, c, io);
  }

  void nested(const Word& script, const Io& io) {
    if (depth_ >= kDeepestCall || ++calls_ > kMostCalls) return;
    ++depth_;
    const Source& inner = source(script.text);
    collect(inner, inner.syntax.root);
    walk(inner, inner.syntax.root, io);
    --depth_;
  }

  void callFunction(ShellFunction& f, std::vector<Word> arguments, const Io& io) {
    f.called = true;
    if (f.active || depth_ >= kDeepestCall || ++calls_ > kMostCalls) return;
    f.active = true, ++depth_;
    arguments_.push_back(std::move(arguments));
    walk(*f.source, *f.body, io);
    arguments_.pop_back();
    f.active = false, --depth_;
  }

  // --- psql -----------------------------------------------------------------------------------------------------------------

  void runPsql(PsqlCall call, const SourceRange& where, const Io& io) {
    if (call.reads_input) {
      const auto at = call.inputs.begin() + static_cast<std::ptrdiff_t>(call.input_at);
      if (io.input) call.inputs.insert(at, io.input->begin(), io.input->end());
      else call.inputs.insert(at, PsqlInput{});
    }
    const bool certain = call.options_known && call.autocommit;
    if (!certain) facts_.unit.runner.transaction = TransactionMode::Unknown;
    for (const auto& [name, parameter] : kEnvironment) {
      if (call.connection.contains(parameter)) continue;
      if (const auto own = io.environment.find(name); own != io.environment.end()) call.connection[parameter] = own->second;
      else if (const Word* value = variable(name)) call.connection[parameter] = value->str();
    }
    const bool sets = call.connection.contains("options");
    flow().add(SessionOp{SessionVerb::Start, where, connectionString(call.connection)});
    if (call.single_transaction) {
      TransactionOp begin = transaction(TransactionVerb::Begin, where);
      begin.name = "psql -1";
      flow().add(std::move(begin));
    }
    TransactionMode mode = call.single_transaction ? TransactionMode::OnePerFile : certain ? TransactionMode::Autocommit : TransactionMode::Unknown;
    for (const auto& [name, value] : call.variables) reader_.givenVariable(name, value.known ? std::optional(value.str()) : std::nullopt, where, flow());
    bool fresh = !sets && call.options_known;
    for (const PsqlInput& input : call.inputs) {
      switch (input.kind) {
        case InputKind::String: commands(input.text, true, io); break;
        case InputKind::Commands: commands(input.text, false, io); break;
        case InputKind::File: file(input.text, where, mode, fresh, call); break;
        case InputKind::Unknown:
          flow().addUnparsed(where, "psql");
          if (call.inputs.size() > 1) flow().add(SessionOp{SessionVerb::Outside, where, "another program"});
          break;
      }
      fresh &= input.text.known && input.text.str().find("timeout") == std::string::npos && input.kind != InputKind::File;
      if (input.kind != InputKind::File && !call.single_transaction) mode = opensTransaction(input.text.str()) ? TransactionMode::Unknown : mode;
    }
    if (call.single_transaction) flow().add(transaction(TransactionVerb::Commit, where));
    flow().add(SessionOp{SessionVerb::End, where, ""});
  }

  static TransactionOp transaction(TransactionVerb verb, const SourceRange& where) {
    TransactionOp op;
    op.verb = verb, op.range = where;
    return op;
  }

  // A transaction that text opened before may be open in the file that follows.
  static bool opensTransaction(const std::string& text) {
    std::string upper = text;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper.find("BEGIN") != std::string::npos || upper.find("START") != std::string::npos;
  }

  void commands(const Word& word, bool one_string, const Io& io) {
    const std::string& text = word.str();
    const sql::Script script = sql::scanScript(text);
    for (const NotUnderstood& p : script.problems)
      facts_.unit.not_understood.push_back({lines_.range(word.text.toFile(p.range.begin), word.text.toFile(p.range.end)), p.reason, p.mentions_lock});
    const auto statements = std::count_if(script.pieces.begin(), script.pieces.end(),
                                          [](const sql::Piece& p) { return p.kind == sql::PieceKind::Statement; });
    const auto last = static_cast<std::uint32_t>(text.size());
    const bool string = one_string && statements > 1;
    const SourceRange all = lines_.range(word.text.toFile(0), word.text.toFile(last));
    if (string) flow().add(SessionOp{SessionVerb::StringBegin, all, ""});
    for (const sql::Piece& p : script.pieces) {
      const SourceRange where = lines_.range(word.text.toFile(p.begin), word.text.toFile(p.end));
      if (p.kind == sql::PieceKind::CopyData) continue;
      if (p.kind == sql::PieceKind::MetaCommand) {
        reader_.command(std::string_view(text).substr(p.begin, p.end - p.begin), where, flow());
        continue;
      }
      ++facts_.unit.statements, ++facts_.unit.parsed;
      reader_.statement(p, word.text.substr(p.begin, p.end - p.begin), flow(), io.output_taken ? "shell" : "");
    }
    if (string) flow().add(SessionOp{SessionVerb::StringEnd, all, ""});
  }

  void file(const Word& word, const SourceRange& where, TransactionMode mode, bool fresh, const PsqlCall& call) {
    const std::string path = resolve(word.str());
    if (path.empty()) return flow().addUnparsed(where, "psql");
    flow().add(SessionOp{SessionVerb::Include, where, path, false});
    SqlFileRun run{path, mode, fresh, {}};
    for (const auto& [name, value] : call.variables)
      if (value.known) run.variables.emplace_back(name, value.str());
    facts_.runs.push_back(std::move(run));
  }

  // A file that the script names → its path below the project root; empty if there is none. A leading part that is not known
  // ("$DIR/", "$(dirname "$0")/") may be the script's folder or the root.
  std::string resolve(std::string name) const {
    if (name.starts_with("${")) {
      const std::size_t close = name.find("}/");
      if (close == std::string::npos) return "";
      name = name.substr(close + 2);
    }
    if (name.empty() || name[0] == '/' || name.find("${") != std::string::npos) return "";
    const std::string beside = (fs::path(path_).parent_path() / name).lexically_normal().generic_string();
    const std::string from_root = fs::path(name).lexically_normal().generic_string();
    for (const std::string& candidate : {from_root, beside})
      if (!candidate.starts_with("..") && exists_(candidate)) return candidate;
    return "";
  }

  std::string path_;
  const std::function<bool(const std::string&)>& exists_;
  sql::LineIndex lines_;
  SourceRange whole_;
  ShellFacts facts_;
  sql::ScriptReader reader_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<std::string, ShellFunction, std::less<>> functions_;
  std::map<std::string, Assignment, std::less<>> assignments_;
  std::deque<std::vector<Word>> arguments_;  // of the calls taken in, innermost last
  std::optional<Word> at_exit_;              // the trap
  std::vector<std::unique_ptr<Growing>> growing_;
  std::vector<Growing*> open_;
  int depth_ = 0;
  std::size_t calls_ = 0;
};

}  // namespace

bool isShellText(std::string_view text) {
  if (!text.starts_with("#!")) return false;
  const std::string first = lowered(text.substr(0, std::min(text.find('\n'), std::size_t{200})));
  std::size_t end = first.size();
  while (end > 0 && std::isspace(static_cast<unsigned char>(first[end - 1]))) --end;
  const std::string line = first.substr(0, end);
  for (const std::string_view shell : {"/sh", "/bash", "/dash", "/ksh", "/zsh", "env sh", "env bash", "env dash", "env ksh", "env zsh"})
    if (const std::size_t at = line.find(shell); at != std::string::npos)
      if (const std::size_t after = at + shell.size(); after == line.size() || line[after] == ' ') return true;
  return false;
}

bool mentionsPsql(std::string_view text) { return text.find("psql") != std::string_view::npos; }

ShellFacts readShell(const std::string& path, std::string_view text, const std::function<bool(const std::string&)>& exists) {
  return Walker(path, text, exists).run();
}

}  // namespace pglocklint::shell
