// Comments are read for tools only where they say so in a form of their own: a wrong guess would move a statement into another
// section, or silence a finding.
#include "sql/script_comments.h"

#include <algorithm>

#include "model/ascii.h"
#include "sql/lexer.h"

namespace pglocklint::sql {
namespace {

constexpr std::string_view kAllow = "pglocklint:allow";

// Section marks of migration tools. `exact`: nothing else may stand in the comment.
struct SectionMark {
  std::string_view text;
  DirectiveKind kind;
  bool exact;
};
constexpr SectionMark kSectionMarks[] = {
    {"+goose up", DirectiveKind::Up, false},       {"+goose down", DirectiveKind::Down, false},
    {"+migrate up", DirectiveKind::Up, false},     {"+migrate down", DirectiveKind::Down, false},
    {"+micrate up", DirectiveKind::Up, false},     {"+micrate down", DirectiveKind::Down, false},
    {"migrate:up", DirectiveKind::Up, false},      {"migrate:down", DirectiveKind::Down, false},
    {"up migration", DirectiveKind::Up, true},     {"down migration", DirectiveKind::Down, true},  // node-pg-migrate
    {"-- create above / drop below ----", DirectiveKind::Down, true},                             // tern
};

bool startsWithFolded(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && isKeyword(text.substr(0, lower.size()), lower);
}

bool isQueryNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// The name after "name:" if what follows is an annotation (`:one`, `!`, `(args)`) or nothing; prose after it means it is no directive.
std::string_view queryName(std::string_view s) {
  s = trimmed(s);
  std::size_t end = 0;
  while (end < s.size() && isQueryNamePart(s[end])) ++end;
  if (end == 0) return {};
  std::size_t rest = end;
  while (rest < s.size() && std::string_view("!<>$^#*?").find(s[rest]) != std::string_view::npos) ++rest;
  const std::string_view after = trimmed(s.substr(rest));
  return after.empty() || after[0] == ':' || after[0] == '(' ? s.substr(0, end) : std::string_view{};
}

std::string_view contentsOf(std::string_view comment) {
  if (comment.starts_with("--")) return comment.substr(2);
  comment.remove_prefix(std::min<std::size_t>(2, comment.size()));
  if (comment.ends_with("*/")) comment.remove_suffix(2);
  return comment;
}

std::vector<std::string> splitRules(std::string_view list) {
  std::vector<std::string> rules;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view rule = trimmed(list.substr(0, comma));
    if (!rule.empty()) rules.emplace_back(rule);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return rules;
}

// Runs of space become one blank: a reason may go on over lines of a block comment.
std::string oneLine(std::string_view s) {
  std::string out;
  for (const char c : trimmed(s)) {
    const bool space = kSpace.find(c) != std::string_view::npos;
    if (!space) out += c;
    else if (out.back() != ' ') out += ' ';
  }
  return out;
}

class AllowFinder {
 public:
  AllowFinder(std::string_view file, List<Allow>& allows, List<NotUnderstood>& problems, std::uint32_t number = 0)
      : lines_(file, number), allows_(allows), problems_(problems) {}

  // The file itself.
  void search(std::string_view file) {
    search(file, true, 0, [](std::uint32_t at) { return at; },
           [&](const Token& t) { return decodeString(file.substr(t.begin, t.end - t.begin), t.begin); });
  }

  // C++: a comment is a line's rest after "//" or "--", or stands between "/*" and "*/"; what follows it is the next line that is none.
  void searchCpp(std::string_view file) {
    for (std::size_t at = file.find(kAllow); at != std::string_view::npos;) {
      const std::size_t line = at == 0 ? 0 : file.rfind('\n', at - 1) + 1;
      const std::string_view before = file.substr(line, at - line);
      std::size_t end = std::min(file.find('\n', at), file.size());
      const std::size_t line_end = end;
      if (const std::size_t close = file.find("*/", at); close < end) end = close;
      const std::size_t first = allows_.size();
      const bool opened = before.find("//") != std::string_view::npos || before.find("--") != std::string_view::npos ||
                          before.find("/*") != std::string_view::npos || before.find_first_not_of(" \t*") == std::string_view::npos;
      if (opened) comment(static_cast<std::uint32_t>(at), file.substr(at, end - at), [](std::uint32_t offset) { return offset; });
      std::size_t next = file.find_first_not_of(kSpace, line_end);
      while (next < file.size() && file.substr(next, 2) == "//") next = file.find_first_not_of(kSpace, std::min(file.find('\n', next), file.size()));
      for (std::size_t i = first; i < allows_.size(); ++i) allows_[i].next_token = static_cast<std::uint32_t>(std::min(next, file.size()));
      at = file.find(kAllow, line_end);
    }
  }

  // A shell script: each comment is a line's rest after '#'; what follows it is the next line that is no comment.
  void searchShell(std::string_view file) {
    for (std::size_t at = file.find(kAllow); at != std::string_view::npos;) {
      const std::size_t line = at == 0 ? 0 : file.rfind('\n', at - 1) + 1;
      const std::size_t end = std::min(file.find('\n', at), file.size());
      const std::size_t first = allows_.size();
      if (const std::size_t hash = file.find('#', line); hash < at)
        comment(static_cast<std::uint32_t>(at), file.substr(at, end - at), [](std::uint32_t offset) { return offset; });
      std::size_t next = file.find_first_not_of(kSpace, end);
      while (next < file.size() && file[next] == '#') next = file.find_first_not_of(kSpace, std::min(file.find('\n', next), file.size()));
      for (std::size_t i = first; i < allows_.size(); ++i) allows_[i].next_token = static_cast<std::uint32_t>(std::min(next, file.size()));
      at = file.find(kAllow, end);
    }
  }

