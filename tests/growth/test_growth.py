#!/usr/bin/env python3
"""Large inputs of many shapes must cost time in proportion to their size.

PGLOCKLINT=build/bin/pglocklint test_growth.py [SHAPE…] [--table]

Each shape is analyzed at a size and at four times that size, and the ratio of the processor times counts: about 4 in proportion, 16 when
quadratic. No time is compared with anything but the other size's, so a slow or busy machine does not matter; what is too short to
measure is skipped. --table prints all, for sizes that are four times larger, and fails on none.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading

BOUND = 9.0     # between 4 and 16
LEAST = 0.25    # seconds of the large size below which a ratio says nothing
LONGEST = 300   # seconds: then it hangs


def function(name, body, arguments="p bigint", declare=""):
    return f"CREATE FUNCTION {name}({arguments}) RETURNS void LANGUAGE plpgsql AS $$\n{declare}BEGIN\n{body}END $$;\n"


def one(text):
    return {"a.sql": text}


SHAPES = {
    "calls in one function": (1000, lambda n: one(function("f", "".join(f"  PERFORM pg_advisory_xact_lock(7, v{i % 9});\n" for i in range(n)),
                                                           declare="DECLARE " + "".join(f"v{i} int := {i};\n" for i in range(9))))),
    "variables of one function": (1000, lambda n: one(function("f", "".join(f"  v{i} := p + {i}; PERFORM pg_advisory_xact_lock(v{i});\n" for i in range(n)),
                                                               declare="DECLARE " + "".join(f"v{i} bigint;\n" for i in range(n))))),
    "writes to one variable": (1000, lambda n: one(function("f", "".join(f"  v := v + {i}; PERFORM pg_advisory_xact_lock(v);\n" for i in range(n)),
                                                            declare="DECLARE v bigint := 0;\n"))),
    "branches in one function": (750, lambda n: one(function("f", "".join(
        f"  IF pg_try_advisory_lock({i}) THEN PERFORM pg_advisory_unlock({i}); END IF;\n" for i in range(n))))),
    "keys in random order": (200, lambda n: one("".join(function(f"f{i}", "".join(
        f"  PERFORM pg_advisory_xact_lock({k});\n" for k in random.Random(i).sample(range(60), 3))) for i in range(n)))),
    "functions": (1500, lambda n: one("".join(function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i}, p::int);\n") for i in range(n)))),
    "redefinitions of one function": (1500, lambda n: one("".join(
        function("f", f"  PERFORM pg_advisory_xact_lock({i});\n").replace("CREATE", "CREATE OR REPLACE", 1) for i in range(n)))),
    "functions created and dropped": (1500, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i});\n") + f"DROP FUNCTION f{i}(bigint);\n" for i in range(n)))),
    "overloads of one function": (300, lambda n: one("".join(
        function("f", "  PERFORM pg_advisory_xact_lock(p);\n", f"p bigint, q t{i}") + f"SELECT f({i}, NULL);\n" for i in range(n)))),
    "overloads called with one arity": (300, lambda n: one("".join(
        function("f", "  PERFORM pg_advisory_xact_lock(p);\n", f"p bigint, q t{i}") for i in range(n)) + "SELECT f(1, NULL);\n" * n)),
    "functions altered": (1500, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i});\n") + f"ALTER FUNCTION f{i}(bigint) IMMUTABLE;\n" for i in range(n)))),
    "wrappers that call the next": (1000, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM f{i + 1}(p);\n" if i + 1 < n else "  PERFORM pg_advisory_xact_lock(p);\n") for i in range(n)))),
    "calls of one wrapper": (1000, lambda n: one(function("w", "  PERFORM pg_advisory_xact_lock(p);\n") + function(
        "f", "".join(f"  PERFORM w({i});\n" for i in range(n))) + "".join(f"SELECT w({i});\n" for i in range(n)))),
    "wrappers that call all": (576, lambda calls: one("".join(function(f"f{i}", "".join(
        f"  PERFORM f{j}(p);\n" for j in range(math.isqrt(calls)) if j != i) + ("  PERFORM pg_advisory_xact_lock(p);\n" if i == 0 else "")) for i in range(math.isqrt(calls))))),
    "tables": (2500, lambda n: one("".join(f"CREATE TABLE t{i} (id bigint PRIMARY KEY);\n" for i in range(n)) + "".join(
        f"SELECT pg_advisory_xact_lock(id) FROM t{i} WHERE id = {i};\n" for i in range(0, n, 5)))),
    "tables created and dropped": (1500, lambda n: one("".join(
        f"CREATE TABLE t{i} (id bigint CHECK (pg_try_advisory_lock(id)));\nALTER TABLE t{i} ADD CHECK (pg_try_advisory_lock({i}));\n" for i in range(n)) + "".join(
            f"DROP TABLE t{i};\n" for i in range(n)))),
    "columns of one table": (200, lambda n: one("".join(f"ALTER TABLE t ADD COLUMN c{i} bigint;\n" for i in range(n)).replace("ALTER TABLE t", "CREATE TABLE t (id bigint);\nALTER TABLE t", 1) + "".join(
        f"SELECT pg_advisory_xact_lock(c{i}) FROM t WHERE id = {i};\n" for i in range(n)))),
    "triggers": (1500, lambda n: one("CREATE TABLE t (id bigint);\n" + function("g", "  PERFORM pg_advisory_xact_lock(NEW.id); RETURN NEW;\n", "").replace("void", "trigger") + "".join(
        f"CREATE TRIGGER g{i} BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g();\n" for i in range(n)))),
    "policies": (750, lambda n: one("".join(
        f"CREATE TABLE t{i} (id bigint);\nALTER TABLE t{i} ENABLE ROW LEVEL SECURITY;\nCREATE POLICY p ON t{i} USING (pg_try_advisory_lock(id));\n" for i in range(n)))),
    "views on views": (150, lambda n: one("CREATE VIEW v0 AS SELECT pg_try_advisory_lock(1) AS got;\n" + "".join(
        f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1};\n" for i in range(1, n)) + f"SELECT * FROM v{n - 1} WHERE got;\n")),
    "statements of one script": (2500, lambda n: one("".join(f"SELECT pg_advisory_lock({i});\nSELECT pg_advisory_unlock({i});\n" for i in range(n)))),
    "locks before one reconnect": (1500, lambda n: one("".join(f"SELECT pg_advisory_lock({i});\n" for i in range(n)) + "\\c\nDELETE FROM t;\n")),
    "findings": (750, lambda n: one("".join(f"SELECT id FROM t WHERE k = {i} AND pg_try_advisory_lock({i}, id) LIMIT 1;\n" for i in range(n)))),
    "findings in one line": (300, lambda n: one("".join(f"SELECT id FROM t WHERE k = {i} AND pg_try_advisory_lock({i}, id) LIMIT 1; " for i in range(n)))),
    "calls in one statement": (250, lambda n: one("SELECT " + ", ".join(f"pg_advisory_lock({i}, id)" for i in range(n)) + " FROM t LIMIT 5;\n")),
    "conditions of one statement": (100, lambda n: one("SELECT id FROM t WHERE " + " AND ".join(f"c{i} = {i}" for i in range(n)) + " AND pg_try_advisory_lock(id) LIMIT 1;\n")),
    "tables of one statement": (15, lambda n: one("SELECT 1 FROM t0 " + " ".join(f"LEFT JOIN t{i} ON t{i}.id = t{i - 1}.id" for i in range(1, n)) + " WHERE pg_try_advisory_lock(t0.id) LIMIT 1;\n")),
    "keys of one space": (750, lambda n: one("".join(f"SELECT pg_advisory_xact_lock(hashtext('a{i}'));\nSELECT pg_advisory_xact_lock({i}, {i});\n" for i in range(n)))),
    "comments that allow": (1500, lambda n: one("".join(f"-- pglocklint:allow(lock-in-where) known {i}\nSELECT id FROM t WHERE pg_try_advisory_lock({i}, id);\n" for i in range(n)))),
    "files": (150, lambda n: {f"{i:06}_a.up.sql": f"CREATE TABLE t{i} (id int);\nSELECT pg_advisory_xact_lock({i});\n" for i in range(n)}),
    "files that include the next": (150, lambda n: {f"{i:06}.sql": f"SELECT pg_advisory_xact_lock({i});\n" + (f"\\ir {i + 1:06}.sql\n" if i + 1 < n else "") for i in range(n)}),
    "includes of one file": (500, lambda n: {"b.sql": "SELECT pg_advisory_xact_lock(1);\n", "a.sql": "SELECT pg_advisory_xact_lock(2);\n" + "\\ir b.sql\n" * n}),
    "prepared statements": (750, lambda n: one("".join(f"PREPARE s{i} AS SELECT pg_advisory_xact_lock({i});\nEXECUTE s{i};\n" for i in range(n)))),
    "cursors of one function": (300, lambda n: one(function("f", "".join(f"  OPEN c{i}; FETCH c{i} INTO r; CLOSE c{i};\n" for i in range(n)),
                                                            declare="DECLARE r record;\n" + "".join(f"c{i} CURSOR FOR SELECT pg_advisory_xact_lock({i});\n" for i in range(n))))),
    "nested blocks": (30, lambda n: one(function("f", "BEGIN\n" * n + "PERFORM pg_advisory_xact_lock(p);\n" + "END;\n" * n))),
    "nested queries": (20, lambda n: one("SELECT * FROM " + "(SELECT * FROM " * n + "(SELECT pg_advisory_xact_lock(id) FROM t) AS q" + ") AS q" * n + ";\n")),
    "common table expressions": (75, lambda n: one("WITH c0 AS (SELECT pg_advisory_xact_lock(1) AS x)" + "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, n)) + f" SELECT * FROM c{n - 1};\n")),
}


def analyze(tool, write, n):
    """Processor time, and the report."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as report, tempfile.TemporaryFile() as errors:
        for path, text in write(n).items():
            (pathlib.Path(folder) / path).write_text(text)
        command = [tool, "check", "-j", "1", "--no-cache", "--fail-on", "never", "--format", "json", folder]
        run = subprocess.Popen(command, stdout=report, stderr=errors)
        hangs = threading.Timer(LONGEST, run.kill)
        hangs.start()
        _, status, usage = os.wait4(run.pid, 0)
        hangs.cancel()
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode != 0 and run.returncode != -signal.SIGKILL:
            errors.seek(0)
            raise RuntimeError(f"status {run.returncode}: {errors.read().decode(errors='replace')[-500:]}")
        report.seek(0)
        return usage.ru_utime + usage.ru_stime, report.read()


