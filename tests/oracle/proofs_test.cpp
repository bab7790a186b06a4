// Every proof on every server of this run, and what fixtures/proofs.tsv says of them: docs/proofs.md, docs/rules.md and `explain` show
// that table. With PGLOCKLINT_WRITE_PROOFS set (scripts/update-proofs) the table is written instead of compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "oracle/proof.h"
#include "support/check.h"

using namespace pglocklint::oracle;
namespace test = pglocklint::test;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = fs::path(PGLOCKLINT_SOURCE_DIR) / "fixtures";

struct Proof {
  std::string rule, text;
  Spec spec;
};

std::vector<Proof> allProofs() {
  std::vector<Proof> proofs;
  for (const auto& entry : fs::directory_iterator(kFixtures)) {
    const fs::path file = entry.path() / "proof.spec";
    if (!fs::exists(file)) continue;
    Proof proof{entry.path().filename().string(), test::readFile(file), {}};
    try {
      proof.spec = parseSpec(proof.text);
    } catch (const std::exception& error) {
      FAIL_CHECK(file.string() << ": " << std::string(error.what()));
      continue;
    }
    proofs.push_back(std::move(proof));
  }
  std::ranges::sort(proofs, {}, &Proof::rule);
  return proofs;
}

// One line of the table a permutation: rule, digest of the specification, form, hazard, title; then for each version whether the hazard was
// shown. A version that nobody has run since the specification changed has no answer.
constexpr int kOldest = 13, kNewest = 18;
struct Line {
  std::string rule, digest, form, hazard, title;
  std::map<int, std::string> shown;
  std::string head() const { return rule + "\t" + digest + "\t" + form + "\t" + hazard + "\t" + title; }
};

