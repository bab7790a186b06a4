#!/usr/bin/env python3
"""Writes the corpus of scripts/bench: 737 migrations, 10 MB, 12 % of the statements with advisory locks. The same bytes each time.

As in real projects the locks are about some of the tables (200); most migrations are about others.

generate.py FOLDER
"""
import pathlib
import random
import sys

FILES = 737
BYTES = 10_000_000
RELEVANT = 0.12
WORDS = ("account address article batch booking branch carrier category channel claim contract currency customer delivery device document "
         "entry event export fee folder group holiday import invoice item journal label ledger line list location mail market member message "
         "meter note notice offer order owner package page partner payment period person plan point policy price process product profile "
         "project quote range rate record region report request return review role rule sample schedule season segment series session "
         "setting shelf shipment signal site source stage state stock store street subject supplier survey table target task team tenant "
         "term ticket token topic tour track trade transfer unit user value vendor visit voucher wallet ward zone").split()
TYPES = ("bigint NOT NULL", "integer", "text", "text NOT NULL DEFAULT ''", "timestamptz NOT NULL DEFAULT now()", "numeric(12, 2)", "boolean", "jsonb", "date", "uuid")


GUARDED = [f"{first}_{second}_queue" for first in WORDS[::5] for second in WORDS[1::9]][:200]


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def name(self) -> str:
        return "_".join(self.random.sample(WORDS, 2))

    def column(self) -> str:
        return self.random.choice(WORDS) + self.random.choice(("_id", "_at", "_no", "_code"))

    def table(self) -> str:
        columns = "".join(f",\n    {self.column()}_{n} {self.random.choice(TYPES)}" for n in range(self.random.randint(2, 6)))
        return f"CREATE TABLE IF NOT EXISTS {self.name()} (\n    id bigint PRIMARY KEY{columns}\n);\n"

    def insert(self) -> str:
        return (f"INSERT INTO {self.name()} ({self.column()}, {self.column()}) "
                f"VALUES ({self.random.randint(1, 10**6)}, '{self.random.choice(WORDS)} {self.random.choice(WORDS)}');\n")

    def update(self) -> str:
        return f"UPDATE {self.name()} SET {self.column()} = {self.random.randint(1, 999)} WHERE {self.column()} IS NULL;\n"

    def index(self) -> str:
        return f"CREATE INDEX {self.name()}_idx ON {self.name()} ({self.column()}, {self.column()});\n"

    def alter(self) -> str:
        return f"ALTER TABLE {self.name()} ADD COLUMN IF NOT EXISTS {self.column()} {self.random.choice(TYPES)};\n"

    def comment(self) -> str:
        return f"COMMENT ON COLUMN {self.name()}.{self.column()} IS '{' '.join(self.random.sample(WORDS, 5))}';\n"

    def grant(self) -> str:
        return f"GRANT SELECT, INSERT, UPDATE ON {self.name()} TO {self.random.choice(('app', 'reports', 'ops'))};\n"

    def view(self) -> str:
        return (f"CREATE OR REPLACE VIEW {self.name()} AS SELECT a.id, a.{self.column()}, count(*) AS n FROM {self.name()} a "
                f"JOIN {self.name()} b ON b.id = a.id WHERE a.{self.column()} > 0 GROUP BY 1, 2;\n")

    def function(self) -> str:
        return (f"CREATE OR REPLACE FUNCTION {self.name()}_{self.random.randint(1, 999)}(p_id bigint) RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n"
                f"    UPDATE {self.name()} SET {self.column()} = now() WHERE id = p_id;\nEND $$;\n")

    # A third of the lock statements have something to report.
    def lock(self) -> str:
        key = f"hashtextextended('{self.random.choice(WORDS)}:{self.random.randint(1, 99)}', 0)"
        number = self.random.randint(1, 10**6)
        table, column = self.random.choice(GUARDED), self.column()
        return self.random.choice((
            f"SELECT pg_advisory_xact_lock({key});\n",
            f"SELECT pg_advisory_xact_lock({number % 1000}, q.n) FROM (SELECT {column} AS n FROM {table} WHERE id > {number} ORDER BY 1) AS q;\n",
            f"DO $$\nBEGIN\n    IF pg_try_advisory_xact_lock({key}) THEN\n        DELETE FROM {table} WHERE {column} < {number};\n    END IF;\nEND $$;\n",
            f"CREATE OR REPLACE FUNCTION {table}_{number}_lock(p_id bigint) RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n"
            f"    PERFORM pg_advisory_xact_lock(hashtextextended('{table}:' || p_id, 0));\n"
            f"    UPDATE {table} SET {column} = {number} WHERE id = p_id;\nEND $$;\n",
            f"SELECT id FROM {table} WHERE {column} = {number} AND pg_try_advisory_xact_lock({number % 1000}, id::integer) LIMIT 1;\n",
            f"SELECT pg_advisory_xact_lock(hashtext('{table}'));\n",
        ))

    def statement(self) -> str:
        if self.random.random() < RELEVANT:
            return self.lock()
        kinds = (self.insert,) * 8 + (self.update,) * 3 + (self.alter,) * 2 + (self.index, self.comment, self.grant, self.table, self.view, self.function)
        return self.random.choice(kinds)()


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        writer = Writer(number)
        parts = [f"-- {writer.name().replace('_', ' ')}\n"]
        if number < len(GUARDED):
            parts.append(f"CREATE TABLE {GUARDED[number]} (\n    id integer PRIMARY KEY,\n    state text NOT NULL DEFAULT 'new'\n);\n")
        size = 0
        while size < BYTES // FILES:
            parts.append(writer.statement())
            size += len(parts[-1])
        (folder / f"{number + 1:06}_{writer.name()}.up.sql").write_text("".join(parts))


if __name__ == "__main__":
    main()
