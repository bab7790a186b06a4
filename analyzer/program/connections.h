// Where a connection leads, as far as its connection string says (libpq, manual 34.1.1), and whether a pooler stands in between.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pooler.h"

namespace pglocklint {

// Parts that are not in the text ("${HOST}", a placeholder) are not known; parts that are left out are empty.
struct ConnectionTarget {
  std::string host, port, database, user, target_session_attrs;
  std::string options;        // for the server: "-c lock_timeout=5s"
  bool host_known = true, port_known = true, database_known = true;  // false: written, but not as a constant
  bool pooler_hint = false;   // pgbouncer=true (Prisma and others)
  bool several_hosts = false; // host=a,b
  // Nothing of it is known: a variable holds the whole string.
  bool unknown = false;
};

// `text`: "host=h port=5432 dbname=d", "postgresql://u@h:5432/d?…", or just a database name.
ConnectionTarget connectionTarget(std::string_view text);

// The settings among a server's options, "-c lock_timeout=5s -c work_mem=1GB": name and value. Of an expansion that may hold any,
// nothing is known: the name is empty.
std::vector<std::pair<std::string, std::string>> settingsOf(const ConnectionTarget& target);

enum class PoolerMatch {
  None,     // no pooler in view, or the connection leads elsewhere
  Certain,  // the connection leads to a pooler in transaction or statement mode
  Possible, // such a pooler is in the tree, and where the connection leads is not known
};

struct PoolerFinding {
  PoolerMatch match = PoolerMatch::None;
  PoolMode mode = PoolMode::Transaction;
  const Pooler* pooler = nullptr;  // null: the host's name says it (a provider's pooler)
  const Pool* pool = nullptr;
};

PoolerFinding findPooler(const ConnectionTarget& target, const std::vector<Pooler>& poolers);

}  // namespace pglocklint
