// Compile databases are hostile input: what passes is a list of flags, and nothing else does.
#include "source/compile_database.h"

#include <doctest/doctest.h>

#include "temporary_folder.h"

using namespace pglocklint;
using pglocklint::test::TemporaryFolder;
using Flags = std::vector<std::string>;

namespace {

CompileCommand filtered(const Flags& flags) {
  return harmlessFlags(flags, "/work", {[](const std::string&) { return std::nullopt; }, {}});
}

}  // namespace

TEST_CASE("commands are split as a shell splits them") {
  CHECK(splitCommand("g++ -DNAME='a b' -I\"c d\" e\\ f") == Flags{"g++", "-DNAME=a b", "-Ic d", "e f"});
  CHECK(splitCommand("") == Flags{});
  CHECK(splitCommand("'unterminated").empty() == false);
  CHECK(splitCommand("''") == Flags{""});
}

TEST_CASE("flags that say what the code means pass") {
  const Flags wanted{"-I", "include", "-Isrc",      "-isystem",        "/usr/include/x", "-DA=1", "-D",
                     "B",  "-UC",     "-std=c++17", "-fno-exceptions", "-pthread",       "-x",    "c++"};
  CHECK(filtered(wanted).flags == wanted);
  CHECK(filtered(wanted).refused.empty());
}

TEST_CASE("flags of gcc, of the build and of warnings are left out") {
  CHECK(filtered({"-O2", "-g", "-Wall", "-Werror", "-Wlogical-op", "-fanalyzer", "-fmodules-ts", "-MD", "-MF", "x.d", "-c",
                  "a.cpp", "-fconcepts-diagnostics-depth=3"})
            .flags.empty());
}

TEST_CASE("flags that load, write or read other files are refused and named") {
  const CompileCommand c =
      filtered({"-fplugin=/tmp/evil.so", "-Xclang", "-load", "-Xclang", "/tmp/evil.so", "-o", "/src/main.cpp", "-include",
                "/etc/shadow", "-B/tmp", "-specs=/tmp/s", "-fmodule-map-file=/x", "-I", "good"});
  CHECK(c.flags == Flags{"-I", "good"});
  CHECK(c.refused == Flags{"-fplugin", "-Xclang", "-o /src/main.cpp", "-B/tmp", "-specs", "-fmodule-map-file", "-include /etc/shadow"});
}

TEST_CASE("outputs of a compiler are no business of ours, sources in their place are") {
  CHECK(filtered({"-o", "a.o", "-oa.s", "-o", "a"}).refused.empty());
  CHECK(filtered({"-oa.cpp", "-o", "b.HPP"}).refused == Flags{"-o a.cpp", "-o b.HPP"});
}

TEST_CASE("headers are included first from the project, its build and the system") {
  const TemporaryFolder folder, outside;
  folder.write("src/a.cpp", "");
  folder.write("config/config.h", "");
  folder.write("build/made.h", "");
  outside.write("secret.h", "");
  std::filesystem::create_symlink(outside.path() + "/secret.h", folder.path() + "/config/linked.h");
  const std::string root = folder.path(), build = root + "/build";
  std::string error;
  const std::string text = R"([{"directory":")" + build + R"(","file":"../src/a.cpp","command":"g++ -include config.h -include made.h -imacros ../config/config.h )"
                           R"(-include linked.h -include )" + outside.path() + R"(/secret.h -include none.h -include-pch made.h -I ../config ../src/a.cpp"}])";
  const CompileDatabase database = CompileDatabase::parse(text, root, build, error);
  const CompileCommand* command = database.of(root + "/src/a.cpp");
  REQUIRE(command != nullptr);
  const std::string real = std::filesystem::weakly_canonical(root).string();
  CHECK(command->flags == Flags{"-I", "../config", "-Xclang", "-include", "-Xclang", real + "/config/config.h", "-Xclang", "-include", "-Xclang",
                                real + "/build/made.h", "-Xclang", "-imacros", "-Xclang", real + "/config/config.h"});
  CHECK(command->refused == Flags{"-include-pch", "-include linked.h", "-include " + outside.path() + "/secret.h", "-include none.h"});
}

TEST_CASE("a language that is no language of ours is left out") {
  CHECK(filtered({"-x", "ir", "-x", "c"}).flags == Flags{"-x", "c"});
}

TEST_CASE("response files are read below the project only, and not for ever") {
  const TemporaryFolder folder;
  folder.write("build/flags.rsp", "-DFROM_FILE @again.rsp @/etc/passwd");
  folder.write("build/again.rsp", "@flags.rsp -DTWICE");
  folder.write("src/a.cpp", "");
  const std::string root = folder.path(), build = root + "/build";
  std::string error;
  const std::string text =
      R"([{"directory":")" + build + R"(","file":"../src/a.cpp","command":"g++ @flags.rsp -o a.o -c ../src/a.cpp"}])";
  const CompileDatabase database = CompileDatabase::parse(text, root, build, error);
  CHECK(error.empty());
  const CompileCommand* command = database.of(root + "/src/a.cpp");
  REQUIRE(command != nullptr);
  CHECK(command->folder == build);
  CHECK(command->flags == Flags{"-DFROM_FILE", "-DTWICE"});
  CHECK(command->refused == Flags{"@/etc/passwd"});
  CHECK(database.of(root + "/src/b.cpp") == nullptr);
}

TEST_CASE("a database that is none says so") {
  std::string error;
  CHECK(CompileDatabase::parse("{", "/r", "/r", error).empty());
  CHECK_FALSE(error.empty());
  error.clear();
  CHECK(CompileDatabase::parse(R"([1, {"file": 2}, {"file": "a.cpp", "arguments": [3]}])", "/r", "/r", error).of("/r/a.cpp") !=
        nullptr);
  CHECK(error.empty());
}
