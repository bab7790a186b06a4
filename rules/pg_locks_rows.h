// Which query levels see rows of pg_locks: directly, or through CTEs, sub-selects and views that hand its columns on.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rule.h"

namespace pglocklint {

struct LockRows {
  int unit = -1;
  const Query* level = nullptr;
  std::string alias;                           // of the item in FROM
  std::map<std::string, std::string> columns;  // its column → "classid", "objid", "objsubid", or "key" (both halves put together)
  bool advisory = false;                       // only advisory locks are left
  std::set<std::string> compared;              // of the three: what has been asked on the way, is asked here, or by a reader of the level
  std::vector<const Query*> from;              // levels that hand these rows on, innermost first

  // What a column of this item is; empty for anything else.
  std::string columnOf(const Expr& e) const;
};

// The conditions of the level: WHERE, HAVING, ON, and FILTER and CASE in the select list; and every expression of it.
// Sub-selects have their own levels.
void visitConditions(const Query& q, const std::function<void(const Expr&)>& f);
void visitLevel(const Query& q, const std::function<void(const Expr&)>& f);
void visitExpr(const Expr& e, const std::function<void(const Expr&)>& f);

bool isComparison(const Expr& e);
const Expr& withoutCasts(const Expr& e);

std::vector<LockRows> lockRows(const Program& program);

}  // namespace pglocklint
