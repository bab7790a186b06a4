// Which tool runs a file.
#include "source/runner.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace pglocklint;

namespace {

// A project of named files; SQL files are those whose name holds ".sql".
using Files = std::map<std::string, std::string>;

class Project {
 public:
  explicit Project(Files files, std::vector<RunnerRule> rules = {}) : files_(std::move(files)) {
    std::vector<std::string> paths;
    for (const auto& [path, text] : files_) {
      if (path.find(".sql") != std::string::npos && !path.ends_with(".conf")) paths.push_back(path);
    }
    profiles_.emplace(paths, std::move(rules), [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files_.find(path);
      if (found == files_.end()) return std::nullopt;
      return found->second;
    });
  }
  RunnerFacts of(const std::string& path) const { return profiles_->of(path, files_.at(path)); }
  // Paths of one group in the order they are applied, without those that stand apart.
  std::string order(const std::string& group) const {
    std::vector<std::pair<std::pair<bool, std::string>, std::string>> keys;
    for (const auto& [path, text] : files_) {
      if (path.ends_with(".conf")) continue;
      const RunnerFacts f = profiles_->of(path, text);
      if (f.group == group && !f.down) keys.push_back({{f.repeatable, f.order_key}, path});
    }
    std::ranges::sort(keys);
    std::string out;
    for (const auto& [key, path] : keys) out += path.substr(path.rfind('/') + 1) + " ";
    return out;
  }

 private:
  Files files_;
  std::optional<RunnerProfiles> profiles_;
};

constexpr auto kUnknown = TransactionMode::Unknown;
constexpr auto kOne = TransactionMode::OnePerFile;
constexpr auto kAuto = TransactionMode::Autocommit;

}  // namespace

TEST_CASE("Flyway: versions sort as numbers, repeatable ones come last, undo stands apart") {
  const Project p({{"db/migration/V2__b.sql", ""}, {"db/migration/V10__c.sql", ""}, {"db/migration/V1_1__a.sql", ""}, {"db/migration/V1__a.sql", ""},
                   {"db/migration/2024/V2024.01.02__d.sql", ""}, {"db/migration/R__views.sql", ""}, {"db/migration/U2__b.sql", ""},
                   {"db/migration/V3__index.sql", "create index concurrently i on t(a);"},
                   {"db/migration/V4__x.sql", ""}, {"db/migration/V4__x.sql.conf", "executeInTransaction=false\n"}});
  CHECK(p.order("flyway:db/migration") ==
        "V1__a.sql V1_1__a.sql V2__b.sql V3__index.sql V4__x.sql V10__c.sql V2024.01.02__d.sql R__views.sql ");
  CHECK(p.of("db/migration/V2__b.sql").transaction == kOne);
  CHECK(p.of("db/migration/U2__b.sql").down);
  CHECK(p.of("db/migration/R__views.sql").repeatable);
  CHECK(p.of("db/migration/V3__index.sql").transaction == kUnknown);
  CHECK(p.of("db/migration/V4__x.sql").transaction == kAuto);
  CHECK(Project(Files{{"m/Vx__y.sql", ""}}).of("m/Vx__y.sql").profile.empty());
}

TEST_CASE("refinery uses Flyway's names in a Rust project; its U is no undo") {
  const Project p({{"Cargo.toml", ""}, {"migrations/V1__a.sql", ""}, {"migrations/U20240101__b.sql", ""}});
  CHECK(p.of("migrations/V1__a.sql").profile == "refinery");
  CHECK_FALSE(p.of("migrations/U20240101__b.sql").down);
}

TEST_CASE("goose: a file is one transaction unless it says NO TRANSACTION") {
  const Project p({{"m/00001_a.sql", "-- +goose Up\nselect 1;"}, {"m/00002_b.sql", "-- +goose NO TRANSACTION\n-- +goose Up\nselect 1;"},
                   {"N11.sql", "-- +goose Up\r\nselect 1;\r\n-- +goose Down\r\n"}});
  CHECK(p.of("m/00001_a.sql").profile == "goose");
  CHECK(p.of("m/00001_a.sql").transaction == kOne);
  CHECK(p.of("m/00002_b.sql").transaction == kAuto);
  CHECK(p.of("N11.sql").transaction == kOne);
  CHECK(p.order("goose:m") == "00001_a.sql 00002_b.sql ");
}

