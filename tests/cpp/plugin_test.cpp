// The plugin: facts that travel in objects, through whatever builds, caches and links them.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "model/facts_json.h"
#include "model/facts_section.h"
#include "source/object_files.h"
#include "support/check.h"

#include "../../clang-plugin/compiler_version.h"

namespace fs = std::filesystem;
using namespace pglocklint::test;

namespace {

const char* const kGuard =
    "#pragma once\n#include <libpq-fe.h>\n#include <string>\n"
    "struct Guard {\n"
    "  Guard(PGconn* c, long key) : c_(c) { run(\"SELECT pg_advisory_lock(\", key); }\n"
    "  ~Guard() { run(\"SELECT pg_advisory_unlock(\", 7); }\n"
    "  void run(const char* head, long key) {\n"
    "    const std::string text = std::string(head) + std::to_string(key) + \")\";\n"
    "    PQclear(PQexec(c_, text.c_str()));\n"
    "  }\n"
    "  PGconn* c_;\n"
    "};\n";
const char* const kA =
    "#include \"guard.h\"\n"
    "void a(PGconn* c) {\n"
    "  Guard g(c, 7);\n"
    "  PQclear(PQexec(c,   \"SELECT pg_advisory_lock(42)\"));\n"
    "}\n";
const char* const kB =
    "#include \"guard.h\"\n"
    "template <class F> void each(PGconn* c, F f) { f(c); }\n"
    "void b(PGconn* c) {\n"
    "  Guard g(c, 7);\n"
    "  each(c, [](PGconn* d) { PQclear(PQexec(d, \"SELECT pg_advisory_lock(43)\")); });\n"
    "}\n"
    "int main() { b(nullptr); }\n";

class Build {
 public:
  Build() {
    write("pglocklint.json", "{}\n");
    write("src/guard.h", kGuard);
    write("src/a.cpp", kA);
    write("src/b.cpp", kB);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  fs::path path() const { return folder_.path(); }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  // Runs a program that must succeed.
  Outcome tool(const std::vector<std::string>& command) const {
    Outcome outcome = run(command, folder_.path());
    CHECK_MESSAGE(outcome.status == 0, command.front(), ": ", outcome.err);
    return outcome;
  }
  void compile(const std::string& source, const std::string& object, const std::vector<std::string>& more = {},
               const std::vector<std::string>& launcher = {}) const {
    std::vector<std::string> command = launcher;
    command.insert(command.end(), {CLANGXX, "-std=c++20", "-I/usr/include/postgresql", "-fplugin=" PGLOCKLINT_PLUGIN});
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {"-c", source, "-o", object});
    tool(command);
  }
  CheckRun objects(const std::string& what) const { return check(folder_.path(), {"--enable", "magic-key", "--objects", what}); }

 private:
  TemporaryFolder folder_;
};

// Facts as an object holds them.
std::vector<pglocklint::MadeUnit> factsIn(const fs::path& object) {
  pglocklint::SectionReader sections;
  std::vector<pglocklint::UnitStatus> unread;
  std::string error;
  CHECK(pglocklint::readFactsSections(object.string(), [&](std::string_view s) { return sections.add(s); }, unread, error));
  CHECK(unread.empty());
  std::vector<std::string> problems;
  std::vector<pglocklint::MadeUnit> units = sections.units(problems);
  CHECK(problems.empty());
  return units;
}

std::set<std::string> reasons(const CheckRun& run) {
  std::set<std::string> found;
  for (const auto& unit : run.report.at("coverage").at("units"))
    found.insert(unit.at("file").get<std::string>() + ": " + unit.at("reason").get<std::string>());
  return found;
}

// Does the program exist? Without it a test says so and, where tests must not be skipped, fails.
bool available(const std::string& program) {
  const Outcome which = run({"/bin/sh", "-c", "command -v " + program}, "/");
  if (which.status == 0) return true;
  MESSAGE("SKIPPED: there is no ", program, " here (scripts/setup --tests)");
  CHECK_MESSAGE(std::getenv("CI") == nullptr, program, " is missing");
  return false;
}

// A compiler without the sanitizer's runtime cannot load a plugin that needs it; pglocklint-clang runs the same extractor under it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLoadable = false;
#else
constexpr bool kLoadable = true;
#endif

}  // namespace

