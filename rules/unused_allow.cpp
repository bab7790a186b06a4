// # Why suppressions that suppress nothing are reported
//
// A suppression outlives the code it was written for, and then hides the next fault on its line. It is reported only where
// that is certain: the rule ran, the whole program was analyzed, and the file was read without loss. The pipeline reports it
// after all rules.
#include "all_rules.h"

namespace pglocklint {

const Rule kUnusedAllow{
    {
        .code = "AL902",
        .name = "unused-allow",
        .severity = Severity::Warning,
        .summary = "a suppression comment suppresses nothing",
        .explanation = "The comment allows a rule that reports nothing for the statement it belongs to. Either the code was "
                       "repaired, or the comment stands at the wrong place or names the wrong rule. Left where it is, it "
                       "would hide a fault that somebody adds later.",
        .remedy = "Delete the comment, or move it to the line or before the statement that it is meant for.",
        .proof = "it is about this tool, not about PostgreSQL",
        .clauses = {"a suppression that suppresses nothing | bad.sql"},
    },
    nullptr};

}  // namespace pglocklint
