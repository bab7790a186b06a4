#include "oracle/session.h"

#include <libpq-fe.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace pglocklint::oracle {

using namespace std::chrono_literals;

namespace {

Result taken(PGresult* raw) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(raw, PQclear);
  Result out;
  const ExecStatusType status = PQresultStatus(raw);
  if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE || status == PGRES_PIPELINE_ABORTED) {
    const char* state = PQresultErrorField(raw, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(raw, PG_DIAG_MESSAGE_PRIMARY);
    out.sqlstate = state ? state : "08006";
    out.message = message ? message : PQresultErrorMessage(raw);
    return out;
  }
  out.tag = PQcmdStatus(raw);
  for (int c = 0; c < PQnfields(raw); ++c) out.columns.emplace_back(PQfname(raw, c));
  for (int r = 0; r < PQntuples(raw); ++r) {
    auto& row = out.rows.emplace_back();
    for (int c = 0; c < PQnfields(raw); ++c)
      row.push_back(PQgetisnull(raw, r, c) ? Cell() : Cell(std::string(PQgetvalue(raw, r, c), PQgetlength(raw, r, c))));
  }
  return out;
}

}  // namespace

void Session::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

void Session::notice(void* self, const char* text) { static_cast<std::vector<std::string>*>(self)->emplace_back(text); }

Session::Session(const std::string& conninfo) : connection_(PQconnectdb(conninfo.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
  PQsetNoticeProcessor(connection_.get(), notice, notices_.get());
}

Result Session::run(std::string_view sql) {
  send(sql);
  return finish();
}

Result Session::must(std::string_view sql) {
  Result result = run(sql);
  if (!result.ok()) throw std::runtime_error(result.sqlstate + " " + result.message + ", of: " + std::string(sql));
  return result;
}

Result Session::run(std::string_view sql, const std::vector<Cell>& parameters) {
  std::vector<const char*> values;
  for (const Cell& cell : parameters) values.push_back(cell ? cell->c_str() : nullptr);
  return taken(PQexecParams(connection_.get(), std::string(sql).c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                            nullptr, 0));
}

void Session::send(std::string_view sql) {
  if (!PQsendQuery(connection_.get(), std::string(sql).c_str())) throw std::runtime_error(PQerrorMessage(connection_.get()));
}

// The server's own question of its isolation tests; asking pg_locks instead would miss nothing here, but this one also knows of
// safe snapshots. A statement that neither ends nor waits is given a minute.
Session::Settled Session::settled(Session& observer) {
  const std::string question = "SELECT cardinality(pg_blocking_pids(" + std::to_string(pid()) + ")) > 0";
  for (int tries = 0; tries < 12000; ++tries) {
    if (!PQconsumeInput(connection_.get()) || !PQisBusy(connection_.get())) return Settled::Ended;
    if (observer.must(question).value() == "t") return Settled::Waits;
    std::this_thread::sleep_for(5ms);
  }
  throw std::runtime_error("a statement neither ends nor waits");
}

Result Session::finish() {
  Result last;
  while (PGresult* raw = PQgetResult(connection_.get())) {
    Result next = taken(raw);
    if (last.ok()) last = std::move(next);
  }
  return last;
}

int Session::pid() const { return PQbackendPID(connection_.get()); }

int Session::major() const { return PQserverVersion(connection_.get()) / 10000; }

char Session::transactionStatus() const {
  switch (PQtransactionStatus(connection_.get())) {
    case PQTRANS_IDLE: return 'I';
    case PQTRANS_ACTIVE: return 'A';
    case PQTRANS_INTRANS: return 'T';
    case PQTRANS_INERROR: return 'E';
    default: return '?';
  }
}

std::vector<std::string> Session::takeNotices() {
  std::vector<std::string> result;
  result.swap(*notices_);
  return result;
}

// objsubid 1: a bigint, cut in two; 2: a pair of integers. Both columns are unsigned.
std::vector<std::string> Session::advisoryLocks(Session& observer) const {
  const Result locks = observer.must(
      "SELECT line FROM (SELECT CASE objsubid WHEN 1 THEN format('bigint %s', ((classid::bigint << 32) | objid::bigint))"
      " ELSE format('pair (%s, %s)', classid::bigint::bit(32)::int, objid::bigint::bit(32)::int) END"
      " || CASE mode WHEN 'ExclusiveLock' THEN ' exclusive' ELSE ' share' END || CASE WHEN granted THEN '' ELSE ' waiting' END AS line"
      " FROM pg_locks WHERE locktype = 'advisory' AND pid = " + std::to_string(pid()) + ") AS locks ORDER BY line COLLATE \"C\"");
  std::vector<std::string> lines;
  for (const auto& row : locks.rows) lines.push_back(*row.front());
  return lines;
}

}  // namespace pglocklint::oracle
