#include "database.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace pglocklint::differential {

namespace {

// The tables, as both sides know them. The analyzer sees no rows.
constexpr const char* kTables = R"sql(
CREATE TABLE jobs(id bigint PRIMARY KEY, kind int, state text, ts int);
CREATE INDEX jobs_kind_idx ON jobs(kind);
CREATE TABLE small(id bigint PRIMARY KEY, n int);
CREATE TABLE many(id bigint, n int);
CREATE TABLE log(id bigint, note text);
CREATE TABLE parts(id bigint, kind int, state text, ts int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (4);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (4) TO (MAXVALUE);
)sql";

// The wrappers, as the analyzer reads them. The server has eight of each, which report instead of locking.
constexpr const char* kWrappers = R"sql(
CREATE FUNCTION is_four(x int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN x = 4; END $$;
CREATE FUNCTION volatile_lock(k bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION strict_lock(k bigint) RETURNS boolean LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION stable_lock(k bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION cheap_stable_lock(k bigint) RETURNS boolean LANGUAGE plpgsql STABLE COST 1 AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
CREATE FUNCTION sql_lock(k bigint) RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_lock($1)';
CREATE FUNCTION sql_stable_lock(k bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT pg_try_advisory_lock($1)';
CREATE FUNCTION frozen_lock(k bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN pg_try_advisory_lock(k); END $$;
)sql";

struct DataSet { const char* schema; int jobs, small, many; bool shuffled; };
constexpr DataSet kData[] = {{"few", 3, 0, 0, false}, {"usual", 40, 4, 24, false}, {"shuffled", 90, 50, 70, true}, {"held", 40, 4, 24, false}};

constexpr const char* kSettingNames[] = {"default", "no-seqscan", "no-hash-merge", "no-nestloop-index", "no-sort", "no-memoize-material", "parallel"};
constexpr const char* kSettingTexts[] = {
    "", "SET enable_seqscan = off", "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_hashagg = off",
    "SET enable_nestloop = off; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off", "SET enable_sort = off; SET enable_incremental_sort = off",
    "SET enable_material = off; SET enable_memoize = off; SET enable_hashjoin = off; SET enable_mergejoin = off",
    "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0; "
    "SET max_parallel_workers_per_gather = 2"};

// One shadow: properties as the original's, and a notice for each call. Every third key is "busy".
std::string shadow(const std::string& name, int site, const char* arguments, const char* key, const char* result, const char* properties) {
  const bool boolean = std::string(result) == "boolean";
  return fmt::format(
      "CREATE FUNCTION {}{}({}) RETURNS {} LANGUAGE plpgsql {} AS $$ BEGIN IF {} IS NOT NULL THEN RAISE NOTICE 's|{}|%|%', {}, {}; END IF; {} END $$;\n",
      name, site, arguments, result, properties, key, site, key, boolean ? fmt::format("{} % 3 <> 0", key) : "true",
      boolean ? fmt::format("RETURN {} % 3 <> 0;", key) : "RETURN;");
}

std::string shadows() {
  std::string out = "DROP SCHEMA IF EXISTS shadow CASCADE; CREATE SCHEMA shadow; SET search_path = shadow;\n";
  const char* const builtin = "VOLATILE STRICT PARALLEL RESTRICTED COST 1";
  for (int i = 0; i < kSites; ++i) {
    out += shadow("t", i, "k bigint", "k", "boolean", builtin) + shadow("t", i, "a int, k int", "k", "boolean", builtin);
    out += shadow("l", i, "k bigint", "k", "void", builtin) + shadow("l", i, "a int, k int", "k", "void", builtin);
    out += shadow("pv", i, "k bigint", "k", "boolean", "VOLATILE") + shadow("ps", i, "k bigint", "k", "boolean", "VOLATILE STRICT");
    out += shadow("st", i, "k bigint", "k", "boolean", "STABLE") + shadow("sc", i, "k bigint", "k", "boolean", "STABLE COST 1");
    out += shadow("im", i, "k bigint", "k", "boolean", "IMMUTABLE");
    out += fmt::format("CREATE FUNCTION sq{0}(k bigint) RETURNS boolean LANGUAGE sql AS 'SELECT t{0}($1)';\n", i);
    out += fmt::format("CREATE FUNCTION ss{0}(k bigint) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT t{0}($1)';\n", i);
  }
  return out + "CREATE FUNCTION is_four(x int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN x = 4; END $$;\n";
}

std::string dataSet(const DataSet& d) {
  std::string out = fmt::format("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}; SET search_path = {0};\n{1}", d.schema, kTables);
  const std::string rows = fmt::format(
      "SELECT g, g % 5, CASE WHEN g % 4 = 0 THEN 'ready' ELSE 'done' END, CASE WHEN g % 11 = 10 THEN NULL ELSE (g * 37) % {} END "
      "FROM generate_series(1, {}) g ORDER BY {}", d.shuffled ? 60 : 101, d.jobs, d.shuffled ? "md5(g::text)" : "g");
  out += "INSERT INTO jobs " + rows + "; INSERT INTO parts " + rows + ";\n";
  if (d.small) out += fmt::format("INSERT INTO small SELECT g, g % 2 FROM generate_series(1, {}) g;\n", d.small);
  if (d.many) out += fmt::format("INSERT INTO many SELECT CASE WHEN g % 13 = 12 THEN NULL ELSE g % 20 END, g % 3 FROM generate_series(1, {}) g;\n", d.many);
  return out + "ANALYZE jobs; ANALYZE small; ANALYZE many; ANALYZE parts;\n";
}

// An id, or the elements of an array of ids.
void addIds(const char* text, std::vector<std::string>& out) {
  if (text[0] != '{') return out.push_back(text);
  std::string element;
  for (const char* p = text + 1; *p; ++p) {
    if (*p != ',' && *p != '}') { element += *p; continue; }
    if (!element.empty() && element != "NULL") out.push_back(element);
    element.clear();
  }
}

}  // namespace

std::string nameOf(const Combination& c) { return std::string(kData[c.data].schema) + "/" + kSettingNames[c.setting]; }

std::string analyzerSetup() { return std::string(kTables) + kWrappers; }

Database::Database(const std::string& where) : connection_(PQconnectdb(where.c_str())) {
  if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error(std::string("no connection: ") + PQerrorMessage(connection_));
  PQsetNoticeReceiver(connection_, notice, this);
}

Database::~Database() { PQfinish(connection_); }

void Database::must(const std::string& sql) {
  PGresult* r = PQexec(connection_, sql.c_str());
  const ExecStatusType status = PQresultStatus(r);
  const std::string message = PQresultErrorMessage(r);
  PQclear(r);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) throw std::runtime_error(message + "in: " + sql.substr(0, 300));
}

void Database::createAll() {
  must("SET client_min_messages = warning");
  must(shadows());
  for (const DataSet& d : kData) must(dataSet(d));
  must("DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bound') THEN CREATE ROLE bound; END IF; END $$; "
       "GRANT USAGE ON SCHEMA shadow, few, usual, shuffled, held TO bound; "
       "GRANT SELECT ON ALL TABLES IN SCHEMA few, usual, shuffled, held TO bound");
}

void Database::holdRows() { must("BEGIN; SELECT FROM held.jobs WHERE id % 7 = 1 FOR UPDATE; SELECT FROM held.parts WHERE id % 7 = 1 FOR UPDATE"); }

void Database::use(const Combination& c) {
  const std::string settings =
      fmt::format("RESET ALL; SET client_min_messages = notice; SET statement_timeout = '900ms'; SET lock_timeout = '20ms'; SET max_parallel_workers_per_gather = 0; "
                  "SET search_path = {}, shadow, public; {}", kData[c.data].schema, kSettingTexts[c.setting]);
  // The time limit of the case before holds for this one too, and a busy machine may exceed it.
  for (int attempt = 0;; ++attempt) try {
      return must(settings);
    } catch (const std::runtime_error&) {
      if (attempt == 4) throw;
    }
}

void Database::notice(void* self, const PGresult* result) {
  Observation* o = static_cast<Database*>(self)->observing_;
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (!o || !text) return;
  if (std::strncmp(text, "r|", 2) == 0) {
    o->has_ids = true;
    if (std::strcmp(text + 2, "<NULL>") != 0) o->ids.push_back(text + 2);
    return;
  }
  if (std::strncmp(text, "s|", 2) != 0) return;
  const char* key = std::strchr(text + 2, '|') + 1;
  const char* end = std::strchr(key, '|');
  o->calls.push_back({std::atoi(text + 2), std::string(key, end), end[1] == 't'});
}

Observation Database::run(const Case& c) {
  Observation out;
  std::string text;
  if (c.writes) text = "BEGIN; ";
  for (std::size_t i = 0; i < c.server.size(); ++i) {
    // The policy binds another role; nothing but the query runs as that.
    if (c.policy && i + 1 == c.server.size()) text += "SET LOCAL ROLE bound; ";
    text += c.server[i] + "; ";
  }
  if (c.writes) text += "ROLLBACK";
  observing_ = &out;
  if (!PQsendQuery(connection_, text.c_str())) throw std::runtime_error(std::string("connection lost: ") + PQerrorMessage(connection_));
  while (PGresult* r = PQgetResult(connection_)) {
    const ExecStatusType status = PQresultStatus(r);
    if (status == PGRES_TUPLES_OK) {
      const bool explains = PQnfields(r) > 0 && std::strcmp(PQfname(r, 0), "QUERY PLAN") == 0;
      if (!explains && PQnfields(r) > 0) {
        out.has_ids = true;
        out.rows += static_cast<std::size_t>(PQntuples(r));
        for (int i = 0; i < PQntuples(r); ++i)
          if (!PQgetisnull(r, i, 0)) addIds(PQgetvalue(r, i, 0), out.ids);
      }
    } else if (status == PGRES_FATAL_ERROR) {
      const char* state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
      out.error = state ? std::string(state) + " " + PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : "lost";
    }
    PQclear(r);
  }
  observing_ = nullptr;
  if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error("the server has closed the connection during: " + text);
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE) must("ROLLBACK");
  if (text.find("PREPARE ") != std::string::npos) must("DEALLOCATE ALL");
  return out;
}

std::map<std::string, RowFacts> Database::facts(int data) {
  std::map<std::string, RowFacts> out;
  PGresult* r = PQexec(connection_, fmt::format("SELECT id, kind, coalesce(ts, 1000000) FROM {}.jobs", kData[data].schema).c_str());
  for (int i = 0; i < PQntuples(r); ++i) out[PQgetvalue(r, i, 0)] = {std::atol(PQgetvalue(r, i, 1)), std::atol(PQgetvalue(r, i, 2))};
  PQclear(r);
  return out;
}

}  // namespace pglocklint::differential