 private:
  // A body, which lies in the file as its map says.
  void search(const MappedText& body, int depth) {
    search(body.text(), false, depth, [&](std::uint32_t at) { return body.toFile(at); },
           [&](const Token& t) { return decodeString(body, t.begin, t.end); });
  }

  // `depth` bounds bodies inside bodies.
  template <class ToFile, class Decode>
  void search(std::string_view text, bool psql, int depth, ToFile to_file, Decode decode) {
    Lexer lexer(text, {.psql = psql, .placeholders = true, .keep_comments = true});
    std::size_t open = allows_.size();  // those from here on still wait for the token after them
    for (;;) {
      const Token t = lexer.next();
      if (t.kind == TokenKind::Comment) {
        comment(t.begin, lexer.text(t), to_file);
        continue;
      }
      for (; open < allows_.size(); ++open) allows_[open].next_token = to_file(t.begin);
      if (t.kind == TokenKind::End) return;
      if (isBody(t.kind) && depth < 4 && lexer.text(t).find(kAllow) != std::string_view::npos) {
        search(decode(t), depth + 1);
        open = allows_.size();
      }
    }
  }

  static bool isBody(TokenKind kind) {
    return kind == TokenKind::DollarString || kind == TokenKind::String || kind == TokenKind::EscapeString;
  }

  template <class ToFile>
  void comment(std::uint32_t begin, std::string_view comment, ToFile to_file) {
    const bool block = comment.starts_with("/*");
    const std::string_view body = block && comment.ends_with("*/") ? comment.substr(0, comment.size() - 2) : comment;
    for (std::size_t at = body.find(kAllow); at != std::string_view::npos;) {
      const std::size_t next = body.find(kAllow, at + kAllow.size());
      const std::string_view written = body.substr(at, next == std::string_view::npos ? next : next - at);
      const auto start = begin + static_cast<std::uint32_t>(at);
      const auto end = start + static_cast<std::uint32_t>(written.find_last_not_of(kSpace) + 1);
      allow(lines_.range(to_file(start), to_file(end)), written);
      at = next;
    }
  }

  // `written` begins with pglocklint:allow and ends where the comment, or the next suppression in it, begins.
  void allow(const SourceRange& range, std::string_view written) {
    Allow a;
    a.range = range;
    std::string_view rest = written.substr(kAllow.size());
    if (rest.starts_with("-file")) {
      a.whole_file = true;
      rest.remove_prefix(5);
    }
    const std::size_t close = rest.find(')');
    if (rest.starts_with('(') && close != std::string_view::npos) {
      a.rules = splitRules(rest.substr(1, close - 1));
      std::string_view reason = rest.substr(close + 1);
      const std::size_t first = reason.find_first_not_of(" \t:");
      a.reason = oneLine(first == std::string_view::npos ? std::string_view{} : reason.substr(first));
    }
    if (a.rules.empty()) {
      problems_.push_back({a.range, "a suppression without rule: write pglocklint:allow(rule-name) and the reason", false});
      return;
    }
    allows_.push_back(std::move(a));
  }

  LineIndex lines_;
  List<Allow>& allows_;
  List<NotUnderstood>& problems_;
};

}  // namespace

Directive directiveOf(std::string_view comment) {
  const std::string_view body = trimmed(contentsOf(comment));
  if (body.empty()) return {};
  if (comment.starts_with("--")) {
    // "-- +goose Up", "--migrate:up", "---- create above / drop below ----"
    for (const SectionMark& mark : kSectionMarks) {
      if (!startsWithFolded(body, mark.text)) continue;
      const std::string_view rest = body.substr(mark.text.size());
      if (mark.exact ? trimmed(rest).empty() : rest.empty() || kSpace.find(rest[0]) != std::string_view::npos) return {mark.kind, {}};
    }
    // "Name:" with a capital is pg_dump's.
    if (body.starts_with("name:")) {
      if (const auto name = queryName(body.substr(5)); !name.empty()) return {DirectiveKind::NamedQuery, name};
    }
    if (body.starts_with(":name ")) {  // HugSQL
      if (const auto name = queryName(body.substr(6)); !name.empty()) return {DirectiveKind::NamedQuery, name};
    }
  } else if (const std::size_t at = body.find("@name "); at != std::string_view::npos && body.find_first_not_of("* \t\r\n") == at) {
    const std::string_view name = trimmed(body.substr(at + 6));
    std::size_t end = 0;
    while (end < name.size() && isQueryNamePart(name[end])) ++end;
    if (end > 0) return {DirectiveKind::NamedQuery, name.substr(0, end)};
  } else if (body.starts_with("name:")) {
    if (const auto name = queryName(body.substr(5)); !name.empty()) return {DirectiveKind::NamedQuery, name};
  }
  return {};
}

void findCppAllows(std::string_view text, std::uint32_t file, List<Allow>& allows, List<NotUnderstood>& problems) {
  if (text.find(kAllow) != std::string_view::npos) AllowFinder(text, allows, problems, file).searchCpp(text);
}

void findAllows(std::string_view text, List<Allow>& allows, List<NotUnderstood>& problems) {
  if (text.find(kAllow) == std::string_view::npos) return;
  AllowFinder(text, allows, problems).search(text);
}

void findShellAllows(std::string_view text, List<Allow>& allows, List<NotUnderstood>& problems) {
  AllowFinder(text, allows, problems).searchShell(text);
}

}  // namespace pglocklint::sql
