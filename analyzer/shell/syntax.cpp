#include "shell/syntax.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <cctype>

extern "C" const TSLanguage* tree_sitter_bash();

namespace pglocklint::shell {

namespace {

constexpr int kDeepest = 200;  // levels; a script written by people has a dozen

// tree-sitter's parse stack counts in 16 bits (it crashes near 65,000 levels), and some repetitions cost quadratic time. Scripts
// that people write stay far below these counts.
constexpr std::size_t kLargest = 1 << 20;  // bytes
constexpr int kDeepestNesting = 1000;      // of brackets of one kind, or of one pair of keywords
constexpr int kMostHereDocuments = 2000;
constexpr int kMostPipesPerLine = 1000;

struct Pair {
  std::string_view open, close;
};
constexpr Pair kPairs[] = {{"(", ")"}, {"{", "}"}, {"[", "]"}, {"if", "fi"}, {"do", "done"}, {"case", "esac"}};

// The deepest that one pair can nest, whatever is a quote or a comment.
int nesting(std::string_view text, const Pair& pair) {
  const auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const bool words = isWord(pair.open[0]);
  const auto at = [&](std::size_t i, std::string_view what) {
    if (text.compare(i, what.size(), what) != 0) return false;
    return !words || ((i == 0 || !isWord(text[i - 1])) && (i + what.size() >= text.size() || !isWord(text[i + what.size()])));
  };
  int depth = 0, deepest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != pair.open[0] && text[i] != pair.close[0]) continue;
    if (at(i, pair.open)) deepest = std::max(deepest, ++depth);
    else if (at(i, pair.close) && depth > 0) --depth;
  }
  return deepest;
}

bool tooComplex(std::string_view text) {
  if (text.size() > kLargest) return true;
  for (const Pair& pair : kPairs)
    if (nesting(text, pair) > kDeepestNesting) return true;
  int here_documents = 0, pipes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    here_documents += text[i] == '<' && i + 1 < text.size() && text[i + 1] == '<';
    pipes = text[i] == '\n' ? 0 : pipes + (text[i] == '|');
    if (here_documents > kMostHereDocuments || pipes > kMostPipesPerLine) return true;
  }
  return false;
}

Node copy(TSTreeCursor& cursor, int depth, Syntax& syntax) {
  const TSNode node = ts_tree_cursor_current_node(&cursor);
  Node n;
  n.kind = ts_node_type(node);
  if (const char* field = ts_tree_cursor_current_field_name(&cursor)) n.field = field;
  n.begin = ts_node_start_byte(node), n.end = ts_node_end_byte(node);
  n.named = ts_node_is_named(node);
  if ((n.is("ERROR") || ts_node_is_missing(node) || depth == kDeepest) && syntax.complete)
    syntax.complete = false, syntax.error = n.begin;
  if (depth < kDeepest && ts_tree_cursor_goto_first_child(&cursor)) {
    do n.children.push_back(copy(cursor, depth + 1, syntax));
    while (ts_tree_cursor_goto_next_sibling(&cursor));
    ts_tree_cursor_goto_parent(&cursor);
  }
  return n;
}

struct FreeParser {
  void operator()(TSParser* p) const { ts_parser_delete(p); }
};
struct FreeTree {
  void operator()(TSTree* t) const { ts_tree_delete(t); }
};

}  // namespace

Syntax parseShell(std::string_view text) {
  Syntax syntax;
  if (tooComplex(text)) {
    syntax.complete = false;
    return syntax;
  }
  const std::unique_ptr<TSParser, FreeParser> parser(ts_parser_new());
  ts_parser_set_language(parser.get(), tree_sitter_bash());
  const std::unique_ptr<TSTree, FreeTree> tree(
      ts_parser_parse_string(parser.get(), nullptr, text.data(), static_cast<std::uint32_t>(text.size())));
  if (!tree) return syntax;
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree.get()));
  syntax.root = copy(cursor, 0, syntax);
  ts_tree_cursor_delete(&cursor);
  return syntax;
}

}  // namespace pglocklint::shell