TEST_SUITE_BEGIN("plugin" * doctest::skip(!kLoadable));

TEST_CASE("tool and plugin make the same facts, byte for byte") {
  std::vector<fs::path> fixtures;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(PGLOCKLINT_SOURCE_DIR) / "fixtures"))
    if (entry.path().extension() == ".cpp") fixtures.push_back(entry.path());
  std::ranges::sort(fixtures);
  REQUIRE(fixtures.size() > 10);
  int compared = 0;
  const Build build;
  const std::string root = PGLOCKLINT_SOURCE_DIR;
  const std::vector<std::string> flags{"-std=c++20", "-I/usr/include/postgresql"};
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < fixtures.size(); i += fixtures.size() / 12 + 1) sources.push_back(fixtures[i].string());  // a compile takes its time
  for (const char* own : {"src/a.cpp", "src/b.cpp"}) sources.push_back(build.at(own));
  for (const std::string& source : sources) {
    CAPTURE(source);
    const bool own = source.starts_with(build.path().string());
    const std::string base = own ? build.path().string() : root;
    std::vector<std::string> command{CLANGXX};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-w", "-fplugin=" PGLOCKLINT_PLUGIN, "-fplugin-arg-pglocklint-root=" + base, "-c", source, "-o", build.at("x.o")});
    // Examples of code without headers do not compile.
    if (run(command, build.path()).status != 0) continue;
    const std::vector<pglocklint::MadeUnit> units = factsIn(build.path() / "x.o");
    REQUIRE(units.size() == 1);
    command = {"/bin/sh", "-c", "exec \"$0\" \"$@\" < '" + source + "'", PGLOCKLINT_CLANG, "--root", base, "--file", source.substr(base.size() + 1), "--"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Outcome tool = run(command, build.path());
    REQUIRE(tool.status == 0);
    CHECK(pglocklint::factsToJson(units[0].unit, -1) == tool.out);
    ++compared;
  }
  CHECK(compared >= 8);
}

TEST_CASE("objects, archives, shared libraries and executables") {
  const Build build;
  fs::create_directory(build.path() / "out");
  build.compile("src/a.cpp", "out/a.o", {"-fPIC", "-ffunction-sections"});
  build.compile("src/b.cpp", "out/b.o", {"-fPIC", "-O2"});
  const CheckRun folder = build.objects("out");
  std::vector<Reported> expected = folder.findings;
  CHECK(std::ranges::count(expected, Reported{"src/a.cpp", 4, "magic-key"}) == 1);
  CHECK(std::ranges::count(expected, Reported{"src/b.cpp", 5, "magic-key"}) == 1);
  CHECK(reasons(folder).empty());
  // The same as from the sources.
  CHECK(check(build.path(), {"--enable", "magic-key", "src"}).findings == expected);

  build.tool({"/usr/bin/ar", "rcs", "lib.a", "out/a.o", "out/b.o"});
  build.tool({CLANGXX, "-shared", "-o", "lib.so", "out/a.o", "out/b.o", "-Wl,--unresolved-symbols=ignore-all"});
  build.tool({CLANGXX, "-o", "program", "out/a.o", "out/b.o", "-Wl,--gc-sections", "-lpq"});
  build.tool({CLANGXX, "-fuse-ld=lld-19", "-o", "program.lld", "out/a.o", "out/b.o", "-Wl,--gc-sections", "-Wl,-O2", "-Wl,--icf=all", "-lpq"});
  for (const char* what : {"lib.a", "lib.so", "program", "program.lld"}) {
    CAPTURE(what);
    const CheckRun run = build.objects(what);
    CHECK(run.findings == expected);
    CHECK(reasons(run).empty());
  }
  // Linked twice and named twice: each fact once.
  const CheckRun all = check(build.path(), {"--enable", "magic-key", "--objects", "out", "--objects", "lib.a", "--objects", "program"});
  CHECK(all.findings == expected);
  CHECK(all.report["coverage"]["call_sites"] == folder.report["coverage"]["call_sites"]);
  // The section is not loaded.
  const Outcome loaded = build.tool({"/usr/bin/readelf", "-SW", "program"});
  const std::size_t section = loaded.out.find(".pglocklint");
  REQUIRE(section != std::string::npos);
  const std::string line = loaded.out.substr(section, loaded.out.find('\n', section) - section);
  CHECK_MESSAGE(line.find(" A ") == std::string::npos, line);
}

