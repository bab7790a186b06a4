// All the ways in which programs put SQL together. Each has a bad form, which is reported at the line of its text, and a good one, which is followed
// and silent; or its text is counted as not followed.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "combined_unit.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

// HEAD and TAIL stand for the two halves of one statement, as words between double quotes would hold them.
constexpr std::string_view kHead = "SELECT pg_advisory_xact_lock(j.id) FROM job j ";
constexpr std::string_view kBadTail = "ORDER BY j.prio LIMIT 1";
constexpr std::string_view kGoodTail = "WHERE j.id = 5";

enum class Follows { Yes, No };
struct Way {
  const char* name;
  const char* code;  // of a file that includes libpq-fe.h and string
  Follows follows = Follows::Yes;
  const char* other = nullptr;  // a second unit
  const char* header = nullptr;
};

const Way kWays[] = {
    {"literal", "void f(PGconn* c) { PQexec(c, \"HEAD TAIL\"); }\n"},
    {"adjacent literals", "void f(PGconn* c) { PQexec(c, \"HEAD\" \"TAIL\"); }\n"},
    {"raw literal", "void f(PGconn* c) { PQexec(c, R\"sql(HEAD\nTAIL)sql\"); }\n"},
    {"macro", "#define JOB \"HEAD\"\nvoid f(PGconn* c) { PQexec(c, JOB \"TAIL\"); }\n"},
    {"stringised macro", "#define TEXT(...) #__VA_ARGS__\nvoid f(PGconn* c) { PQexec(c, TEXT(HEAD TAIL)); }\n"},
    {"function-like macro", "#define JOB(tail) \"HEAD\" tail\nvoid f(PGconn* c) { PQexec(c, JOB(\"TAIL\")); }\n"},
    {"constexpr pointer", "constexpr const char* kSql = \"HEAD TAIL\";\nvoid f(PGconn* c) { PQexec(c, kSql); }\n"},
    {"const array", "const char kSql[] = \"HEAD TAIL\";\nvoid f(PGconn* c) { PQexec(c, kSql); }\n"},
    {"string_view", "#include <string_view>\nconstexpr std::string_view kSql = \"HEAD TAIL\";\nvoid f(PGconn* c) { PQexec(c, kSql.data()); }\n"},
    {"const string", "const std::string kSql = \"HEAD TAIL\";\nvoid f(PGconn* c) { PQexec(c, kSql.c_str()); }\n"},
    {"static member", "struct S { static constexpr const char* kSql = \"HEAD TAIL\"; };\nvoid f(PGconn* c) { PQexec(c, S::kSql); }\n"},
    {"static member defined outside", "struct S { static const std::string kSql; };\nconst std::string S::kSql = \"HEAD TAIL\";\nvoid f(PGconn* c) { PQexec(c, S::kSql.c_str()); }\n"},
    {"namespace static", "namespace n { static const char* const kSql = \"HEAD TAIL\"; }\nvoid f(PGconn* c) { PQexec(c, n::kSql); }\n"},
    {"function-local static", "void f(PGconn* c) { static const char* const sql = \"HEAD TAIL\"; PQexec(c, sql); }\n"},
    {"in-class initialiser", "struct S { const char* const sql = \"HEAD TAIL\"; void f(PGconn* c) { PQexec(c, sql); } };\n"},
    {"constant of another unit", "#include \"sql.h\"\nvoid f(PGconn* c) { PQexec(c, kJobSql); }\n", Follows::No,
     "#include \"sql.h\"\nextern const char* const kJobSql = \"HEAD TAIL\";\n", "extern const char* const kJobSql;\n"},
    {"plus", "void f(PGconn* c) { PQexec(c, (std::string(\"HEAD\") + \"TAIL\").c_str()); }\n"},
    {"plus-assign", "void f(PGconn* c) { std::string q = \"HEAD\"; q += \"TAIL\"; PQexec(c, q.c_str()); }\n"},
    {"append", "void f(PGconn* c) { std::string q; q.append(\"HEAD\").append(\"TAIL\"); PQexec(c, q.c_str()); }\n"},
    {"append, step by step", "void f(PGconn* c) { std::string q; q.append(\"HEAD\"); q.append(\"TAIL\"); PQexec(c, q.c_str()); }\n"},
    {"std::format", "#include <format>\nvoid f(PGconn* c) { PQexec(c, std::format(\"HEAD{}\", \"TAIL\").c_str()); }\n"},
    {"fmt", "#include <fmt/format.h>\nvoid f(PGconn* c) { PQexec(c, fmt::format(\"{0}TAIL\", \"HEAD\").c_str()); }\n"},
    {"absl::StrCat", "#include <absl/strings/str_cat.h>\nvoid f(PGconn* c) { PQexec(c, absl::StrCat(\"HEAD\", \"TAIL\").c_str()); }\n"},
    {"absl::StrFormat", "#include <absl/strings/str_format.h>\nvoid f(PGconn* c) { PQexec(c, absl::StrFormat(\"HEAD%s\", \"TAIL\").c_str()); }\n"},
    {"absl::Substitute", "#include <absl/strings/substitute.h>\nvoid f(PGconn* c) { PQexec(c, absl::Substitute(\"HEAD$0\", \"TAIL\").c_str()); }\n"},
    {"snprintf", "#include <cstdio>\nvoid f(PGconn* c) { char q[200]; snprintf(q, sizeof q, \"HEAD%s\", \"TAIL\"); PQexec(c, q); }\n"},
    {"ostringstream", "#include <sstream>\nvoid f(PGconn* c) { std::ostringstream q; q << \"HEAD\" << \"TAIL\"; PQexec(c, q.str().c_str()); }\n"},
    {"ostringstream, step by step",
     "#include <sstream>\nvoid f(PGconn* c) { std::ostringstream q; q << \"HEAD\"; q << \"TAIL\"; PQexec(c, q.str().c_str()); }\n"},
    {"QString::arg", "#include <QSqlQuery>\nvoid f() { QSqlQuery q; q.exec(QString(\"HEAD%1\").arg(\"TAIL\")); }\n"},
    {"boost::format", "#include <boost/format.hpp>\nvoid f(PGconn* c) { PQexec(c, boost::str(boost::format(\"HEAD%1%\") % \"TAIL\").c_str()); }\n"},
    {"boost::format with str()", "#include <boost/format.hpp>\nvoid f(PGconn* c) { PQexec(c, (boost::format(\"HEAD%s\") % \"TAIL\").str().c_str()); }\n"},
    {"ternary", "void f(PGconn* c, bool all) { PQexec(c, all ? \"HEAD TAIL\" : \"SELECT 1\"); }\n"},
    {"ternary of a part", "void f(PGconn* c, bool all) { PQexec(c, (std::string(\"HEAD\") + (all ? \"TAIL\" : \"WHERE j.id = 6\")).c_str()); }\n"},
    {"switch",
     "void f(PGconn* c, int k) {\n  const char* q = nullptr;\n  switch (k) {\n    case 1: q = \"HEAD TAIL\"; break;\n    default: q = \"SELECT 1\";\n  }\n  PQexec(c, q);\n}\n"},
    {"if", "void f(PGconn* c, int k) { std::string q = \"SELECT 1\"; if (k) q = \"HEAD TAIL\"; PQexec(c, q.c_str()); }\n"},
    {"array", "const char* const kSql[] = {\"SELECT 1\", \"HEAD TAIL\"};\nvoid f(PGconn* c) { PQexec(c, kSql[1]); }\n"},
    {"array at any index", "const char* const kSql[] = {\"SELECT 1\", \"HEAD TAIL\"};\nvoid f(PGconn* c, int i) { PQexec(c, kSql[i]); }\n"},
    {"array of a loop",
     "void f(PGconn* c) { const char* sql[] = {\"SELECT 1\", \"HEAD TAIL\"}; for (const char* q : sql) PQexec(c, q); }\n"},
    {"vector of a loop",
     "#include <vector>\nvoid f(PGconn* c) { const std::vector<std::string> sql{\"SELECT 1\", \"HEAD TAIL\"}; for (const auto& q : sql) PQexec(c, q.c_str()); }\n"},
    {"map", "#include <map>\nconst std::map<int, std::string> kSql = {{1, \"SELECT 1\"}, {2, \"HEAD TAIL\"}};\nvoid f(PGconn* c) { PQexec(c, kSql.at(2).c_str()); }\n"},
    {"unordered map",
     "#include <unordered_map>\nstatic const std::unordered_map<std::string, std::string> kSql = {{\"a\", \"SELECT 1\"}, {\"b\", \"HEAD TAIL\"}};\nvoid f(PGconn* c) { "
     "PQexec(c, kSql.at(\"b\").c_str()); }\n"},
    {"function that returns SQL", "static std::string sql() { return \"HEAD TAIL\"; }\nvoid f(PGconn* c) { PQexec(c, sql().c_str()); }\n"},
    {"function that completes SQL",
     "static std::string sql(const std::string& tail) { return \"HEAD\" + tail; }\nvoid f(PGconn* c) { PQexec(c, sql(\"TAIL\").c_str()); }\n"},
    {"function that returns a constant", "static const char* sql() { return \"HEAD TAIL\"; }\nvoid f(PGconn* c) { PQexec(c, sql()); }\n"},
    {"user-defined literal",
     "std::string operator\"\" _sql(const char* s, std::size_t n) { return std::string(s, n); }\nvoid f(PGconn* c) { PQexec(c, \"HEAD TAIL\"_sql.c_str()); }\n"},
    {"libpqxx, prepared here and executed there",
     "#include <pqxx/pqxx>\nvoid f(pqxx::connection& c) { c.prepare(\"claim\", \"HEAD TAIL\"); }\n", Follows::Yes,
     "#include <pqxx/pqxx>\nvoid g(pqxx::work& tx) { tx.exec_prepared(\"claim\"); }\n"},
    {"PQprepare and PQexecPrepared",
     "void f(PGconn* c) { PQprepare(c, \"claim\", \"HEAD TAIL\", 0, nullptr); PQexecPrepared(c, \"claim\", 0, nullptr, nullptr, nullptr, 0); }\n"},
    {"PQsendPrepare and PQsendQueryPrepared",
     "void f(PGconn* c) { PQsendPrepare(c, \"claim\", \"HEAD TAIL\", 0, nullptr); PQsendQueryPrepared(c, \"claim\", 0, nullptr, nullptr, nullptr, 0); }\n"},
    {"a string class of the project's own, joined with ^",
     "struct var {\n  var(const char*); var(int); var(const var&);\n  var& operator=(const var&); var& operator^=(const var&);\n  const char* c_str() const; bool sqlexec(const var& sql) const;\n};\n"
     "var operator^(const var&, const var&);\nvoid f(var& db) { var q = var(\"HEAD\") ^ \"TAIL\"; db.sqlexec(q); }\n"},
    {"a string class of the project's own, joined with +",
     "struct Str { Str(const char*); Str operator+(const Str&) const; Str& operator+=(const Str&); };\nbool sqlexec(const Str& sql);\n"
     "void f() { Str q = \"HEAD\"; q += \"TAIL\"; sqlexec(q); }\n"},
    {"a string class of the project's own, joined with ^=",
     "struct var { var(const char*); var& operator^=(const var&); };\nvar operator^(var, var);\nbool sqlexec(const var& sql);\n"
     "void f() { var q = \"HEAD\"; q ^= \"TAIL\"; sqlexec(q); }\n"},
    {"absl::StrAppend", "#include <absl/strings/str_cat.h>\nvoid f(PGconn* c) { std::string q = \"HEAD\"; absl::StrAppend(&q, \"TAIL\"); PQexec(c, q.c_str()); }\n"},
    {"sprintf", "#include <cstdio>\nvoid f(PGconn* c) { char q[200]; std::sprintf(q, \"HEAD%s\", \"TAIL\"); PQexec(c, q); }\n"},
    {"stringstream", "#include <sstream>\nvoid f(PGconn* c) { std::stringstream q; q << \"HEAD\" << \"TAIL\"; PQexec(c, q.str().c_str()); }\n"},
    {"string_view made a string",
     "#include <string_view>\nconstexpr std::string_view kHead = \"HEAD\";\nvoid f(PGconn* c) { PQexec(c, (std::string(kHead) + \"TAIL\").c_str()); }\n"},
    {"std::array", "#include <array>\nconstexpr std::array<const char*, 2> kSql = {\"SELECT 1\", \"HEAD TAIL\"};\nvoid f(PGconn* c) { PQexec(c, kSql[1]); }\n"},
    {"default argument", "void g(PGconn* c, const char* sql = \"HEAD TAIL\") { PQexec(c, sql); }\nvoid f(PGconn* c) { g(c); }\n"},
    {"template argument", "template <const char* const& Sql> void g(PGconn* c) { PQexec(c, Sql); }\nstatic constexpr const char* kSql = \"HEAD TAIL\";\nvoid f(PGconn* c) { g<kSql>(c); }\n"},
    {"PQprepare here and PQexecPrepared there", "void f(PGconn* c) { PQprepare(c, \"claim\", \"HEAD TAIL\", 0, nullptr); }\n", Follows::Yes,
     "void g(PGconn* c) { PQexecPrepared(c, \"claim\", 0, nullptr, nullptr, nullptr, 0); }\n"},
    // What is not followed is counted.
    {"text read from a table that is filled at run time",
     "#include <map>\nvoid f(PGconn* c) { std::map<int, std::string> sql; sql[1] = \"SELECT pg_advisory_xact_lock(j.id) FROM job j TAIL\"; PQexec(c, sql[1].c_str()); }\n", Follows::No},
    {"text behind a function pointer",
     "static const char* sql() { return \"SELECT pg_advisory_xact_lock(j.id) FROM job j TAIL\"; }\nvoid f(PGconn* c, const char* (*g)()) { g = sql; PQexec(c, g()); }\n", Follows::No},
};

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) text.replace(at, word.size(), by);
  return text;
}

