// C++ fixtures of the rules about how long a lock is held, compiled with libpqxx and libpq and run: after the bad one the session still has the
// lock, after the good one it has none; or, where the fault is that the lock is gone too early, how many there are while the work is done.
// All are one program, each fixture in a namespace of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "oracle/servers.h"
#include "oracle/session.h"
#include "support/process.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = fs::path(PGLOCKLINT_SOURCE_DIR) / "fixtures";
const fs::path kDriver = fs::path(PGLOCKLINT_SOURCE_DIR) / "tests/oracle/cpp/driver.h";

// The database that a run finds. Without tables every work throws; with empty ones there is nothing to do.
const std::string kNothing;
const std::string kEmpty = "CREATE TABLE report (done boolean); CREATE TABLE lock_log (key int); CREATE TABLE job_log (what text);";
const std::string kOpen = kEmpty + "INSERT INTO report VALUES (false);";
// A table whose changes write down how many advisory locks the session has then.
std::string watched(const std::string& table) {
  return "CREATE TABLE seen (locks int); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
         "INSERT INTO seen SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid(); RETURN NULL; END $$; " + table +
         " CREATE TRIGGER see BEFORE UPDATE OR DELETE ON " + table.substr(13, table.find(' ', 13) - 13) + " FOR EACH STATEMENT EXECUTE FUNCTION see();";
}

struct Run {
  std::string fixture;  // a file or folder under fixtures/
  std::string call;     // `c` is a pqxx::connection, `p` a PGconn, both of the same database
  std::string setup;
  std::string gives;    // "threw, 1 left"; ", 0 during" where the table is watched
  std::string more;     // what the fixture leaves to its project
};

const std::string kPool = "std::shared_ptr<pqxx::connection> Pool::checkout() { return driver::anyConnection(); }";

std::vector<Run> runs() {
  std::vector<Run> all;
  // The shapes of AL301: the good ones both ways.
  for (const std::string shape : {"guard", "with_lock", "three_files", "unique_ptr", "scope_exit", "goto", "member", "factory", "moved", "optional", "helper", "procedure"}) {
    const bool libpq = shape == "goto", file = shape != "three_files" && shape != "helper", sql = shape == "procedure";
    const auto at = [&](const std::string& name) { return "session-lock-not-released/" + name + (sql ? ".sql" : file ? ".cpp" : ""); };
    const std::string call = sql ? "pqxx::nontransaction(c).exec(\"CALL publish()\")" : libpq ? "publish(p)" : shape == "optional" ? "publish(c, true)" : "publish(c)";
    const std::string threw = libpq ? "returned" : "threw";
    all.push_back({at("good_shape_" + shape), call, kNothing, threw + ", 0 left", ""});
    all.push_back({at("good_shape_" + shape), call, kEmpty, "returned, 0 left", ""});
    all.push_back({at("good_shape_" + shape), call, kOpen, "returned, 0 left", ""});
    all.push_back({at("bad_shape_" + shape + "_throw"), call, kNothing, threw + ", 1 left", ""});
    all.push_back({at("bad_shape_" + shape + "_return"), call, kEmpty, "returned, 1 left", ""});
  }
  const std::string al301 = "session-lock-not-released/";
  const std::string lent = "PGconn* Pool::take() { return driver::handle; } void Pool::give(PGconn*) {}";
  const std::string database = "void Database::exec(const std::string& sql) { pqxx::nontransaction(*driver::connection).exec(sql); }";
  const std::string thrice = "bool thrice() { static int left = 3; return left-- > 0; }";
  for (Run& run : std::vector<Run>{
           {al301 + "bad_libpq_return.cpp", "Pool pool; rotateKeys(pool)", kNothing, "returned, 1 left", lent},
           {al301 + "bad_libpq_return.cpp", "Pool pool; nextTicket(pool)", kNothing, "returned, 1 left", lent},
           {al301 + "bad_libpq_return.cpp", "cleanUp(p)", kNothing, "returned, 1 left", lent},
           {al301 + "bad_libpqxx_throw.cpp", "rebuild(c)", kNothing, "threw, 1 left", ""},
           {al301 + "bad_libpqxx_throw.cpp", "publish(c)", kNothing, "returned, 1 left", ""},
           {al301 + "bad_libpqxx_throw.cpp", "settle(c, 1)", "CREATE TABLE invoice (day int);", "returned, 1 left", ""},
           {"unlock-before-commit/bad_cpp.cpp", "pay(c, 1)", kNothing, "threw, 1 left", ""},
           {"unlock-mismatch/bad_guard.cpp", "report(c)", kNothing, "returned, 1 left", database},
           {"unlock-mismatch/bad_guard.cpp", "Database db; ImportLock lock(db, 5)", kNothing, "returned, 1 left", database},
           {"unlock-mismatch/good_guard.cpp", "Database db; ImportLock lock(db, 5)", kNothing, "returned, 0 left", database},
           {"unlock-mismatch/bad_helpers.cpp", "Mutex m(p, 5); m.lock(); m.unlock()", kNothing, "returned, 1 left", ""},
           {"stacked-lock/bad_tick.cpp", "Worker w{p}; run(w, thrice)", kNothing, "returned, 1 left", thrice},
           {"stacked-lock/good_tick.cpp", "Worker w{p}; run(w, thrice)", kNothing, "returned, 0 left", thrice},
           {"lock-on-different-connection/bad_checkouts.cpp", "Pool pool; push(pool, 7)", "CREATE TABLE repo (id int, pushed_at timestamptz);", "returned, 1 left", kPool},
           {"lock-on-different-connection/bad_checkouts.cpp", "Pool pool; nightly(pool)", kOpen, "returned, 1 left", kPool},
           {"lock-on-different-connection/good_checkout.cpp", "Pool pool; nightly(pool)", kNothing, "threw, 0 left", kPool},
           {"lock-on-different-connection/good_checkout.cpp", "Pool pool; leader(pool)", kOpen, "returned, 0 left", kPool},
           // The lock is gone before the work is done.
           {"xact-lock-outside-transaction/bad_cpp.cpp", "close(c, 1)", watched("CREATE TABLE day (d int, closed boolean);"), "returned, 0 left, 0 during", ""},
           {"xact-lock-outside-transaction/good_cpp.cpp", "close(c, 1)", watched("CREATE TABLE day (d int, closed boolean);"), "returned, 0 left, 1 during", ""},
           {"xact-lock-released-by-savepoint/bad_cpp.cpp", "import(c)", watched("CREATE TABLE import (done boolean);"), "returned, 0 left, 0 during", ""},
           {"xact-lock-lost-at-commit/bad_loop.cpp", "purge(p)", watched("CREATE TABLE visit (id int, old boolean);") + "INSERT INTO visit VALUES (1, true);",
            "returned, 0 left, 0 during", ""},
           {"xact-lock-lost-at-commit/good_loop.cpp", "purge(p)", watched("CREATE TABLE visit (id int, old boolean);") + "INSERT INTO visit VALUES (1, true);",
            "returned, 0 left, 1 during", ""},
       })
    all.push_back(std::move(run));
  return all;
}