TEST_CASE("facts as files: what the tool prints") {
  const Build build;
  fs::create_directory(build.path() / "facts");
  for (const char* name : {"a", "b"}) {
    const std::string source = std::string("src/") + name + ".cpp";
    build.tool({"/bin/sh", "-c", "\"$0\" \"$@\" < " + source + " > facts/" + name + ".json", PGLOCKLINT_CLANG, "--root", build.path().string(),
                "--file", source, "--", "-std=c++20", "-I/usr/include/postgresql"});
  }
  const CheckRun run = check(build.path(), {"--enable", "magic-key", "--facts", "facts"});
  CHECK(run.findings == check(build.path(), {"--enable", "magic-key", "src"}).findings);
  CHECK(std::ranges::count(run.findings, Reported{"src/a.cpp", 4, "magic-key"}) == 1);
}

TEST_CASE("a cache answers with the facts") {
  if (!available("ccache")) return;
  const Build build;
  const std::vector<std::string> ccache{"/usr/bin/env", "CCACHE_DIR=" + build.at("cache"), "CCACHE_SLOPPINESS=", "ccache"};
  build.compile("src/a.cpp", "a.o", {}, ccache);
  fs::rename(build.path() / "a.o", build.path() / "first.o");
  build.compile("src/a.cpp", "a.o", {}, ccache);
  const Outcome statistics = build.tool({"/usr/bin/env", "CCACHE_DIR=" + build.at("cache"), "ccache", "--print-stats"});
  CHECK_MESSAGE(statistics.out.find("direct_cache_hit\t1") != std::string::npos, statistics.out);
  CHECK(factsIn(build.path() / "a.o") == factsIn(build.path() / "first.o"));
  CHECK(build.objects("a.o").findings == build.objects("first.o").findings);
  CHECK(!build.objects("a.o").findings.empty());
}

