// Random query levels: FROM with tables, sub-selects, CTEs, set operations, functions and joins; conditions; select list; tail.
#include <algorithm>

#include "generate.h"

namespace pglocklint::differential {

std::string Generator::newAlias() {
  ++aliases_;
  return std::string(1, static_cast<char>('a' + aliases_ % 26)) + std::to_string(aliases_);
}

// The calls since `from_site` stand where the ids of their rows do not reach the outermost level.
void Generator::loseLineage(std::size_t from_site) {
  for (std::size_t i = from_site; i < out_.sites.size(); ++i) out_.sites[i].lineage = false;
}

Source Generator::source(int depth) {
  Source s;
  const std::size_t kind = depth <= 0 ? choices_.weighted({85, 8, 0, 0, 0, 7}) : choices_.weighted({40, 6, 26, 11, 13, 4});
  if (kind == 3) return setOperation(depth - 1);
  if (kind == 4) return cte(depth - 1);
  if (kind == 5) return rowsFunction();
  s.alias = newAlias();
  if (kind == 0) s.text = "jobs " + s.alias, s.table = true;
  else if (kind == 1) s.text = "parts " + s.alias, s.table = true, shape("partitions");
  else {
    shape("derived");
    LevelOptions options;
    options.booleans = choices_.chance(35);
    s.text = "(" + level(depth - 1, options) + ") " + s.alias;
    if (x0_boolean_) s.booleans = {"x0"};
  }
  if (kind == 0 && choices_.chance(2)) s.text += " TABLESAMPLE BERNOULLI (100)", shape("tablesample");
  return s;
}

Source Generator::setOperation(int depth) {
  Source s;
  s.alias = newAlias();
  const char* const words[] = {"UNION ALL", "UNION", "EXCEPT", "INTERSECT"};
  const char* const shapes[] = {"union-all", "union", "except", "intersect"};
  const std::size_t which = choices_.weighted({62, 14, 12, 12});
  shape(shapes[which]);
  const int arms = choices_.chance(25) ? 3 : 2;
  for (int i = 0; i < arms; ++i) {
    LevelOptions options;
    options.plain = true;
    s.text += (i ? std::string(" ") + words[which] + " " : std::string()) + "(" + level(depth, options) + ")";
  }
  s.text = "(" + s.text + ") " + s.alias;
  s.booleans = {"x0"};
  return s;
}

Source Generator::cte(int depth) {
  Source s;
  const std::string name = "c" + std::to_string(++aliases_);
  const std::size_t word = choices_.weighted({50, 28, 22});
  const bool recursive = word == 0 && choices_.chance(12);
  const std::size_t first = out_.sites.size();
  std::string text;
  if (recursive) {
    // A worktable walks through ids; the lock stands in the recursive term or in what feeds it.
    shape("cte-recursive");
    const std::string call = lock("r.id", Takes::Boolean);
    const std::string seed = choices_.chance(40) ? lock("j.id", Takes::Boolean) : "true";
    loseLineage(first);
    text = "SELECT j.id, j.kind, j.ts, " + seed + " AS x0 FROM jobs j WHERE j.id = 1 UNION ALL SELECT r.id + 1, r.kind, r.ts, " + call +
           " FROM " + name + " r WHERE r.id < 9";
  } else {
    text = level(depth);
  }
  s.alias = newAlias();
  shape(word == 0 ? "cte-default" : word == 1 ? "cte-materialized" : "cte-not-materialized");
  ctes_.push_back(std::string(recursive ? "RECURSIVE " : "") + name + " AS " + (word == 1 ? "MATERIALIZED " : word == 2 ? "NOT MATERIALIZED " : "") + "(" + text + ")");
  if (choices_.chance(8)) {  // nobody reads it
    shape("cte-unread");
    loseLineage(first);
    s.text = "jobs " + s.alias, s.table = true;
    return s;
  }
  s.text = name + " " + s.alias;
  if (choices_.chance(8)) {
    shape("cte-two-readers");
    s.text = "(SELECT id, kind, ts FROM " + name + " UNION ALL SELECT id, kind, ts FROM " + name + ") " + s.alias;
  }
  return s;
}

Source Generator::rowsFunction() {
  Source s;
  s.alias = newAlias();
  switch (choices_.below(4)) {
    case 0:
      shape("generate-series");
      s.text = "(SELECT g::bigint AS id, (g % 5)::int AS kind, 50 - g AS ts FROM generate_series(1, 12) g) " + s.alias;
      break;
    case 1:
      shape("unnest");
      s.text = "(SELECT g AS id, 4 AS kind, 50 AS ts FROM unnest(ARRAY[3, 1, 2, 7, 5]::bigint[]) g) " + s.alias;
      break;
    case 2:
      shape("values");
      s.text = "(VALUES (3::bigint, 4, 1), (1, 1, 2), (2, 4, 3)) " + s.alias + "(id, kind, ts)";
      break;
    default:
      shape("function-in-from");
      s.text = "(SELECT g::bigint AS id, 4 AS kind, 1 AS ts FROM generate_series(1, 6) g WHERE " + lock("g", Takes::Boolean) + ") " + s.alias;
  }
  return s;
}

// FROM: a source, mostly alone, else joined with something on its id.
Source Generator::from(int depth) {
  Source s = source(depth);
  const std::string a = s.alias;
  const std::size_t kind = choices_.weighted({72, 4, 4, 3, 3, 2, 2, 3, 2, 2, 1, 2});
  if (kind == 0) return s;
  s.joined = true;
  const std::string b = newAlias();
  switch (kind) {
    case 1: shape("join"); s.text += " JOIN small " + b + " ON " + b + ".id = " + a + ".id"; break;
    case 2: {
      shape("left-join");
      s.text += " LEFT JOIN small " + b + " ON " + b + ".id = " + a + ".id";
      switch (choices_.below(5)) {
        case 1: s.text += " AND " + lock(b + ".id", Takes::Boolean); break;
        case 2: s.text += " AND " + lock(a + ".id", Takes::Boolean); break;
        case 3: s.text += " AND " + b + ".n = 1"; break;
        case 4: s.text += " AND " + lock("7", Takes::Boolean); break;
        default: break;
      }
      break;
    }
    case 3: shape("lateral"); s.text += ", LATERAL (SELECT " + lock(a + ".id", Takes::Boolean) + " AS x) " + b; break;
    case 4: {
      shape("lateral");
      const std::size_t first = out_.sites.size();
      s.text += " LEFT JOIN LATERAL (SELECT " + lock(a + ".kind", Takes::Any) + " AS x) " + b + " ON true";
      loseLineage(first);
      break;
    }
    case 5: shape("join"); s.text += " JOIN many " + b + " ON " + b + ".id = " + a + ".id"; break;
    case 6: shape("cross-join"); s.text += " CROSS JOIN (SELECT " + lock("7", Takes::Boolean) + " AS x) " + b; break;
    case 7:
      shape("left-join-removal"), shape("distinct-on");
      s.text += " LEFT JOIN (SELECT DISTINCT ON (id) id, " + lock("small.id", Takes::Boolean) + " AS x FROM small ORDER BY id) " + b + " ON " + b + ".id = " + a + ".id";
      break;
    case 8: shape("join"); s.text = "small " + b + " JOIN " + s.text + " ON " + b + ".id = " + a + ".id"; break;
    case 9: shape("function-in-from"), shape("lateral"); s.text += ", LATERAL " + lock(a + ".id", Takes::Boolean) + " " + b; break;
    case 10: shape("join"); s.text += " FULL JOIN small " + b + " ON " + b + ".id = " + a + ".id"; break;
    default: {
      shape("left-join"), shape("three-way-join");
      const std::string c = newAlias();
      s.text += " LEFT JOIN small " + b + " ON " + b + ".id = " + a + ".id LEFT JOIN many " + c + " ON " + c + ".id = " + b + ".id";
      if (choices_.chance(50)) s.text += " AND " + lock(c + ".id", Takes::Boolean);
    }
  }
  return s;
}

std::string Generator::limit(bool ordered) {
  std::string out;
  switch (choices_.weighted({64, 22, 3, 3, 3, 2, 3})) {
    case 0: break;
    case 1: shape("limit"); out = " LIMIT " + choices_.pick({"1", "2", "5", "10"}); break;
    case 2: shape("limit-zero"); out = " LIMIT 0"; break;
    case 3: shape("limit-expression"); out = " LIMIT (SELECT count(*) FROM small)"; break;
    case 4:
      if (!ordered) break;
      shape("with-ties");
      return " FETCH FIRST 3 ROWS WITH TIES";
    case 5: shape("limit-all"); out = choices_.pick({" LIMIT ALL", " LIMIT NULL"}); break;
    default: shape("limit"); out = " FETCH FIRST 4 ROWS ONLY";
  }
  if (!choices_.chance(11)) return out;
  const std::string n = choices_.pick({"0", "2", "3", "2"});
  shape(n == "0" ? "offset-zero" : "offset");
  // FETCH FIRST wants its OFFSET before it.
  return out.find("FETCH") == std::string::npos ? out + " OFFSET " + n : " OFFSET " + n + out;
}

std::string Generator::order(const std::string& a, const std::vector<std::string>& extras, const std::string& distinct, LevelOptions options) {
  if (!choices_.chance(38)) return "";
  shape("order");
  if (distinct.starts_with("DISTINCT ON")) {
    out_.orders.insert(RowOrder::ById);
    return " ORDER BY " + (choices_.chance(50) ? a + ".id, " + a + ".ts" : a + ".id");
  }
  std::string by;
  switch (choices_.below(4)) {
    case 0: by = a + ".id", out_.orders.insert(RowOrder::ById); break;
    case 1: by = a + ".ts, " + a + ".id", out_.orders.insert(RowOrder::ByTs); break;
    case 2: by = a + ".kind, " + a + ".id", out_.orders.insert(RowOrder::ByKind); break;
    default: by = a + ".id DESC", out_.orders.insert(RowOrder::ByIdDescending);
  }
  if (!extras.empty() && extras.front().starts_with("\x01") && !options.plain && choices_.chance(8)) {
    const std::size_t site = static_cast<std::size_t>(std::atoi(extras.front().c_str() + 1));
    if (out_.sites[site].shadow[0] != 'l') by = "x0, " + by, shape("order-by-alias");
  } else if (distinct.empty() && !options.plain && choices_.chance(4)) {
    by = lock(a + ".id", Takes::Boolean, true) + ", " + by, shape("order-by-call");
  }
  return " ORDER BY " + by;
}

std::string Generator::tail(const std::string& a, const std::vector<std::string>& extras, const std::string& distinct, LevelOptions options) {
  const std::string by = order(a, extras, distinct, options);
  return by + (options.no_limit ? "" : limit(!by.empty()));
}

// GROUP BY the row itself, so that ids survive, or its kind alone.
std::string Generator::groupedLevel(int depth) {
  shape("group-by");
  const std::size_t first = out_.sites.size();
  Source s = from(depth);
  const std::string a = s.alias;
  std::string where;
  if (choices_.chance(40)) where = " WHERE " + (choices_.chance(50) ? lockCondition(a, s) : plain(a));
  const std::size_t kind = choices_.weighted({60, 15, 15, 10});
  if (kind == 0) {
    std::string list = a + ".id, " + a + ".kind, " + a + ".ts";
    if (choices_.chance(50)) list += ", " + lock(a + ".id", Takes::Boolean) + " AS x0";
    std::string text = "SELECT " + list + " FROM " + s.text + where + " GROUP BY " + a + ".id, " + a + ".kind, " + a + ".ts";
    if (choices_.chance(55)) {
      shape("having");
      switch (choices_.below(4)) {
        case 0: text += " HAVING " + lock(a + ".id", Takes::Boolean); break;
        case 1: text += " HAVING " + a + ".kind = 4 AND " + lock(a + ".id", Takes::Boolean); break;
        case 2: text += " HAVING count(*) > 0 AND " + lock(a + ".id", Takes::Boolean); break;
        default: text += " HAVING " + lock(a + ".id", Takes::Boolean) + " AND max(" + a + ".ts) + 0 > 20";
      }
    }
    return text + tail(a, {}, "", {});
  }
  // Here rows become groups: what is cut off above has nothing to do with the rows below.
  if (kind == 1) {
    shape("aggregate-argument");
    const std::string call = lock(a + ".id", Takes::Boolean);
    loseLineage(first);
    const std::string aggregate = choices_.chance(30) ? (shape("aggregate-order"), "array_agg(" + call + " ORDER BY " + a + ".ts)::text")
                                                      : choices_.pick({"count(", "bool_and(", "every("}) + call + ")";
    return "SELECT unnest(array_agg(" + a + ".id)) AS id, 0 AS kind, 0 AS ts, " + aggregate + " AS x0 FROM " + s.text + where;
  }
  if (kind == 2) {
    shape("aggregate-filter");
    const std::string call = lock(a + ".id", Takes::Boolean);
    loseLineage(first);
    return "SELECT unnest(array_agg(" + a + ".id)) AS id, " + a + ".kind, 0 AS ts, count(*) FILTER (WHERE " + call + ") AS x0 FROM " + s.text + where + " GROUP BY " + a + ".kind";
  }
  shape("grouping-sets");
  const std::string call = lock(a + ".kind", Takes::Boolean);
  loseLineage(first);
  return "SELECT unnest(array_agg(" + a + ".id)) AS id, " + a + ".kind, 0 AS ts, " + call + " AS x0 FROM " + s.text + where + " GROUP BY " +
         choices_.pick({"GROUPING SETS (", "ROLLUP (", "CUBE ("}) + a + ".kind)";
}

std::string Generator::level(int depth, LevelOptions options) {
  x0_boolean_ = false;
  if (!options.plain && choices_.chance(9)) return groupedLevel(depth);
  const bool single = choices_.chance(3) && !options.plain;
  if (single) {  // no FROM at all
    shape("no-from");
    const std::string extra = target("v", Takes::Any);
    return "SELECT v.id, v.kind, v.ts, " + extra + " AS x0 FROM (SELECT 5::bigint AS id, 4 AS kind, 50 AS ts) v" + (choices_.chance(40) ? " WHERE " + lock("v.id", Takes::Boolean) : "");
  }
  Source s = from(depth);
  const std::string a = s.alias;
  std::string distinct;
  if (!options.plain) {
    const std::size_t which = choices_.weighted({88, 6, 6});
    if (which == 1) distinct = "DISTINCT ", shape("distinct");
    if (which == 2) distinct = "DISTINCT ON (" + a + ".id) ", shape("distinct-on");
  }
  const Takes takes = options.plain || options.booleans || distinct == "DISTINCT " ? Takes::Boolean : Takes::Any;

  const std::size_t first = out_.sites.size();
  std::vector<std::string> conditions;
  for (std::size_t n = choices_.weighted({34, 38, 20, 8}); n > 0; --n)
    conditions.push_back(choices_.chance(36) ? lockCondition(a, s) : plain(a));

  std::vector<std::string> extras;
  const std::size_t wanted = options.plain ? 1 : choices_.weighted({34, 54, 12});
  for (std::size_t i = 0; i < wanted; ++i) extras.push_back(options.plain && choices_.chance(45) ? "true" : target(a, takes));
  if (options.outermost && distinct.empty())
    for (std::size_t i = first; i < out_.sites.size(); ++i) out_.sites[i].every_row = true;

  const bool x0_boolean = takes == Takes::Boolean && !extras.empty();
  std::string list = a + ".id, " + a + ".kind, " + a + ".ts";
  for (std::size_t i = 0; i < extras.size(); ++i) list += ", " + extras[i] + " AS x" + std::to_string(i);
  if (!options.plain && choices_.chance(3)) list += ", generate_series(1, 2) AS g", shape("beside-set-returning");
  if (!options.plain && choices_.chance(2) && distinct.empty()) {
    const std::size_t from_site = out_.sites.size();
    list += ", " + lock("generate_series(1, 3)", Takes::Boolean) + " AS gs", shape("set-returning-argument");
    loseLineage(from_site);
  }
  if (!options.plain && choices_.chance(5)) {
    shape("window");
    switch (choices_.below(5)) {
      case 0: list += ", row_number() OVER (ORDER BY " + a + ".ts) AS w"; break;
      case 1: list += ", count(*) OVER () AS w"; break;
      case 2: list += ", rank() OVER (PARTITION BY " + a + ".id ORDER BY " + a + ".ts) AS w"; break;
      case 3: list += ", sum(" + a + ".ts) OVER (PARTITION BY " + a + ".kind) AS w"; break;
      default: list += ", count(" + lock(a + ".id", Takes::Boolean) + ") OVER () AS w";
    }
  }
  std::string text = "SELECT " + distinct + list + " FROM " + s.text;
  for (std::size_t i = 0; i < conditions.size(); ++i) text += (i ? " AND " : " WHERE ") + conditions[i];
  text += tail(a, extras, distinct, options);
  if (s.table && !s.joined && distinct.empty() && !options.plain && choices_.chance(7) && text.find(" OVER ") == std::string::npos &&
      text.find("generate_series(1, ") == std::string::npos && text.find("TABLESAMPLE") == std::string::npos) {
    const std::size_t which = choices_.weighted({35, 45, 10, 10});
    if (which == 0) text += " FOR UPDATE", shape("for-update");
    if (which == 1) text += " FOR UPDATE SKIP LOCKED", shape("skip-locked"), out_.skip_locked = true;
    if (which == 2) text += " FOR SHARE", shape("for-update");
    if (which == 3) text += " FOR NO KEY UPDATE OF " + a + " SKIP LOCKED", shape("skip-locked"), out_.skip_locked = true;
  }
  if (options.outermost && !s.joined)
    for (std::size_t i = 0; i < out_.sites.size(); ++i) out_.sites[i].alone = true;
  x0_boolean_ = x0_boolean;
  return text;
}

std::string Generator::with(const std::string& query) {
  if (ctes_.empty()) return query;
  const bool recursive = std::any_of(ctes_.begin(), ctes_.end(), [](const std::string& c) { return c.starts_with("RECURSIVE "); });
  std::string out = recursive ? "WITH RECURSIVE " : "WITH ";
  for (std::size_t i = 0; i < ctes_.size(); ++i) {
    if (i) out += ", ";
    out += ctes_[i].starts_with("RECURSIVE ") ? ctes_[i].substr(10) : ctes_[i];
  }
  ctes_.clear();
  return out + " " + query;
}

}  // namespace pglocklint::differential
