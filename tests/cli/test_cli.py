#!/usr/bin/env python3
"""The command line as users and other programs meet it: exit status, formats, what happens on bad input.

With PGLOCKLINT_TEST_ALL set the largest inputs and the pre-commit hook's whole journey are tried too.
"""
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TOOL = os.environ.get("PGLOCKLINT", str(SOURCE / "build/bin/pglocklint"))
ALL = bool(os.environ.get("PGLOCKLINT_TEST_ALL"))
TIMEOUT = 300 if ALL else 60

# One error (AL101), one warning (AL202), nothing.
ERROR = "SELECT pg_advisory_xact_lock(id)\nFROM job\nWHERE id > 7\nORDER BY id\nLIMIT 10 OFFSET 20;\n"
WARNING = "BEGIN;\nSELECT pg_advisory_xact_lock(hashtext('tenant:' || :'tenant'));\nUPDATE tenant SET seen = now();\nCOMMIT;\n"
CLEAN = "BEGIN;\nSELECT pg_advisory_xact_lock(4711);\nUPDATE job SET done = true;\nCOMMIT;\n"


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pglocklint-cli-"))
        self.addCleanup(self.remove)
        self.tool = TOOL
        # Neither the user's configuration nor colours of their terminal.
        self.environment = {
            "PATH": f"{pathlib.Path(TOOL).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}", "HOME": str(self.folder), "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@localhost",
            "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@localhost"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def remove(self):
        for path in self.folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_tool(self, *arguments, cwd=None, stdin=b"", prefix=()):
        run = subprocess.run([*prefix, self.tool, *arguments], cwd=cwd or self.folder, input=stdin, capture_output=True,
                             env=self.environment, timeout=TIMEOUT)
        self.assertIn(run.returncode, (0, 1, 2), f"{arguments}: ended with {run.returncode}: {run.stderr[-2000:]!r}")
        return run

    def check(self, *arguments, **how):
        """The exit status and the JSON report."""
        run = self.run_tool("check", "--format", "json", "--no-cache", *arguments, **how)
        return run.returncode, json.loads(run.stdout)

    def rules(self, report):
        return sorted((finding["file"], finding["line"], finding["rule"]) for finding in report["findings"])

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.folder, env=self.environment, check=True, capture_output=True,
                              stdin=subprocess.DEVNULL).stdout


class ExitStatus(CommandLine):
    def test_nothing_to_report_is_0(self):
        self.write("a.sql", CLEAN)
        status, report = self.check("a.sql")
        self.assertEqual((status, report["findings"]), (0, []))

    def test_findings_are_1(self):
        self.write("a.sql", ERROR)
        status, report = self.check("a.sql")
        self.assertEqual(status, 1)
        self.assertIn("lock-before-limit", [finding["rule"] for finding in report["findings"]])

    def test_fail_on_sets_the_threshold(self):
        self.write("a.sql", WARNING)
        self.assertEqual(self.check("a.sql")[0], 1)
        self.assertEqual(self.check("--fail-on", "warning", "a.sql")[0], 1)
        self.assertEqual(self.check("--fail-on", "error", "a.sql")[0], 0)
        self.assertEqual(self.check("--fail-on", "never", "a.sql")[0], 0)
        self.write("b.sql", ERROR)
        self.assertEqual(self.check("--fail-on", "error", "b.sql")[0], 1)

    def test_notes_count_when_asked_for(self):
        self.write("a.sql", CLEAN)
        self.assertEqual(self.check("--enable", "magic-key", "a.sql")[0], 0)
        self.assertEqual(self.check("--enable", "magic-key", "--fail-on", "note", "a.sql")[0], 1)

    def test_missing_path_is_2_in_one_line(self):
        run = self.run_tool("check", "absent.sql")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"absent.sql", run.stderr)
        self.assertEqual(run.stderr.count(b"\n"), 1, run.stderr)

    def test_missing_path_in_json(self):
        status, report = self.check("absent.sql")
        self.assertEqual(status, 2)
        self.assertIn("absent.sql", report["error"])

    def test_unknown_rule_suggests(self):
        self.write("a.sql", CLEAN)
        for option in ("--enable", "--disable"):
            run = self.run_tool("check", option, "lock-befor-limit", "a.sql")
            self.assertEqual(run.returncode, 2)
            self.assertIn(b"lock-before-limit", run.stderr)
        run = self.run_tool("explain", "lock-befor-limit")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"lock-before-limit", run.stderr)

    def test_unknown_format_option_and_command_are_2(self):
        self.write("a.sql", CLEAN)
        for arguments in (["check", "--format", "xml", "a.sql"], ["check", "--no-such-option", "a.sql"], ["chekc", "a.sql"]):
            run = self.run_tool(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertTrue(run.stderr.strip(), arguments)

    def test_broken_configuration_is_2_with_its_place(self):
        self.write("a.sql", CLEAN)
        self.write("pglocklint.json", '{\n  // comments are allowed\n  "severities": {,}\n}\n')
        run = self.run_tool("check", ".")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"pglocklint.json", run.stderr)

    def test_unwritable_output_is_2(self):
        self.write("a.sql", CLEAN)
        run = self.run_tool("check", "-o", "absent/report.json", "--format", "json", "a.sql")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"absent/report.json", run.stderr)

    def test_strict_coverage_turns_what_was_not_understood_into_2(self):
        self.write("a.sql", "SELECT pg_advisory_lock(1) FROM WHERE GROUP;\n" + CLEAN)
        status, report = self.check("a.sql")
        self.assertEqual(status, 0)
        self.assertEqual([(entry["file"], entry["line"]) for entry in report["coverage"]["not_understood"]], [("a.sql", 1)])
        self.assertEqual(self.check("--strict-coverage", "a.sql")[0], 2)


