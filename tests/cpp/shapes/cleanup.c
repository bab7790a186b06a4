/* C: goto, longjmp, the cleanup attribute. */
#include <libpq-fe.h>
#include <setjmp.h>

static int run(PGconn* c, const char* sql) {
  PGresult* r = PQexec(c, sql);
  const int ok = PQresultStatus(r) == PGRES_COMMAND_OK;
  PQclear(r);
  return ok;
}

int cleanup(PGconn* c) {
  int ok = 0;
  PQclear(PQexec(c, "SELECT pg_advisory_lock(502, 1)"));
  if (!run(c, "TRUNCATE search_index")) goto out;
  ok = 1;
out:
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(502, 1)"));
  return ok;
}

int behindTheUnlock(PGconn* c) {
  int ok = 0;
  PQclear(PQexec(c, "SELECT pg_advisory_lock(502, 2)"));
  if (!run(c, "TRUNCATE search_index")) goto out;
  ok = 1;
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(502, 2)"));
out:
  return ok; /* expect: session-lock-not-released */
}

static jmp_buf failed;

static void check(int ok) {
  if (!ok) longjmp(failed, 1);
}

int jumps(PGconn* c) {
  if (setjmp(failed) == 0) {
    PQclear(PQexec(c, "SELECT pg_advisory_lock(502, 3)"));
    check(run(c, "TRUNCATE search_index"));
    PQclear(PQexec(c, "SELECT pg_advisory_unlock(502, 3)"));
    return 1;
  }
  PQclear(PQexec(c, "SELECT pg_advisory_unlock(502, 3)"));
  return 0;
}

int jumpsPast(PGconn* c) {
  if (setjmp(failed) == 0) {
    PQclear(PQexec(c, "SELECT pg_advisory_lock(502, 4)"));
    if (!run(c, "TRUNCATE search_index")) longjmp(failed, 1);
    PQclear(PQexec(c, "SELECT pg_advisory_unlock(502, 4)"));
    return 1;
  }
  return 0; /* expect: session-lock-not-released */
}

static void release(PGconn** c) { PQclear(PQexec(*c, "SELECT pg_advisory_unlock(502, 5)")); }

int attribute(PGconn* c) {
  __attribute__((cleanup(release))) PGconn* held = c;
  PQclear(PQexec(c, "SELECT pg_advisory_lock(502, 5)"));
  return run(c, "TRUNCATE search_index");
}
