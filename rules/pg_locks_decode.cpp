// # Why pg_locks must be decoded with care
//
// pg_locks shows an advisory lock in three unsigned columns: classid, objid (both oid) and objsubid. A bigint key is split: its high
// 32 bits are classid, its low 32 bits objid, and objsubid is 1. A pair (a, b) has classid = a, objid = b, objsubid 2. So objid alone is
// half a key: it matches every bigint key with those low bits, and every pair with that second part. Put together,
// the key is (classid::bigint << 32) | objid::bigint, where the arithmetic wraps into the sign as it should (measured with -5).
//
// Reported, on a level that reads pg_locks, itself or through CTEs, sub-selects and views, with locktype 'advisory' asked for:
//  - objid compared with something (not another lock's objid) while classid or objsubid is not looked at: the forms are mixed;
//  - objid cast to a 32-bit integer inside the combination: a low half above 2^31 comes out negative and wipes the high half;
//  - a shift by anything but 32, or classid multiplied by 4294967296: the first is another number, the second overflows (22003)
//    for every negative key;
//  - the combined key compared while objsubid is not looked at: pairs are read as bigint keys;
//  - objsubid = 1 asked of a key that the program takes as a pair, or 2 of one that it takes as a bigint;
//  - classid = 0 asked together with objid = hashtext(…): the hash is negative for half of all texts, and then classid is 4294967295.
// Silent: lists of locks that compare nothing, comparisons of two rows of pg_locks with each other, rows of other lock types.
#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <optional>
#include <set>

#include "all_rules.h"
#include "pg_locks_rows.h"
#include "program/hash.h"
#include "program/keys.h"
#include "wording.h"

namespace pglocklint {
namespace {

class Reading {
 public:
  explicit Reading(const LockRows& rows) : rows_(rows) {}

  const Query& level() const { return *rows_.level; }
  std::string columnOf(const Expr& e) const { return rows_.columnOf(e); }
  bool compares(const char* column) const { return rows_.compared.count(column) > 0; }
  bool isColumn(const Expr& e, std::string_view name) const {
    const std::string column = rows_.columnOf(e);
    return column == name || (column == "key" && name != "objsubid");
  }
  bool mentions(const Expr& e, std::string_view name) const {
    bool found = false;
    visitExpr(e, [&](const Expr& c) { found |= isColumn(c, name); });
    return found;
  }

