// Bodies as projects write them.
#include <doctest/doctest.h>

#include "plpgsql_body.h"

using namespace pglocklint;
using namespace pglocklint::sql;

TEST_CASE("A job queue's claim function") {
  Function f;
  f.parameters = {{.name = "queue", .type = "text"}, {.name = "top_boundary", .type = "integer"}};
  const ReadBody b = readBody(R"(
DECLARE
  unlocked bigint;
  relative_top integer;
  job_count integer;
BEGIN
  -- The relative top is about contention
  EXECUTE 'SELECT count(*) FROM '
    || '(SELECT * FROM queue_classic_jobs '
    || ' WHERE locked_at IS NULL'
    || ' AND q_name = '
    || quote_literal(queue)
    || ' LIMIT '
    || quote_literal(top_boundary)
    || ') limited'
  INTO job_count;

  SELECT TRUNC(random() * (top_boundary - 1))
  INTO relative_top;

  IF job_count < top_boundary THEN
    relative_top = 0;
  END IF;

  LOOP
    BEGIN
      EXECUTE 'SELECT id FROM queue_classic_jobs '
        || ' WHERE locked_at IS NULL'
        || ' AND q_name = '
        || quote_literal(queue)
        || ' ORDER BY id ASC'
        || ' LIMIT 1'
        || ' OFFSET ' || quote_literal(relative_top)
        || ' FOR UPDATE NOWAIT'
      INTO unlocked;
      EXIT;
    EXCEPTION
      WHEN lock_not_available THEN
        -- do nothing. loop again and hope we get a lock
    END;
  END LOOP;

  RETURN QUERY EXECUTE 'UPDATE queue_classic_jobs '
    || ' SET locked_at = (CURRENT_TIMESTAMP)'
    || ' WHERE id = $1'
    || ' AND locked_at is NULL'
    || ' RETURNING *'
  USING unlocked;

  RETURN;
END)", f);
  CHECK(b.problems.empty());
  CHECK(b.function.exception_scopes.size() == 1);
  std::size_t dynamic = 0;
  for (const Statement& s : statementsOf(b)) dynamic += s.dynamic ? 1 : 0;
  CHECK(dynamic == 3);
}

TEST_CASE("A retry loop around a session lock") {
  const ReadBody b = readBody(R"(
DECLARE
  got boolean := false;
  tries int := 0;
BEGIN
  <<retry>>
  WHILE NOT got LOOP
    BEGIN
      got := pg_try_advisory_lock(hashtext('sync:' || p_name));
      IF NOT got THEN
        tries := tries + 1;
        IF tries > 10 THEN
          RAISE EXCEPTION 'cannot lock %', p_name USING ERRCODE = 'lock_not_available';
        END IF;
        PERFORM pg_sleep(0.1);
        CONTINUE retry;
      END IF;
      EXIT retry;
    EXCEPTION WHEN query_canceled THEN
      PERFORM pg_advisory_unlock(hashtext('sync:' || p_name));
      RAISE;
    END;
  END LOOP retry;
  RETURN got;
END;
)");
  CHECK(b.problems.empty());
  CHECK(graph(b) == Lines{
                        "0: default(got boolean := false)>got; default(tries int := 0)>tries; -> N1",
                        "1: condition(NOT got); -> T2 F9",
                        "2: -> N3",
                        "3: assign(got := pg_try_advisory_lock(hashtext('sync:' || p_name)))>got; condition(NOT got); -> T4 F7 in 0",
                        "4: assign(tries := tries + 1)>tries; condition(tries > 10); -> T5 F6 in 0",
                        "5: raise(p_name); raise[lock_not_available]; in 0",
                        "6: perform(PERFORM pg_sleep(0.1)); -> N1 in 0",
                        "7: -> N9 in 0",
                        "8: perform(PERFORM pg_advisory_unlock(hashtext('sync:' || p_name))); raise[rethrow];",
                        "9: return(RETURN got); return[];",
                    });
}

TEST_CASE("A trigger function") {
  Function f;
  f.returns = "trigger";
  const ReadBody b = readBody(R"(
BEGIN
  IF (TG_OP = 'DELETE') THEN
    PERFORM pg_advisory_xact_lock(TG_RELID::integer, OLD.account_id);
    INSERT INTO audit SELECT 'D', now(), current_user, OLD.*;
  ELSIF TG_OP IN ('UPDATE', 'INSERT') THEN
    PERFORM pg_advisory_xact_lock(TG_RELID::integer, NEW.account_id);
    NEW.updated_at := now();
    NEW.total = (SELECT sum(amount) FROM entry WHERE account_id = NEW.account_id);
    RETURN NEW;
  END IF;
  RETURN NULL;
END;
)", f);
  CHECK(b.problems.empty());
  CHECK(graph(b).size() == 5);
}

TEST_CASE("A batch procedure over a cursor") {
  const ReadBody b = readBody(R"(
DECLARE
  todo CURSOR (p_limit int) IS
    SELECT id, pg_try_advisory_xact_lock(id) AS got FROM job WHERE state = 'ready' ORDER BY id LIMIT p_limit FOR UPDATE;
  row record;
  n bigint;
BEGIN
  OPEN todo(p_limit => 100);
  LOOP
    FETCH NEXT FROM todo INTO row;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN NOT row.got;
    UPDATE job SET state = 'done' WHERE CURRENT OF todo;
    GET DIAGNOSTICS n = ROW_COUNT;
    CASE
      WHEN n = 1 THEN NULL;
      ELSE RAISE WARNING 'job % vanished', row.id;
    END CASE;
  END LOOP;
  CLOSE todo;
  COMMIT;
END
)");
  CHECK(b.problems.empty());
  for (const Statement& s : statementsOf(b)) {
    CAPTURE(s.head);
    CHECK(s.kind != StatementKind::NotUnderstood);
  }
}
