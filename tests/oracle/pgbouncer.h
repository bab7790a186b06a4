// pgbouncer (Debian's package) in front of a test server, on a Unix socket: what a pooler makes of session locks.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

#include "oracle/servers.h"
#include "support/process.h"

namespace pglocklint::oracle {

std::filesystem::path pgbouncerProgram();  // empty: not installed

class Pgbouncer {
 public:
  // `mode`: session, transaction, statement. Throws std::runtime_error with its log if it does not start.
  Pgbouncer(const TestServer& server, const std::string& mode, int pool_size);
  ~Pgbouncer();
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;

  std::string conninfo() const;

 private:
  test::TemporaryFolder folder_;
  pid_t process_ = -1;
};

}  // namespace pglocklint::oracle