TEST_CASE("distcc: the machine that compiles has the plugin in its environment") {
  if (!available("distcc") || !available("distccd")) return;
  const Build build;
  // Whoever the daemon runs as must be able to read the plugin and to write beside it.
  const TemporaryFolder shared;
  fs::permissions(shared.path(), fs::perms::all);
  const std::string plugin = shared.path() / "plugin.so";
  fs::copy(PGLOCKLINT_PLUGIN, plugin);
  fs::permissions(plugin, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
  const std::string port = std::to_string(20000 + getpid() % 20000);
  const Outcome started = run({"/bin/sh", "-c",
                               "TMPDIR=$0 CCC_OVERRIDE_OPTIONS=\"# +-fplugin=$1\" distccd --no-detach --daemon --user nobody --allow 127.0.0.1 --listen 127.0.0.1 "
                               "--port $2 --jobs 2 --job-lifetime 60 --log-file \"$0/log\" >/dev/null 2>&1 & echo $!",
                               shared.path().string(), plugin, port},
                              build.path());
  const pid_t daemon = std::stoi(started.out);
  fs::create_directory(build.path() / "state");
  const auto compile = [&] {
    return run({"/usr/bin/env", "DISTCC_HOSTS=127.0.0.1:" + port, "DISTCC_DIR=" + build.at("state"), "DISTCC_FALLBACK=0", "DISTCC_BACKOFF_PERIOD=0", "timeout", "60", "distcc", CLANGXX,
                "-std=c++20", "-I/usr/include/postgresql", "-c", "src/a.cpp", "-o", "a.o"},
               build.path());
  };
  Outcome compiled = compile();
  for (int i = 0; i < 20 && compiled.status != 0; ++i) usleep(100'000), compiled = compile();
  CHECK_MESSAGE(compiled.status == 0, compiled.err, readFile(shared.path() / "log"));
  CHECK(build.objects("a.o").findings == check(build.path(), {"--enable", "magic-key", "src/a.cpp"}).findings);
  CHECK(!build.objects("a.o").findings.empty());
  kill(daemon, SIGTERM);
}

TEST_CASE("preprocessed text: lines are right, and columns where the preprocessor kept them") {
  const Build build;
  for (const char* how : {"-E", "-frewrite-includes"}) {
    CAPTURE(how);
    std::vector<std::string> command{CLANGXX, "-std=c++20", "-I/usr/include/postgresql", "-E", build.at("src/a.cpp"), "-o", "a.ii"};
    if (std::string(how) != "-E") command.insert(command.begin() + 1, how);
    build.tool(command);
    build.compile("a.ii", "a.o", std::string(how) == "-E" ? std::vector<std::string>{} : std::vector<std::string>{"-x", "c++"});
    const CheckRun run = build.objects("a.o");
    CHECK(std::ranges::count(run.findings, Reported{"src/a.cpp", 4, "magic-key"}) == 1);
    const CheckRun direct = check(build.path(), {"--enable", "magic-key", "src/a.cpp"});
    CHECK(run.findings == direct.findings);
  }
}

TEST_CASE("LTO: the objects are bitcode, and what is linked from them holds the facts") {
  for (const char* how : {"-flto", "-flto=thin"}) {
    CAPTURE(how);
    const Build build;
    fs::create_directory(build.path() / "out");
    build.compile("src/a.cpp", "out/a.o", {how});
    build.compile("src/b.cpp", "out/b.o", {how});
    const CheckRun bitcode = build.objects("out");
    CHECK(bitcode.findings.empty());
    CHECK(reasons(bitcode) == std::set<std::string>{"out: 2 of 2 objects hold no facts, the first: out/a.o (bitcode for LTO: what is linked from it holds them)"});
    build.tool({CLANGXX, how, "-fuse-ld=lld-19", "-O2", "-o", "program", "out/a.o", "out/b.o", "-lpq"});
    CHECK(build.objects("program").findings == check(build.path(), {"--enable", "magic-key", "src"}).findings);
  }
}

TEST_CASE("sources that have changed since are said") {
  const Build build;
  build.compile("src/a.cpp", "a.o");
  build.write("src/a.cpp", std::string("// a new first line\n\n") + kA);
  const CheckRun changed = build.objects("a.o");
  CHECK(reasons(changed) == std::set<std::string>{"src/a.cpp: it is not the text that its facts were made of: build again"});
  CHECK(std::ranges::count(changed.findings, Reported{"src/a.cpp", 4, "magic-key"}) == 1);  // as it was compiled
  // Where the source is analyzed too, it is read instead.
  const CheckRun fresh = check(build.path(), {"--enable", "magic-key", "--objects", "a.o", "src"});
  CHECK(reasons(fresh).empty());
  CHECK(std::ranges::count(fresh.findings, Reported{"src/a.cpp", 6, "magic-key"}) == 1);
  fs::remove(build.path() / "src/a.cpp");
  CHECK(reasons(build.objects("a.o")) == std::set<std::string>{"src/a.cpp: its facts are here and it is not: no such file or directory"});
  CHECK(std::ranges::count(build.objects("a.o").findings, Reported{"src/a.cpp", 4, "magic-key"}) == 1);
}

TEST_CASE("what holds no facts, or wrong ones") {
  const Build build;
  build.tool({CLANGXX, "-c", "src/b.cpp", "-I/usr/include/postgresql", "-o", "plain.o"});
  CHECK(reasons(build.objects("plain.o")) == std::set<std::string>{"plain.o: it holds no facts (compiled without the plugin?)"});
  build.compile("src/a.cpp", "a.o");
  build.write("junk", "pglocklint-facts 1 unit 3 0123456789abcdef\nab");
  build.tool({"/usr/bin/objcopy", "--update-section", ".pglocklint=junk", "a.o", "bad.o"});
  const CheckRun bad = build.objects("bad.o");
  CHECK(bad.findings.empty());
  CHECK(reasons(bad) == std::set<std::string>{"bad.o: its facts: a record is cut short"});
  const Outcome none = run({PGLOCKLINT_BIN, "check", "--objects", "src"}, build.path());
  CHECK(none.status == 2);
  CHECK(none.err.find("cannot read the facts in src: there is no object file") != std::string::npos);
  CHECK(run({PGLOCKLINT_BIN, "check", "--objects", "not/there"}, build.path()).status == 2);
  // Objects that were cut or written over anywhere.
  const std::string good = readFile(build.path() / "a.o");
  for (std::size_t i = 0; i < 60; ++i) {
    std::string hurt = good;
    hurt[i * 97 % 4096 % hurt.size()] ^= static_cast<char>(1 + i);
    if (i % 3 == 0) hurt.resize(hurt.size() * (i + 1) / 61);
    build.write("hurt.o", hurt);
    const Outcome outcome = run({PGLOCKLINT_BIN, "check", "--fail-on", "never", "--objects", "hurt.o"}, build.path());
    CHECK_MESSAGE(outcome.status <= 2, "variant ", i, ": ", outcome.err);
  }
}

TEST_CASE("the wrong compiler is told so") {
  using pglocklint::extract::wrongCompiler;
  CHECK(wrongCompiler("Debian clang version 19.1.7 (3)", 19) == "");
  CHECK(wrongCompiler("clang version 19.1.0", 19) == "");
  CHECK(wrongCompiler("Debian clang version 14.0.6", 19) == "the pglocklint plugin needs clang 19, and this is clang 14.0.6");
  CHECK(wrongCompiler("clang version 190.0", 19) == "the pglocklint plugin needs clang 19, and this is clang 190.0");
  CHECK(wrongCompiler("", 19) == "the pglocklint plugin needs clang 19, and this compiler is no clang that it knows");
  const Build build;
  for (const std::string compiler : {"g++", "clang++-14", "clang++-16"}) {
    if (run({"/bin/sh", "-c", "command -v " + compiler}, "/").status != 0) continue;
    const Outcome outcome = run({"/usr/bin/env", compiler, "-fplugin=" PGLOCKLINT_PLUGIN, "-c", "src/a.cpp", "-I/usr/include/postgresql", "-o", "a.o"}, build.path());
    CHECK_MESSAGE(outcome.status != 0, compiler);
    CHECK_MESSAGE(outcome.err.find("pglocklint") != std::string::npos, compiler, ": ", outcome.err);
    CHECK_MESSAGE(outcome.err.find("Stack dump") == std::string::npos, compiler, ": ", outcome.err);
  }
  const Outcome argument = run({CLANGXX, "-fplugin=" PGLOCKLINT_PLUGIN, "-fplugin-arg-pglocklint-rot=x", "-c", "src/a.cpp", "-o", "a.o"}, build.path());
  CHECK(argument.status != 0);
  CHECK(argument.err.find("knows root=FOLDER, and not 'rot=x'") != std::string::npos);
}

TEST_SUITE_END();
