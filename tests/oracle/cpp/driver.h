// Runs functions of C++ fixtures, each on connections and in a schema of its own, and says for each how it ended and how many advisory locks
// the sessions then have. Included by the program that cpp_test.cpp writes, before the fixtures: they come into namespaces, and no header must
// be opened there for the first time.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <utility>
#include <vector>

namespace driver {

struct Run {
  std::string setup;
  void (*function)(pqxx::connection&, PGconn*);
};

// Those of the run that goes on.
inline pqxx::connection* connection = nullptr;
inline PGconn* handle = nullptr;
inline std::vector<std::shared_ptr<pqxx::connection>> pool;
inline std::string conninfo;

// What a pool gives: one of three connections, in turn.
inline std::shared_ptr<pqxx::connection> anyConnection() {
  if (pool.size() < 3) pool.push_back(std::make_shared<pqxx::connection>(conninfo));
  else std::rotate(pool.begin(), pool.begin() + 1, pool.end());
  return pool.back();
}

inline std::string outcome(const Run& run, pqxx::connection& observer) {
  pqxx::nontransaction look(observer);
  look.exec("DROP SCHEMA IF EXISTS run CASCADE; CREATE SCHEMA run; SET search_path = run; " + run.setup);
  pqxx::connection own(conninfo);
  const std::unique_ptr<PGconn, void (*)(PGconn*)> raw(PQconnectdb(conninfo.c_str()), PQfinish);
  connection = &own, handle = raw.get();
  std::string text = "returned";
  try {
    run.function(own, raw.get());
  } catch (const std::exception&) {
    text = "threw";
  }
  text += ", " + look.exec1("SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()")[0].as<std::string>() + " left";
  if (!look.exec1("SELECT to_regclass('seen')")[0].is_null()) text += ", " + look.exec1("SELECT min(locks) FROM seen")[0].as<std::string>() + " during";
  pool.clear();
  return text;
}

// The locks of a session that has ended are gone a moment later: each run waits for its predecessor's.
inline void awaitQuiet(pqxx::connection& observer) {
  pqxx::nontransaction look(observer);
  while (look.exec1("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'")[0].as<int>() > 1)
    look.exec("SELECT pg_sleep(0.002)");
}

inline int main(const char* where, const std::vector<Run>& runs) {
  conninfo = std::string(where) + " options='-c search_path=run -c client_min_messages=error'";
  pqxx::connection observer(conninfo);
  for (const Run& run : runs) {
    awaitQuiet(observer);
    std::cout << outcome(run, observer) << std::endl;
  }
  return 0;
}

}  // namespace driver
