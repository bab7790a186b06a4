/* Code of a server: errors jump, and session locks survive them. */
#include <postgres.h>
#include <executor/spi.h>
#include <fmgr.h>

static int state;
static void work(void) {
  if (state < 0) elog(ERROR, "no state");
}

void caught(void) {
  SPI_execute("SELECT pg_advisory_lock(503, 1)", false, 0);
  PG_TRY();
  {
    work();
  }
  PG_CATCH();
  {
    SPI_execute("SELECT pg_advisory_unlock(503, 1)", false, 0);
    PG_RE_THROW();
  }
  PG_END_TRY();
  SPI_execute("SELECT pg_advisory_unlock(503, 1)", false, 0);
}

void finally(void) {
  SPI_execute("SELECT pg_advisory_lock(503, 2)", false, 0);
  PG_TRY();
  {
    work();
  }
  PG_FINALLY();
  {
    SPI_execute("SELECT pg_advisory_unlock(503, 2)", false, 0);
  }
  PG_END_TRY();
}

void forgotten(void) {
  SPI_execute("SELECT pg_advisory_lock(503, 3)", false, 0);
  PG_TRY();
  {
    work();
    SPI_execute("SELECT pg_advisory_unlock(503, 3)", false, 0);
  }
  PG_CATCH();
  {
    work();
  }
  PG_END_TRY();
} /* expect: session-lock-not-released */

void raised(int n) {
  SPI_execute("SELECT pg_advisory_lock(503, 4)", false, 0);
  if (n < 0) ereport(ERROR, (errcode(1), errmsg("n is negative"))); /* expect: session-lock-not-released */
  SPI_execute("SELECT pg_advisory_unlock(503, 4)", false, 0);
}

void noted(int n) {
  SPI_execute("SELECT pg_advisory_lock(503, 5)", false, 0);
  if (n < 0) ereport(NOTICE, (errmsg("n is negative")));
  SPI_execute("SELECT pg_advisory_unlock(503, 5)", false, 0);
}