class Options(CommandLine):
    def test_output_file_holds_what_the_screen_would(self):
        self.write("a.sql", ERROR)
        screen = self.run_tool("check", "--format", "json", "a.sql").stdout
        run = self.run_tool("check", "--format", "json", "-o", "report.json", "a.sql")
        self.assertEqual(run.returncode, 1)
        self.assertEqual((self.folder / "report.json").read_bytes(), screen)

    def test_disable(self):
        self.write("a.sql", ERROR)
        _, report = self.check("--disable", "lock-before-limit", "a.sql")
        self.assertNotIn("lock-before-limit", [finding["rule"] for finding in report["findings"]])

    def test_rules_by_code(self):
        self.write("a.sql", CLEAN)
        _, report = self.check("--enable", "AL205", "a.sql")
        self.assertIn("magic-key", [finding["rule"] for finding in report["findings"]])

    def test_baseline_hides_what_was_there(self):
        self.write("db/a.sql", ERROR)
        run = self.run_tool("check", "--write-baseline", "baseline.json", "db")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.check("--baseline", "baseline.json", "db")[0], 0)
        # Lines that move are the same findings; another statement is a new one.
        self.write("db/a.sql", "-- a comment\n\n" + ERROR)
        self.assertEqual(self.check("--baseline", "baseline.json", "db")[0], 0)
        self.write("db/a.sql", ERROR + ERROR.replace("job", "task"))
        status, report = self.check("--baseline", "baseline.json", "db")
        self.assertEqual(status, 1)
        self.assertTrue(all(finding["line"] > 5 for finding in report["findings"]), report["findings"])

    def test_missing_baseline_is_2(self):
        self.write("a.sql", CLEAN)
        run = self.run_tool("check", "--baseline", "absent.json", "a.sql")
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"absent.json", run.stderr)

    def test_report_only_limits_what_is_shown(self):
        self.write("db/a.sql", ERROR)
        self.write("db/b.sql", ERROR)
        _, report = self.check("--report-only", "db/b.sql", "db")
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"b.sql"})
        self.assertEqual(report["coverage"]["files"], 2)

    def test_standard_input_under_a_name(self):
        status, report = self.check("--stdin-path", "db/new.sql", stdin=ERROR.encode())
        self.assertEqual(status, 1)
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"db/new.sql"})

    def test_staged_reads_the_index_and_shows_staged_files(self):
        self.git("init", "-q")
        self.write("db/old.sql", ERROR)
        self.write("db/new.sql", CLEAN)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "start")
        self.assertEqual(self.check("--staged")[0], 0, "nothing is staged")
        self.write("db/new.sql", ERROR)
        self.assertEqual(self.check("--staged")[0], 0, "the fault is only in the working tree")
        self.git("add", "db/new.sql")
        self.write("db/new.sql", CLEAN)
        status, report = self.check("--staged")
        self.assertEqual(status, 1, "the fault is in the index")
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"db/new.sql"})

    def test_staged_outside_a_repository_is_2(self):
        self.write("a.sql", CLEAN)
        self.environment["GIT_CEILING_DIRECTORIES"] = str(self.folder.parent)
        run = self.run_tool("check", "--staged")
        self.assertEqual(run.returncode, 2)
        self.assertTrue(run.stderr.strip())

    def test_suppressed_findings_can_be_shown(self):
        self.write("a.sql", ERROR.replace("(id)", "(id) /* pglocklint:allow(lock-before-limit) a single worker runs this */"))
        status, report = self.check("a.sql")
        self.assertEqual((status, report["findings"]), (0, []))
        self.assertEqual(report["coverage"]["suppressed"], 1)
        sarif = json.loads(self.run_tool("check", "--format", "sarif", "--include-suppressed", "a.sql").stdout)
        [result] = sarif["runs"][0]["results"]
        self.assertEqual(result["suppressions"][0]["justification"], "a single worker runs this")

    def test_the_same_bytes_at_any_number_of_threads(self):
        for number in range(60):
            self.write(f"db/{number:03}.sql", "\n".join([ERROR, WARNING, CLEAN] * (1 + number % 7)))
        shop = SOURCE / "fixtures/projects/shop"
        fixtures = [str(SOURCE / "fixtures" / rule) for rule in ("lock-before-limit", "inconsistent-lock-order", "lock-on-different-connection")]
        # What clang reads takes its time: one form.
        for paths, forms in ((["db"], ("json", "sarif", "text")), ([str(shop)], ("json", "sarif", "text")), (["db", *fixtures], ("json",))):
            for form in forms:
                seen = {hashlib.sha256(self.run_tool("check", "--no-cache", "--all", "--format", form, *jobs, *paths).stdout).hexdigest()
                        for jobs in (["-j", "1"], ["-j", "8"], ["-j", "3"])}
                self.assertEqual(len(seen), 1, f"{paths} {form}")

    def test_order_of_paths_does_not_matter(self):
        for name in ("a", "b", "c"):
            self.write(f"{name}.sql", ERROR)
        one = self.run_tool("check", "--format", "json", "--no-cache", "a.sql", "b.sql", "c.sql").stdout
        other = self.run_tool("check", "--format", "json", "--no-cache", "c.sql", "a.sql", "b.sql").stdout
        self.assertEqual(one, other)

    def test_colour(self):
        self.write("a.sql", ERROR)
        self.assertNotIn(b"\x1b", self.run_tool("check", "a.sql").stdout)
        self.assertIn(b"\x1b", self.run_tool("check", "--color", "always", "a.sql").stdout)
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn(b"\x1b", self.run_tool("check", "a.sql").stdout)

    def test_facts_are_json_of_each_unit(self):
        self.write("a.sql", ERROR)
        run = self.run_tool("facts", "a.sql")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("schema", json.loads(run.stdout) if run.stdout.strip().startswith(b"{") else json.loads(run.stdout)[0])

    def test_rules_and_explain(self):
        listing = self.run_tool("rules").stdout.decode()
        for name in ("lock-before-limit", "magic-key", "unused-allow"):
            self.assertIn(name, listing)
        for rule in json.loads(self.run_tool("rules", "--format", "json").stdout)["rules"]:
            page = self.run_tool("explain", rule["name"])
            self.assertEqual(page.returncode, 0)
            self.assertIn(rule["code"].encode(), page.stdout)

    def test_json_has_the_documented_shape(self):
        self.write("a.sql", ERROR + "SELECT pg_advisory_lock(1) FROM WHERE GROUP;\n")
        _, report = self.check("--all", "a.sql")
        self.assertEqual(report["schema"], "pglocklint/findings/1")
        self.assertLessEqual({"version", "grammar"}, set(report["tool"]))
        self.assertIsInstance(report["tool"]["grammar"], int)
        self.assertLessEqual({"files", "statements", "call_sites", "superseded", "suppressed", "not_understood", "units"}, set(report["coverage"]))
        [entry] = report["coverage"]["not_understood"]
        self.assertLessEqual({"file", "line", "reason"}, set(entry))
        finding = next(f for f in report["findings"] if f["rule"] == "lock-before-limit")
        for field, kind in {"rule": str, "code": str, "severity": str, "file": str, "line": int, "column": int, "end_line": int, "end_column": int,
                            "message": str, "related": list, "path": list, "fixes": list, "fingerprint": str}.items():
            self.assertIsInstance(finding[field], kind, field)
        self.assertEqual((finding["code"], finding["severity"], finding["file"]), ("AL101", "error", "a.sql"))
        for place in finding["related"]:
            self.assertLessEqual({"file", "line", "column", "message"}, set(place))
        self.assertRegex(finding["fingerprint"], "^[0-9a-f]{16,64}$")

    def test_findings_are_sorted(self):
        for name in ("b", "a", "c"):
            self.write(f"{name}.sql", ERROR + WARNING + ERROR)
        _, report = self.check("--all", ".")
        order = [(f["file"], f["line"], f["column"], f["code"], f["message"]) for f in report["findings"]]
        self.assertGreater(len(order), 6)
        self.assertEqual(order, sorted(order))

    def test_keys_have_the_documented_shape(self):
        self.write("a.sql", "BEGIN;\nSELECT pg_advisory_xact_lock(1001, :id);\nSELECT pg_try_advisory_lock_shared(-9223372036854775808) \\gset\nCOMMIT;\n")
        report = json.loads(self.run_tool("keys", "--format", "json", "a.sql").stdout)
        texts = {key["text"]: key for key in report["keys"]}
        self.assertEqual({"(1001, *)", "-9223372036854775808"} & {text.strip("()") if "," not in text else text for text in texts}, {"(1001, *)", "-9223372036854775808"})
        pair = texts["(1001, *)"]
        self.assertEqual(pair["form"], "pair")
        self.assertEqual(pair["parts"][0], {"const": "1001"})
        [site] = pair["sites"]
        self.assertEqual((site["file"], site["line"], site["op"], site["scope"], site["mode"]), ("a.sql", 2, "acquire", "transaction", "exclusive"))

    def test_help_and_version(self):
        self.assertEqual(self.run_tool("--help").returncode, 0)
        self.assertIn(b"0.1.0", self.run_tool("--version").stdout)


