// A connection to a test server, as the tests want it: results as values, errors by SQLSTATE, and statements that may have to wait.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;

namespace pglocklint::oracle {

using Cell = std::optional<std::string>;  // nothing: NULL

struct Result {
  std::string sqlstate;  // empty: no error
  std::string message;   // of the error
  std::string tag;       // "SELECT 3"
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  bool ok() const { return sqlstate.empty(); }
  // The first column of the first row; nothing if there is no row or it is NULL.
  Cell value() const { return rows.empty() || rows.front().empty() ? Cell() : rows.front().front(); }
};

class Session {
 public:
  // Throws std::runtime_error if there is no connection.
  explicit Session(const std::string& conninfo);

  // One message of the simple protocol: the result of its last statement, or the error.
  Result run(std::string_view sql);
  // The same, and an error is an exception (std::runtime_error) that names the statement.
  Result must(std::string_view sql);
  // One statement with parameters, in the extended protocol; all are sent as text of unspecified type.
  Result run(std::string_view sql, const std::vector<Cell>& parameters);

  // Sends without waiting; then `settled` tells whether it has ended or waits for a lock of another session (it waits for one of
  // the two, and asks `observer` who waits), and `finish` takes the result.
  enum class Settled { Ended, Waits };
  void send(std::string_view sql);
  Settled settled(Session& observer);
  Result finish();

  int pid() const;                                  // of the server process
  char transactionStatus() const;                   // I idle, T in a transaction, E failed, A active, ? lost
  int major() const;
  std::vector<std::string> takeNotices();           // since the last call
  // Advisory locks of this session that pg_locks shows, one a line, sorted: "bigint 42 exclusive", "pair (1, 2) share", and
  // " waiting" if not granted. `observer` may be this session.
  std::vector<std::string> advisoryLocks(Session& observer) const;

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  static void notice(void* self, const char* text);
  std::unique_ptr<pg_conn, Close> connection_;
  std::unique_ptr<std::vector<std::string>> notices_ = std::make_unique<std::vector<std::string>>();
};

}  // namespace pglocklint::oracle
