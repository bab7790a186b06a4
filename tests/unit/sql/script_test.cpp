// Files cut into statements: what psql and migration tools make of them, and what damage must not do.
#include "sql/script.h"

#include <doctest/doctest.h>

#include <string>

using namespace pglocklint;
using namespace pglocklint::sql;

namespace {

// "select 1|select 2": the statements; meta-commands as <…>, COPY data as [ … ].
std::string cut(std::string_view text, const Script& script) {
  std::string out;
  for (const Piece& p : script.pieces) {
    if (!out.empty()) out += '|';
    const std::string piece(text.substr(p.begin, p.end - p.begin));
    out += p.kind == PieceKind::Statement ? piece : p.kind == PieceKind::MetaCommand ? "<" + piece + ">" : "[" + piece + "]";
  }
  return out;
}
std::string cut(std::string_view text) { return cut(text, scanScript(text)); }

std::string rewritten(std::string_view statement, bool numbers = true) {
  std::vector<RewrittenPlaceholder> list;
  const std::string out = rewritePlaceholders(statement, numbers, list);
  CHECK(out.size() == statement.size());
  for (const RewrittenPlaceholder& p : list) CHECK(statement.substr(p.begin, p.end - p.begin) == p.written);
  return out;
}

std::string sections(std::string_view text) {
  std::string out;
  for (const Piece& p : scanScript(text).pieces) out += p.down ? 'd' : 'u';
  return out;
}

}  // namespace

TEST_CASE("statements end at semicolons that are not hidden") {
  CHECK(cut("select 1; select ';' ;-- ;\n/* ; /* ; */ */ select $$;$$;\nselect 3") == "select 1|select ';'|select $$;$$|select 3");
  CHECK(cut("\xEF\xBB\xBFselect 1;\r\nselect 2;\r\n") == "select 1|select 2");
  CHECK(cut("").empty());
  CHECK(cut(" -- only a comment\n;;;").empty());
  CHECK(cut("select f(1; select 2;") == "select f(1|select 2");
}

TEST_CASE("bodies hide their semicolons") {
  CHECK(cut("CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC select 1; select case when a then 1 else 2 end; END; select 2;") ==
        "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC select 1; select case when a then 1 else 2 end; END|select 2");
  CHECK(cut("create procedure p() begin atomic insert into t values (1); end; select 2") ==
        "create procedure p() begin atomic insert into t values (1); end|select 2");
  CHECK(cut("begin; atomic; end; select 1;") == "begin|atomic|end|select 1");
  CHECK(cut("create rule r as on insert to t do also (select 1; select 2); select 3;") ==
        "create rule r as on insert to t do also (select 1; select 2)|select 3");
}

TEST_CASE("a body that is never closed costs its own statement") {
  const std::string text = "select 0;\ncreate function f() returns int begin atomic select 1;\nselect 2;\nselect 3;";
  const Script script = scanScript(text);
  CHECK(cut(text, script) == "select 0|select 2|select 3");
  REQUIRE(script.problems.size() == 1);
  CHECK(script.problems[0].range.line == 2);
  CHECK(script.problems[0].reason == "BEGIN ATOMIC without END");
}

TEST_CASE("heads are leading keywords") {
  const Script script = scanScript(
      "insert into users values (1); create or replace function f() returns int as ''; (select 1); begin; set local x = 1;"
      "create unique index concurrently i on t(a); frobnicate; with a as (select 1) select 1; rollback to savepoint a; drop table t;");
  std::string heads;
  for (const Piece& p : script.pieces) heads += p.head.str() + ",";
  CHECK(heads ==
        "INSERT INTO,CREATE OR REPLACE,SELECT,BEGIN,SET LOCAL,CREATE UNIQUE INDEX,,WITH,ROLLBACK TO SAVEPOINT,DROP TABLE,");
}

TEST_CASE("psql commands") {
  CHECK(cut("\\set x 1\nselect :x \\gset p_\n\\i other.sql\nselect 2;") == "<\\set x 1>|select :x|<\\gset p_>|<\\i other.sql>|select 2");
  const Script script = scanScript("select 1 \\gexec\nselect 2 \\; select 3;\nselect 4\n\\c other\nselect 5 \\watch 2");
  std::string consumers;
  for (const Piece& p : script.pieces) {
    if (p.kind == PieceKind::Statement) consumers += p.consumer.str() + (p.joined ? "+" : "") + (p.terminated ? ";" : "") + ",";
  }
  CHECK(consumers == "gexec;,+;,;,,watch;,");
  CHECK(cut("select 1,\n\\if :x\n 2\n\\else\n 3\n\\endif\n;select 4;") == "select 1,\n\\if :x\n 2\n\\else\n 3\n\\endif|select 4");
  CHECK(rewritten("select 1,\n\\if :x\n 2\n\\endif") == "select 1,\n      \n 2\n      ");
  CHECK(cut("select 1 \\r\nselect 2;") == "<\\r>|select 2");
}

