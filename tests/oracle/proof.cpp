#include "oracle/proof.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "oracle/session.h"
#include "support/process.h"

namespace pglocklint::oracle {

namespace fs = std::filesystem;

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// Words, blocks of SQL and comments, as specscanner.l has them.
struct Token {
  enum Kind { Word, Sql, Comment, Mark, End } kind = End;
  std::string text;
  int line = 0;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) line_ += text_[at_++] == '\n';
    if (at_ == text_.size()) return {Token::End, "", line_};
    const char c = text_[at_];
    if (c == '#') return until('\n', Token::Comment);
    if (c == '{') return until('}', Token::Sql);
    if (c == '"') return until('"', Token::Word);
    if (!isName(c)) return {Token::Mark, std::string(1, text_[at_++]), line_};
    const std::size_t begin = at_;
    while (at_ < text_.size() && isName(text_[at_])) ++at_;
    return {Token::Word, std::string(text_.substr(begin, at_ - begin)), line_};
  }

 private:
  static bool isName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  Token until(char last, Token::Kind kind) {
    const std::size_t begin = ++at_;
    const int line = line_;
    while (at_ < text_.size() && text_[at_] != last) line_ += text_[at_++] == '\n';
    if (at_ == text_.size() && last != '\n') throw std::runtime_error("line " + std::to_string(line) + ": nothing ends it");
    const std::string_view inside = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && last != '\n') ++at_;
    return {kind, trimmed(inside), line};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text) { advance(); }

  Spec parse() {
    while (now_.kind != Token::End) {
      if (now_.kind == Token::Comment) {
        comment();
      } else if (const std::string word = take(Token::Word, "a keyword"); word == "setup") {
        spec_.setup.push_back(take(Token::Sql, "SQL"));
      } else if (word == "teardown") {
        take(Token::Sql, "SQL");
      } else if (word == "session") {
        session();
      } else if (word == "permutation") {
        permutation();
      } else {
        fail("unexpected " + word);
      }
    }
    if (spec_.permutations.empty()) fail("there is no permutation");
    return std::move(spec_);
  }

 private:
  void advance() { now_ = scanner_.next(); }
  [[noreturn]] void fail(const std::string& what) { throw std::runtime_error("line " + std::to_string(now_.line) + ": " + what); }
  std::string take(Token::Kind kind, const char* what) {
    if (now_.kind != kind) fail(std::string("expected ") + what + ", found \"" + now_.text + "\"");
    std::string text = now_.text;
    advance();
    return text;
  }

  void comment() {
    const std::string text = take(Token::Comment, "a comment");
    const auto after = [&](std::string_view word) { return text.starts_with(word) ? trimmed(std::string_view(text).substr(word.size())) : ""; };
    if (const std::string hazard = after("hazard:"); !hazard.empty()) hazard_ = hazard;
    if (const std::string why = after("apart:"); !why.empty()) spec_.apart = why;
    for (const bool bad : {true, false})
      if (const std::string title = after(bad ? "bad:" : "good:"); !title.empty()) {
        if (form_) fail("two forms for one permutation");
        form_ = Permutation{bad, title, hazard_, {}};
      }
  }

  void session() {
    const std::string name = take(Token::Word, "a session's name");
    for (;;) {
      if (now_.kind == Token::Comment) {
        comment();
      } else if (now_.kind == Token::Word && now_.text == "setup" && !after_steps_) {
        advance();
        spec_.session_setups.push_back({name, "", take(Token::Sql, "SQL")});
      } else if (now_.kind == Token::Word && now_.text == "step") {
        advance();
        std::string step = take(Token::Word, "a step's name");
        spec_.steps.push_back({name, std::move(step), take(Token::Sql, "SQL")});
        after_steps_ = true;
      } else {
        break;
      }
    }
    if (now_.kind == Token::Word && now_.text == "teardown" && after_steps_) {  // of the session: another may follow for none
      advance();
      take(Token::Sql, "SQL");
    }
    after_steps_ = false;
  }

  void permutation() {
    if (!form_) fail("the permutation is announced neither as `# bad:` nor as `# good:`");
    if (form_->hazard.empty()) fail("no `# hazard:` before the permutation");
    while (now_.kind == Token::Word && now_.text != "permutation") {
      const std::string step = now_.text;
      if (std::ranges::none_of(spec_.steps, [&](const Step& s) { return s.name == step; })) fail("there is no step " + step);
      form_->steps.push_back(step);
      advance();
      if (now_.kind == Token::Mark && now_.text == "(") {  // markers of blocking: (*), (other step)
        while (now_.kind != Token::End && !(now_.kind == Token::Mark && now_.text == ")")) advance();
        advance();
      }
    }
    spec_.permutations.push_back(std::move(*form_));
    form_.reset();
  }

  Scanner scanner_;
  Token now_;
  Spec spec_;
  std::string hazard_;
  std::optional<Permutation> form_;
  bool after_steps_ = false;
};

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

}  // namespace

