// Ends of a function that are no return.
#include <libpq-fe.h>

#include <cstdlib>
#include <stdexcept>

[[noreturn]] void die(const char* why);

// The process ends, and its sessions with it.
void noReturn(PGconn* c) {
  PQclear(PQexec(c, "SELECT pg_advisory_lock(501, 1)"));
  if (!PQexec(c, "DELETE FROM job")) die("no number");
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(501, 1)"));
}

void exits(PGconn* c) {
  PQclear(PQexec(c, "SELECT pg_advisory_lock(501, 2)"));
  if (!PQexec(c, "DELETE FROM job")) std::exit(1);
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(501, 2)"));
}

void ends() noexcept;
void returns(PGconn* c, bool early) {
  PQclear(PQexec(c, "SELECT pg_advisory_lock(501, 3)"));
  ends();
  if (early) return;  // expect: session-lock-not-released
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(501, 3)"));
}

// std::terminate before anything is left behind.
void never(PGconn* c) noexcept {
  PQclear(PQexec(c, "SELECT pg_advisory_lock(501, 4)"));
  if (PQstatus(c) != CONNECTION_OK) throw std::runtime_error("gone");
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(501, 4)"));
}

void throws(PGconn* c) {
  PQclear(PQexec(c, "SELECT pg_advisory_lock(501, 5)"));
  if (PQstatus(c) != CONNECTION_OK) throw std::runtime_error("gone");  // expect: session-lock-not-released
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(501, 5)"));
}
