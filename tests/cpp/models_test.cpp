// Call models: what each library's functions send and bind, on code written against our declarations of the library (or its own headers where they
// are installed). Each finds the statement at its line, and the key.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "combined_unit.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

struct Use {
  const char* name;
  const char* code;
  std::set<std::string> keys;  // as `keys` prints them
  int sites = 1;
};

// What libpqxx 7 has no longer, as libpqxx 6 declares it.
#define LIBPQXX6 \
  "#include <string>\nnamespace pqxx {\nstruct result {};\nnamespace prepare { struct invocation { template <class T> invocation& operator()(const T&); result exec() const; }; }\n" \
  "namespace internal { struct parameterized_invocation { template <class T> parameterized_invocation& operator()(const T&); result exec(); }; }\n" \
  "struct connection { void prepare(const std::string&, const std::string&); };\n" \
  "struct transaction_base { prepare::invocation prepared(const std::string&); internal::parameterized_invocation parameterized(const std::string&); };\n" \
  "struct work : transaction_base {};\n}\n"

const Use kUses[] = {
    {"libpq: PQexec", "#include <libpq-fe.h>\nvoid f(PGconn* c) { PQclear(PQexec(c, \"SELECT pg_advisory_lock(4711)\")); }\n", {"(4711)"}},
    {"libpq: PQexecParams with text",
     "#include <libpq-fe.h>\nvoid f(PGconn* c) { const char* v[] = {\"4711\"}; PQclear(PQexecParams(c, \"SELECT pg_advisory_lock($1)\", 1, nullptr, v, nullptr, nullptr, 0)); }\n",
     {"(4711)"}},
    {"libpq: formats that say text",
     "#include <libpq-fe.h>\nvoid f(PGconn* c) { const char* v[] = {\"4711\"}; const int n[] = {0}; PQclear(PQexecParams(c, \"SELECT pg_advisory_lock($1)\", 1, nullptr, v, nullptr, n, 0)); }\n",
     {"(4711)"}},
    {"libpq: a binary parameter is no key that could be wrong",
     "#include <endian.h>\n#include <stdint.h>\n#include <libpq-fe.h>\nvoid f(PGconn* c) {\n  uint64_t key = htobe64(4711);\n  const char* v[] = {(const char*)&key};\n  const int l[] = {8}, b[] = {1};\n"
     "  PQclear(PQexecParams(c, \"SELECT pg_advisory_lock($1)\", 1, nullptr, v, l, b, 0));\n}\n",
     {"(*)"}},
    {"libpq: PQsendQueryParams in a pipeline",
     "#include <libpq-fe.h>\nvoid f(PGconn* c) { PQenterPipelineMode(c); const char* v[] = {\"4711\"}; PQsendQueryParams(c, \"SELECT pg_advisory_xact_lock($1)\", 1, nullptr, v, "
     "nullptr, nullptr, 0); PQpipelineSync(c); }\n",
     {"(4711)"}},
    {"libpq: boost::lexical_cast, of which nobody sees the inside",
     "#include <libpq-fe.h>\n#include <boost/lexical_cast.hpp>\n#include <string>\nvoid f(PGconn* c) { PQclear(PQexec(c, (\"SELECT pg_advisory_lock(\" + boost::lexical_cast<std::string>(4711) + \")\").c_str())); }\n",
     {"(4711)"}},
    {"libpqxx: exec_params", "#include <pqxx/pqxx>\nvoid f(pqxx::work& tx) { tx.exec_params(\"SELECT pg_advisory_xact_lock($1, $2)\", 7, 8); }\n", {"(7, 8)"}},
    {"libpqxx: exec with params", "#include <string_view>\nnamespace pqxx { struct zview : std::string_view { zview(const char*); }; struct prepped : zview { explicit prepped(const char*); }; struct params { template <class... T> params(T...) {} };\nstruct connection { void prepare(zview, zview); }; struct work { int exec(zview, params); int exec(prepped, params); }; }\nvoid f(pqxx::work& tx) { tx.exec(\"SELECT pg_advisory_xact_lock($1)\", pqxx::params{7}); }\n", {"(7)"}},
    {"libpqxx 6: prepared()",
     LIBPQXX6 "void f(pqxx::connection& c, pqxx::work& tx) { c.prepare(\"lock\", \"SELECT pg_advisory_xact_lock($1, $2)\"); tx.prepared(\"lock\")(7)(8).exec(); }\n",
     {"(7, 8)"}},
    {"libpqxx 6: parameterized()", LIBPQXX6 "void f(pqxx::work& tx) { tx.parameterized(\"SELECT pg_advisory_xact_lock($1)\")(7).exec(); }\n", {"(7)"}},
    {"libpqxx 7.9: prepped",
     "#include <string_view>\nnamespace pqxx { struct zview : std::string_view { zview(const char*); }; struct prepped : zview { explicit prepped(const char*); }; struct params { template <class... T> params(T...) {} };\nstruct connection { void prepare(zview, zview); }; struct work { int exec(zview, params); int exec(prepped, params); }; }\nvoid f(pqxx::connection& c, pqxx::work& tx) { c.prepare(\"lock_one\", \"SELECT pg_advisory_xact_lock($1)\"); tx.exec(pqxx::prepped{\"lock_one\"}, pqxx::params{7}); "
     "}\n",
     {"(7)"}},
    {"libpqxx: pipeline", "#include <pqxx/pqxx>\nvoid f(pqxx::work& tx) { pqxx::pipeline p(tx); p.insert(\"SELECT pg_advisory_xact_lock(7)\"); p.complete(); }\n", {"(7)"}},
    {"SOCI: stream", "#include <soci/soci.h>\nvoid f(soci::session& s) { s << \"SELECT pg_advisory_lock(\" << 7 << \")\"; }\n", {"(7)"}},
    {"SOCI: use", "#include <soci/soci.h>\nvoid f(soci::session& s, int& out) { const int key = 7; s << \"SELECT pg_advisory_lock(:k)\", soci::use(key), soci::into(out); }\n", {"(7)"}},
    {"SOCI: prepare", "#include <soci/soci.h>\nvoid f(soci::session& s) { const int a = 7, b = 8; soci::statement st = (s.prepare << \"SELECT pg_advisory_lock(:a, :b)\", soci::use(a), soci::use(b)); st.execute(true); }\n", {"(7, 8)"}},
    {"SOCI: once", "#include <soci/soci.h>\nvoid f(soci::session& s) { s.once << \"SELECT pg_advisory_lock(7)\"; }\n", {"(7)"}},
    {"Qt: exec", "#include <QSqlQuery>\nvoid f(QSqlDatabase db) { QSqlQuery q(db); q.exec(\"SELECT pg_advisory_lock(7)\"); }\n", {"(7)"}},
    {"Qt: arg", "#include <QSqlQuery>\nvoid f(QSqlDatabase db) { QSqlQuery q(db); q.exec(QString(\"SELECT pg_advisory_lock(%1, %2)\").arg(7).arg(8)); }\n", {"(7, 8)"}},
    {"Qt: addBindValue", "#include <QSqlQuery>\nvoid f(QSqlDatabase db) { QSqlQuery q(db); q.prepare(\"SELECT pg_advisory_lock(?, ?)\"); q.addBindValue(7); q.addBindValue(8); q.exec(); }\n", {"(7, 8)"}},
    {"Qt: bindValue by name",
     "#include <QSqlQuery>\nvoid f(QSqlDatabase db) {\n  QSqlQuery q(db);\n  q.prepare(\"SELECT pg_advisory_lock(:a, :b)\");\n  q.bindValue(\":b\", 8);\n  q.bindValue(\":a\", 7);\n  q.exec();\n}\n",
     {"(7, 8)"}},
    {"Qt: two statements of one object",
     "#include <QSqlQuery>\nvoid f(QSqlDatabase db) {\n  QSqlQuery q(db);\n  q.prepare(\"SELECT pg_advisory_lock(?)\");\n  q.addBindValue(7);\n  q.exec();\n"
     "  q.prepare(\"SELECT pg_advisory_unlock(?)\");\n  q.addBindValue(7);\n  q.exec();\n}\n",
     {"(7)"}, 2},
    {"Qt: the database's own exec", "#include <QSqlDatabase>\nvoid f(QSqlDatabase db) { db.exec(\"SELECT pg_advisory_lock(7)\"); }\n", {"(7)"}},
    {"POCO: stream and now",
     "#include <Poco/Data/Session.h>\nusing namespace Poco::Data::Keywords;\nvoid f(Poco::Data::Session& s) { int key = 7; s << \"SELECT pg_advisory_lock($1)\", use(key), now; }\n",
     {"(7)"}},
    {"POCO: statement", "#include <Poco/Data/Statement.h>\nvoid f(Poco::Data::Session& s) { Poco::Data::Statement st(s); st << \"SELECT pg_advisory_lock(7)\"; st.execute(); }\n", {"(7)"}},
    {"ODBC: SQLExecDirect", "#include <sql.h>\nvoid f(SQLHSTMT s) { SQLExecDirect(s, (SQLCHAR*)\"SELECT pg_advisory_lock(7)\", SQL_NTS); }\n", {"(7)"}},
    {"ODBC: SQLPrepare and SQLBindParameter",
     "#include <sql.h>\n#include <sqlext.h>\nvoid f(SQLHSTMT s) {\n  const SQLBIGINT key = 7;\n  SQLPrepare(s, (SQLCHAR*)\"SELECT pg_advisory_lock(?)\", SQL_NTS);\n"
     "  SQLBindParameter(s, 1, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0, (SQLPOINTER)&key, 0, nullptr);\n  SQLExecute(s);\n}\n",
     {"(7)"}},
    {"nanodbc: execute", "#include <nanodbc/nanodbc.h>\nvoid f(nanodbc::connection& c) { nanodbc::execute(c, \"SELECT pg_advisory_lock(7)\"); }\n", {"(7)"}},
    {"nanodbc: statement and bind",
     "#include <nanodbc/nanodbc.h>\nvoid f(nanodbc::connection& c) {\n  const int key = 7;\n  nanodbc::statement st(c, \"SELECT pg_advisory_lock(?)\");\n  st.bind(0, &key);\n  nanodbc::execute(st);\n}\n",
     {"(7)"}},
    {"nanodbc: prepare on a statement",
     "#include <nanodbc/nanodbc.h>\nvoid f(nanodbc::connection& c) {\n  const int key = 7;\n  nanodbc::statement st(c);\n  st.prepare(\"SELECT pg_advisory_lock(?)\");\n  st.bind(0, &key);\n  st.execute();\n}\n",
     {"(7)"}},
    {"drogon: execSqlSync", "#include <drogon/drogon.h>\nvoid f(const drogon::orm::DbClientPtr& c) { c->execSqlSync(\"SELECT pg_advisory_lock($1)\", 7); }\n", {"(7)"}},
    {"drogon: execSqlAsync",
     "#include <drogon/drogon.h>\nvoid f(const drogon::orm::DbClientPtr& c) {\n  c->execSqlAsync(\"SELECT pg_advisory_lock($1, $2)\", [](const drogon::orm::Result&) {}, [](const "
     "drogon::orm::DrogonDbException&) {}, 7, 8);\n}\n",
     {"(7, 8)"}},
    {"drogon: binder",
     "#include <drogon/drogon.h>\nvoid f(const drogon::orm::DbClientPtr& c) { *c << \"SELECT pg_advisory_lock($1)\" << 7 >> [](const drogon::orm::Result&) {}; }\n", {"(7)"}},
    {"SPI: execute", "#include <postgres.h>\n#include <executor/spi.h>\nvoid f(void) { SPI_execute(\"SELECT pg_advisory_lock(7)\", false, 0); }\n", {"(7)"}},
    {"SPI: execute_with_args",
     "#include <postgres.h>\n#include <executor/spi.h>\nvoid f(void) {\n  Oid types[1] = {20};\n  Datum values[1] = {Int64GetDatum(7)};\n"
     "  SPI_execute_with_args(\"SELECT pg_advisory_lock($1)\", 1, types, values, nullptr, false, 0);\n}\n",
     {"(7)"}},
    {"SPI: psprintf", "#include <postgres.h>\n#include <executor/spi.h>\nvoid f(void) { SPI_execute(psprintf(\"SELECT pg_advisory_lock(%d)\", 7), false, 0); }\n", {"(7)"}},
    {"fmgr: one key", "#include <postgres.h>\n#include <fmgr.h>\n#include <utils/fmgrprotos.h>\nvoid f(void) { DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(7)); }\n", {"(7)"}},
    {"fmgr: two keys, shared, for the transaction",
     "#include <postgres.h>\n#include <fmgr.h>\n#include <utils/fmgrprotos.h>\nvoid f(void) { DirectFunctionCall2(pg_advisory_xact_lock_shared_int4, Int32GetDatum(7), Int32GetDatum(8)); }\n",
     {"(7, 8)"}},
    {"lock manager: a tag like that of one key",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(void) {\n  LOCKTAG tag;\n  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 7, 1);\n  LockAcquire(&tag, "
     "ExclusiveLock, true, false);\n}\n",
     {"(7)"}},
    {"lock manager: the halves of one key",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(int64 key) {\n  LOCKTAG tag;\n  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32)(key >> 32), "
     "(uint32)key, 1);\n  LockAcquire(&tag, ExclusiveLock, true, false);\n}\n",
     {"(*)"}},
    {"lock manager: a tag like that of two keys",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(void) {\n  LOCKTAG tag;\n  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 7, 8, 2);\n  if (LockAcquire(&tag, "
     "ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)\n    elog(ERROR, \"busy\");\n}\n",
     {"(7, 8)"}},
    {"lock manager: a tag of another space",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(void) {\n  LOCKTAG tag;\n  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 7, 8, 3);\n  LockAcquire(&tag, "
     "ExclusiveLock, true, false);\n}\n",
     {"(3, 7, 8)"}},
    {"lock manager: one key in another space",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(int64 shard) {\n  LOCKTAG tag;\n  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32)((shard) >> 32), "
     "(uint32)(shard), 5);\n  LockAcquire(&tag, ExclusiveLock, false, false);\n}\n",
     {"(5, *)"}},
    {"lock manager: branches fill the tag",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(int which) {\n  LOCKTAG tag;\n  switch (which) {\n    case 1: SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 7, 1); break;\n"
     "    case 2: SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 7, 8, 2); break;\n    default: return;\n  }\n  LockAcquire(&tag, RowExclusiveLock, true, false);\n}\n",
     {"(7)", "(7, 8)"}, 2},
    {"lock manager: helpers fill the tag, and return it",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nstatic void fill(LOCKTAG* tag, int64 key) { SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, (uint32)(key >> 32), (uint32)key, 1); }\n"
     "static LOCKTAG make(int64 key) { LOCKTAG tag; fill(&tag, key); return tag; }\nvoid f(void) {\n  LOCKTAG tag = make(7);\n  LockAcquire(&tag, ExclusiveLock, true, false);\n}\n",
     {"(7)"}},
    {"lock manager: a list fills the tag",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(void) {\n  LOCKTAG tag = {0, 7, 8, 2, LOCKTAG_ADVISORY, USER_LOCKMETHOD};\n  LockAcquire(&tag, ExclusiveLock, true, false);\n}\n",
     {"(7, 8)"}},
    {"lock manager: each field is assigned, in an object",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nstruct Held { LOCKTAG tag; };\nvoid f(Held* held) {\n  held->tag.locktag_field2 = 0;\n  held->tag.locktag_field3 = 7;\n  held->tag.locktag_field4 = 1;\n"
     "  held->tag.locktag_type = LOCKTAG_ADVISORY;\n  LockAcquire(&held->tag, ExclusiveLock, true, false);\n}\n",
     {"(7)"}},
    {"lock manager: a lock of something else",
     "#include <postgres.h>\n#include <storage/lock.h>\n#include <miscadmin.h>\nvoid f(Oid relation) {\n  LOCKTAG tag = {MyDatabaseId, relation, 0, 1, LOCKTAG_RELATION, DEFAULT_LOCKMETHOD};\n  LockAcquire(&tag, ExclusiveLock, false, false);\n}\n",
     {}, 0},
};

std::set<std::string> keysOf(const fs::path& folder) {
  std::set<std::string> keys;
  for (const auto& key : keysIn(folder)) keys.insert(key.at("text").get<std::string>());
  return keys;
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("what each library sends and binds") {
  // One unit for each library; a use that declares the library itself is a unit alone.
  const TemporaryFolder folder;
  std::map<std::string, CombinedUnit> units;
  const auto scopeOf = [](const Use& use) { return "use" + std::to_string(&use - kUses); };
  const auto isAlone = [](const Use& use) { return std::string_view(use.code).find("\nnamespace ") != std::string_view::npos; };
  const auto fileOf = [&](const Use& use) {
    const std::string_view name = use.name;
    return isAlone(use) ? scopeOf(use) + ".cpp" : std::string(name.substr(0, name.find_first_of(" :"))) + ".cpp";
  };
  for (const Use& use : kUses)
    if (isAlone(use)) write(folder.path() / fileOf(use), use.code);
    else units.try_emplace(fileOf(use), fileOf(use)).first->second.add(scopeOf(use), use.code);
  for (const auto& [file, unit] : units) unit.write(folder.path());

  const nlohmann::json keys = keysIn(folder.path());
  const CheckRun checked = check(folder.path(), {"."});
  CHECK_MESSAGE(checked.report.at("coverage").at("units").empty(), checked.report.at("coverage").dump());
  for (const auto& finding : checked.report.at("findings")) CHECK_MESSAGE(finding.at("code") != "AL206", finding.dump());
  int sites = 0;
  for (const Use& use : kUses) {
    const std::string name = use.name;
    const Stands where = isAlone(use) ? Stands{fileOf(use), 1, std::numeric_limits<int>::max()} : units.at(fileOf(use)).find(scopeOf(use));
    const std::vector<std::string> found = sitesIn(keys, where);
    std::string listed;
    for (const std::string& k : found) listed += k + " ";
    CHECK_MESSAGE(std::set<std::string>(found.begin(), found.end()) == use.keys, name, ": ", listed);
    CHECK_MESSAGE(static_cast<int>(found.size()) == use.sites, name, ": ", listed);
    sites += use.sites;
  }
  CHECK(checked.report.at("coverage").at("call_sites") == sites);
}

TEST_CASE("a project names its own functions") {
  const TemporaryFolder folder;
  write(folder.path() / "a.cpp",
        "namespace db { struct S { void go(int flags, const char* sql, long key); void note(const char* sql); }; }\n"
        "void f(db::S& s) {\n"
        "  s.go(1, \"SELECT pg_advisory_lock($1)\", 7);\n"
        "  s.note(\"SELECT pg_advisory_lock(8)\");\n"
        "}\n");
  // As it stands, whatever is given lock SQL runs it, and a value that could be the key is taken for it.
  CHECK(keysOf(folder.path()) == std::set<std::string>{"(7)", "(8)"});
  write(folder.path() / "pglocklint.json",
        "{\"call_models\": [{\"function\": \"db::S::go\", \"sql\": 1, \"binds\": 2},  // comments are fine\n"
        " {\"function\": \"db::S::note\", \"role\": \"ignore\"}]}");
  CHECK(keysOf(folder.path()) == std::set<std::string>{"(7)"});
}
