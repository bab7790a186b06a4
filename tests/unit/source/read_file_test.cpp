// Files that cannot be read say why.
#include "source/read_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "temporary_folder.h"

using namespace pglocklint;

TEST_CASE("a file is read whole, with every byte") {
  const test::TemporaryFolder folder;
  const std::string bytes("\xEF\xBB\xBF a\0b\r\n\xff", 9);
  folder.write("a.sql", bytes);
  folder.write("empty.sql", "");
  CHECK(readFile(folder.at("a.sql")).text == bytes);
  const FileText empty = readFile(folder.at("empty.sql"));
  CHECK(empty.text.empty());
  CHECK(empty.error.empty());
  CHECK_FALSE(readFile("/proc/self/status").text.empty());
}

TEST_CASE("what is no readable file gives one reason and does not wait") {
  const test::TemporaryFolder folder;
  folder.write("large.sql", std::string(100, 'x'));
  CHECK(readFile(folder.at("missing.sql")).error == "no such file or directory");
  CHECK(readFile(folder.path()).error == "is a directory");
  CHECK(readFile(folder.at("large.sql") + "/x").error == "not a directory");
  CHECK(readFile(folder.at("large.sql"), 99).error == "larger than 99 bytes");
  REQUIRE(mkfifo(folder.at("pipe.sql").c_str(), 0600) == 0);
  CHECK(readFile(folder.at("pipe.sql")).error == "not a regular file");
  CHECK(readFile(std::string("a\0b", 3)).error == "no such file or directory");
}

TEST_CASE("control bytes of names do not reach a terminal") {
  CHECK(printablePath("a\x1b[31mb\n\x7f/ü") == "a\\x1b[31mb\\x0a\\x7f/ü");
}
