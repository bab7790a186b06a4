// For the tests of PL/pgSQL: a body is read as it would stand in a file, and its blocks are written down in one line each.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/pg_parse.h"
#include "sql/plpgsql.h"

namespace pglocklint::sql {

struct ReadBody {
  std::string file;
  Function function;
  List<NotUnderstood> problems;

  std::string written(const SourceRange& range) const {
    std::string text;
    for (const char c : file.substr(range.begin, range.end - range.begin)) {
      const bool space = c == ' ' || c == '\n' || c == '\t';
      if (!space) text += c;
      if (space && !text.empty() && text.back() != ' ') text += ' ';
    }
    return text;
  }
};

// The body stands behind some text, so that a position counted from the start of the body is seen to be wrong.
inline ReadBody readBody(std::string_view body, Function function = {}) {
  static constexpr std::string_view kBefore = "-- é\nDO $$";
  ReadBody result;
  result.file = std::string(kBefore) + std::string(body) + "$$;\n";
  result.function = std::move(function);
  struct Job {
    ReadBody& result;
    std::string_view body;
  } job{result, body};
  runOnLargeStack(
      [](void* argument) {
        auto& j = *static_cast<Job*>(argument);
        const LineIndex lines(j.result.file);
        const MappedText text(std::string(j.body), static_cast<std::uint32_t>(kBefore.size()));
        parsePlpgsql(text, lines, j.result.function, j.result.problems);
      },
      &job);
  return result;
}

inline std::string eventLine(const ReadBody& body, const Event& event) {
  if (event.kind == EventKind::Exit)
    return fmt::format("{}[{}]", nameOf(event.exit[0].kind), event.exit[0].text);
  if (event.kind == EventKind::Transaction) return std::string(nameOf(event.transaction[0].verb));
  if (event.kind == EventKind::Setting) return "set " + event.setting[0].name;
  if (event.kind != EventKind::Statement) return std::string(nameOf(event.kind));
  const Statement& s = event.statement[0];
  std::string line = fmt::format("{}({})", nameOf(s.context), body.written(s.range));
  for (const std::string& target : s.into) line += ">" + target;
  if (s.left_early) line += " early";
  if (s.kind == StatementKind::NotUnderstood) line += " ?";
  return line;
}

// "0: condition(a) -> T1 F2": events, then edges (N, T, F with their targets), then the exception scope.
inline std::string blockLine(const ReadBody& body, std::size_t i) {
  const Block& block = body.function.blocks[i];
  std::string line = fmt::format("{}:", i);
  for (const Event& event : block.events) line += " " + eventLine(body, event) + ";";
  if (!block.successors.empty()) line += " ->";
  for (const Edge& edge : block.successors)
    line += fmt::format(" {}{}", edge.kind == EdgeKind::True ? "T" : edge.kind == EdgeKind::False ? "F" : "N", edge.target);
  if (block.scope >= 0) line += fmt::format(" in {}", block.scope);
  return line;
}

inline std::vector<std::string> graph(const ReadBody& body) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < body.function.blocks.size(); ++i) lines.push_back(blockLine(body, i));
  return lines;
}

using Lines = std::vector<std::string>;

// All statements of the body, in the order of the blocks.
inline std::vector<Statement> statementsOf(const ReadBody& body) {
  std::vector<Statement> all;
  for (const Block& block : body.function.blocks)
    for (const Event& event : block.events)
      for (const Statement& s : event.statement) all.push_back(s);
  return all;
}

}  // namespace pglocklint::sql

namespace doctest {
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) all += "\n    " + line;
    return all.c_str();
  }
};
}  // namespace doctest
