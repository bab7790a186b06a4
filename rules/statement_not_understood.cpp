// # Why a statement that we could not read is worth a note
//
// A statement that names a lock function and cannot be parsed is a hole in the report: silence about it must not look like
// approval. The pipeline reports it, because it alone knows what was not read; this file says what the rule is.
#include "all_rules.h"

namespace pglocklint {

const Rule kStatementNotUnderstood{
    {
        .code = "AL901",
        .name = "statement-not-understood",
        .severity = Severity::Note,
        .summary = "a statement that mentions a lock function could not be parsed",
        .explanation =
            "The statement names an advisory lock function, but the PostgreSQL grammar in use cannot parse it: a syntax "
            "error, a newer language feature, or a template that only its own tool can expand. Nothing was checked in it.",
        .remedy =
            "Correct the statement, or use a build with a newer grammar; if it is a template, check what it expands to.",
        .proof = "it is about this tool, not about PostgreSQL",
        .clauses = {"SQL that mentions a lock function and could not be parsed | bad.sql"},
    },
    nullptr};

}  // namespace pglocklint
