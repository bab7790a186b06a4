// Programs of one statement, made by hand: what a rule says about an evaluation, without any front end.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "rules/rule.h"

namespace pglocklint::test {

inline SourceRange at(std::uint32_t line, std::uint32_t begin = 0, std::uint32_t length = 10) {
  if (begin == 0) begin = line * 100;
  return {begin, begin + length, line, 1, line, 1 + length, 0};
}

inline Expr column(std::string name, std::string qualifier = "") {
  Expr e;
  e.kind = ExprKind::Column, e.name = std::move(name), e.qualifier = std::move(qualifier);
  return e;
}

inline Expr boolean(bool value) {
  Expr e;
  e.kind = ExprKind::Const, e.literal = LiteralKind::Boolean, e.text = value ? "true" : "false";
  return e;
}

inline Expr call(std::string name, std::vector<Expr> args, SourceRange range = at(2)) {
  Expr e;
  e.kind = ExprKind::Call, e.name = std::move(name), e.args = std::move(args), e.range = range;
  return e;
}

inline Expr both(ExprKind kind, Expr a, Expr b) {
  Expr e;
  e.kind = kind, e.args = {std::move(a), std::move(b)};
  return e;
}

inline Expr negation(Expr a) {
  Expr e;
  e.kind = ExprKind::Not, e.args = {std::move(a)};
  return e;
}

// SELECT target [FROM relation]
inline Query select(Expr target, std::string relation = "") {
  Query q;
  q.targets.push_back({std::move(target), "", false});
  if (!relation.empty()) {
    FromItem f;
    f.kind = FromKind::Relation, f.name = std::move(relation);
    q.from.push_back(std::move(f));
  }
  return q;
}

inline Statement statement(Query q, PlContext context = PlContext::None, SourceRange range = at(2, 150, 80)) {
  Statement s;
  s.kind = StatementKind::Query, s.query.push_back(std::move(q)), s.context = context, s.range = range;
  return s;
}

inline const Expr* findCall(const Expr& e, std::string_view name) {
  if (e.kind == ExprKind::Call && e.name == name) return &e;
  for (const Expr& a : e.args)
    if (const Expr* found = findCall(a, name)) return found;
  return nullptr;
}

// A program of one unit, one function (the script, unless told otherwise) and one lock site.
struct SmallProgram {
  std::unique_ptr<Program> program = std::make_unique<Program>();

  explicit SmallProgram(Function function = {}) {
    Unit u;
    u.files = {"a.sql"};
    if (function.blocks.empty()) function.blocks.emplace_back();
    u.functions.push_back(std::move(function));
    program->units.push_back(std::move(u));
  }

  Function& function() { return program->units[0].functions[0]; }

  // The lock call named `name` in the statement at that place becomes a site with this evaluation.
  LockSite& site(std::size_t block, std::size_t event, std::string_view name, Evaluation evaluation = {}) {
    const Statement& s = function().blocks[block].events[event].statement[0];
    LockSite site;
    site.unit = 0, site.function = &function(), site.statement = &s, site.lock = findLockFunction(name);
    for (const Query& q : s.query) {
      site.level = &q;
      for (const Target& t : q.targets)
        if (const Expr* found = findCall(t.expr, name)) site.call = found;
      for (const Expr& w : q.where)
        if (const Expr* found = findCall(w, name)) site.call = found;
    }
    site.key.form = KeyForm::Bigint, site.key.class_text = "(*)";
    site.evaluations.push_back({site.call, &s, std::move(evaluation), "", {}});
    program->sites.push_back(std::move(site));
    return program->sites.back();
  }

  std::vector<Finding> check(std::string_view rule) const {
    std::vector<Finding> found;
    for (const Rule& r : allRules())
      if (r.info.name == rule) {
        Report report(*program, r.info, found);
        r.check(*program, report);
      }
    return found;
  }
};

// One statement with one lock call, evaluated like that.
inline std::vector<Finding> checkStatement(std::string_view rule, Statement s, std::string_view name, Evaluation e) {
  SmallProgram p;
  p.function().blocks[0].events.emplace_back(std::move(s));
  p.site(0, 0, name, std::move(e));
  return p.check(rule);
}

}  // namespace pglocklint::test
