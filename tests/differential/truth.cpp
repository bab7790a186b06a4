// The measured table, measured again: each row of tests/evaluation/evaluation.tsv runs on each server of this run, with real locks, and
// pg_locks must show as many as the table says. Then what evaluate() says of the row must not contradict the count.
//
// tests/evaluation compares predictions with the table and needs no server; this program is why the table can be believed, and notices when
// a new PostgreSQL behaves differently.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "oracle/servers.h"
#include "oracle/session.h"
#include "peer_client.h"

namespace {

using namespace pglocklint;
using oracle::Result;
using oracle::Session;

const std::string kFolder = PGLOCKLINT_SOURCE_DIR "/tests/evaluation/";

struct Row {
  std::string id, sql, setup, other, verdict, comment;
  long locks = 0, rows = -1;
};

std::vector<std::string> split(const std::string& line, char by) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

std::string readFile(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<Row> readTable() {
  std::vector<Row> out;
  std::istringstream in(readFile(kFolder + "evaluation.tsv"));
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> f = split(line, '\t');
    Row r{f.at(0), f.at(1), f.at(2), "", f.at(5), f.at(6), std::atol(f[3].c_str()), std::atol(f[4].c_str())};
    const std::string mark = "other session in open txn: ";
    if (const std::size_t at = r.setup.find(mark); at != std::string::npos) {
      r.other = r.setup.substr(at + mark.size());
      r.setup.erase(at < 3 ? 0 : at - 3);
    }
    if (r.setup == "none") r.setup.clear();
    out.push_back(std::move(r));
  }
  return out;
}

bool measuredOn(const Row& r, int major) {
  const std::size_t at = r.comment.rfind("[measured: ");
  return at == std::string::npos || (r.comment.substr(at) + ",").find(std::to_string(major)) != std::string::npos;
}

// Locks of parallel workers come and go with the workers; which process takes them is chance (rows of family N that say so).
bool countIsChance(const Row& r) { return r.comment.find("nondeterministic") != std::string::npos; }

class Truth {
 public:
  explicit Truth(const std::string& peer) : peer_(peer), table_(readTable()), setup_(readFile(kFolder + "evaluation-setup.sql")) {}

  // Number of rows that disagree.
  int on(const oracle::TestServer& server) {
    Session session(server.conninfo()), other(server.conninfo());
    // Two rows speak of the tracing functions that the table was measured with; here they only have to exist.
    session.must("CREATE SCHEMA trace; CREATE FUNCTION trace.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true'");
    session.must(setup_);
    int wrong = 0, measured = 0, checked = 0;
    for (const Row& r : table_) {
      if (!measuredOn(r, server.major())) continue;
      ++measured;
      const auto [locks, error] = measure(r, session, other);
      const bool should_fail = r.verdict == "error";
      if (!countIsChance(r) && (locks != r.locks || should_fail == error.empty()) && ++wrong)
        fmt::print("PostgreSQL {}: {}: {} locks, the table says {}{}\n  {}\n", server.major(), r.id, locks, r.locks, error.empty() ? "" : " — " + error, r.sql);
      if (!should_fail) {
        ++checked;
        const std::string contradiction = against(r, locks);
        if (!contradiction.empty() && ++wrong) fmt::print("PostgreSQL {}: {}: {}\n  {}\n", server.major(), r.id, contradiction, r.sql);
      }
    }
    fmt::print("PostgreSQL {}: {} rows measured, {} held against the analysis, {} wrong\n", server.program().version, measured, checked, wrong);
    return wrong + (measured < 290 ? 1 : 0);
  }

 private:
  std::pair<long, std::string> measure(const Row& r, Session& session, Session& other) {
    if (!r.other.empty() && r.setup.empty()) other.must("BEGIN; " + r.other);
    session.must("BEGIN");
    if (!r.setup.empty()) {
      session.must(r.setup);
      if (!r.other.empty()) other.must("BEGIN; " + r.other);
    }
    session.must("SET LOCAL statement_timeout = '2s'");
    const Result result = session.run(r.sql);
    if (!result.ok()) session.must("ROLLBACK");
    else session.must("RESET ROLE");
    const long locks = std::atol(session.must("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()").value().value_or("0").c_str());
    if (result.ok()) session.must("ROLLBACK");
    session.must("SELECT pg_advisory_unlock_all(); DEALLOCATE ALL");
    if (!r.other.empty()) other.must("ROLLBACK; SELECT pg_advisory_unlock_all()");
    return {locks, result.ok() ? "" : result.sqlstate + " " + result.message};
  }

  // What the analysis says of the row, against the number of locks.
  std::string against(const Row& r, long locks) {
    peer_.ask({{"setup", setup_ + "\n" + r.setup + ";\n"}});
    const nlohmann::json calls = peer_.ask({{"text", r.sql + ";\n"}})["calls"];
    bool all_never = !calls.empty(), all_once = !calls.empty(), all_exact = !calls.empty(), unknown = calls.empty();
    long sites = 0;
    for (const nlohmann::json& c : calls) {
      if (c["name"].get<std::string>().find("unlock") != std::string::npos) continue;
      ++sites;
      const bool never = c["runs"] == "never";
      unknown = unknown || c["sureness"] == "unknown";
      all_never = all_never && never;
      all_once = all_once && (never || c["runs"] == "once");
      all_exact = all_exact && !c["plan_time"] && (never || (c["rows"] == "exact" && c["runs"] != "need-not"));
    }
    // The calls in the body of a SQL function that stays a function are not those of the row's statement.
    if (unknown || r.setup.find("FROM jobs'") != std::string::npos) return "";
    if (all_never && locks > 0) return fmt::format("said never, but there are {} locks", locks);
    const bool several = r.sql.find("EXECUTE") != r.sql.rfind("EXECUTE");
    if (all_once && !several && locks > sites) return fmt::format("said once, but {} calls took {} locks", sites, locks);
    if (all_exact && r.rows >= 0 && r.verdict == "over-locks" && locks > std::max(1L, r.rows) * sites)
      return fmt::format("said exact, but {} rows came with {} locks", r.rows, locks);
    return "";
  }

  differential::PeerClient peer_;
  std::vector<Row> table_;
  std::string setup_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: test_truth EVALUATION_PEER\n");
    return 2;
  }
  if (const int status = oracle::statusWithoutServers()) return status;
  int wrong = 0;
  try {
    Truth truth(argv[1]);
    for (const auto& server : oracle::testServers()) wrong += truth.on(*server);
  } catch (const std::exception& e) {
    fmt::print(stderr, "test_truth: {}\n", e.what());
    return 2;
  }
  return wrong ? 1 : 0;
}
