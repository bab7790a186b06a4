// What comments say to tools: sections of migrations, names of queries, suppressions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/unit.h"
#include "sql/mapped_text.h"

namespace pglocklint::sql {

enum class DirectiveKind { None, Up, Down, NamedQuery };

struct Directive {
  DirectiveKind kind = DirectiveKind::None;
  std::string_view name;  // NamedQuery
};

// Reads one comment, delimiters included.
Directive directiveOf(std::string_view comment);

// All suppression comments of a file: also those inside function bodies. One that names no rule is a problem.
void findAllows(std::string_view text, List<Allow>& allows, List<NotUnderstood>& problems);
// The same for a shell script, whose comments begin with '#'.
void findShellAllows(std::string_view text, List<Allow>& allows, List<NotUnderstood>& problems);

// Those of a C or C++ file, which is number `file` of its unit: in its own comments, and in SQL comments inside of literals.
void findCppAllows(std::string_view text, std::uint32_t file, List<Allow>& allows, List<NotUnderstood>& problems);

}  // namespace pglocklint::sql