TEST_CASE("tools that then send a file as one query are unknown without their transaction") {
  const Project p({{"m/1_a.sql", "-- migrate:up\nselect 1;"}, {"m/2_b.sql", "-- migrate:up transaction:false\nselect 1;"},
                   {"s/1_a.sql", "-- +migrate Up\n"}, {"s/2_b.sql", "-- +migrate Up notransaction\n"},
                   {"t/001_a.sql", "select 1;\n---- create above / drop below ----\n"}});
  CHECK(p.of("m/1_a.sql").profile == "dbmate");
  CHECK(p.of("m/1_a.sql").transaction == kOne);
  CHECK(p.of("m/2_b.sql").transaction == kUnknown);
  CHECK(p.of("s/1_a.sql").profile == "sql-migrate");
  CHECK(p.of("s/2_b.sql").transaction == kAuto);
  CHECK(p.of("t/001_a.sql").profile == "tern");
}

TEST_CASE("Liquibase: one changeset is one transaction, several are not") {
  const Project p({{"c/a.sql", "--liquibase formatted sql\n--changeset me:1\nselect 1;\n"},
                   {"c/b.sql", "-- liquibase formatted sql\n--changeset me:1\nselect 1;\n--changeset me:2\nselect 2;\n"},
                   {"c/c.sql", "--liquibase formatted sql\n--changeset me:1 runInTransaction:false\nselect 1;\n"}});
  CHECK(p.of("c/a.sql").profile == "liquibase");
  CHECK(p.of("c/a.sql").transaction == kOne);
  CHECK(p.of("c/b.sql").transaction == kUnknown);
  CHECK(p.of("c/c.sql").transaction == kAuto);
}

TEST_CASE("up and down files") {
  const Project p({{"migrations/9_a.up.sql", ""}, {"migrations/9_a.down.sql", ""}, {"migrations/10_b.up.sql", ""},
                   {"rust/Cargo.toml", ""}, {"rust/migrations/20240101_a.sql", ""}, {"rust/migrations/20240102_b.sql", "-- no-transaction\nselect 1;"}});
  CHECK(p.order("golang-migrate:migrations") == "9_a.up.sql 10_b.up.sql ");
  CHECK(p.of("migrations/9_a.down.sql").down);
  CHECK(p.of("migrations/9_a.up.sql").transaction == kOne);
  CHECK(p.of("rust/migrations/20240101_a.sql").profile == "sqlx");
  CHECK(p.of("rust/migrations/20240102_b.sql").transaction == kUnknown);
}

TEST_CASE("a folder per migration") {
  const Project p({{"diesel.toml", ""}, {"migrations/2024-01-02-120000_a/up.sql", ""}, {"migrations/2024-01-02-120000_a/down.sql", ""},
                   {"migrations/2024-01-02-130000_b/up.sql", ""}, {"migrations/2024-01-02-130000_b/metadata.toml", "run_in_transaction = false"},
                   {"prisma/migrations/20240101000000_init/migration.sql", ""}});
  CHECK(p.of("migrations/2024-01-02-120000_a/up.sql").profile == "diesel");
  CHECK(p.of("migrations/2024-01-02-120000_a/up.sql").group == p.of("migrations/2024-01-02-130000_b/up.sql").group);
  CHECK(p.of("migrations/2024-01-02-120000_a/up.sql").order_key < p.of("migrations/2024-01-02-130000_b/up.sql").order_key);
  CHECK(p.of("migrations/2024-01-02-120000_a/down.sql").down);
  CHECK(p.of("migrations/2024-01-02-130000_b/up.sql").transaction == kUnknown);
  CHECK(p.of("prisma/migrations/20240101000000_init/migration.sql").profile == "prisma");
  CHECK(Project(Files{{"m/1700_x/up.sql", ""}}).of("m/1700_x/up.sql").profile == "hasura");
}

TEST_CASE("files beside the migrations tell the tool") {
  const Project p({{"m/atlas.sum", ""}, {"m/20240101_a.sql", ""}, {"m/20240102_b.sql", "-- atlas:txmode none\n\nselect 1;"},
                   {"drizzle/meta/_journal.json", ""}, {"drizzle/0000_a.sql", ""}, {"supabase/migrations/20240101_a.sql", ""}});
  CHECK(p.of("m/20240101_a.sql").profile == "atlas");
  CHECK(p.of("m/20240102_b.sql").transaction == kAuto);
  CHECK(p.of("drizzle/0000_a.sql").profile == "drizzle");
  CHECK(p.of("supabase/migrations/20240101_a.sql").transaction == kUnknown);
}

