// A case: one random statement (or a few, or a function body) with lock calls in it, as the analyzer reads it and as the
// server runs it.
//
// Both texts are the same but for the names of the calls: the analyzer reads pg_try_advisory_lock(a.id), the server t0(a.id),
// a function with the same properties (volatility, strictness, cost, parallel) that reports each of its calls in a notice
// (data_sets.h). So we see how often each call ran, with which keys and in which order, where pg_locks would only tell which keys are held.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "choices.h"

namespace pglocklint::differential {

inline constexpr int kSites = 8;  // calls in one case at most: that many shadow functions exist

// Stored order of the rows of a level, by which the keys of a call may be sorted.
enum class RowOrder { ById, ByIdDescending, ByKind, ByTs };

struct Site {
  std::string name;        // as the analyzer reads it
  std::string shadow;      // as the server calls it
  std::size_t begin = 0;   // offset of the name in the analyzer's text
  bool lineage = false;    // its key is the `id` of a row, and the statement returns the ids of the rows that got through
  bool constant = false;   // its key is the same for all rows
  bool every_row = false;  // in the select list or among the conditions of the outermost level: no row is returned without it
  bool alone = false;      // the outermost level has one source: a row is returned as often as its call may run
};

struct Case {
  std::string analyzer;             // text of the file that the analyzer reads
  std::vector<std::string> server;  // what is sent, one message each, inside of a transaction that is rolled back if `writes`
  std::vector<Site> sites;
  std::set<std::string> shapes;     // the shape classes it belongs to (shapes.h)
  std::set<RowOrder> orders;        // ORDER BYs in it
  bool writes = false;              // needs the transaction
  bool skip_locked = false;         // also run where another session has locked some rows
  bool body = false;                // a PL/pgSQL body: the ids come in notices, not in result rows
  bool merges_rows = false;         // GROUP BY, DISTINCT, UNION: a row returned may stand for several
  bool own_rows = false;            // rows that are not of jobs
  bool ordered_by_call = false;     // the result of a call is a sort key
  bool policy = false;              // runs as the role that row security applies to
};

// The case of a record of choices. Same record, same case.
Case generate(Choices& choices);

}  // namespace pglocklint::differential