Spec parseSpec(std::string_view text) { return Parser(text).parse(); }

void writeProgram(const Spec& spec, const Permutation& permutation, const fs::path& folder) {
  const auto statement = [](const std::string& sql) { return sql.ends_with(';') ? sql + "\n" : sql + ";\n"; };
  std::ofstream setup(folder / "setup.sql");
  for (const std::string& block : spec.setup) setup << statement(block);
  std::map<std::string, std::string> texts;
  for (const Step& step : spec.session_setups) texts[step.session] += statement(step.sql);
  std::set<std::string> used;
  for (const std::string& name : permutation.steps)
    for (const Step& step : spec.steps)
      if (step.name == name) {
        texts[step.session] += statement(step.sql);
        used.insert(step.session);
      }
  for (const auto& [session, text] : texts)
    if (session != "observer" && used.contains(session)) std::ofstream(folder / (session + ".sql")) << text;
}

std::vector<Outcome> readOutcomes(const Spec& spec, std::string_view output) {
  constexpr std::string_view kStart = "starting permutation:";
  std::vector<Outcome> outcomes;
  for (const std::string_view line : linesOf(output)) {
    if (line.starts_with(kStart)) outcomes.emplace_back();
    if (outcomes.empty()) continue;
    outcomes.back().output.append(line).append("\n");
    if (outcomes.size() > spec.permutations.size()) break;
    if (trimmed(line) == spec.permutations[outcomes.size() - 1].hazard) outcomes.back().shown = true;
  }
  if (outcomes.size() != spec.permutations.size())
    throw std::runtime_error("the tester ran " + std::to_string(outcomes.size()) + " permutations of " +
                             std::to_string(spec.permutations.size()) + ":\n" + std::string(output));
  return outcomes;
}

std::vector<Outcome> runSpec(const Spec& spec, const fs::path& file, const TestServer& server, const std::string& database) {
  Session(server.conninfo()).must("CREATE DATABASE \"" + database + "\"");
  // It wants the specification on its standard input. Its own limit for a step that never ends is six minutes.
  const test::Outcome ran = test::run({"/bin/sh", "-c", "PGISOLATIONTIMEOUT=30 exec \"$0\" \"$1\" < \"$2\"", isolationTester().string(),
                                       server.conninfo(database), file.string()}, "/");
  Session(server.conninfo()).must("DROP DATABASE \"" + database + "\"");
  if (ran.status != 0) throw std::runtime_error("isolationtester failed: " + ran.err + "\n" + ran.out);
  return readOutcomes(spec, ran.out);
}

std::vector<std::string> complaints(const Spec& spec, const std::vector<Outcome>& outcomes) {
  std::vector<std::string> result;
  int forms[2] = {0, 0};
  for (std::size_t i = 0; i < spec.permutations.size(); ++i) {
    const Permutation& p = spec.permutations[i];
    ++forms[p.bad];
    if (outcomes[i].shown != p.bad)
      result.push_back((p.bad ? "bad form without the hazard \"" : "good form with the hazard \"") + p.hazard + "\": " + p.title + "\n" +
                       outcomes[i].output);
  }
  // A hazard that no good form is measured against might be there always.
  for (const Permutation& p : spec.permutations)
    if (std::ranges::none_of(spec.permutations, [&](const Permutation& q) { return q.bad != p.bad && q.hazard == p.hazard; }))
      result.push_back("the hazard \"" + p.hazard + "\" is only looked for in " + (p.bad ? "bad" : "good") + " forms");
  if (!forms[0] || !forms[1]) result.push_back("a proof needs a bad and a good form");
  return result;
}

fs::path isolationTester() {
  for (const ServerProgram& server : installedServers())
    for (const char* where : {"lib/pgxs", "lib/postgresql/pgxs"}) {
      const fs::path tester = server.bin.parent_path() / where / "src/test/isolation/isolationtester";
      if (server.bin.string().starts_with("/usr/lib/postgresql/") && fs::exists(tester)) return tester;
    }
  for (const ServerProgram& server : installedServers())
    for (const char* where : {"lib/pgxs", "lib/postgresql/pgxs"})
      if (const fs::path tester = server.bin.parent_path() / where / "src/test/isolation/isolationtester"; fs::exists(tester)) return tester;
  return {};
}

std::string digestOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace pglocklint::oracle
