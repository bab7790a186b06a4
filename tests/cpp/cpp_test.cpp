// C++ as users meet it: positions inside of literals, workers that fail, hostile compile databases, functions that several units
// see.
#include <doctest/doctest.h>

#include <set>

#include "support/check.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

class Project {
 public:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  CheckRun check(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> what = options;
    what.push_back(".");
    return pglocklint::test::check(folder_.path(), what);
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

const char* const kBare =
    "#include <libpq-fe.h>\n"
    "void lock(PGconn* c) { PQclear(PQexec(c, \"SELECT pg_advisory_lock(7)\")); }\n";

std::set<std::string> unitsNotRead(const CheckRun& run) {
  std::set<std::string> files;
  for (const auto& unit : run.report.at("coverage").at("units"))
    files.insert(unit.at("file").get<std::string>() + " " + unit.at("status").get<std::string>());
  return files;
}

}  // namespace

TEST_CASE("a finding points at the characters inside of the literal") {
  const Project p;
  p.write("a.cpp",
          "#include <libpq-fe.h>\n"
          "void f(PGconn* c) {\n"
          "  PQexec(c, \"SELECT\\t1; \" \"SELECT \"\n"
          "            \"pg_advisory_lock(7)\");\n"
          "}\n");
  const CheckRun run = p.check({"--enable", "magic-key"});
  REQUIRE(run.findings.size() == 1);
  const auto& finding = run.report["findings"][0];
  CHECK(finding.at("line") == 4);
  CHECK(finding.at("column") == 14);
  CHECK(finding.at("end_column") == 33);
  CHECK(finding.at("function") == "f");
}

TEST_CASE("macros, concatenation and constants lead to one statement") {
  const Project p;
  p.write("keys.h", "#pragma once\n#define LOCK_FN \"pg_advisory_lock\"\nconstexpr long kBoot = 4711;\n");
  p.write("a.cpp",
          "#include <libpq-fe.h>\n#include <string>\n#include \"keys.h\"\n"
          "void f(PGconn* c) {\n"
          "  std::string q = \"SELECT \" LOCK_FN \"(\";\n"
          "  q += std::to_string(kBoot);\n"
          "  q.append(\")\");\n"
          "  PQclear(PQexec(c, q.c_str()));\n"
          "}\n");
  const Outcome keys = run({PGLOCKLINT_BIN, "keys", "--format", "json", "."}, p.path());
  const auto json = nlohmann::json::parse(keys.out);
  REQUIRE(json.at("keys").size() == 1);
  const auto& key = json["keys"][0];
  CHECK(key.at("text") == "(4711)");
  CHECK(key.at("names") == nlohmann::json::array({"kBoot"}));
  CHECK(key.at("defined_at") == nlohmann::json::array({{{"file", "keys.h"}, {"line", 3}}}));
  CHECK(key.at("sites").size() == 1);
}

TEST_CASE("a key is followed through a wrapper, a constant of a header and another unit") {
  const Project p;
  p.write("lock.h", "#pragma once\n#include <libpq-fe.h>\nnamespace db { void take(PGconn* c, int key); }\n");
  p.write("lock.cpp",
          "#include \"lock.h\"\n#include <string>\n"
          "void db::take(PGconn* c, int key) {\n"
          "  const std::string q = \"SELECT pg_advisory_lock(\" + std::to_string(key) + \")\";\n"
          "  PQclear(PQexec(c, q.c_str()));\n"
          "}\n");
  p.write("numbers.h", "#pragma once\nenum Locks { kSetup = 42, kUpgrade };\n");
  p.write("boot.cpp", "#include \"lock.h\"\n#include \"numbers.h\"\nvoid boot(PGconn* c) { db::take(c, kUpgrade); }\n");
  const Outcome keys = run({PGLOCKLINT_BIN, "keys", "--format", "json", "."}, p.path());
  const auto json = nlohmann::json::parse(keys.out);
  std::set<std::string> texts;
  for (const auto& key : json.at("keys")) texts.insert(key.at("text").get<std::string>());
  CHECK(texts == std::set<std::string>{"(*)", "(43)"});
}

TEST_CASE("a function of a header is reported once, however many units include it") {
  const Project p;
  p.write("guard.h",
          "#pragma once\n#include <libpq-fe.h>\ninline void guard(PGconn* c) { PQclear(PQexec(c, \"SELECT "
          "pg_advisory_lock(7)\")); }\n");
  for (const char* name : {"a.cpp", "b.cpp"})
    p.write(name, std::string("#include \"guard.h\"\nvoid ") + name[0] + "(PGconn* c) { guard(c); }\n");
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.findings == std::vector<Reported>{{"guard.h", 3, "magic-key"}});
}