std::string with(const char* code, std::string_view tail) {
  return replaced(replaced(code, "HEAD", kHead), "TAIL", tail);
}

// What one run says about some lines.
struct Said {
  std::vector<Reported> findings;
  int not_understood = 0;
};

Said saidOf(const CheckRun& run, const Stands& where) {
  Said said;
  for (const Reported& f : run.findings)
    if (where.holds(f.file, f.line)) said.findings.push_back(f);
  for (const auto& entry : run.report.at("coverage").at("not_understood"))
    said.not_understood += where.holds(entry.at("file").get<std::string>(), entry.at("line"));
  return said;
}

}  // namespace

TEST_CASE("every way of putting SQL together: the bad form is reported at its text, the good one is followed and silent") {
  const std::set<std::string> includes{"#include <libpq-fe.h>", "#include <string>"};
  CombinedUnit first("a.cpp", includes), second("b.cpp", includes);
  const TemporaryFolder folder;
  const auto scopeOf = [](const Way& way, bool bad) { return "way" + std::to_string(&way - kWays) + (bad ? "_bad" : "_good"); };
  for (const Way& way : kWays)
    for (const bool bad : {true, false}) {
      const std::string_view tail = bad ? kBadTail : kGoodTail;
      const std::string scope = scopeOf(way, bad);
      const auto own = [&](const char* code) {  // names that meet across units
        return replaced(replaced(with(code, tail), "claim", "claim_" + scope), "sql.h", scope + ".h");
      };
      if (way.header) std::ofstream(folder.path() / (scope + ".h")) << "namespace " << scope << " {\n" << way.header << "}\n";
      first.add(scope, own(way.code));
      if (way.other) second.add(scope, own(way.other));
    }
  first.write(folder.path()), second.write(folder.path());
  const CheckRun run = check(folder.path(), {"."});
  CHECK_MESSAGE(run.report.at("coverage").at("units").empty(), run.report.at("coverage").dump());
  const nlohmann::json keys = keysIn(folder.path());
  for (const Way& way : kWays) {
    const std::string name = way.name;
    CAPTURE(name);
    for (const bool bad : {true, false}) {
      const std::string scope = scopeOf(way, bad);
      const bool in_second = way.other && first.lineOf(scope, kHead) == 0;
      const CombinedUnit& unit = in_second ? second : first;
      const Stands where = unit.find(scope);
      const Said said = saidOf(run, where);
      std::string reported;
      for (const Reported& f : said.findings) reported += text(f) + "\n";
      if (way.follows == Follows::No) {
        CHECK_MESSAGE(said.findings.empty(), name, ": ", reported);
        CHECK_MESSAGE(said.not_understood == 1, name);
        continue;
      }
      const std::vector<Reported> expected{{where.file, unit.lineOf(scope, kHead), "lock-before-limit"}};
      CHECK_MESSAGE(said.findings == (bad ? expected : std::vector<Reported>{}), name, ": ", reported);
      CHECK_MESSAGE(said.not_understood == 0, name);
      CHECK_MESSAGE(!sitesIn(keys, where).empty(), name, bad ? ": bad" : ": good", " form was not followed");
    }
  }
}

TEST_CASE("making an object of the project's own string class runs nothing") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "a.cpp") << "struct var { var(const char*); var(int); const char* c_str() const; var& replace(const var&, const var&); bool contains(const var&) const; };\n"
                                            "var operator^(const var&, const var&);\n"
                                            "bool sqlexec(const var& sql);\n"
                                            "void f() {\n"
                                            "  var text = \"SELECT pg_advisory_lock(7)\";\n"
                                            "  var other = text ^ \"\";\n"
                                            "  sqlexec(other);\n"
                                            "}\n";
  const CheckRun run = check(folder.path(), {"--enable", "magic-key", "."});
  CHECK(run.report.at("coverage").at("call_sites") == 1);
  CHECK(std::ranges::count(run.findings, Reported{"a.cpp", 5, "magic-key"}) == 1);
}