std::vector<fs::path> filesOf(const fs::path& fixture, const std::string& ending) {
  std::vector<fs::path> files;
  if (!fs::is_directory(fixture)) files.push_back(fixture);
  else
    for (const auto& entry : fs::directory_iterator(fixture)) files.push_back(entry.path());
  std::erase_if(files, [&](const fs::path& file) { return file.extension() != ending; });
  std::ranges::sort(files);
  return files;
}

std::string literal(const std::string& text) { return "R\"sql(" + text + ")sql\""; }

// One translation unit: driver.h knows all headers, each fixture is included where its names are its own, and main() is the table.
std::string programOf(const std::vector<Run>& all) {
  std::ostringstream text, table;
  text << "#include \"" << kDriver.string() << "\"\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const fs::path fixture = kFixtures / all[i].fixture;
    std::string setup = all[i].setup;
    for (const fs::path& file : filesOf(fixture, ".sql")) setup += test::readFile(file);
    text << "namespace run" << i << " {\n";
    for (const fs::path& file : filesOf(fixture, ".cpp")) text << "#include \"" << file.string() << "\"\n";
    text << all[i].more << "\nvoid run([[maybe_unused]] pqxx::connection& c, [[maybe_unused]] PGconn* p) { " << all[i].call << "; }\n}\n";
    table << "    {" << literal(setup) << ", run" << i << "::run},\n";
  }
  text << "int main(int, char** words) { return driver::main(words[1], {\n" << table.str() << "}); }\n";
  return text.str();
}

}  // namespace

TEST_CASE("after a bad C++ fixture a lock is left in pg_locks, after a good one none") {
  const test::TemporaryFolder folder;
  const std::vector<Run> all = runs();
  const fs::path source = folder.path() / "fixtures.cpp", program = folder.path() / "fixtures";
  std::ofstream(source) << programOf(all);
  const test::Outcome built = test::run({CXX_COMPILER, "-std=c++17", "-w", "-I/usr/include/postgresql", source.string(), "-o", program.string(), "-lpqxx", "-lpq"}, folder.path());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  for (const auto& server : testServers()) {
    CAPTURE(server->program().version);
    Session(server->conninfo()).must("CREATE DATABASE cpp");
    const test::Outcome done = test::run({program.string(), server->conninfo("cpp")}, folder.path());
    CHECK_MESSAGE(done.status == 0, done.err);
    std::istringstream lines(done.out);
    for (const Run& run : all) {
      std::string line;
      std::getline(lines, line);
      CHECK_MESSAGE(line == run.gives, run.fixture, ", ", run.call, ": ", line, ", not ", run.gives);
    }
  }
}
