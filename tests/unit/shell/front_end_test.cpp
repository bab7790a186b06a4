// What a shell script runs through psql: which statements share a process, a string, a transaction.
#include "shell/front_end.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace pglocklint;

namespace {

// The SQL file names that exist in these tests.
bool exists(const std::string& path) { return path == "migrate.sql" || path == "db/b.sql"; }

std::string sessionText(const SessionOp& op) {
  std::string text(nameOf(op.verb));
  return op.text.empty() ? text : text + " " + op.text;
}

// One line an event: statements as "line:column text-as-written".
std::string show(const std::string& script, const Function& f) {
  std::string out;
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks.size() > 1) out += fmt::format("[{}]\n", b);
    for (const Event& e : f.blocks[b].events) {
      for (const SessionOp& op : e.session) out += sessionText(op) + "\n";
      for (const TransactionOp& op : e.transaction) out += std::string(nameOf(op.verb)) + "\n";
      for (const Statement& s : e.statement) {
        out += s.kind == StatementKind::Unparsed ? "?" : fmt::format("{}:{} {}", s.range.line, s.range.column,
                                                                    script.substr(s.range.begin, s.range.end - s.range.begin));
        out += s.consumer.empty() ? "\n" : " > " + s.consumer + "\n";
      }
    }
    if (f.blocks.size() > 1) {
      out += "->";
      for (const Edge& edge : f.blocks[b].successors) out += fmt::format(" {}", edge.target);
      out += "\n";
    }
  }
  return out;
}

shell::ShellFacts read(const std::string& script) { return shell::readShell("db/run.sh", script, exists); }
std::string events(const std::string& script) { return show(script, read(script).unit.functions.at(0)); }

}  // namespace

TEST_CASE("each psql is a session of its own, each -c a string of its own") {
  CHECK(events("psql -d app -c 'SELECT 1' -c 'SELECT 2; SELECT 3'\npsql \"$URL\" -c \"SELECT 4\"\n") ==
        "start app\n1:17 SELECT 1\nstring-begin\n1:31 SELECT 2\n1:41 SELECT 3\nstring-end\nend\n"
        "start ${URL}\n2:17 SELECT 4\nend\n");
  CHECK(events("psql -tAc'SELECT 1'\npsql --command=\"SELECT 2\" --dbname x\n") == "start\n1:11 SELECT 1\nend\nstart x\n2:17 SELECT 2\nend\n");
}

TEST_CASE("standard input is read statement by statement: here-documents, here-strings, pipes, files") {
  CHECK(events("psql <<EOF\nSELECT 1;\nSELECT $KEY;\nEOF\n") == "start\n2:1 SELECT 1\n3:1 SELECT $KEY\nend\n");
  CHECK(events("psql <<'EOF' | grep -q x\nSELECT 1;\nEOF\n") == "start\n2:1 SELECT 1 > shell\nend\n");
  CHECK(events("psql <<< 'SELECT 1'\n") == "start\n1:11 SELECT 1\nend\n");
  CHECK(events("echo \"SELECT 1\" | psql -f -\n") == "start\n1:7 SELECT 1\nend\n");
  CHECK(events("{ echo 'BEGIN;'; cat migrate.sql; echo 'COMMIT;'; } | psql\n") == "start\nbegin\ninclude migrate.sql\ncommit\nend\n");
  CHECK(events("psql < migrate.sql\ncat \"$DIR/b.sql\" | psql\n") == "start\ninclude migrate.sql\nend\nstart\ninclude db/b.sql\nend\n");
  CHECK(events("generate | psql\n") == "start\n?\nend\n");
}

TEST_CASE("psql runs through other programs and through strings that a shell runs") {
  const std::string expected = "start\n";
  for (const std::string runner : {"sudo -u postgres", "docker exec -i db", "docker compose exec -T db", "kubectl exec -it pod --", "PGUSER=x env A=b",
                                   "timeout 10", "exec", "time", "ssh host"})
    CHECK_MESSAGE(events(runner + " psql -c 'SELECT 1'\n").find("SELECT 1\nend\n") != std::string::npos, runner);
  CHECK(events("bash -c \"psql -c 'SELECT 1'\"\n") == "start\n1:19 SELECT 1\nend\n");
  CHECK(events("docker exec db sh -c 'psql -c \"SELECT 1\"'\n") == "start\n1:32 SELECT 1\nend\n");
  CHECK(events("su - postgres -c \"psql -c 'SELECT 1'\"\n") == "start\n1:28 SELECT 1\nend\n");
  CHECK(events("apt-get install -y psql\nwhich psql\n") == "");
}

TEST_CASE("what a psql connects to is libpq's connection string") {
  const auto target = [](const std::string& script) { return events(script).substr(0, events(script).find('\n')); };
  CHECK(target("psql -h db -p 6432 -U me -d app -c 'SELECT 1'\n") == "start host=db port=6432 dbname=app user=me");
  CHECK(target("psql 'host=db port=6432' -c 'SELECT 1'\n") == "start host=db port=6432");
  CHECK(target("export PGHOST=db\nPGPORT=6432 psql app me -c 'SELECT 1'\n") == "start host=db port=6432 dbname=app user=me");
  CHECK(target("psql postgresql://u@h:6432/app -c 'SELECT 1'\n") == "start postgresql://u@h:6432/app");
}

