// Which files a run looks at.
#include "source/discover.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "source/git_index.h"
#include "source/process.h"
#include "temporary_folder.h"

using namespace pglocklint;
using test::TemporaryFolder;

namespace {

std::string names(const Discovery& d) {
  std::string out;
  for (const SourceFile& f : d.files) out += f.path + (f.changed ? "* " : " ");
  return out;
}

Discovery find(std::vector<std::string> paths, bool staged = false) {
  DiscoverOptions options;
  options.paths = std::move(paths);
  options.staged = staged;
  return discover(options);
}

void git(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  const ProcessResult result = runGit(std::move(arguments), folder.path());
  REQUIRE_MESSAGE(result.status == 0, result.err);
}

void commitAll(const TemporaryFolder& folder) {
  git(folder, {"add", "-A"});
  git(folder, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"});
}

}  // namespace

TEST_CASE("file kinds") {
  CHECK(fileKind("a/V1__x.SQL") == FileKind::Sql);
  CHECK(fileKind("x.psql") == FileKind::Sql);
  CHECK(fileKind("ext--1.0.sql.in") == FileKind::Sql);
  CHECK(fileKind("x.sql.j2") == FileKind::Sql);
  CHECK(fileKind("x.hpp") == FileKind::Cpp);
  CHECK(fileKind("run.sh") == FileKind::Shell);
  CHECK(fileKind("run.SH.in") == FileKind::Shell);
  CHECK(fileKind("x.sql.bak") == FileKind::Other);
  CHECK(fileKind(".sql") == FileKind::Other);
  CHECK(fileKind("a.sql/readme") == FileKind::Other);
}

TEST_CASE("a folder is searched in order, without what belongs to tools") {
  const TemporaryFolder folder;
  for (const char* name : {"b.sql", "a/z.sql", "a/b.cpp", "node_modules/x.sql", ".git-not/y.sql", "notes.txt", ".hg/q.sql"}) folder.write(name);
  const Discovery d = find({folder.path()});
  CHECK(d.root == folder.path());
  CHECK(names(d) == ".git-not/y.sql a/b.cpp a/z.sql b.sql ");
  CHECK(d.errors.empty());
}

TEST_CASE("the root is where the configuration lies, else the folder that was named") {
  const TemporaryFolder folder;
  folder.write("p/pglocklint.json", "{}");
  folder.write("p/db/a.sql");
  folder.write("q/b.sql");
  CHECK(find({folder.at("p/db")}).root == folder.at("p"));
  CHECK(names(find({folder.at("p/db")})) == "db/a.sql ");
  CHECK(find({folder.at("p/db/a.sql")}).root == folder.at("p"));
  CHECK(names(find({folder.at("q/")})) == "b.sql ");
  CHECK(names(find({folder.at("p/db"), folder.at("q")})) == "../q/b.sql db/a.sql ");
  DiscoverOptions options;
  options.paths = {folder.at("p/db")};
  options.config_root = folder.path();
  CHECK(names(discover(options)) == "p/db/a.sql ");
}

TEST_CASE("a file that is named is analyzed whatever its name, and once") {
  const TemporaryFolder folder;
  folder.write("p/pglocklint.json", "{}");
  folder.write("p/dump.txt");
  folder.write("p/a.sql");
  CHECK(names(find({folder.at("p/dump.txt"), folder.at("p"), folder.at("p/a.sql")})) == "a.sql dump.txt ");
}

TEST_CASE("a path that does not exist is one line") {
  const TemporaryFolder folder;
  folder.write("a.sql");
  const Discovery d = find({folder.path(), folder.at("no\x1bpe.sql")});
  CHECK(names(d).find("a.sql") != std::string::npos);
  REQUIRE(d.errors.size() == 1);
  CHECK(d.errors[0].find("no\\x1bpe.sql: no such file or directory") != std::string::npos);
  REQUIRE(mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  CHECK(find({folder.at("pipe")}).errors.size() == 1);
}

TEST_CASE("links: cycles end, what leaves the root is left out, a file reached twice counts once") {
  const TemporaryFolder folder, outside;
  folder.write("a/x.sql");
  outside.write("secret.sql");
  namespace fs = std::filesystem;
  fs::create_symlink("..", folder.at("a/up"));
  fs::create_symlink("loop", folder.at("loop"));
  fs::create_symlink(outside.path(), folder.at("out"));
  fs::create_symlink(outside.at("secret.sql"), folder.at("out.sql"));
  fs::create_symlink("a/x.sql", folder.at("A-link.sql"));
  fs::create_symlink("a", folder.at("0-a"));
  fs::create_symlink("missing.sql", folder.at("dangling.sql"));
  CHECK(names(find({folder.path()})) == "a/x.sql ");
  git(folder, {"init", "-q"});
  CHECK(names(find({folder.path()})) == "a/x.sql ");
  CHECK(names(find({outside.path()})) == "secret.sql ");
}

TEST_CASE("a link to a folder beside, below the same root, is followed") {
  const TemporaryFolder folder;
  folder.write("pglocklint.json", "{}");
  folder.write("shared/f.sql");
  folder.write("db/a.sql");
  std::filesystem::create_symlink("../shared", folder.at("db/shared"));
  CHECK(names(find({folder.at("db")})) == "db/a.sql db/shared/f.sql ");
  CHECK(names(find({folder.path()})) == "db/a.sql shared/f.sql ");
}

TEST_CASE("in a git work tree: tracked and new files, not ignored ones, not deleted ones") {
  const TemporaryFolder folder;
  git(folder, {"init", "-q"});
  folder.write(".gitignore", "build/\n*.gen.sql\n");
  for (const char* name : {"a.sql", "gone.sql", "build/c.sql", "x.gen.sql", "sub/ü b.sql"}) folder.write(name);
  git(folder, {"add", "-A"});
  folder.write("new.sql");
  std::filesystem::remove(folder.at("gone.sql"));
  CHECK(names(find({folder.path()})) == "a.sql new.sql sub/ü b.sql ");
  CHECK(names(find({folder.at("sub")})) == "ü b.sql ");
  // A folder that git ignores is searched when it is named.
  CHECK(names(find({folder.at("build")})) == "c.sql ");
}

TEST_CASE("a repository inside a repository is part of the program") {
  const TemporaryFolder folder;
  git(folder, {"init", "-q"});
  folder.write("a.sql");
  folder.write("inner/b.sql");
  CHECK(runGit({"init", "-q"}, folder.at("inner")).status == 0);
  CHECK(names(find({folder.path()})) == "a.sql inner/b.sql ");
}

TEST_CASE("a folder without permission is one entry, the others are read") {
  const TemporaryFolder folder;
  folder.write("open/a.sql");
  folder.write("private/b.sql");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.at("private"), std::filesystem::perms(0));
  const bool root = geteuid() == 0;
  if (root) REQUIRE(seteuid(65534) == 0);  // the superuser may read everything
  const Discovery walked = find({folder.path()});
  const Discovery named = find({folder.at("private")});
  if (root) REQUIRE(seteuid(0) == 0);
  std::filesystem::permissions(folder.at("private"), std::filesystem::perms(0755));
  CHECK(names(walked) == "open/a.sql ");
  REQUIRE(walked.unread.size() == 1);
  CHECK(walked.unread[0] == UnitStatus{"private", "not-read", "permission denied"});
  REQUIRE(named.errors.size() == 1);
  CHECK(named.errors[0].find("permission denied") != std::string::npos);
}

TEST_CASE("--staged: files and contents are those of the index") {
  const TemporaryFolder folder;
  git(folder, {"init", "-q"});
  folder.write("a.sql", "select 1;\n");
  folder.write("b.sql", "select 2;\n");
  std::filesystem::create_symlink("a.sql", folder.at("link.sql"));
  commitAll(folder);
  folder.write("b.sql", "select 'staged';\n");
  folder.write("c.sql", "select 'new';\n");
  git(folder, {"add", "-A"});
  folder.write("b.sql", "select 'later';\n");
  std::filesystem::remove(folder.at("c.sql"));
  folder.write("d.sql");

  const Discovery d = find({folder.path()}, true);
  CHECK(names(d) == "a.sql b.sql* c.sql* ");
  std::vector<std::string> objects;
  for (const SourceFile& f : d.files) objects.push_back(f.object);
  objects.push_back("0000000000000000000000000000000000000000");
  const auto texts = readObjects(d.root, objects);
  REQUIRE(texts.size() == 4);
  CHECK(texts[0].text == "select 1;\n");
  CHECK(texts[1].text == "select 'staged';\n");
  CHECK(texts[2].text == "select 'new';\n");
  CHECK(texts[3].error == "not in the object store of git");
  CHECK(names(find({folder.at("c.sql"), folder.path()}, true)).find("c.sql* ") != std::string::npos);
  CHECK(find({folder.at("d.sql")}, true).errors.size() == 1);
}

TEST_CASE("--staged outside a repository is one line; before the first commit everything is new") {
  const TemporaryFolder folder;
  folder.write("a.sql");
  const Discovery d = find({folder.path()}, true);
  REQUIRE(d.errors.size() == 1);
  CHECK(d.errors[0].find("not a git repository") != std::string::npos);
  git(folder, {"init", "-q"});
  git(folder, {"add", "a.sql"});
  CHECK(names(find({folder.path()}, true)) == "a.sql* ");
}

TEST_CASE("the repository's configuration does not make git run programs") {
  const TemporaryFolder folder;
  git(folder, {"init", "-q"});
  folder.write("a.sql");
  folder.write("hook.sh", "#!/bin/sh\ntouch " + folder.at("ran") + "\n");
  std::filesystem::permissions(folder.at("hook.sh"), std::filesystem::perms(0755));
  git(folder, {"config", "core.fsmonitor", folder.at("hook.sh")});
  CHECK(names(find({folder.path()})) == "a.sql hook.sh ");
  find({folder.path()}, true);
  CHECK_FALSE(std::filesystem::exists(folder.at("ran")));
}

TEST_CASE("a program that does not exist, fails, or does not read its input is no harm") {
  CHECK_FALSE(runProcess({.arguments = {"pglocklint-no-such-program"}}).started());
  CHECK(runProcess({.arguments = {"false"}}).status == 1);
  const std::string much(10 << 20, 'x');
  CHECK(runProcess({.arguments = {"true"}, .input = much}).status == 0);
  CHECK(runProcess({.arguments = {"cat"}, .input = much}).out == much);
}