std::vector<Line> readTable(const fs::path& file) {
  std::vector<Line> lines;
  std::ifstream in(file);
  for (std::string row; std::getline(in, row);) {
    if (row.empty() || row.front() == '#') continue;
    std::istringstream cells(row);
    Line line;
    for (std::string* cell : {&line.rule, &line.digest, &line.form, &line.hazard, &line.title}) std::getline(cells, *cell, '\t');
    std::string cell;
    for (int major = kOldest; std::getline(cells, cell, '\t'); ++major)
      if (cell != "-") line.shown[major] = cell;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string tableText(const std::vector<Line>& lines) {
  std::ostringstream out;
  out << "# What the isolation proofs showed on live servers; written by scripts/update-proofs, compared by tests/oracle.\n"
         "# rule\tdigest of proof.spec\tform\thazard\ttitle";
  for (int major = kOldest; major <= kNewest; ++major) out << "\t" << major;
  out << "\n";
  for (const Line& line : lines) {
    out << line.head();
    for (int major = kOldest; major <= kNewest; ++major) out << "\t" << (line.shown.contains(major) ? line.shown.at(major) : "-");
    out << "\n";
  }
  return out.str();
}

struct ServerRun {
  std::map<std::string, std::vector<Outcome>> outcomes;  // by rule
  std::vector<std::string> complaints;
};

ServerRun proveAll(const std::vector<Proof>& proofs, const TestServer& server) {
  ServerRun run;
  for (const Proof& proof : proofs) {
    const std::string where = "PostgreSQL " + server.program().version + ", fixtures/" + proof.rule + "/proof.spec: ";
    try {
      run.outcomes[proof.rule] = runSpec(proof.spec, kFixtures / proof.rule / "proof.spec", server, "proof_" + proof.rule);
      for (const std::string& complaint : complaints(proof.spec, run.outcomes[proof.rule])) run.complaints.push_back(where + complaint);
    } catch (const std::exception& error) {
      run.complaints.push_back(where + error.what());
    }
  }
  return run;
}

bool isReported(const std::string& rule, const fs::path& folder) {
  const test::CheckRun run = test::check(folder, {"--all", "."});
  REQUIRE_MESSAGE(run.report.is_object(), run.outcome.err);
  CHECK_MESSAGE(run.report.at("coverage").at("not_understood").empty(), rule << ": pglocklint does not understand its own proof");
  return std::ranges::any_of(run.findings, [&](const test::Reported& finding) { return finding.rule == rule; });
}

}  // namespace

TEST_CASE("a specification is read, and must announce its permutations") {
  const std::string text = "# hazard: two\nsetup { SELECT '#' }\nsession one\nsetup { SET x = 1; }\nstep a { SELECT 'two' }\n"
                           "step \"b\" { SELECT 'three' }\nteardown { RESET x }\nsession observer\nstep o { SELECT 0 }\n";
  const Spec spec = parseSpec(text + "# bad: says it\npermutation a o(a, *) \"b\"\n# good: does not\npermutation b\n");
  CHECK(spec.setup == std::vector<std::string>{"SELECT '#'"});
  REQUIRE(spec.permutations.size() == 2);
  CHECK(spec.permutations[0].bad);
  CHECK(spec.permutations[0].steps == std::vector<std::string>{"a", "o", "b"});
  CHECK(spec.permutations[1].title == "does not");
  CHECK(spec.permutations[1].hazard == "two");

  CHECK_THROWS_WITH(parseSpec(text + "permutation a\n"), doctest::Contains("neither as"));
  CHECK_THROWS_WITH(parseSpec(text + "# bad: x\npermutation c\n"), doctest::Contains("no step c"));
  CHECK_THROWS_WITH(parseSpec(text), doctest::Contains("no permutation"));
  CHECK_THROWS_WITH(parseSpec("setup { SELECT 1"), doctest::Contains("nothing ends it"));

  const test::TemporaryFolder folder;
  writeProgram(spec, spec.permutations[0], folder.path());
  CHECK(test::readFile(folder.path() / "setup.sql") == "SELECT '#';\n");
  CHECK(test::readFile(folder.path() / "one.sql") == "SET x = 1;\nSELECT 'two';\nSELECT 'three';\n");
  CHECK(!fs::exists(folder.path() / "observer.sql"));
}

TEST_CASE("a proof that proves nothing is refused") {
  const test::TemporaryFolder folder;
  const auto judged = [&](const std::string& text) {
    std::ofstream(folder.path() / "proof.spec") << text;
    const Spec spec = parseSpec(text);
    return complaints(spec, runSpec(spec, folder.path() / "proof.spec", *testServers().front(), "proof_of_nothing"));
  };
  const std::string steps = "session one\nstep a { SELECT 'two' AS said }\nstep b { SELECT 'three' AS said }\n# hazard: two\n";
  CHECK(judged(steps + "# bad: says it\npermutation a\n# good: does not\npermutation b\n").empty());
  CHECK(judged(steps + "# bad: does not\npermutation b\n# good: does not\npermutation b\n").size() == 1);
  CHECK(judged(steps + "# bad: says it\npermutation a\n# good: says it too\npermutation a\n").size() == 1);
  CHECK(judged(steps + "# bad: says it\npermutation a\n").size() == 2);
  CHECK(judged(steps + "# bad: says it\npermutation a\n# hazard: four\n# good: says nothing of the kind\npermutation b\n").size() == 2);
}

TEST_CASE("every proof shows its hazard in the bad forms and not in the good ones, and the table says so") {
  REQUIRE_MESSAGE(!isolationTester().empty(), "no isolationtester: it comes with the distribution's postgresql-client");
  const std::vector<Proof> proofs = allProofs();
  CHECK(!proofs.empty());
  std::map<int, std::future<ServerRun>> started;
  for (const auto& server : testServers())
    started[server->major()] = std::async(std::launch::async, [&proofs, &server] { return proveAll(proofs, *server); });
  std::map<int, ServerRun> runs;
  for (auto& [major, run] : started) runs[major] = run.get();
  for (const auto& [major, run] : runs)
    for (const std::string& complaint : run.complaints) FAIL_CHECK(complaint);

  const fs::path file = kFixtures / "proofs.tsv";
  const std::vector<Line> known = readTable(file);
  std::vector<Line> fresh;
  for (const Proof& proof : proofs)
    for (std::size_t i = 0; i < proof.spec.permutations.size(); ++i) {
      const Permutation& p = proof.spec.permutations[i];
      Line line{proof.rule, digestOf(proof.text), p.bad ? "bad" : "good", p.hazard, p.title, {}};
      for (const Line& old : known)
        if (old.head() == line.head()) line.shown = old.shown;  // versions that are not in this run
      for (auto& [major, run] : runs)
        if (run.outcomes.contains(proof.rule)) line.shown[major] = run.outcomes[proof.rule][i].shown ? "shown" : "absent";
      fresh.push_back(std::move(line));
    }
  if (std::getenv("PGLOCKLINT_WRITE_PROOFS")) {
    std::ofstream(file) << tableText(fresh);
  } else {
    CHECK_MESSAGE(tableText(fresh) == test::readFile(file), "fixtures/proofs.tsv is out of date: run scripts/update-proofs");
  }
}

TEST_CASE("the rule is reported for the bad forms of its proof and not for the good ones") {
  for (const Proof& proof : allProofs())
    for (const Permutation& permutation : proof.spec.permutations) {
      if (!proof.spec.apart.empty()) continue;
      const test::TemporaryFolder folder;
      writeProgram(proof.spec, permutation, folder.path());
      const bool reported = isReported(proof.rule, folder.path());
      CHECK_MESSAGE(reported == permutation.bad, proof.rule << ", " << std::string(permutation.bad ? "bad: " : "good: ") << permutation.title);
    }
}

TEST_CASE("each rule has a proof or says why it has none") {
  const test::Outcome listed = test::run({PGLOCKLINT_BIN, "rules", "--format", "json"}, "/");
  const auto rules = nlohmann::json::parse(listed.out);
  std::set<std::string> names;
  for (const auto& rule : rules.at("rules")) {
    const std::string name = rule.at("name");
    names.insert(name);
    const bool proved = fs::exists(kFixtures / name / "proof.spec"), excused = !rule.at("proof").get<std::string>().empty();
    CHECK_MESSAGE(proved != excused, name << std::string(proved ? " has a proof and says why it has none" : " has no proof.spec and does not say why"));
  }
  for (const Proof& proof : allProofs()) CHECK_MESSAGE(names.contains(proof.rule), proof.rule << " is no rule");
}
