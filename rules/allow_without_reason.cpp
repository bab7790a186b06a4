// # Why a suppression needs a reason
//
// Whoever reads the line next must be able to judge whether the reason still holds. Without one, nobody dares to remove it.
#include "all_rules.h"

namespace pglocklint {

const Rule kAllowWithoutReason{
    {
        .code = "AL903",
        .name = "allow-without-reason",
        .severity = Severity::Warning,
        .summary = "a suppression comment gives no reason",
        .explanation =
            "The comment switches a rule off for a statement or a file and does not say why. The suppression itself works.",
        .remedy = "Write the reason behind the closing parenthesis: pglocklint:allow(rule-name) why it is right here.",
        .proof = "it is about this tool, not about PostgreSQL",
        .clauses = {"a suppression with no reason | bad.sql"},
    },
    nullptr};

}  // namespace pglocklint