TEST_CASE("the data of COPY is no SQL") {
  const std::string text = "COPY t (a) FROM stdin;\n1\tit's\n\\N\t;\n\\.\nselect 1;";
  CHECK(cut(text) == "COPY t (a) FROM stdin|[1\tit's\n\\N\t;\n]|select 1");
  CHECK(cut("copy t from stdin with csv;\r\na\r\n\\.\r\nselect 1;") == "copy t from stdin with csv|[a\r\n]|select 1");
  CHECK(cut("\\copy t from stdin\na'\n\\.\nselect 1;") == "<\\copy t from stdin>|[a'\n]|select 1");
  CHECK(cut("copy t from stdin;\n\\.\nselect 1;") == "copy t from stdin|[]|select 1");
  CHECK(cut("copy t from stdin;\nselect 1;") == "copy t from stdin|select 1");
  CHECK(cut("copy t to stdout; select 1;") == "copy t to stdout|select 1");
  CHECK(cut("copy t from '/stdin'; select 1;\n\\.\n") == "copy t from '/stdin'|select 1|<\\.>");
}

TEST_CASE("an unterminated quote or comment costs one statement, and says where it began") {
  const std::string text = "select 1;\nselect 'it's bad';\nselect 2;\nselect 3;\n";
  const Script script = scanScript(text);
  CHECK(cut(text, script) == "select 1|select 2|select 3");
  REQUIRE(script.problems.size() == 1);
  CHECK(script.problems[0].range.line == 2);
  CHECK(script.problems[0].reason == "unterminated string literal");

  const std::string early = "select 1;\nselect 'open;\nselect 'b';\nselect 2;\nupdate t set a = 'c';\n";
  const Script resumed = scanScript(early);
  CHECK(cut(early, resumed) == "select 1|select 'b'|select 2|update t set a = 'c'");
  REQUIRE(resumed.problems.size() == 1);
  CHECK(resumed.problems[0].range.line == 2);

  CHECK(cut("select 1; /* open\nselect 2;\nselect 3;") == "select 1|select 3");
  CHECK(cut("select 1; select $f$ open;\nselect 3;") == "select 1|select 3");
  CHECK(cut("select \"open") == "");
}

TEST_CASE("damage of any amount ends") {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "create function f() begin atomic select 1;\n$a" + std::to_string(i) + "$ /* '\n";
  const Script script = scanScript(many);
  CHECK_FALSE(script.problems.empty());
  CHECK(scanScript(std::string(100000, '(')).pieces.size() == 1);
  CHECK(scanScript(std::string(1000, '\'')).problems.empty());
  CHECK(scanScript(std::string(1001, '\'')).problems.size() == 1);
}

TEST_CASE("NUL bytes and UTF-16 are reported; the rest of a file with a NUL byte is read") {
  const std::string text("select 1;\nsel\0ect 2;\nselect 3;", 30);
  const Script script = scanScript(text);
  REQUIRE(script.problems.size() == 1);
  CHECK(script.problems[0].range.line == 2);
  REQUIRE(script.pieces.size() == 3);
  CHECK(script.pieces[1].has_placeholders);
  CHECK_FALSE(script.pieces[2].has_placeholders);
  CHECK(rewritten(std::string_view("sel\0ect 2", 9)) == "sel ect 2");

  const Script utf16 = scanScript(std::string_view("\xFF\xFEs\0e\0l\0", 8));
  CHECK(utf16.pieces.empty());
  REQUIRE(utf16.problems.size() == 1);
  CHECK(utf16.problems[0].reason == "the file is UTF-16: convert it to UTF-8");
}

TEST_CASE("down sections of migration tools") {
  CHECK(sections("-- +goose Up\nselect 1;\n-- +goose StatementBegin\nselect 2;\n-- +goose StatementEnd\n-- +goose Down\nselect 3") == "uud");
  CHECK(sections("-- migrate:up transaction:false\nselect 1\n-- migrate:down\nselect 2;") == "ud");
  CHECK(sections("-- +migrate Up\nselect 1;\n-- +migrate Down notransaction\nselect 2;") == "ud");
  CHECK(sections("-- Up Migration\nselect 1;\n-- Down Migration\nselect 2;") == "ud");
  CHECK(sections("select 1;\n---- create above / drop below ----\nselect 2;") == "ud");
  CHECK(sections("select 1;\n--rollback drop table t;\n-- down migration of prices\nselect 2;") == "uu");
  CHECK(sections("select $$\n-- +goose Down\n$$; select 2;") == "uu");
}

TEST_CASE("named queries") {
  const auto names = [](std::string_view text) {
    std::string out;
    for (const Piece& p : scanScript(text).pieces) out += p.named_query.str() + ",";
    return out;
  };
  CHECK(names("-- name: GetUser :one\nselect 1;\n-- name: ListUsers :many\nselect 2;") == "GetUser,ListUsers,");
  CHECK(names("-- name: get-user!\nselect 1\n-- name: b\nselect 2") == "get-user,b,");
  CHECK(names("/* @name FindBook */\nselect 1;\n/*\n  @name Other\n  @param x -> (a)\n*/\nselect 2;") == "FindBook,Other,");
  CHECK(names("-- Name: users; Type: TABLE; Schema: public\nselect 1;\n-- name: of the user\nselect 2;") == ",,");
}

