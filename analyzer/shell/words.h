// What a shell word stands for, as far as the script shows it, with where each byte of it is written.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/syntax.h"
#include "sql/mapped_text.h"

namespace pglocklint::shell {

// A script or a string that a shell runs (sh -c '…'): its tree, and its text with the map into the file.
struct Source {
  sql::MappedText text;
  Syntax syntax;
};
Source parseSource(sql::MappedText text);

struct Word {
  sql::MappedText text;  // what is not known stands as "${NAME}", at the place of the expansion
  bool known = true;     // no such parts
  const std::string& str() const { return text.text(); }
};

// The value of a variable or positional parameter ("1", "@"), or nullptr if it is not known.
using Variables = std::function<const Word*(std::string_view name)>;

// Expands one word node (word, string, raw_string, concatenation, heredoc_body, …). Expansions are not split at blanks.
Word expand(const Source& source, const Node& node, const Variables& variables);

// The node's bytes as they stand: the body of a here-document whose delimiter is quoted.
Word literal(const Source& source, const Node& node);

// Cuts an unquoted expansion's value at blanks, as the shell does.
std::vector<Word> splitWords(const Word& word);

}  // namespace pglocklint::shell
