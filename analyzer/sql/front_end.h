// The SQL front end: one file's text → one Unit of facts.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "model/unit.h"

namespace pglocklint::sql {

// Names found so far that make a statement worth parsing (folded, without schema).
struct RelevantNames {
  std::set<std::string, std::less<>> callables;  // routines and views that lock: any statement that names one
  std::set<std::string, std::less<>> relations;  // tables of lock statements: their DDL only
  bool operator==(const RelevantNames&) const = default;
};

// Facts of one file. Parses the statements that mention a lock function, pg_locks, a set of relevant names, or that can matter for
// transactions; the rest become Unparsed events. With `everything`, parses all. Run it on a large stack.
Unit readSql(std::string path, std::string_view text, const RelevantNames& names, bool everything = false);

// Names that the unit's facts make relevant: routines and views whose definitions hold lock calls or call `names.callables`,
// relations that lock statements read, views and functions they depend on.
RelevantNames namesMadeRelevant(const Unit& unit, const RelevantNames& names);

}  // namespace pglocklint::sql