// The tree of the next two: the checked folder uses a header beside it and one of a folder "include" elsewhere.
void writeRepository(const Project& p) {
  p.write("app/db/lock.cpp",
          "#include \"app/base/session.h\"\n#include <keys/number.h>\n#include <string>\n"
          "void f(Session& s) { s.send(\"SELECT pg_advisory_lock(\" + std::to_string(kNumber) + \")\"); }\n");
  p.write("app/base/session.h",
          "#include <libpq-fe.h>\n#include <string>\nclass Session {\n  PGconn* c_;\n public:\n"
          "  void send(const std::string& text) { PQclear(PQexec(c_, text.c_str())); }\n"
          "  void other() { PQclear(PQexec(c_, \"SELECT pg_advisory_lock(5)\")); }\n};\n");
  p.write("libs/keys/include/keys/number.h", "constexpr int kNumber = 7;\n");
}

const char* const kOneKey =
    "bigint (7)  kNumber\n  defined at lock.cpp:4\n  lock.cpp:4 acquire session exclusive in f\n\n1 key\n";

std::string keysOf(const Project& p, const std::string& folder) { return run({PGLOCKLINT_BIN, "keys", folder}, p.path()).out; }

TEST_CASE("a part of a repository is checked with the headers of all of it, and they are not reported") {
  const Project p;
  writeRepository(p);
  REQUIRE(run({"/usr/bin/env", "git", "init", "-q"}, p.path()).status == 0);
  REQUIRE(run({"/usr/bin/env", "git", "add", "."}, p.path()).status == 0);
  CHECK(keysOf(p, "app/db") == kOneKey);
}

TEST_CASE("a release without .git is followed up as far as it is built together") {
  const Project p;
  writeRepository(p);
  for (const char* folder : {"release/app", "release"}) p.write(std::string(folder) + "/CMakeLists.txt", "");
  fs::rename(p.path() / "app/db", p.path() / "release/app/db");
  fs::rename(p.path() / "app/base", p.path() / "release/app/base");
  fs::rename(p.path() / "libs/keys/include", p.path() / "release/include");
  CHECK(keysOf(p, "release/app/db") == kOneKey);
}

TEST_CASE("text whose call is not followed is counted") {
  const Project p;
  p.write("a.cpp", "const char* const kSql[] = {\"SELECT pg_advisory_lock(7)\"};\n");
  const CheckRun run = p.check();
  CHECK(run.findings.empty());
  REQUIRE(run.report["coverage"]["not_understood"].size() == 1);
  CHECK(run.report["coverage"]["not_understood"][0].at("line") == 1);
}

TEST_CASE("a suppression comment covers the call below it, and one inside of the literal") {
  const Project p;
  p.write("a.cpp",
          "#include <libpq-fe.h>\n"
          "void f(PGconn* c) {\n"
          "  // pglocklint:allow(magic-key) the number is registered in our wiki\n"
          "  PQclear(PQexec(c, \"SELECT pg_advisory_lock(7)\"));\n"
          "  PQclear(PQexec(c, R\"(SELECT pg_advisory_lock(8) -- pglocklint:allow(magic-key) so is this\n"
          "  )\"));\n"
          "}\n");
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.findings.empty());
  CHECK(run.report["coverage"].at("suppressed") == 2);
}

TEST_CASE("missing headers and errors do not hide what can be read") {
  const Project p;
  p.write("a.cpp",
          "#include \"not/there.h\"\n#include <libpq-fe.h>\nUnknown g;\n"
          "void f(PGconn* c) { g.prepare(); PQclear(PQexec(c, \"SELECT pg_advisory_lock(7)\")); }\n");
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.findings == std::vector<Reported>{{"a.cpp", 4, "magic-key"}});
  CHECK(unitsNotRead(run) == std::set<std::string>{"a.cpp degraded"});
  // Objects of unknown classes: clang keeps what they are made of, without types.
  p.write("a.cpp",
          "#include \"not/there.h\"\n#include <libpq-fe.h>\nvoid f(PGconn* c) { Unknown u(\"a\", 1); lost(u); std::string s(\"b\", 2); lost(s); }\n"
          "void g(PGconn* c) { PQclear(PQexec(c, \"SELECT pg_advisory_lock(7)\")); }\n");
  const CheckRun objects = p.check({"--enable", "magic-key"});
  CHECK(objects.findings == std::vector<Reported>{{"a.cpp", 4, "magic-key"}});
  CHECK(unitsNotRead(objects) == std::set<std::string>{"a.cpp degraded"});
}