TEST_CASE("suppressions: rules, reason, place and the token they stand before") {
  const std::string text =
      "select 1; -- pglocklint:allow(lock-in-where, lock-leak) one row only \n"
      "/* pglocklint:allow-file(lock-order): measured\n   twice */ select 2;\n";
  const Script script = scanScript(text);
  REQUIRE(script.allows.size() == 2);
  const Allow& a = script.allows[0];
  CHECK(a.rules == std::vector<std::string>{"lock-in-where", "lock-leak"});
  CHECK(a.reason == "one row only");
  CHECK(a.range.line == 1);
  CHECK(a.range.column == 14);
  CHECK(text.substr(a.range.begin, a.range.end - a.range.begin) == "pglocklint:allow(lock-in-where, lock-leak) one row only");
  CHECK(text.substr(a.next_token, 8) == "select 2");
  const Allow& b = script.allows[1];
  CHECK(b.whole_file);
  CHECK(b.reason == "measured twice");
  CHECK(text.substr(b.next_token, 8) == "select 2");
}

TEST_CASE("suppressions inside function bodies keep their places in the file") {
  const std::string text =
      "create function f() returns void language plpgsql as $$\nbegin\n  -- pglocklint:allow(x) inner\n  perform g();\nend $$;\n"
      "do 'begin /* pglocklint:allow(y) it''s */ perform ''h''; end';";
  const Script script = scanScript(text);
  REQUIRE(script.allows.size() == 2);
  CHECK(script.allows[0].range.line == 3);
  CHECK(script.allows[0].reason == "inner");
  CHECK(text.substr(script.allows[0].next_token, 7) == "perform");
  CHECK(script.allows[1].reason == "it's");
  CHECK(script.allows[1].range.line == 6);
  CHECK(text.substr(script.allows[1].next_token, 7) == "perform");
}

TEST_CASE("a suppression that names no rule is a problem; strings are no suppressions") {
  const Script script = scanScript("select 1; -- pglocklint:allow lock-in-where\nselect 'pglocklint:allow(x) y'; -- pglocklint:allow() z");
  CHECK(script.allows.empty());
  REQUIRE(script.problems.size() == 2);
  CHECK(script.problems[0].range.line == 1);
  CHECK(script.problems[1].range.line == 2);
}

TEST_CASE("placeholders become expressions where values stand") {
  CHECK(rewritten("select f(:id, :'name', ?, %s, %(k)s, @x, ${y}, {{ z }})") == "select f($1 , $1     , q, $1, $1   , $1, $1  , $1     )");
  CHECK(rewritten("where id = :id and data ? 'x'") == "where id = $1  and data ? 'x'");
  CHECK(rewritten("select extract(epoch from :ts), a is distinct from :b") == "select extract(epoch from $1 ), a is distinct from $1");
  CHECK(rewritten("select :lock_id::bigint") == "select $1      ::bigint");
}

TEST_CASE("placeholders become identifiers where names stand") {
  CHECK(rewritten("select * from ${schema}.tab, {{ s }}.t join :\"s\".t on true") ==
        "select * from __schema_.tab, ___s___.t join __s_.t on true");
  CHECK(rewritten("select @extschema@.f(1), __schema__.g(2)") == "select _extschema_.f(1), __schema__.g(2)");
  CHECK(rewritten("create table :tab (a int)") == "create table _tab (a int)");
  CHECK(rewritten("select * from t_${env}_x") == "select * from t___env__x");
  CHECK(rewritten("comment on table t is :'text'") == "comment on table t is 'text '");
  CHECK(rewritten("insert into :t values (:v)") == "insert into _t values ($1)");
}

TEST_CASE("integers that an older grammar does not know") {
  CHECK(rewritten("select 0xCAFE, 1_000, 0b101, 0o17, 1.5, 12") == "select 51966 , 1000 , 5    , 15  , 1.5, 12");
  CHECK(rewritten("select 0xCAFE", false) == "select 0xCAFE");
  CHECK(rewritten("select 0x7FFFFFFFFFFFFFFF") == "select $1                ");
  CHECK(rewritten("select 0xFFFFFFFFFFFFFFFFFFFFF") == "select $1                     ");
}

TEST_CASE("placeholders inside literals are listed and left alone") {
  std::vector<RewrittenPlaceholder> list;
  const std::string text = "select hashtext('job:${env}:{{ name }}:%(x)s:{a}')";
  CHECK(rewritePlaceholders(text, true, list) == text);
  REQUIRE(list.size() == 3);
  CHECK(list[0].written == "${env}");
  CHECK(list[1].written == "{{ name }}");
  CHECK(list[2].written == "%(x)s");
}

TEST_CASE("template blocks become blanks") {
  CHECK(rewritten("select 1 {% if x %} + 2 {% endif %}") == "select 1            + 2            ");
}