TEST_CASE("numbers alone make a history, but tell nothing of transactions") {
  const Project p({{"db/9_b.sql", ""}, {"db/010_c.sql", ""}, {"db/1_a.sql", ""}, {"db/2fa.sql", ""}, {"one/001_x.sql", ""}, {"db/9_b_down.sql", ""}});
  CHECK(p.order("numbered:db") == "1_a.sql 9_b.sql 010_c.sql ");
  CHECK(p.of("db/9_b.sql").transaction == kUnknown);
  CHECK(p.of("db/9_b_down.sql").down);
  CHECK(p.of("db/2fa.sql").profile.empty());
  CHECK(p.of("one/001_x.sql").profile.empty());
  CHECK(p.of("one/001_x.sql").order_key.empty());
}

TEST_CASE("extension scripts: the newest install script and its updates are live") {
  const Project p({{"ext/q--1.0.sql", ""}, {"ext/q--1.0--1.1.sql", ""}, {"ext/q--1.1--1.2.sql", ""}, {"ext/q--1.1.sql", ""}, {"ext/q--1.9--1.10.sql", ""},
                   {"ext/q--1.2--1.9.sql", ""}, {"other/r--2.0.sql.in", ""}});
  CHECK(p.order("extension:ext/q") == "q--1.1.sql q--1.1--1.2.sql q--1.2--1.9.sql q--1.9--1.10.sql ");
  CHECK(p.of("ext/q--1.0--1.1.sql").down);
  CHECK(p.of("ext/q--1.1.sql").transaction == kOne);
  CHECK(p.of("other/r--2.0.sql.in").profile == "extension");
  const Project controlled({{"q.control", "default_version = '1.0'\n"}, {"q--1.0.sql", ""}, {"q--1.0--1.1.sql", ""}});
  CHECK_FALSE(controlled.of("q--1.0.sql").down);
  CHECK(controlled.of("q--1.0--1.1.sql").down);
  const Project updates(Files{{"u/q--1.0--1.1.sql", ""}, {"u/q--1.1--1.2.sql", ""}});
  CHECK(updates.order("extension:u/q") == "q--1.0--1.1.sql q--1.1--1.2.sql ");
  const Project cycle(Files{{"u/q--1--2.sql", ""}, {"u/q--2--1.sql", ""}});
  CHECK_FALSE(cycle.of("u/q--1--2.sql").down);
}

TEST_CASE("psql commands are evidence of psql, so of autocommit") {
  const Project p({{"a.sql", "\\set x 1\nselect 1;"}, {"b.sql", "select E'\\n', '\\', $$ \\d $$; -- \\i x\n/* \\c */"},
                   {"c.sql", "copy t from stdin;\nit's\n\\.\n"}, {"d.sql", "select 1;"},
                   {"q.sql", "\\echo Use \"CREATE EXTENSION q\" to load this file. \\quit\ncreate function f() ..."},
                   {"ops/1_a.sql", "\\c db\n"}, {"ops/2_b.sql", ""}});
  CHECK(p.of("a.sql").profile == "psql");
  CHECK(p.of("a.sql").transaction == kAuto);
  CHECK(p.of("b.sql").profile.empty());
  CHECK(p.of("c.sql").profile == "psql");
  CHECK(p.of("d.sql") == RunnerFacts{});
  CHECK(p.of("q.sql").profile == "extension");
  CHECK(p.of("ops/1_a.sql").transaction == kAuto);
  CHECK(p.of("ops/1_a.sql").group == p.of("ops/2_b.sql").group);
}

TEST_CASE("the configuration has the last word") {
  const Project p({{"db/V1__a.sql", ""}, {"ops/x.sql", ""}, {"own/1_a.sql", ""}, {"own/2_b.sql", ""}},
                  {{"db/**", "none"}, {"ops/*", "psql"}, {"own/", "goose"}});
  CHECK(p.of("db/V1__a.sql") == RunnerFacts{});
  CHECK(p.of("ops/x.sql").transaction == kAuto);
  CHECK(p.of("own/1_a.sql").profile == "goose");
  CHECK(p.order("goose:own") == "1_a.sql 2_b.sql ");
}

TEST_CASE("odd names and texts give facts, never a crash") {
  const std::string long_number(5000, '9');
  const Project p({{".sql", ""}, {"--.sql", ""}, {"a--.sql", ""}, {"V__.sql", ""}, {long_number + "_x.sql", ""}, {"__.sql", "\\"}, {"x/.down.sql", "$a$"}});
  for (const char* path : {".sql", "--.sql", "a--.sql", "V__.sql", "__.sql", "x/.down.sql"}) CHECK(p.of(path).group.empty());
  CHECK(p.of(long_number + "_x.sql").profile.empty());
}
