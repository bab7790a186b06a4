#!/usr/bin/env python3
"""Large inputs of many shapes must cost time in proportion to their size.

test_growth.py PGLOCKLINT [SHAPE…] [--table]

Each shape is analyzed at a size and at four times that size; what is compared is processor time, so that a busy machine does not
matter. In proportion the ratio is 4, quadratic it is 16. --table prints all and fails on none.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

BOUND = 9.0     # between 4 and 16
LEAST = 0.4     # seconds of the large size below which a ratio says nothing
LONGEST = 300   # seconds: then it hangs


def function(name, body, arguments="p bigint", declare=""):
    return f"CREATE FUNCTION {name}({arguments}) RETURNS void LANGUAGE plpgsql AS $$\n{declare}BEGIN\n{body}END $$;\n"


def one(text):
    return {"a.sql": text}


SHAPES = {
    "calls in one function": (2000, lambda n: one(function("f", "".join(f"  PERFORM pg_advisory_xact_lock(7, v{i % 9});\n" for i in range(n)),
                                                           declare="DECLARE " + "".join(f"v{i} int := {i};\n" for i in range(9))))),
    "variables of one function": (2000, lambda n: one(function("f", "".join(f"  v{i} := p + {i}; PERFORM pg_advisory_xact_lock(v{i});\n" for i in range(n)),
                                                               declare="DECLARE " + "".join(f"v{i} bigint;\n" for i in range(n))))),
    "writes to one variable": (2000, lambda n: one(function("f", "".join(f"  v := v + {i}; PERFORM pg_advisory_xact_lock(v);\n" for i in range(n)),
                                                            declare="DECLARE v bigint := 0;\n"))),
    "branches in one function": (1500, lambda n: one(function("f", "".join(
        f"  IF pg_try_advisory_lock({i}) THEN PERFORM pg_advisory_unlock({i}); END IF;\n" for i in range(n))))),
    "functions": (3000, lambda n: one("".join(function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i}, p::int);\n") for i in range(n)))),
    "redefinitions of one function": (3000, lambda n: one("".join(
        function("f", f"  PERFORM pg_advisory_xact_lock({i});\n").replace("CREATE", "CREATE OR REPLACE", 1) for i in range(n)))),
    "overloads of one function": (600, lambda n: one("".join(
        function("f", "  PERFORM pg_advisory_xact_lock(p);\n", f"p bigint, q t{i}") + f"SELECT f({i}, NULL);\n" for i in range(n)))),
    "functions created and dropped": (3000, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i});\n") + f"DROP FUNCTION f{i}(bigint);\n" for i in range(n)))),
    "functions altered": (3000, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM pg_advisory_xact_lock({i});\n") + f"ALTER FUNCTION f{i}(bigint) IMMUTABLE;\n" for i in range(n)))),
    "wrappers that call the next": (2000, lambda n: one("".join(
        function(f"f{i}", f"  PERFORM f{i + 1}(p);\n" if i + 1 < n else "  PERFORM pg_advisory_xact_lock(p);\n") for i in range(n)))),
    "calls of one wrapper": (2000, lambda n: one(function("w", "  PERFORM pg_advisory_xact_lock(p);\n") + function(
        "f", "".join(f"  PERFORM w({i});\n" for i in range(n))) + "".join(f"SELECT w({i});\n" for i in range(n)))),
    "wrappers that call all": (24, lambda n: one("".join(function(f"f{i}", "".join(
        f"  PERFORM f{j}(p);\n" for j in range(n) if j != i) + ("  PERFORM pg_advisory_xact_lock(p);\n" if i == 0 else "")) for i in range(n)))),
    "tables": (5000, lambda n: one("".join(f"CREATE TABLE t{i} (id bigint PRIMARY KEY);\n" for i in range(n)) + "".join(
        f"SELECT pg_advisory_xact_lock(id) FROM t{i} WHERE id = {i};\n" for i in range(0, n, 5)))),
    "tables created and dropped": (3000, lambda n: one("".join(
        f"CREATE TABLE t{i} (id bigint CHECK (pg_try_advisory_lock(id)));\nALTER TABLE t{i} ADD CHECK (pg_try_advisory_lock({i}));\n" for i in range(n)) + "".join(
            f"DROP TABLE t{i};\n" for i in range(n)))),
    "columns of one table": (400, lambda n: one("".join(f"ALTER TABLE t ADD COLUMN c{i} bigint;\n" for i in range(n)).replace("ALTER TABLE t", "CREATE TABLE t (id bigint);\nALTER TABLE t", 1) + "".join(
        f"SELECT pg_advisory_xact_lock(c{i}) FROM t WHERE id = {i};\n" for i in range(n)))),
    "triggers": (3000, lambda n: one("CREATE TABLE t (id bigint);\n" + function("g", "  PERFORM pg_advisory_xact_lock(NEW.id); RETURN NEW;\n", "").replace("void", "trigger") + "".join(
        f"CREATE TRIGGER g{i} BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g();\n" for i in range(n)))),
    "policies": (1500, lambda n: one("".join(
        f"CREATE TABLE t{i} (id bigint);\nALTER TABLE t{i} ENABLE ROW LEVEL SECURITY;\nCREATE POLICY p ON t{i} USING (pg_try_advisory_lock(id));\n" for i in range(n)))),
    "views on views": (300, lambda n: one("CREATE VIEW v0 AS SELECT pg_try_advisory_lock(1) AS got;\n" + "".join(
        f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1};\n" for i in range(1, n)) + f"SELECT * FROM v{n - 1} WHERE got;\n")),
    "statements of one script": (5000, lambda n: one("".join(f"SELECT pg_advisory_lock({i});\nSELECT pg_advisory_unlock({i});\n" for i in range(n)))),
    "findings": (1500, lambda n: one("".join(f"SELECT id FROM t WHERE k = {i} AND pg_try_advisory_lock({i}, id) LIMIT 1;\n" for i in range(n)))),
    "findings in one line": (600, lambda n: one("".join(f"SELECT id FROM t WHERE k = {i} AND pg_try_advisory_lock({i}, id) LIMIT 1; " for i in range(n)))),
    "calls in one statement": (500, lambda n: one("SELECT " + ", ".join(f"pg_advisory_lock({i}, id)" for i in range(n)) + " FROM t LIMIT 5;\n")),
    "conditions of one statement": (200, lambda n: one("SELECT id FROM t WHERE " + " AND ".join(f"c{i} = {i}" for i in range(n)) + " AND pg_try_advisory_lock(id) LIMIT 1;\n")),
    "tables of one statement": (30, lambda n: one("SELECT 1 FROM t0 " + " ".join(f"LEFT JOIN t{i} ON t{i}.id = t{i - 1}.id" for i in range(1, n)) + " WHERE pg_try_advisory_lock(t0.id) LIMIT 1;\n")),
    "keys of one space": (1500, lambda n: one("".join(f"SELECT pg_advisory_xact_lock(hashtext('a{i}'));\nSELECT pg_advisory_xact_lock({i}, {i});\n" for i in range(n)))),
    "comments that allow": (3000, lambda n: one("".join(f"-- pglocklint:allow(lock-in-where) known {i}\nSELECT id FROM t WHERE pg_try_advisory_lock({i}, id);\n" for i in range(n)))),
    "files": (300, lambda n: {f"{i:06}_a.up.sql": f"CREATE TABLE t{i} (id int);\nSELECT pg_advisory_xact_lock({i});\n" for i in range(n)}),
    "files that include the next": (300, lambda n: {f"{i:06}.sql": f"SELECT pg_advisory_xact_lock({i});\n" + (f"\\ir {i + 1:06}.sql\n" if i + 1 < n else "") for i in range(n)}),
    "includes of one file": (1000, lambda n: {"b.sql": "SELECT pg_advisory_xact_lock(1);\n", "a.sql": "SELECT pg_advisory_xact_lock(2);\n" + "\\ir b.sql\n" * n}),
    "prepared statements": (1500, lambda n: one("".join(f"PREPARE s{i} AS SELECT pg_advisory_xact_lock({i});\nEXECUTE s{i};\n" for i in range(n)))),
    "cursors of one function": (600, lambda n: one(function("f", "".join(f"  OPEN c{i}; FETCH c{i} INTO r; CLOSE c{i};\n" for i in range(n)),
                                                            declare="DECLARE r record;\n" + "".join(f"c{i} CURSOR FOR SELECT pg_advisory_xact_lock({i});\n" for i in range(n))))),
    "nested blocks": (60, lambda n: one(function("f", "BEGIN\n" * n + "PERFORM pg_advisory_xact_lock(p);\n" + "END;\n" * n))),
    "nested queries": (40, lambda n: one("SELECT * FROM " + "(SELECT * FROM " * n + "(SELECT pg_advisory_xact_lock(id) FROM t) AS q" + ") AS q" * n + ";\n")),
    "common table expressions": (150, lambda n: one("WITH c0 AS (SELECT pg_advisory_xact_lock(1) AS x)" + "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, n)) + f" SELECT * FROM c{n - 1};\n")),
}


def seconds(tool, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([tool, "check", "-j", "1", "--no-cache", "--fail-on", "never", "--format", "json", folder],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LONGEST)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"status {run.returncode}: {run.stderr.decode(errors='replace')[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    tool, *names = [a for a in sys.argv[1:] if a != "--table"]
    table, failed = "--table" in sys.argv, False
    for name, (size, write) in SHAPES.items():
        if names and not any(n in name for n in names):
            continue
        took = []
        for n in (size, 4 * size):
            with tempfile.TemporaryDirectory() as folder:
                for path, text in write(n).items():
                    (pathlib.Path(folder) / path).write_text(text)
                try:
                    took.append(seconds(tool, folder))
                except subprocess.TimeoutExpired:
                    took.append(float(LONGEST))
        ratio = took[1] / max(took[0], 0.01)
        bad = took[1] >= LEAST and ratio > BOUND
        failed |= bad
        if bad or table:
            print(f"{name:32} {size:6} {took[0]:7.2f} s   {4 * size:6} {took[1]:7.2f} s   × {ratio:.1f}{'  grows too fast' if bad else ''}", flush=True)
    sys.exit(1 if failed and not table else 0)


main()
