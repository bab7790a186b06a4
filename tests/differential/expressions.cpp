// Random expressions: lock calls in all kinds of hosts, and the ordinary conditions that stand beside them.
#include <array>

#include "generate.h"

namespace pglocklint::differential {

namespace {

// What can be called for a lock: the name in the analyzer's text and the stem of the shadow functions (data_sets.cpp creates
// stem0 … stem7). The wrappers are created in both worlds.
struct Callee {
  const char* name;
  const char* stem;
  bool returns_boolean;
  const char* shape;  // class of evaluation.tsv it stands for, or null
};
constexpr std::array kCallees{
    Callee{"pg_try_advisory_lock", "t", true, nullptr},
    Callee{"pg_advisory_lock", "l", false, nullptr},
    Callee{"pg_try_advisory_xact_lock", "t", true, nullptr},
    Callee{"pg_advisory_xact_lock_shared", "l", false, nullptr},
    Callee{"volatile_lock", "pv", true, "plpgsql-wrapper"},
    Callee{"strict_lock", "ps", true, "strict-wrapper"},
    Callee{"stable_lock", "st", true, "stable-wrapper"},
    Callee{"cheap_stable_lock", "sc", true, "stable-wrapper"},
    Callee{"sql_lock", "sq", true, "sql-wrapper"},
    Callee{"sql_stable_lock", "ss", true, "sql-wrapper"},
    Callee{"frozen_lock", "im", true, "immutable-wrapper"},
    // Only for ORDER BY: the same call in the select list would be the same sort key, and two shadows are not the same.
    Callee{"pg_try_advisory_lock_shared", "t", true, nullptr},
};

}  // namespace

// A marked call: \x01 index of the callee, site \x02. finish() writes the names.
std::string Generator::lock(const std::string& key, Takes takes, bool sort_key) {
  if (out_.sites.size() >= kSites) return "true";
  std::size_t callee = choices_.weighted({52, 12, 6, 4, 4, 3, 5, 4, 5, 2, 2});
  if (sort_key) callee = kCallees.size() - 1;
  if (takes == Takes::Boolean && !kCallees[callee].returns_boolean) callee = 0;
  const Callee& c = kCallees[callee];
  if (c.shape) shape(c.shape);
  const std::size_t site = out_.sites.size();
  std::string argument = key;
  if (choices_.chance(3)) argument = "NULL::bigint", shape("null-key");
  Site s;
  s.name = c.name;
  s.shadow = c.stem + std::to_string(site);
  s.lineage = argument.ends_with(".id");
  s.constant = argument == "7" || argument == "8";
  out_.sites.push_back(s);
  shape(argument == "7" ? "constant-key" : "row-key");
  // The built-ins have a pair form; only its second half is the key that we trace.
  const bool pair = callee < 4 && choices_.chance(6);
  if (pair) shape("pair-key"), argument = "3, (" + argument + ")::int";
  return "\x01" + std::to_string(site) + "\x02(" + argument + ")";
}

std::string Generator::key(const std::string& alias) { return choices_.chance(12) ? "7" : alias + ".id"; }

// An ordinary condition: of all costs, equalities and others, with and without columns, sub-selects of all kinds.
std::string Generator::plain(const std::string& a) {
  switch (choices_.below(24)) {
    case 0: return a + ".id <= 20";
    case 1: shape("condition-equal"); return a + ".kind = 4";
    case 2: return a + ".kind <> 2";
    case 3: shape("condition-equal"); return a + ".id = 5";
    case 4: shape("condition-in"); return a + ".id IN (4, 8, 12)";
    case 5: shape("condition-in"); return a + ".kind IN (1, 2)";
    case 6: return a + ".ts > 30";
    case 7: shape("condition-cost"); return a + ".kind * 2 + 1 = 9";
    case 8: shape("condition-cost"); return "is_four(" + a + ".kind)";
    case 9: shape("null-test"); return a + ".kind IS NOT NULL";
    case 10: shape("condition-exists"); return "EXISTS (SELECT 1 FROM small z WHERE z.id = " + a + ".id)";
    case 11: shape("condition-in-select"); return a + ".id IN (SELECT y.id FROM small y)";
    case 12: shape("condition-in-select"); return a + ".id NOT IN (SELECT y.id FROM small y)";
    case 13: return "(SELECT count(*) FROM small y) > 1";
    case 14: return a + ".kind BETWEEN 1 AND 3";
    case 15: shape("condition-or"); return "(" + a + ".kind = 1 OR " + a + ".kind = 2)";
    case 16: return choices_.pick({"true", "1 = 1"});
    case 17: shape("condition-equal"); return a + ".ts = (SELECT max(w.ts) FROM jobs w)";
    case 18: shape("condition-equal"); return a + ".kind = (SELECT 4)";
    case 19: shape("null-test"); return a + ".ts IS NULL";
    case 20: shape("condition-in"); return a + ".id = ANY ('{3,1,2,9}'::bigint[])";
    case 21: return "(" + a + ".kind = 4) IS TRUE";
    case 22: shape("condition-false"); return choices_.pick({"false", "NULL::boolean", "1 = 2"});
    default: shape("condition-in"); return a + ".id IN (4)";
  }
}

// A condition with a lock in it.
std::string Generator::lockCondition(const std::string& a, const Source& source) {
  shape("where");
  if (!source.booleans.empty() && choices_.chance(25)) {
    shape("where-column");
    return source.alias + "." + source.booleans[choices_.below(static_cast<std::uint32_t>(source.booleans.size()))];
  }
  const std::string k = key(a);
  switch (choices_.weighted({46, 8, 7, 6, 5, 4, 4, 3, 4, 3, 3, 3, 2, 2})) {
    case 0: return lock(k, Takes::Boolean);
    case 1: shape("scalar-subselect"); return "(SELECT " + lock(k, Takes::Boolean) + ")";
    case 2: {
      shape("case");
      const std::string when = plain(a);
      return "CASE WHEN " + when + " THEN " + lock(k, Takes::Boolean) + " ELSE false END";
    }
    case 3: shape("null-test"); return lock(k, Takes::Any) + " IS NOT NULL";
    case 4: shape("not"); return "NOT " + lock(k, Takes::Boolean);
    case 5: return lock(k, Takes::Boolean) + " = true";
    case 6: {
      shape("and-or");
      const std::string before = plain(a);
      return choices_.chance(50) ? "(" + lock(k, Takes::Boolean) + " OR " + before + ")"
                                 : "(" + before + " OR " + lock(k, Takes::Boolean) + ")";
    }
    case 7: {
      shape("and-or");
      const std::string first = lock(k, Takes::Boolean);
      return "(" + first + " OR " + lock(k, Takes::Boolean) + ")";
    }
    case 8: shape("coalesce"); return "coalesce(" + lock(k, Takes::Boolean) + ", false)";
    case 9: {
      shape("exists-where");
      const std::string b = newAlias();
      return "EXISTS (SELECT 1 FROM small " + b + " WHERE " + b + ".id = " + a + ".id AND " + lock(b + ".id", Takes::Boolean) + ")";
    }
    case 10: {
      shape("in-subselect");
      const std::string b = newAlias();
      const std::string call = lock(b + ".id", Takes::Boolean);
      return a + (choices_.chance(25) ? ".id NOT IN" : ".id IN") + " (SELECT " + b + ".id FROM small " + b + " WHERE " + call + ")";
    }
    case 11: shape("scalar-subselect"), shape("gate"); return "(SELECT " + lock("7", Takes::Boolean) + ")";
    case 12: {
      shape("and-or");
      const std::string first = lock(k, Takes::Boolean);
      return "(" + first + " AND " + plain(a) + ") IS TRUE";
    }
    default: shape("where-constant-key"); return lock("7", Takes::Boolean);
  }
}

// An item of the select list.
std::string Generator::target(const std::string& a, Takes takes) {
  const std::string k = key(a);
  switch (choices_.weighted({50, 12, 6, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2})) {
    case 0: return lock(k, takes);
    case 1: shape("scalar-subselect"); return "(SELECT " + lock(k, takes) + ")";
    case 2: {
      shape("case");
      const std::string when = plain(a);
      return "CASE WHEN " + when + " THEN " + lock(k, takes) + " END";
    }
    case 3: {
      shape("case"), shape("scalar-subselect");
      const std::string when = plain(a);
      return "CASE WHEN " + when + " THEN (SELECT " + lock(k, takes) + ") END";
    }
    case 4: shape("scalar-subselect"), shape("init-plan"); return "(SELECT " + lock("7", takes) + ")";
    case 5: {
      shape("and-or");
      const std::string first = lock(k, Takes::Boolean);
      return "(" + first + choices_.pick({" OR ", " AND "}) + lock(k, Takes::Boolean) + ")";
    }
    case 6: shape("exists-list"); return "EXISTS (SELECT " + lock(k, Takes::Any) + " FROM small)";
    case 7: {
      shape("and-or");
      const std::string before = plain(a);
      return "(" + before + choices_.pick({" AND ", " OR "}) + lock(k, Takes::Boolean) + ")";
    }
    case 8: {
      shape("coalesce");
      const std::string first = lock(k, Takes::Boolean);
      return "coalesce(" + first + ", " + lock(k, Takes::Boolean) + ")";
    }
    case 9: shape("dead-branch"); return choices_.chance(50) ? "CASE WHEN false THEN " + lock(k, takes) + " END" : "(" + lock(k, Takes::Boolean) + " AND false)";
    case 10: {
      shape("nullif");
      const std::string first = lock(k, Takes::Boolean);
      return "nullif(" + first + ", " + lock(k, Takes::Boolean) + ")";
    }
    case 11: {
      shape("array");
      const std::string first = lock(k, Takes::Boolean);
      return "(true = ANY (ARRAY[" + first + ", " + lock(k, Takes::Boolean) + "]))";
    }
    case 12: {
      shape("array-subselect");
      const std::size_t from_site = out_.sites.size();
      const std::string b = newAlias();
      const std::string call = lock(b + ".id", Takes::Boolean);
      loseLineage(from_site);
      return "((ARRAY(SELECT " + call + " FROM small " + b + (choices_.chance(50) ? " WHERE " + b + ".id <= " + a + ".id" : "") + "))[1])";
    }
    default: return "true";
  }
}

}  // namespace pglocklint::differential
