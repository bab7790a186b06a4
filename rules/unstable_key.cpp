// # Why a key must mean the same to everybody
//
// A lock excludes those who ask for the *same* key. A key made of the current time, a random number, the process or transaction id
// differs from session to session: each takes a lock of its own, nobody ever waits, and the code looks protected.
//
// Reported: clocks with their full resolution, random(), uuid generators, pg_backend_pid(), transaction ids, addresses, anywhere in a key.
// Silent: times cut to a bucket that sessions share (a date, to_char(), date_trunc(), an integer division), and sequences, which
// number things on purpose.
#include <fmt/format.h>

#include <algorithm>

#include "all_rules.h"
#include "key_sites.h"
#include "wording.h"

namespace pglocklint {
namespace {

// Hashes that a library may change from release to release, and seeds differently in each process.
bool isUnstableHash(const Value& v) {
  static constexpr std::string_view kNames[] = {"std::hash", "boost::hash", "absl::Hash", "qHash"};
  return v.kind == ValueKind::Hash && v.relation == kHostSchema &&
         std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view n) { return v.name.starts_with(n); });
}

// What differs from session to session, in words.
std::string_view source(const Value& v) {
  if (isUnstableHash(v)) return "a hash of the C++ library";
  switch (v.kind) {
    case ValueKind::Clock: return "the current time";
    case ValueKind::Random: return "a random value";
    case ValueKind::ProcessId: return v.relation == kHostSchema ? "the id of the process or thread" : "the process id of the session";
    case ValueKind::TransactionId: return "the transaction id";
    case ValueKind::Address: return "an address in memory";
    default: return "";
  }
}

bool isBucket(const Value& v) {
  static constexpr std::string_view kCutting[] = {"to_char", "date_trunc", "date_bin", "date"};
  if (v.kind == ValueKind::Call || v.kind == ValueKind::Clock)
    if (std::find(std::begin(kCutting), std::end(kCutting), v.name) != std::end(kCutting)) return true;
  if (v.kind == ValueKind::Clock) {
    // extract(epoch …) and its like keep the resolution; extract(day …) and current_date cut it.
    if (v.name == "current_date") return true;
    if (v.name.find("extract") != std::string::npos || v.name.find("date_part") != std::string::npos)
      return v.name.find("epoch") == std::string::npos && v.name.find("second") == std::string::npos;
  }
  if (v.kind == ValueKind::Cast && v.type == "date") return true;
  return v.kind == ValueKind::Arithmetic && (v.name == "/" || v.name == "div" || v.name == ">>");
}

const Value* unstable(const LockSite& site, const Value& v) {
  if (isBucket(v)) return nullptr;
  if (answersFor(site, v) && !source(v).empty()) return &v;
  for (const Value& a : v.args)
    if (const Value* found = unstable(site, a)) return found;
  return nullptr;
}

void check(const Program& program, Report& report) {
  const Expr* reported = nullptr;
  forEachKeyPart(program, [&](const LockSite& site, const Value& part) {
    if (site.call == reported) return;
    const Value* v = unstable(site, part);
    if (!v) return;
    reported = site.call;
    if (isUnstableHash(*v)) {
      Finding& f = report.at(site, site.call->range,
                             fmt::format("The key of {} is made with {}, whose values are promised within one run of one program only: built with another "
                                         "library or version, another service locks another key for the same thing, and neither waits for the other. Hash in "
                                         "SQL (hashtextextended(…, 0)), or with a function whose values are fixed (FNV-1a, SHA-256).",
                                         callText(site), v->name));
      relateValue(report, f, *v, fmt::format("{} enters the key here", v->name));
      return;
    }
    Finding& f = report.at(site, site.call->range,
                           fmt::format("The key of {} is made from {}, which is another one in every session: each session locks a key of its own, "
                                       "nobody ever waits for anybody, and the work is not protected. Make the key from what is to be protected: a "
                                       "constant, or the id or name of the row or tenant.",
                                       callText(site), source(*v)));
    relateValue(report, f, *v, fmt::format("{} enters the key here", source(*v)));
  });
}

}  // namespace

const Rule kUnstableKey{
    {
        .code = "AL203",
        .name = "unstable-key",
        .severity = Severity::Error,
        .summary = "the key differs from session to session, so the lock excludes nobody",
        .explanation = "An advisory lock excludes only sessions that ask for the same key. A key made from the time, a random number, an address or "
                       "a process id is different in every session: all of them succeed at once.",
        .remedy = "Make the key from what is protected: a constant, or the id or name of the row, job or tenant. A time may be part of it when it is "
                  "cut to the bucket that sessions share, as in to_char(current_date, 'YYYYMMDD')::int.",
        .proof = "",
        .clauses = {"key from time | bad_time.sql", "random | bad_random.sql", "process id | bad_process.sql",
                    "the process id, a random number or the time of a shell | bad_shell.sh"},
    },
    check};

}  // namespace pglocklint