def measure(tool, write, n):
    return analyze(tool, write, n)[0]


def judge(tool, size, write):
    """Times of both sizes, and whether they grow too fast; what looks so is measured again, for a hiccup may look so too."""
    small, large = measure(tool, write, size), measure(tool, write, 4 * size)
    if large >= LEAST and large > BOUND * small:
        small, large = max(small, measure(tool, write, size)), min(large, measure(tool, write, 4 * size))
    return small, large, large >= LEAST and large > BOUND * max(small, 0.01)


def order_findings(tool):
    """Keys in random order close a circle with nearly every other path: still one finding an acquisition at most."""
    findings = json.loads(analyze(tool, SHAPES["keys in random order"][1], 200)[1])["findings"]
    places = [(f["file"], f["line"]) for f in findings if f["code"] == "AL401"]
    if places and len(places) == len(set(places)):
        return True
    print(f"keys in random order: {len(places)} findings at {len(set(places))} acquisitions")
    return False


def main():
    tool = os.environ["PGLOCKLINT"]
    table = "--table" in sys.argv
    names = [a for a in sys.argv[1:] if a != "--table"]
    chosen = {name: shape for name, shape in SHAPES.items() if not names or any(n in name for n in names)}
    failed = not names and not order_findings(tool)
    with concurrent.futures.ThreadPoolExecutor(1 if table else os.cpu_count()) as pool:
        scaled = {name: size * 4 if table else size for name, (size, _) in chosen.items()}
        judged = {name: pool.submit(judge, tool, scaled[name], chosen[name][1]) for name in chosen}
        for name, result in judged.items():
            small, large, bad = result.result()
            failed |= bad
            if bad or table:
                print(f"{name:32} {scaled[name]:6} {small:7.2f} s   {4 * scaled[name]:6} {large:7.2f} s   × {large / max(small, 0.01):.1f}"
                      f"{'  grows too fast' if bad else ''}", flush=True)
    sys.exit(1 if failed and not table else 0)


main()
