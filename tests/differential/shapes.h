// The shape classes of the generated cases, each with the family of rows of tests/evaluation/evaluation.tsv that it stands for (the first
// letter of their ids). Parallel plans (family N) are a planner setting under which cases of all shapes run.
#pragma once
#include <array>
#include <string_view>

namespace pglocklint::differential {

struct Shape {
  char family;
  std::string_view name;
};

inline constexpr std::array kShapes{
    Shape{'A', "condition-false"}, Shape{'A', "constant-key"}, Shape{'A', "null-key"}, Shape{'A', "pair-key"},
    Shape{'A', "row-key"}, Shape{'B', "limit"}, Shape{'B', "limit-all"}, Shape{'B', "limit-expression"},
    Shape{'B', "limit-zero"}, Shape{'B', "offset"}, Shape{'B', "offset-zero"}, Shape{'B', "order"},
    Shape{'B', "order-by-alias"}, Shape{'B', "order-by-call"}, Shape{'B', "window"}, Shape{'B', "with-ties"},
    Shape{'C', "condition-cost"}, Shape{'C', "condition-equal"}, Shape{'C', "condition-exists"}, Shape{'C', "condition-in"},
    Shape{'C', "condition-in-select"}, Shape{'C', "condition-or"}, Shape{'C', "gate"}, Shape{'C', "no-from"},
    Shape{'C', "not"}, Shape{'C', "null-test"}, Shape{'C', "where"}, Shape{'C', "where-column"},
    Shape{'C', "where-constant-key"}, Shape{'D', "for-update"}, Shape{'D', "skip-locked"}, Shape{'E', "aggregate-above"},
    Shape{'E', "derived"}, Shape{'E', "left-join-removal"}, Shape{'E', "outer-condition"}, Shape{'F', "cte-default"},
    Shape{'F', "cte-dml"}, Shape{'F', "cte-materialized"}, Shape{'F', "cte-not-materialized"}, Shape{'F', "cte-recursive"}, Shape{'F', "cte-two-readers"}, Shape{'F', "cte-unread"},
    Shape{'G', "array-subselect"}, Shape{'G', "cross-join"}, Shape{'G', "exists-level"}, Shape{'G', "exists-list"},
    Shape{'G', "exists-where"}, Shape{'G', "in-subselect"}, Shape{'G', "init-plan"}, Shape{'G', "join"},
    Shape{'G', "lateral"}, Shape{'G', "left-join"}, Shape{'G', "scalar-subselect"}, Shape{'G', "three-way-join"},
    Shape{'H', "aggregate-argument"}, Shape{'H', "aggregate-filter"}, Shape{'H', "aggregate-order"}, Shape{'H', "distinct"},
    Shape{'H', "distinct-on"}, Shape{'H', "except"}, Shape{'H', "group-by"}, Shape{'H', "grouping-sets"},
    Shape{'H', "having"}, Shape{'H', "intersect"}, Shape{'H', "union"}, Shape{'H', "union-all"}, Shape{'I', "and-or"},
    Shape{'I', "array"}, Shape{'I', "case"}, Shape{'I', "coalesce"}, Shape{'I', "dead-branch"},
    Shape{'I', "function-in-from"}, Shape{'I', "nullif"}, Shape{'I', "tablesample"}, Shape{'I', "values"},
    Shape{'J', "beside-set-returning"}, Shape{'J', "generate-series"}, Shape{'J', "set-returning-argument"},
    Shape{'J', "set-returning-sql"}, Shape{'J', "stable-wrapper"}, Shape{'J', "strict-wrapper"}, Shape{'J', "unnest"},
    Shape{'K', "create-table-as"}, Shape{'K', "cursor"}, Shape{'K', "delete"}, Shape{'K', "delete-using"},
    Shape{'K', "insert-select"}, Shape{'K', "insert-values"}, Shape{'K', "merge-on"}, Shape{'K', "merge-when"},
    Shape{'K', "on-conflict"}, Shape{'K', "plpgsql-assign"}, Shape{'K', "plpgsql-cursor"}, Shape{'K', "plpgsql-execute"},
    Shape{'K', "plpgsql-if"}, Shape{'K', "plpgsql-into"}, Shape{'K', "plpgsql-loop"}, Shape{'K', "plpgsql-loop-left"},
    Shape{'K', "plpgsql-perform"}, Shape{'K', "returning"}, Shape{'K', "update"}, Shape{'K', "update-from"},
    Shape{'K', "update-in-select"}, Shape{'K', "update-set"}, Shape{'L', "explain"}, Shape{'L', "immutable-wrapper"},
    Shape{'L', "plpgsql-wrapper"}, Shape{'L', "prepare"}, Shape{'L', "sql-wrapper"}, Shape{'L', "view"},
    Shape{'M', "partitions"}, Shape{'M', "policy"}, Shape{'M', "security-barrier"},
};

}  // namespace pglocklint::differential