 private:
  const LockRows& rows_;
};

// A lock column of any relation: two rows of pg_locks compared with each other need no decoding.
bool isLockColumn(const Expr& e) {
  return e.kind == ExprKind::Column && (e.name == "classid" || e.name == "objid" || e.name == "objsubid");
}

bool isInt32(const std::string& type) { return type == "integer" || type == "smallint"; }

bool isInteger(const Expr& e, std::string_view digits) {
  if (e.kind == ExprKind::Cast && !e.args.empty()) return isInteger(e.args[0], digits);
  return e.kind == ExprKind::Const && e.text == digits;
}

// classid shifted or multiplied into the high half: the expression, or null.
const Expr* highHalf(const Expr& e, const Reading& r) {
  if (e.kind == ExprKind::Op && (e.name == "<<" || e.name == "*") && e.args.size() == 2 && r.mentions(e.args[0], "classid")) return &e;
  if (e.kind == ExprKind::Op && e.name == "*" && e.args.size() == 2 && r.mentions(e.args[1], "classid")) return &e;
  return nullptr;
}

constexpr std::string_view kRight =
    "For a bigint key write objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = key; for a pair objsubid = 2 AND "
    "classid::int = a AND objid::int = b; and compare database with the current one, since other databases' locks stand there too.";

void checkCombination(const Expr& e, const Reading& r, int unit, Report& report, bool& reported) {
  if (e.kind != ExprKind::Op || e.args.size() != 2 || (e.name != "|" && e.name != "+")) return;
  const Expr* high = highHalf(e.args[0], r);
  const Expr* low = &e.args[1];
  if (!high) high = highHalf(e.args[1], r), low = &e.args[0];
  if (!high || !r.mentions(*low, "objid")) return;
  bool narrow = false;
  visitExpr(*low, [&](const Expr& c) { narrow |= c.kind == ExprKind::Cast && isInt32(c.type); });
  std::string problem;
  if (high->name == "*")
    problem = "multiplies classid instead of shifting it: for a negative key classid is 2147483648 or more and the product overflows "
              "bigint (22003), so one such lock makes the whole query fail";
  else if (!isInteger(high->args[1], "32"))
    problem = fmt::format("shifts classid by {}, but it holds the high 32 bits of the key", exprText(high->args[1]));
  else if (narrow)
    problem = "casts objid to a 32-bit integer before it is combined: a low half of 2147483648 or more becomes negative, and its sign "
              "extension overwrites the high half";
  if (problem.empty()) return;
  report.at(unit, e.range, fmt::format("{} {}. {}", exprText(e), problem, kRight));
  reported = true;
}

void checkComparison(const Expr& e, const Reading& r, int unit, Report& report) {
  if (!isComparison(e)) return;
  bool objid = false, plain = true;
  for (const Expr& a : e.args) objid |= r.mentions(a, "objid");
  for (const Expr& a : e.args) plain &= !isLockColumn(a) || r.isColumn(a, "objid");
  if (!objid || !plain) return;
  if (e.args.size() == 2 && isLockColumn(e.args[0]) && isLockColumn(e.args[1])) return;
  const bool whole = [&] {
    for (const Expr& a : e.args)
      if (r.mentions(a, "classid") && r.mentions(a, "objid")) return true;
    return false;
  }();
  std::vector<std::string_view> missing;
  if (!whole && !r.compares("classid")) missing.push_back("classid");
  if (!r.compares("objsubid")) missing.push_back("objsubid");
  if (missing.empty()) return;
  std::string what = whole ? "The combined key" : "objid";
  std::string why = !whole && missing[0] == "classid"
                        ? "objid is only the low half of a bigint key, or the second part of a pair: without classid it matches every key that "
                          "shares these 32 bits"
                        : "without objsubid (1 for a bigint key, 2 for a pair) locks of the other form, which never conflict with this one, "
                          "match as well";
  Finding& f = report.at(unit, e.range, fmt::format("{} is compared without {}: {}. {}", what, fmt::join(missing, " and "), why, kRight));
  if (missing.size() == 1 && missing[0] == "objsubid") f.severity = Severity::Warning;  // both halves are there: a match by accident is rare
}

// What the conjuncts of a level set a lock column equal to; null if nothing, or if it is not one thing.
const Expr* askedValue(const Reading& r, std::string_view column) {
  const Expr* found = nullptr;
  bool several = false;
  const std::function<void(const Expr&)> conjunct = [&](const Expr& c) {
    if (c.kind == ExprKind::And) {
      for (const Expr& a : c.args) conjunct(a);
    } else if (c.kind == ExprKind::Op && c.name == "=" && c.args.size() == 2 && !c.negated) {
      for (std::size_t side = 0; side < 2; ++side) {
        if (r.columnOf(withoutCasts(c.args[side])) != column) continue;
        several |= found != nullptr;
        found = &c.args[1 - side];
      }
    }
  };
  for (const Expr& c : r.level().where) conjunct(c);
  return several ? nullptr : found;
}

std::optional<std::int64_t> askedNumber(const Reading& r, std::string_view column) {
  const Expr* asked = askedValue(r, column);
  if (asked == nullptr) return std::nullopt;
  const Expr& e = withoutCasts(*asked);
  if (e.kind != ExprKind::Const) return std::nullopt;
  std::int64_t n = 0;
  const std::string& digits = e.text.str();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(n) : std::nullopt;
}

// What pg_locks shows of a key: classid of a constant bigint, or of a pair whose first part is constant.
std::optional<std::int64_t> classidOf(const LockKey& key) {
  if (key.parts.empty()) return std::nullopt;
  const std::optional<long long> n = constantInteger(key.parts[0]);
  if (!n) return std::nullopt;
  return key.form == KeyForm::Pair ? *n & 0xffffffff : static_cast<std::int64_t>(static_cast<std::uint64_t>(*n) >> 32);
}
bool mayHaveObjid(const LockKey& key, std::optional<std::int64_t> objid) {
  const std::optional<long long> n = key.parts.empty() ? std::nullopt : constantInteger(key.parts.back());
  return !objid || !n || (*n & 0xffffffff) == *objid;
}

// The form that is asked for is not the form in which the program takes this key.
void checkForm(const Reading& r, const Program& program, int unit, Report& report) {
  const std::optional<std::int64_t> subid = askedNumber(r, "objsubid"), classid = askedNumber(r, "classid"), objid = askedNumber(r, "objid");
  if (!subid || !classid) return;
  // A pair with two parts may well be taken by a program that is not in view; one whose first part is 0 is a bigint split by hand.
  const bool judged = *subid == 1 || (*subid == 2 && *classid == 0 && objid);
  if (!judged) return;
  const LockSite* taken = nullptr;
  for (const LockSite& s : program.sites) {
    if (!s.live || s.lock->operation == LockOperation::ReleaseAll || !mayHaveObjid(s.key, objid)) continue;
    const std::optional<std::int64_t> high = classidOf(s.key);
    if (high && *high != *classid) continue;
    if (s.key.form == (*subid == 1 ? KeyForm::Bigint : KeyForm::Pair)) return;  // it may well be this one
    if (high && taken == nullptr) taken = &s;
  }
  if (taken == nullptr) return;
  const Expr* where = askedValue(r, "objsubid");
  Finding& f = report.at(unit, where->range,
                         fmt::format("objsubid = {} asks for {}, but {} takes this key as {}: its row has objsubid {}, and this condition never finds it. {}", *subid,
                                     *subid == 1 ? "a bigint key" : "a pair", callText(*taken), *subid == 1 ? "a pair" : "a bigint", *subid == 1 ? 2 : 1, kRight));
  f.related.push_back(report.place(taken->unit, taken->call->range, "taken here"));
}

// classid = 0 AND objid = hashtext('…'): right for one half of all texts.
void checkSign(const Reading& r, int unit, Report& report) {
  if (askedNumber(r, "objsubid") != 1 || askedNumber(r, "classid") != 0) return;
  const Expr* asked = askedValue(r, "objid");
  if (asked == nullptr) return;
  const Expr& hash = withoutCasts(*asked);
  if (hash.kind != ExprKind::Call || hash.name != "hashtext" || hash.args.size() != 1) return;
  const Expr& text = withoutCasts(hash.args[0]);
  const bool known = text.kind == ExprKind::Const && text.literal == LiteralKind::String;
  const auto number = known ? static_cast<std::int32_t>(hashBytes(text.text.str())) : -1;
  if (number >= 0) return;
  report.at(unit, hash.range,
            fmt::format("{} is {}, and as a bigint key a negative number has classid 4294967295, not 0: {}. {}", exprText(hash),
                        known ? std::to_string(number) : "negative for half of all texts",
                        known ? "this lock is never found" : "those locks are never found", kRight));
}

void check(const Program& program, Report& report) {
  std::set<const Expr*> compared;  // FILTER in a CASE is seen twice
  std::set<const Query*> done;
  for (const LockRows& rows : lockRows(program)) {
    if (!rows.advisory || !done.insert(rows.level).second) continue;
    const Reading r(rows);
    checkForm(r, program, rows.unit, report);
    checkSign(r, rows.unit, report);
    bool reported = false;
    visitLevel(r.level(), [&](const Expr& e) { checkCombination(e, r, rows.unit, report, reported); });
    if (!reported)
      visitConditions(r.level(), [&](const Expr& e) {
        if (compared.insert(&e).second) checkComparison(e, r, rows.unit, report);
      });
  }
}

}  // namespace

const Rule kPgLocksDecode{
    {
        .code = "AL504",
        .name = "pg-locks-decode",
        .severity = Severity::Error,
        .summary = "pg_locks is decoded wrongly: another lock is found, or none",
        .explanation =
            "pg_locks splits an advisory key over unsigned columns: of a bigint key classid holds the high 32 bits, objid the low 32 bits, and "
            "objsubid is 1; of a pair (a, b) classid is a, objid is b, and objsubid is 2. A query that looks at objid alone, forgets objsubid, "
            "shifts by another number, multiplies, asks for the other form, or lets a half become negative finds locks that nobody meant, or misses the one it looks for.",
        .remedy = "WHERE locktype = 'advisory' AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = key AND database = (SELECT oid "
                  "FROM pg_database WHERE datname = current_database()); for pairs objsubid = 2 AND classid::int = a AND objid::int = b.",
        .clauses = {"sign | bad_sign.sql", "shift | bad_shift.sql", "objsubid ignored | bad_objsubid.sql",
                    "classid ignored | bad_classid.sql", "forms mixed | bad_forms_mixed.sql",
                    "the other form asked for | bad_other_form.sql", "the sign of a hash forgotten | bad_hash.sql",
                    "the same through a CTE, a sub-select or a view | bad_indirect.sql"},
    },
    check};

}  // namespace pglocklint
