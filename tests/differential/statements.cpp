// Random statements around the levels: SELECT and its wrappings, data-modifying statements, views, prepared statements,
// cursors, and PL/pgSQL bodies. finish() draws which, and writes the two texts.
#include <algorithm>

#include "generate.h"

namespace pglocklint::differential {

// The outermost SELECT. Wrappings that consume rows give their ids back as arrays, so that nothing is lost from sight.
std::string Generator::wrapped() {
  LevelOptions options;
  const std::size_t wrapping = choices_.weighted({76, 5, 4, 5, 3, 4, 3});
  options.outermost = wrapping == 0;
  const int depth = static_cast<int>(choices_.weighted({22, 40, 28, 10}));
  if (wrapping == 5) {
    shape("union-all");
    options.plain = true;
    const std::string left = level(depth, options);
    for (Site& s : out_.sites) s.every_row = false;
    return "(" + left + ") UNION ALL (" + level(1, options) + ")" + (choices_.chance(30) ? (shape("limit"), " LIMIT 2") : "");
  }
  const std::string q = level(depth, options);
  switch (wrapping) {
    case 1: shape("outer-condition"); return "SELECT id FROM (" + q + ") o WHERE " + plain("o");
    case 2: {
      shape("scalar-subselect");
      const std::size_t first = out_.sites.size();
      const std::string inner = level(1);
      loseLineage(first);
      return "SELECT o.id, (SELECT count(*) FROM (" + inner + ") i WHERE i.id = o.id) FROM (" + q + ") o";
    }
    case 3: shape("aggregate-above"); return "SELECT array_agg(id), count(*) FROM (" + q + ") o";
    case 4: shape("exists-level"); loseLineage(0); return "SELECT id FROM small WHERE EXISTS (" + q + ")";
    case 6: shape("scalar-subselect"); return "SELECT (SELECT array_agg(id) FROM (" + q + ") o), 1";
    default: return q;
  }
}

void Generator::selectStatement() { send(with(wrapped())); }

void Generator::insertStatement() {
  out_.writes = true;
  switch (choices_.weighted({50, 20, 30})) {
    case 0: {
      shape("insert-select");
      const std::string q = level(static_cast<int>(choices_.below(2)));
      const std::string text = "INSERT INTO log(id, note) SELECT q.id, 'x' FROM (" + q + ") q";
      send(with(text + (choices_.chance(40) ? " RETURNING id, " + lock("id", Takes::Any) : " RETURNING id")));
      break;
    }
    case 1: {
      shape("insert-values");
      const std::string first = lock("7", Takes::Boolean);
      send("INSERT INTO log(id, note) VALUES (1, " + first + "::text), (2, " + lock("8", Takes::Boolean) + "::text) RETURNING id, " + lock("log.id", Takes::Any));
      break;
    }
    default: {
      shape("on-conflict");
      const std::string action = choices_.chance(50) ? "DO NOTHING" : "(id) DO UPDATE SET n = 9 WHERE " + lock("small.id", Takes::Boolean);
      send("INSERT INTO small SELECT g, 1 FROM generate_series(1, 9) g" + std::string(choices_.chance(30) ? " WHERE " + lock("g", Takes::Boolean) : "") +
           " ON CONFLICT " + (action.starts_with("(") ? action : action) + " RETURNING small.id, " + lock("small.id", Takes::Any));
    }
  }
}

void Generator::updateStatement() {
  out_.writes = true;
  const std::string table = choices_.chance(15) ? (shape("partitions"), "parts") : "jobs";
  const std::string a = newAlias();
  std::string text = "UPDATE " + table + " " + a + " SET state = ";
  text += choices_.chance(15) ? (shape("update-set"), lock(a + ".id", Takes::Boolean) + "::text") : "'x'";
  Source s;
  s.alias = a;
  const std::size_t kind = choices_.weighted({60, 20, 20});
  std::string where;
  if (kind == 1) {
    shape("update-from");
    Source other = from(1);
    text += " FROM " + other.text;
    where = a + ".id = " + other.alias + ".id";
    if (choices_.chance(40)) where += " AND " + lockCondition(other.alias, other);
  } else if (kind == 2) {
    shape("update-in-select");
    where = a + ".id IN (SELECT q.id FROM (" + level(1) + ") q)";
  } else {
    shape("update");
    where = lockCondition(a, s);
  }
  for (std::size_t n = choices_.weighted({40, 45, 15}); n > 0; --n) {
    const std::string p = plain(a);
    where = choices_.chance(50) ? where + " AND " + p : p + " AND " + where;
  }
  text += " WHERE " + where + " RETURNING " + a + ".id" + (choices_.chance(30) ? (shape("returning"), ", " + lock(a + ".id", Takes::Any)) : "");
  send(with(text));
}

void Generator::deleteStatement() {
  out_.writes = true;
  const std::string a = newAlias();
  std::string text = "DELETE FROM jobs " + a, where;
  Source s;
  s.alias = a;
  if (choices_.chance(35)) {
    shape("delete-using");
    const std::string b = newAlias();
    text += " USING small " + b;
    where = b + ".id = " + a + ".id AND " + lock(choices_.chance(50) ? a + ".id" : b + ".id", Takes::Boolean);
  } else {
    shape("delete");
    where = lockCondition(a, s);
  }
  if (choices_.chance(60)) where += " AND " + plain(a);
  const std::string returning = choices_.chance(30) ? (shape("returning"), ", " + lock(a + ".id", Takes::Any)) : "";
  text += " WHERE " + where + " RETURNING " + a + ".id" + returning;
  if (choices_.chance(25)) {  // inside of a CTE, read or not
    shape("cte-dml");
    const bool read = choices_.chance(60);
    if (!read) loseLineage(0);
    text = "WITH w AS (" + text + ") SELECT " + (read ? "id FROM w" : "1");
  }
  send(text);
}

void Generator::mergeStatement() {
  out_.writes = true;
  loseLineage(0);
  const std::string on = choices_.chance(35) ? (shape("merge-on"), " AND " + lock(choices_.chance(50) ? "j.id" : "s.id", Takes::Boolean)) : "";
  std::string text = "MERGE INTO jobs j USING small s ON j.id = s.id" + on;
  shape("merge-when");
  const std::size_t kind = choices_.below(4);
  if (kind != 1) text += " WHEN MATCHED AND " + (choices_.chance(30) ? plain("j") + " AND " : std::string()) + lock("j.id", Takes::Boolean) + (kind == 2 ? " THEN DELETE" : " THEN UPDATE SET kind = 0");
  if (kind == 1) text += " WHEN MATCHED THEN UPDATE SET state = " + lock("s.id", Takes::Boolean) + "::text";
  if (kind == 3) text += " WHEN NOT MATCHED AND " + lock("s.id", Takes::Boolean) + " THEN INSERT (id) VALUES (s.id)";
  loseLineage(0);
  send(text);
}

void Generator::viewStatement() {
  out_.writes = true;
  const bool barrier = choices_.chance(25);
  shape(barrier ? "security-barrier" : "view");
  // No void columns: a view with one cannot be read through DISTINCT.
  LevelOptions options;
  options.booleans = true;
  const std::string q = with(level(static_cast<int>(choices_.below(2)), options));
  send(std::string("CREATE VIEW locked ") + (barrier ? "WITH (security_barrier) " : "") + "AS " + q);
  Source s;
  s.alias = newAlias();
  if (x0_boolean_) s.booleans = {"x0"};
  std::string text = "SELECT " + s.alias + ".id" + (choices_.chance(40) ? ", " + s.alias + ".kind" : "") + (choices_.chance(40) && x0_boolean_ ? ", x0" : "") + " FROM locked " + s.alias;
  if (choices_.chance(60)) text += " WHERE " + (choices_.chance(35) ? lockCondition(s.alias, s) : plain(s.alias));
  send(text + tail(s.alias, {}, "", {}));
}

void Generator::preparedStatement() {
  out_.writes = true;  // the transaction's end does not drop it: DEALLOCATE does
  shape("prepare");
  const std::string q = with(level(1));
  send("PREPARE fuzz_p(int) AS SELECT q.id FROM (" + q + ") q WHERE q.kind = $1" + (choices_.chance(50) ? " AND " + lock("q.id", Takes::Boolean) : ""));
  if (choices_.chance(80)) send("EXECUTE fuzz_p(4)");
}

void Generator::cursorStatement() {
  out_.writes = true;
  shape("cursor");
  LevelOptions options;
  options.outermost = false;
  send("DECLARE fuzz_c " + choices_.pick({"", "NO SCROLL ", "SCROLL "}) + "CURSOR FOR " + with(level(static_cast<int>(choices_.below(2)), options)));
  for (std::size_t n = choices_.weighted({15, 55, 30}); n > 0; --n)
    send(choices_.pick({"FETCH 3 FROM fuzz_c", "FETCH ALL FROM fuzz_c", "FETCH NEXT FROM fuzz_c", "MOVE 2 FROM fuzz_c", "FETCH FORWARD 2 FROM fuzz_c"}));
}

void Generator::otherStatement() {
  switch (choices_.below(4)) {
    case 0: shape("explain"); loseLineage(0); send("EXPLAIN " + with(level(1))); break;
    case 1: {
      shape("create-table-as"), out_.writes = true;
      LevelOptions options;
      options.booleans = true;
      const std::string q = with("SELECT q.id FROM (" + level(1, options) + ") q");
      const bool no_data = choices_.chance(30);
      send("CREATE TABLE made AS " + q + (no_data ? " WITH NO DATA" : ""));
      send("SELECT id FROM made");
      break;
    }
    case 2: {
      shape("set-returning-sql");
      const std::string g = lock("g", Takes::Boolean);
      send("SELECT g AS id, " + g + " FROM generate_series(1, 20) g" + choices_.pick({"", " LIMIT 3", " ORDER BY g DESC", " ORDER BY g DESC LIMIT 4", " WHERE g % 2 = 0 LIMIT 2"}));
      loseLineage(0);
      break;
    }
    default: {
      // Row security: the policy is made in the transaction, the query runs as a role that it binds.
      shape("policy");
      out_.writes = true, out_.policy = true;
      send("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY");
      send("CREATE POLICY guard ON jobs USING (" + lock("jobs.id", Takes::Boolean) + ")");
      const std::string a = newAlias();
      send("SELECT " + a + ".id FROM jobs " + a + (choices_.chance(70) ? " WHERE " + plain(a) : "") + tail(a, {}, "", {}));
    }
  }
}

// One statement of a body; the ids that it sees go out in notices of their own.
std::string Generator::bodyOf(const std::string& q, std::string& declare) {
  const auto seen = [](const std::string& id) { return "RAISE NOTICE 'r|%', " + id + ";"; };
  switch (choices_.below(8)) {
    case 0: shape("plpgsql-perform"); loseLineage(0); return "PERFORM 1 FROM (" + q + ") q;";
    case 1:
      shape("plpgsql-into");
      declare += " v bigint;";
      return "SELECT q.id INTO v FROM (" + q + ") q; IF FOUND THEN " + seen("v") + " END IF;";
    case 2:
      shape("plpgsql-loop");
      declare += " r record;";
      return "FOR r IN SELECT q.id FROM (" + q + ") q LOOP " + seen("r.id") + " END LOOP;";
    case 3:
      shape("plpgsql-loop-left");
      declare += " r record;";
      return "FOR r IN SELECT q.id FROM (" + q + ") q LOOP " + seen("r.id") + " EXIT" + choices_.pick({"", " WHEN r.id > 3"}) + "; END LOOP;";
    case 4: {
      shape("plpgsql-if");
      const std::size_t first = out_.sites.size();
      const std::string call = lock("7", Takes::Boolean);
      const std::string other = choices_.chance(50) ? choices_.pick({" AND ", " OR "}) + lock("8", Takes::Boolean) : "";
      loseLineage(first);
      loseLineage(0);
      return "IF EXISTS (SELECT 1 FROM (" + q + ") q) THEN NULL; END IF; IF " + call + other + " THEN NULL; END IF;";
    }
    case 5: {
      shape("plpgsql-assign");
      declare += " b boolean; n bigint;";
      loseLineage(0);
      return "b := " + lock("7", Takes::Boolean) + "; n := (SELECT count(*) FROM (" + q + ") q);";
    }
    case 6: {
      shape("plpgsql-cursor");
      declare += " c CURSOR FOR SELECT q.id FROM (" + q + ") q; r record;";
      return "OPEN c; FETCH c INTO r; IF FOUND THEN " + seen("r.id") + " END IF; CLOSE c;";
    }
    default: {
      shape("plpgsql-execute");
      declare += " v bigint;";
      std::string quoted = "SELECT q.id FROM (" + q + ") q";
      for (std::size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 2) quoted.insert(at, 1, '\'');
      loseLineage(0);
      return "EXECUTE '" + quoted + "' INTO v;";
    }
  }
}

void Generator::bodyStatement() {
  out_.body = true;
  out_.writes = true;
  std::string declare;
  const std::string q = with(level(static_cast<int>(choices_.below(2))));
  const std::string body = bodyOf(q, declare);
  send("DO $body$ " + (declare.empty() ? "" : "DECLARE" + declare + " ") + "BEGIN " + body + " END $body$");
}

Case Generator::finish() {
  switch (choices_.weighted({66, 5, 6, 4, 3, 4, 2, 2, 3, 9})) {
    case 0: selectStatement(); break;
    case 1: insertStatement(); break;
    case 2: updateStatement(); break;
    case 3: deleteStatement(); break;
    case 4: mergeStatement(); break;
    case 5: viewStatement(); break;
    case 6: preparedStatement(); break;
    case 7: cursorStatement(); break;
    case 8: otherStatement(); break;
    default: bodyStatement();
  }
  const auto any = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return out_.shapes.count(n) > 0; });
  };
  out_.merges_rows = any({"group-by", "distinct", "distinct-on", "union", "except", "intersect", "aggregate-above"});
  out_.own_rows = any({"generate-series", "unnest", "values", "function-in-from", "no-from", "cte-recursive", "grouping-sets", "aggregate-argument", "aggregate-filter"});
  out_.ordered_by_call = any({"order-by-alias", "order-by-call"});
  for (const std::string& marked : messages_) {
    std::string server;
    for (std::size_t i = 0; i < marked.size(); ++i) {
      if (marked[i] != '\x01') {
        server += marked[i], out_.analyzer += marked[i];
        continue;
      }
      Site& s = out_.sites[static_cast<std::size_t>(marked[++i] - '0')];
      ++i;  // \x02
      s.begin = out_.analyzer.size();
      out_.analyzer += s.name;
      server += s.shadow;
    }
    out_.analyzer += ";\n";
    out_.server.push_back(server);
  }
  return std::move(out_);
}

Case generate(Choices& choices) { return Generator(choices).finish(); }

}  // namespace pglocklint::differential