TEST_CASE("-1 is a transaction around all that the process is given") {
  CHECK(events("psql -1 -f migrate.sql -c 'SELECT 1'\n") == "start\nbegin\ninclude migrate.sql\n1:28 SELECT 1\ncommit\nend\n");
  CHECK(events("psql --single-transaction <<E\nSELECT 1;\nE\n") == "start\nbegin\n2:1 SELECT 1\ncommit\nend\n");
}

TEST_CASE("variables set once and functions of the script are followed") {
  CHECK(events("KEY=42\nSQL=\"SELECT $KEY\"\nPSQL='psql -X app'\n$PSQL -c \"$SQL\"\n") == "start app\n2:6 SELECT $KEY\nend\n");
  CHECK(events("run() { psql -c \"$1\"; }\nrun 'SELECT 1'\nrun 'SELECT 2'\n") == "start\n2:6 SELECT 1\nend\nstart\n3:6 SELECT 2\nend\n");
  CHECK(events("SQL=$(cat <<'E'\nSELECT 1\nE\n)\npsql -c \"$SQL\"\n") == "start\n2:1 SELECT 1\nend\n");
  CHECK(events("f() { f; psql -c 'SELECT 1'; }\nf\n") == "start\n1:19 SELECT 1\nend\n");
}

TEST_CASE("branches, loops and early exits of the script are those of the function") {
  CHECK(events("if psql -c 'SELECT 1'; then psql -c 'SELECT 2'; else exit 1; fi\n") ==
        "[0]\nstart\n1:13 SELECT 1\nend\n-> 1 2\n[1]\nstart\n1:38 SELECT 2\nend\n-> 4\n[2]\n->\n[3]\n-> 4\n[4]\n->\n");
  CHECK(events("while sleep 1; do psql -c 'SELECT 1'; done\n") == "[0]\n-> 1\n[1]\n-> 2 3\n[2]\nstart\n1:28 SELECT 1\nend\n-> 1\n[3]\n->\n");
  CHECK(events("psql -c 'SELECT 1' && psql -c 'SELECT 2'\n") ==
        "[0]\nstart\n1:10 SELECT 1\nend\n-> 1 2\n[1]\nstart\n1:32 SELECT 2\nend\n-> 2\n[2]\n->\n");
}

TEST_CASE("what runs in the background, and functions that nothing calls, stand apart") {
  const auto facts = read("psql -c 'SELECT 1' &\npsql -c 'SELECT 2'\nf() { psql -c 'SELECT 3'; }\n");
  REQUIRE(facts.unit.functions.size() == 3);
  const std::string script = "psql -c 'SELECT 1' &\npsql -c 'SELECT 2'\nf() { psql -c 'SELECT 3'; }\n";
  CHECK(show(script, facts.unit.functions[0]) == "start\n2:10 SELECT 2\nend\n");
  CHECK(show(script, facts.unit.functions[1]) == "start\n1:10 SELECT 1\nend\n");
  CHECK(show(script, facts.unit.functions[2]) == "start\n3:16 SELECT 3\nend\n");
}

TEST_CASE("how a script runs a file says in which transactions the file's statements are") {
  using Mode = TransactionMode;
  const auto mode = [](const std::string& script) {
    const auto facts = read(script);
    REQUIRE(facts.runs.size() == 1);
    return facts.runs[0].mode;
  };
  CHECK(mode("psql -f migrate.sql\n") == Mode::Autocommit);
  CHECK(mode("psql -1f migrate.sql\n") == Mode::OnePerFile);
  CHECK(mode("psql \"$@\" -f migrate.sql\n") == Mode::Unknown);
  CHECK(mode("psql -v AUTOCOMMIT=off -f migrate.sql\n") == Mode::Unknown);
  CHECK(mode("psql -c BEGIN -f migrate.sql -c COMMIT\n") == Mode::Unknown);
  CHECK(read("psql -f /srv/migrate.sql\npsql -f \"$FILE\"\n").runs.empty());
}

TEST_CASE("whatever the text, reading it ends") {
  for (const std::string& text : {std::string("psql -c \""), std::string("psql <<EOF\nSELECT 1"), std::string("$(((("), std::string(100000, '('),
                                  std::string("psql\0 -c 'SELECT 1'", 19), std::string("A=$A; $A; psql -c \"$A\"")}) {
    const auto facts = read(text);
    CHECK(facts.unit.files.size() == 1);
  }
  CHECK(read(std::string(100000, '(') + "psql").unit.not_understood.size() == 1);
}

TEST_CASE("suppressions stand in the script's comments") {
  const auto facts = read("# pglocklint:allow(lock-on-different-connection) a barrier\n# more\npsql -c 'SELECT 1'\n");
  REQUIRE(facts.unit.allows.size() == 1);
  CHECK(facts.unit.allows[0].rules == std::vector<std::string>{"lock-on-different-connection"});
  CHECK(facts.unit.allows[0].reason == "a barrier");
  CHECK(facts.unit.allows[0].next_token == 66);
}
