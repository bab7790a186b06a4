// # Why a function that locks is VOLATILE
//
// IMMUTABLE is a promise that a call may be replaced by its result. The planner keeps us to it: `SELECT app_lock(123)` is
// folded while planning, so EXPLAIN alone takes the lock, and a cached plan takes it once and never again: a later EXECUTE
// returns true and holds nothing (measured). STABLE lets the planner call it for an estimate, drop it when its column is not
// read, run it before the sort; and a STABLE function reads with its caller's snapshot, which is older than the wait for the
// lock. PARALLEL SAFE lets a parallel worker take the lock, and the worker's locks vanish when it ends, without an error
// (measured). PostgreSQL's own lock functions are VOLATILE and PARALLEL RESTRICTED.
//
// A wrapper of a wrapper counts. A function that only releases, or only reads pg_locks, is not meant.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "all_rules.h"
#include "routines.h"
#include "wording.h"

namespace pglocklint {
namespace {

std::string_view word(Volatility v) { return v == Volatility::Immutable ? "IMMUTABLE" : "STABLE"; }

// Where the volatility was declared: the word in CREATE FUNCTION, or the ALTER FUNCTION that changed it since.
struct Declaration {
  int unit = -1;
  SourceRange range;
  bool word = false;  // `range` is just the word
};

// ALTER FUNCTION of the whole program, by the function's name, in the order of the files.
using Alterations = std::unordered_map<std::string_view, std::vector<std::pair<int, const Ddl*>>>;

Alterations alterations(const Program& program) {
  Alterations found;
  for (std::size_t u = 0; u < program.units.size(); ++u)
    for (const Ddl& d : program.units[u].ddl)
      if (d.kind == DdlKind::AlterFunction) found[d.name].emplace_back(static_cast<int>(u), &d);
  return found;
}

Declaration declaredIn(const Alterations& all, const Routine& r, Volatility v) {
  const Function& f = *r.function;
  if (f.volatility == v && f.volatility_range.known()) return {r.unit, f.volatility_range, true};
  const std::string option = v == Volatility::Immutable ? "immutable" : "stable";
  Declaration found{r.unit, f.name_range.known() ? f.name_range : f.range, false};
  const auto altered = all.find(f.name);
  if (altered == all.end()) return found;
  for (const auto& [unit, d] : altered->second) {
    const bool alters = d->schema.empty() || d->schema == f.schema || f.schema.empty();
    if (alters && std::find(d->options.begin(), d->options.end(), option) != d->options.end()) found = {unit, d->range, false};
  }
  return found;
}

using FirstLocks = std::unordered_map<const Function*, const LockSite*>;

FirstLocks firstLocks(const Program& program) {
  FirstLocks first;
  for (const LockSite& site : program.sites)
    if (site.function && site.lock && site.lock->acquires() && site.call) first.try_emplace(site.function, &site);
  return first;
}

void relateLock(Report& report, Finding& f, const FirstLocks& locks, const Routine& r) {
  const auto at = locks.find(r.function);
  if (at == locks.end()) return;
  const LockSite& site = *at->second;
  f.related.push_back(report.place(site.unit, site.call->range, fmt::format("the lock is taken here: {}", callText(site))));
  f.key_text = site.key.class_text;
}

Finding& start(Report& report, const FirstLocks& locks, const Routine& r, const Declaration& at, std::string message) {
  Finding& f = report.at(at.unit, at.range, std::move(message));
  f.function = functionName(r.function);
  f.subject = routineSubject(report.program(), r);
  relateLock(report, f, locks, r);
  return f;
}

void checkVolatility(const FirstLocks& locks, const Alterations& altered, const Routine& r, Report& report) {
  const Declaration at = declaredIn(altered, r, r.volatility);
  const std::string name = functionName(r.function);
  const std::string_view effect =
      r.volatility == Volatility::Immutable
          ? "PostgreSQL may call it once while planning, even under EXPLAIN, and put the result in the plan: later "
            "executions return it without taking the lock"
          : "PostgreSQL may call it while planning, leave it out where its column is not read, or run it before the sort; "
            "and its queries read with the caller's snapshot, which is older than the wait for the lock";
  Finding& f = start(report, locks, r, at,
                     fmt::format("{} takes an advisory lock but is declared {}: {}. Declare it VOLATILE.", name,
                                 word(r.volatility), effect));
  if (at.word) f.fixes.push_back({f.where.file, f.where.begin, f.where.end, "VOLATILE"});
}

void checkParallel(const FirstLocks& locks, const Routine& r, Report& report) {
  const Function& fn = *r.function;
  const SourceRange& range = fn.parallel_range.known() ? fn.parallel_range : fn.name_range;
  Finding& f = start(
      report, locks, r, {r.unit, range, true},
      fmt::format(
          "{} takes an advisory lock but is declared PARALLEL SAFE: a parallel worker may take the lock, and loses it when "
          "the worker ends, without an error. Declare it PARALLEL RESTRICTED, as the built-in lock functions are.",
          functionName(&fn)));
  if (!fn.parallel_range.known()) return;
  const bool only_word = range.end - range.begin == std::string_view("SAFE").size();
  f.fixes.push_back({f.where.file, f.where.begin, f.where.end, only_word ? "RESTRICTED" : "PARALLEL RESTRICTED"});
}

void check(const Program& program, Report& report) {
  const FirstLocks locks = firstLocks(program);
  const Alterations altered = alterations(program);
  for (const Routine& r : program.catalogue.routines) {
    if (!r.locks || !r.function || program.units[static_cast<std::size_t>(r.unit)].runner.down) continue;
    if (r.volatility != Volatility::Volatile) checkVolatility(locks, altered, r, report);
    if (r.function->parallel == ParallelSafety::Safe) checkParallel(locks, r, report);
  }
}

}  // namespace

const Rule kWrapperVolatility{
    {
        .code = "AL106",
        .name = "wrapper-volatility",
        .severity = Severity::Error,
        .summary = "a function that takes a lock is declared IMMUTABLE, STABLE or PARALLEL SAFE",
        .explanation =
            "IMMUTABLE lets the planner replace a call by its result: EXPLAIN alone takes the lock, and a cached plan takes "
            "it once and never again while every execution reports success. STABLE lets the planner drop the call, move it "
            "below the sort or run it for an estimate, and makes the function read with a snapshot older than its own lock "
            "wait. PARALLEL SAFE lets a parallel worker take the lock, which disappears with the worker.",
        .remedy = "Declare the function VOLATILE (the default) and PARALLEL RESTRICTED or UNSAFE (the default).",
        .clauses = {"declared IMMUTABLE | bad_immutable.sql", "declared STABLE | bad_stable.sql",
                    "declared PARALLEL SAFE | bad_parallel_safe.sql",
                    "a function that locks through another | bad_transitive.sql"},
    },
    check};

}  // namespace pglocklint
