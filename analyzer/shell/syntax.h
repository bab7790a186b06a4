// The one door to tree-sitter: a shell script's syntax tree, as values. Nothing outside analyzer/shell/syntax.cpp sees its nodes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pglocklint::shell {

// A node of the tree with the bytes it spans. `kind` is the grammar's name ("command", "string", "heredoc_body", …; the
// text itself for keywords and operators); `field` is the role in its parent ("name", "argument", …) or empty.
struct Node {
  std::string_view kind, field;  // static storage
  std::uint32_t begin = 0, end = 0;
  bool named = false;
  std::vector<Node> children;

  bool is(std::string_view k) const { return kind == k; }
  const Node* child(std::string_view wanted_kind) const {
    for (const Node& c : children)
      if (c.is(wanted_kind)) return &c;
    return nullptr;
  }
  const Node* withField(std::string_view wanted) const {
    for (const Node& c : children)
      if (c.field == wanted) return &c;
    return nullptr;
  }
};

struct Syntax {
  Node root;
  bool complete = true;     // false: parts were not understood (the rest is)
  std::uint32_t error = 0;  // where the first of them begins
};

// Parses a script for sh, dash, bash or ksh. Never fails: what is no shell syntax becomes nodes of kind "ERROR". Trees nested deeper
// than a bound are cut off there, and text that would nest thousands deep is not parsed at all (an empty root, complete = false).
Syntax parseShell(std::string_view text);

}  // namespace pglocklint::shell