class BadInput(CommandLine):
    """One bad file costs one coverage entry at most; the file beside it is analyzed all the same."""

    def beside(self, name, content, understood=None, **how):
        self.write("tree/zz_fault.sql", ERROR)
        self.write(f"tree/{name}", content)
        status, report = self.check("tree", **how)
        self.assertEqual(status, 1)
        self.assertIn(("zz_fault.sql", 1, "lock-before-limit"), self.rules(report))
        entries = [entry for entry in report["coverage"]["not_understood"] if entry["file"] != "zz_fault.sql"]
        units = [unit for unit in report["coverage"]["units"] if unit["file"] != "zz_fault.sql"]
        if understood is True:
            self.assertEqual((entries, units), ([], []))
        if understood is False:
            self.assertTrue(entries or units, "coverage says nothing about it")
        return report

    def test_empty_file(self):
        self.beside("empty.sql", b"", understood=True)

    def test_only_a_byte_order_mark(self):
        self.beside("bom.sql", b"\xef\xbb\xbf", understood=True)

    def test_nul_bytes(self):
        self.beside("nul.sql", b"SELECT 1;\0\0 SELECT pg_advisory_lock(1)\0;\n" + b"\0" * 1000)

    def test_invalid_utf8(self):
        report = self.beside("latin1.sql", "SELECT pg_advisory_xact_lock(1); -- Gr\u00f6\u00dfe\n".encode("latin-1") + b"SELECT '\xff\xfe\xc3';\n")
        json.dumps(report).encode()

    def test_nested_parentheses(self):
        self.beside("deep.sql", "SELECT pg_advisory_xact_lock(" + "(" * 100_000 + "1" + ")" * 100_000 + ");\n", understood=False)

    def test_nested_calls_and_blocks(self):
        self.beside("calls.sql", "SELECT " + "abs(" * 50_000 + "pg_advisory_xact_lock(1)" + ")" * 50_000 + ";\n")
        self.beside("blocks.sql", "DO $$ " + "BEGIN " * 20_000 + "PERFORM pg_advisory_xact_lock(1); " + "END; " * 20_000 + "$$;\n")
        self.beside("ifs.sql", "DO $$ BEGIN " + "IF true THEN " * 20_000 + "PERFORM pg_advisory_xact_lock(1); " + "END IF; " * 20_000 + "END $$;\n")
        self.beside("comments.sql", "/*" * 100_000 + " advisory " + "*/" * 100_000 + "\n" + CLEAN)
        self.beside("dollars.sql", "".join(f"$a{n}$" for n in range(20_000)) + " pg_advisory_lock")

    def test_unterminated(self):
        for name, text in {"quote": "SELECT pg_advisory_lock('1);\n", "dollar": "DO $body$ BEGIN PERFORM pg_advisory_lock(1);\n",
                           "comment": "/* SELECT pg_advisory_lock(1);\n", "identifier": 'SELECT "pg_advisory_lock(1);\n',
                           "parenthesis": "SELECT pg_advisory_lock(1;\n", "copy": "COPY advisory FROM stdin;\n1\t2\n"}.items():
            with self.subTest(name):
                self.beside(f"{name}.sql", text)

    def test_long_chains(self):
        for name, text in {
                "plus": "SELECT pg_advisory_xact_lock(" + "1" + "+1" * 200_000 + ");\n",
                "concat": "SELECT pg_advisory_xact_lock(hashtextextended('a'" + "||'a'" * 50_000 + ", 0));\n",
                "union": "SELECT pg_advisory_xact_lock(1)" + " UNION ALL SELECT 1" * 50_000 + ";\n",
                "and": "SELECT 1 FROM t WHERE pg_try_advisory_xact_lock(1)" + " AND a" * 50_000 + ";\n",
                "not": "SELECT " + "NOT " * 50_000 + "pg_try_advisory_xact_lock(1);\n",
                "minus": "SELECT pg_advisory_xact_lock(" + "- " * 50_000 + "1);\n",
                "casts": "SELECT pg_advisory_xact_lock(1" + "::bigint" * 50_000 + ");\n",
                "plpgsql": "DO $$ BEGIN PERFORM pg_advisory_xact_lock(1" + "+1" * 50_000 + "); END $$;\n"}.items():
            with self.subTest(name):
                self.beside(f"{name}.sql", text)

    def test_escape_sequences_in_names_and_text(self):
        self.write("tree/\x1b[31mred\x07.sql", ERROR)
        self.write("tree/line\nbreak.sql", ERROR)
        self.write("tree/%0A::error::.sql", ERROR)
        self.write("tree/\udcff.sql", ERROR)  # a name that is no UTF-8
        self.write("tree/text.sql", ERROR.replace("LIMIT", "/* \x1b[2J \x9b */ LIMIT"))
        run = self.run_tool("check", "--color", "never", "tree")
        self.assertEqual(run.returncode, 1)
        for raw in (b"\x1b", b"\x07", b"line\nbreak"):
            self.assertNotIn(raw, run.stdout)
            self.assertNotIn(raw, run.stderr)
        _, report = self.check("tree")
        self.assertEqual(len({finding["file"] for finding in report["findings"]}), 5)
        json.loads(self.run_tool("check", "--format", "sarif", "tree").stdout)

    def test_symlink_cycle(self):
        self.write("tree/a/fault.sql", ERROR)
        (self.folder / "tree/a/loop").symlink_to("..")
        (self.folder / "tree/self.sql").symlink_to("self.sql")
        (self.folder / "tree/dangling.sql").symlink_to("absent.sql")
        status, report = self.check("tree")
        self.assertEqual(status, 1)
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"a/fault.sql"})

    def test_symlink_out_of_the_tree_is_not_followed(self):
        self.write("outside/secret.sql", ERROR)
        self.write("tree/clean.sql", CLEAN)
        (self.folder / "tree/link").symlink_to("../outside")
        (self.folder / "tree/link.sql").symlink_to("../outside/secret.sql")
        self.assertEqual(self.check("tree")[1]["findings"], [])

    def test_included_files_outside_the_tree_are_not_read(self):
        self.write("outside/secret.sql", ERROR)
        self.write("tree/main.sql", "\\i ../outside/secret.sql\n\\ir ../outside/secret.sql\n\\i /etc/passwd\n" + CLEAN)
        self.assertEqual(self.check("tree")[1]["findings"], [])

    def test_include_cycle(self):
        self.write("tree/a.sql", "\\ir b.sql\n" + ERROR)
        self.write("tree/b.sql", "\\ir a.sql\n" + CLEAN)
        status, report = self.check("tree")
        self.assertEqual(status, 1)
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"a.sql"})

    def test_special_files(self):
        self.write("tree/zz_fault.sql", ERROR)
        os.mkfifo(self.folder / "tree/pipe.sql")
        status, report = self.check("tree")
        self.assertEqual(status, 1)
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"zz_fault.sql"})

    def test_unreadable_file_and_folder(self):
        """Root reads everything, so the program runs as nobody then."""
        self.write("tree/zz_fault.sql", ERROR)
        self.write("tree/unreadable.sql", ERROR).chmod(0)
        self.write("tree/closed/a.sql", ERROR).parent.chmod(0)
        how = {}
        if os.geteuid() == 0:
            self.tool = str(self.folder / "pglocklint")
            shutil.copy(TOOL, self.tool)
            for path in (self.folder, self.folder / "tree", pathlib.Path(self.tool)):
                path.chmod(0o755)
            how["prefix"] = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        status, report = self.check("tree", **how)
        alone = self.run_tool("check", "tree/unreadable.sql", **how)
        folder = self.run_tool("check", "tree/closed", **how)
        self.assertEqual(status, 1)
        self.assertEqual({finding["file"] for finding in report["findings"]}, {"zz_fault.sql"})
        unread = {unit["file"].rstrip("/") for unit in report["coverage"]["units"]}
        self.assertLessEqual({"unreadable.sql", "closed"}, unread)
        for run, name in ((alone, b"unreadable.sql"), (folder, b"closed")):
            self.assertEqual(run.returncode, 2)
            self.assertIn(name, run.stderr)

    def test_many_statements_on_one_line(self):
        self.beside("line.sql", "SELECT pg_advisory_xact_lock(1); " * 20_000 + "\n")

    def test_garbage(self):
        """Bytes of no language: the sum of the program's own digests, reproducible."""
        noise = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(8_000))
        self.beside("noise.sql", noise + b" pg_advisory_lock(1) " + noise)

    def test_mutated_files(self):
        """Every SQL fixture, damaged in ways that editors, merges and disks do it. Reproducible; no seed but the number."""
        sources = [path.read_bytes() for path in sorted((SOURCE / "fixtures").rglob("*.sql"))]
        marks = [b"'", b"$$", b"/*", b"*/", b"(", b")", b";", b"\\", b"\0", b"\xff", b'"', b"$q$", b"--", b":", b"BEGIN ATOMIC ", b"END", b"{{", b"COPY x FROM stdin;\n"]
        for number in range(4_000 if ALL else 400):
            chance = random.Random(number)
            text = bytearray(chance.choice(sources))
            for _ in range(chance.randint(1, 4)):
                at = chance.randrange(len(text) + 1)
                end = min(len(text), at + chance.randint(1, 60))
                kind = chance.randrange(5)
                if kind == 0:
                    del text[at:end]
                elif kind == 1:
                    text[at:at] = chance.choice(marks)
                elif kind == 2:
                    text[at:at] = text[at:end] * chance.randint(1, 30)
                elif kind == 3:
                    del text[at:]
                else:
                    other = chance.choice(sources)
                    start = chance.randrange(len(other) + 1)
                    text[at:end] = other[start:start + 200]
            self.write(f"tree/{number:05}.sql", bytes(text))
        self.beside("last.sql", b"")

    @unittest.skipUnless(ALL, "large")
    def test_hundred_megabytes(self):
        statement = b"INSERT INTO measurement (sensor, taken_at, reading) VALUES (17, '2024-05-01 10:00', 21.5);\n"
        self.beside("large.sql", statement * (100_000_000 // len(statement)), understood=True)
        self.beside("string.sql", b"SELECT pg_advisory_xact_lock(1), '" + b"x" * 100_000_000 + b"';\n")


class NewRule(unittest.TestCase):
    def test_scaffold_compiles(self):
        """scripts/new-rule in a copy of the project: what it writes is found, in order, and compiles."""
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch)
            for name in ("analyzer", "rules", "scripts"):
                shutil.copytree(SOURCE / name, copy / name)
            (copy / "fixtures").mkdir()
            shutil.copy(SOURCE / "CHANGELOG.md", copy)
            run = subprocess.run(["bash", "scripts/new-rule", "demo-rule", "AL299"], cwd=copy, capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            codes = [line.split("AL")[1] for line in (copy / "rules/all_rules.cpp").read_text().splitlines() if "// AL" in line]
            self.assertEqual(codes, sorted(codes))
            self.assertIn("299", codes)
            self.assertIn("demo-rule", (copy / "CHANGELOG.md").read_text())
            self.assertIn("-- expect: demo-rule", (copy / "fixtures/demo-rule/bad.sql").read_text())
            for name in ("demo_rule", "all_rules"):
                compiled = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-Ianalyzer", "-I.", f"rules/{name}.cpp"],
                                          cwd=copy, capture_output=True, text=True)
                self.assertEqual(compiled.returncode, 0, compiled.stderr)
            again = subprocess.run(["bash", "scripts/new-rule", "demo-rule"], cwd=copy, capture_output=True, text=True)
            self.assertEqual(again.returncode, 2)


@unittest.skipUnless(shutil.which("pre-commit"), "pre-commit is not installed")
class PreCommit(CommandLine):
    def test_hook(self):
        """A repository that uses the published hook: a commit with a fault is refused, one without passes."""
        hooks = self.folder / "hooks"
        hooks.mkdir()
        shutil.copy(SOURCE / ".pre-commit-hooks.yaml", hooks)
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "hooks"]):
            subprocess.run(["git", *arguments], cwd=hooks, env=self.environment, check=True, stdin=subprocess.DEVNULL)
        revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, env=self.environment, check=True, capture_output=True, text=True).stdout.strip()
        project = self.folder / "project"
        project.mkdir()
        (project / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: {hooks}\n    rev: {revision}\n    hooks:\n      - id: pglocklint\n")
        (project / "a.sql").write_text(CLEAN)
        environment = {**self.environment, "PRE_COMMIT_HOME": str(self.folder / "cache")}

        def git(*arguments):
            return subprocess.run(["git", *arguments], cwd=project, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

        git("init", "-q")
        installed = subprocess.run(["pre-commit", "install"], cwd=project, env=environment, capture_output=True, text=True)
        self.assertEqual(installed.returncode, 0, installed.stdout + installed.stderr)
        git("add", ".")
        clean = git("commit", "-m", "clean")
        self.assertEqual(clean.returncode, 0, clean.stdout + clean.stderr)
        (project / "b.sql").write_text(ERROR)
        git("add", ".")
        refused = git("commit", "-m", "fault")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("b.sql", refused.stdout + refused.stderr)
        self.assertIn("AL101", refused.stdout + refused.stderr)
        (project / "b.sql").write_text(CLEAN)  # not staged: the index still has the fault
        self.assertNotEqual(git("commit", "-m", "still").returncode, 0)
        git("add", ".")
        self.assertEqual(git("commit", "-m", "repaired").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