TEST_CASE("an unknown function that is given lock SQL runs it") {
  const Project p;
  p.write("a.cpp",
          "#include \"pool.h\"\n"
          "void f(Session& s, long id) { s.Run(\"SELECT pg_advisory_lock(7)\"); s.Query(\"SELECT pg_advisory_xact_lock($1)\", "
          "id); }\n");
  p.write("pool.h", "#pragma once\nclass Session { public: void Run(const char*); void Query(const char*, long); };\n");
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.findings == std::vector<Reported>{{"a.cpp", 2, "magic-key"}});
  CHECK(run.report["coverage"].at("call_sites") == 2);
}

TEST_CASE("the values of a statement are those of the list that an unknown function is given with it") {
  const Project p;
  p.write("a.cpp",
          "struct Connection;\nvoid run(Connection&, const char*, int, const char**);\n"
          "void f(Connection& c) {\n  const char* list[2];\n  list[0] = \"7\";\n  list[1] = \"8\";\n"
          "  run(c, \"SELECT pg_advisory_lock($1, $2)\", 2, list);\n}\n");
  p.write("b.cpp",
          "struct Connection;\nvoid run(Connection&, const char*, int, const char* const*);\n"
          "void g(Connection& c) {\n  const char* list[] = {\"9\", \"10\", \"other\"};\n"
          "  run(c, \"SELECT pg_advisory_lock($1, $2)\", 2, list);\n}\n");
  const std::string keys = run({PGLOCKLINT_BIN, "keys", "."}, p.path()).out;
  CHECK(keys.find("pair (7, 8)") != std::string::npos);
  CHECK(keys.find("pair (9, 10)") != std::string::npos);
  CHECK(keys.find("2 keys") != std::string::npos);
}

TEST_CASE("elements of a list that are assigned several times hold what was assigned last, if that is certain") {
  const auto keys = [](const std::string& between) {
    const Project p;
    p.write("a.cpp",
            "struct Connection;\nvoid run(Connection&, const char*, int, const char**);\nvoid again(Connection&, const char**);\n"
            "void f(Connection& c, int n) {\n  const char* list[2];\n  list[0] = \"1\";\n  again(c, list);\n"
            "  list[0] = \"7\";\n  list[1] = \"8\";\n" + between + "}\n");
    return run({PGLOCKLINT_BIN, "keys", "."}, p.path()).out;
  };
  const std::string call = "  run(c, \"SELECT pg_advisory_lock($1, $2)\", 2, list);\n";
  const auto certain = [&](const std::string& between) { return keys(between).find("pair (7, 8)") != std::string::npos; };
  CHECK(certain(call));
  CHECK(certain("if (n) {\n" + call + "}\n"));
  CHECK(certain(call + "list[0] = \"9\";\n"));
  CHECK_FALSE(certain("if (n) list[0] = \"9\";\n" + call));
  CHECK_FALSE(certain("while (n--) {\n" + call + "list[0] = \"9\";\n}\n"));
  CHECK_FALSE(certain("again:\n" + call + "if (n--) { list[0] = \"9\"; goto again; }\n"));
}

TEST_CASE("a hostile compile database loads, writes and leaks nothing") {
  const Project p, outside;
  p.write("a.cpp", kBare);
  p.write("evil.rsp", "-DX");
  outside.write("far.rsp", "-DSECRET_OF_ANOTHER_PROJECT");
  // A library that says when it is loaded.
  p.write("evil.c", "#include <stdio.h>\n__attribute__((constructor)) void loaded(void) { FILE* f = fopen(\"" + p.at("loaded") + "\", \"w\"); if (f) fclose(f); }\n");
  REQUIRE(run({"/usr/bin/env", "cc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"}, p.path()).status == 0);
  const std::string evil = p.at("evil.so");
  nlohmann::json commands = nlohmann::json::array();
  commands.push_back({{"directory", p.path().string()},
                      {"file", "a.cpp"},
                      {"arguments",
                       {"g++", "-fplugin=" + evil, "-fpass-plugin=" + evil, "-Xclang", "-load", "-Xclang", evil, "-load", evil, "-include", "/etc/shadow",
                        "-imacros", "/etc/shadow", "-o", "a.cpp", "-MD", "-MF", "a.cpp", "-save-temps", "-ftime-trace=trace.json", "-dumpdir", "dumps/",
                        "--serialize-diagnostics", "a.cpp", "-wrapper", evil, "-B" + p.path().string(), "-specs=" + p.at("evil.rsp"),
                        "-fmodules-cache-path=" + p.at("cache"), "-ivfsoverlay", "/etc/shadow", "@/etc/passwd", "@" + outside.at("far.rsp"),
                        "@../" + outside.path().filename().string() + "/far.rsp", "@evil.rsp", "-c", "a.cpp"}}});
  p.write("compile_commands.json", commands.dump());
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(p.path())) names.insert(entry.path().string());
    return names;
  };
  const std::set<std::string> before = files();
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.findings == std::vector<Reported>{{"a.cpp", 2, "magic-key"}});
  CHECK(readFile(p.at("a.cpp")) == kBare);
  CHECK(files() == before);
  const std::string reason = run.report["coverage"]["units"][0].at("reason");
  for (const char* flag : {"-fplugin", "-Xclang", "-load", "-include", "-imacros", "-o a.cpp", "-specs", "-ivfsoverlay", "@/etc/passwd", "far.rsp"})
    CHECK_MESSAGE(reason.find(flag) != std::string::npos, flag, ": ", reason);
  for (const char* secret : {"root:", "SECRET_OF"}) CHECK_MESSAGE((run.outcome.out + run.outcome.err).find(secret) == std::string::npos, secret);
}

