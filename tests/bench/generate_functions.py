#!/usr/bin/env python3
"""Writes a program of PL/pgSQL functions in deep call chains, some of them closed to circles, that lock 1,000 keys. The same bytes each time.

A chain is 25 functions, each of which calls the next. The last takes a lock, and so do some on the way, directly or through a wrapper, with
keys that rise along the chain, as a program has one order for most of its locks; some go on into another chain, whose keys are greater.

generate_functions.py FOLDER COUNT
"""
import pathlib
import random
import sys

CHAIN = 25
KEYS = 1000
A_FILE = 250  # functions

WRAPPERS = """CREATE TABLE work (id int PRIMARY KEY, done boolean NOT NULL DEFAULT false);

CREATE FUNCTION take(p_key int) RETURNS void
LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7000, p_key); END $$;

CREATE FUNCTION take_row(p_id int) RETURNS void
LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7001, p_id); END $$;

"""


class Program:
    def __init__(self, count: int):
        self.random = random.Random(count)
        self.count = count
        self.heads = []  # of finished chains: (smallest key, name)

    def lock(self, key: int) -> str:
        way = self.random.random()
        if way < 0.45:
            return f"  PERFORM pg_advisory_xact_lock(7000, {key});\n"
        if way < 0.9:
            return f"  PERFORM take({key});\n"
        return f"  IF NOT pg_try_advisory_xact_lock(7000, {key}) THEN\n    RETURN;\n  END IF;\n"

    def chain(self, first: int, length: int) -> list[str]:
        """Functions first … first + length - 1; the first is called by no other of the chain."""
        locks = sorted(self.random.sample(range(length - 1), min(3, length - 1))) + [length - 1]
        keys = dict(zip(locks, sorted(self.random.sample(range(KEYS), len(locks)))))
        texts = []
        for depth in range(length):
            body = self.lock(keys[depth]) if depth in keys else ""
            body += f"  UPDATE work SET done = true WHERE id = p_id + {depth};\n"
            if depth + 1 < length:
                body += f"  PERFORM f{first + depth + 1}(p_id);\n"
            else:
                body += "  PERFORM take_row(p_id);\n"
                later = [name for key, name in self.heads[-200:] if key > keys[depth]]
                if later and self.random.random() < 0.3:
                    body += f"  PERFORM {self.random.choice(later)}(p_id);\n"
                elif length > 4 and self.random.random() < 0.1:
                    body += f"  IF p_id > 0 THEN\n    PERFORM f{first + depth - 3}(p_id - 1);\n  END IF;\n"
            texts.append(f"CREATE FUNCTION f{first + depth}(p_id int) RETURNS void\nLANGUAGE plpgsql AS $$\nBEGIN\n{body}END $$;\n\n")
        self.heads.append((min(keys.values()), f"f{first}"))
        return texts

    def write(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True)
        texts = [WRAPPERS]
        while len(texts) - 1 < self.count:
            first = len(texts) - 1
            texts += self.chain(first, min(CHAIN, self.count - first))
        for number in range(0, len(texts), A_FILE):
            (folder / f"{number // A_FILE:04}.sql").write_text("".join(texts[number:number + A_FILE]))


if __name__ == "__main__":
    Program(int(sys.argv[2])).write(pathlib.Path(sys.argv[1]))