TEST_CASE("a header that the build includes first says what its constants are") {
  const Project p;
  p.write("a.cpp", "#include <libpq-fe.h>\nvoid f(PGconn* c) { PQclear(PQexec(c, LOCK_JOBS)); }\n// advisory\n");
  p.write("config.h", "#define LOCK_JOBS \"SELECT pg_advisory_xact_lock(811)\"\n");
  p.write("config.h.pch", "not one");
  p.write("compile_commands.json", nlohmann::json::array({{{"directory", p.path().string()}, {"file", "a.cpp"}, {"command", "c++ -include config.h -c a.cpp"}}}).dump());
  const CheckRun run = p.check({"--enable", "magic-key"});
  CHECK(run.report["coverage"].at("call_sites") == 1);
  CHECK(run.report["coverage"]["units"].empty());
}

TEST_CASE("a database that was asked for and is not there ends the run") {
  const Project p;
  p.write("a.cpp", kBare);
  const CheckRun run = p.check({"-p", "nowhere"});
  CHECK(run.outcome.status == 2);
  CHECK(run.outcome.err.find("compile_commands.json") != std::string::npos);
}

// The worker is the executable beside pglocklint: each of these stands in for it.
TEST_CASE("a worker that crashes, fails or talks nonsense costs its unit") {
  struct Stand {
    const char* script;
    const char* reason;
  };
  const Stand stands[] = {
      {"#!/bin/sh\nkill -SEGV $$\n", "crashed"},
      {"#!/bin/sh\nkill -KILL $$\n", "crashed"},
      {"#!/bin/sh\nkill -XCPU $$\n", "seconds of processor time"},  // what its limit does to one that computes for ever
      {"#!/bin/sh\necho 'no such thing' >&2\nexit 1\n", "no such thing"},
      {"#!/bin/sh\nexec yes\n", "more facts than fit"},
      {"#!/bin/sh\necho '{\"schema\":\"pglocklint/facts/1\",\"files\":[]}'\n", "no facts"},
  };
  for (const Stand& stand : stands) {
    const Project p;
    p.write("src/a.cpp", kBare);
    p.write("src/b.sql", "SELECT pg_advisory_lock(9);\n");
    fs::create_directory(p.path() / "bin");
    fs::copy(PGLOCKLINT_BIN, p.path() / "bin/pglocklint");
    p.write("bin/pglocklint-clang", stand.script);
    fs::permissions(p.at("bin/pglocklint-clang"), fs::perms::owner_all);
    const Outcome outcome = run(
        {p.at("bin/pglocklint"), "check", "--format", "json", "--enable", "magic-key", "--fail-on", "never", "src"}, p.path());
    CHECK(outcome.status == 0);
    const auto report = nlohmann::json::parse(outcome.out);
    CHECK(report["findings"].size() == 1);
    REQUIRE(report["coverage"]["units"].size() == 1);
    CHECK(report["coverage"]["units"][0].at("file") == "a.cpp");
    CHECK(report["coverage"]["units"][0].at("reason").get<std::string>().find(stand.reason) != std::string::npos);
  }
}

TEST_CASE("without the worker C++ is coverage and SQL is read") {
  const Project p;
  p.write("src/a.cpp", kBare);
  p.write("src/b.sql", "SELECT pg_advisory_lock(9);\n");
  fs::create_directory(p.path() / "bin");
  fs::copy(PGLOCKLINT_BIN, p.path() / "bin/pglocklint");
  const Outcome outcome =
      run({p.at("bin/pglocklint"), "check", "--format", "json", "--enable", "magic-key", "--fail-on", "never", "src"}, p.path());
  const auto report = nlohmann::json::parse(outcome.out);
  CHECK(report["findings"].size() == 1);
  REQUIRE(report["coverage"]["units"].size() == 1);
  CHECK(report["coverage"]["units"][0].at("reason").get<std::string>().find("pglocklint-clang") != std::string::npos);
}
