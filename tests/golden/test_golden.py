#!/usr/bin/env python3
"""Whole reports as users see them, compared byte for byte with the files beside this one.

scripts/update-golden rewrites them; review the difference like code. What has to vary is written XX.
"""
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TOOL = os.environ.get("PGLOCKLINT", str(SOURCE / "build/bin/pglocklint"))

# file beside this one: (folder it runs in, arguments, exit status)
REPORTS = {
    "shop.txt": ("fixtures/projects", ["check", "--color", "never", "shop"], 1),
    "shop.json": ("fixtures/projects", ["check", "--format", "json", "shop"], 1),
    "shop.sarif": ("fixtures/projects", ["check", "--format", "sarif", "shop"], 1),
    "shop-notes.txt": ("fixtures/projects", ["check", "--color", "never", "--enable", "magic-key", "shop"], 1),
    "shop-keys.json": ("fixtures/projects", ["keys", "--format", "json", "shop"], 0),
    "parcels.txt": ("fixtures/projects", ["check", "--color", "never", "parcels"], 1),
    "rules.txt": (".", ["rules"], 0),
    "explain.txt": (".", ["explain", "lock-before-limit"], 0),
}


def normalise(text: str) -> str:
    """The grammar differs between the two builds that are tested."""
    text = re.sub(r'("grammar": ?)"?\d+"?', r'\1"XX"', text)
    return re.sub(r"(PostgreSQL )1[5-8](?:\.\d+)?('s)? grammar", r"\1XX\2 grammar", text)


def produce(name: str) -> tuple[str, str]:
    """The report and what is wrong with the run, or nothing."""
    folder, arguments, status = REPORTS[name]
    run = subprocess.run([TOOL, *arguments], cwd=SOURCE / folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    wrong = ""
    if run.returncode != status:
        wrong = f"exit status {run.returncode}, not {status}: {run.stderr.decode(errors='replace')}"
    return normalise(run.stdout.decode()), wrong


def main() -> int:
    update = "--update" in sys.argv
    failures = 0
    for name in REPORTS:
        text, wrong = produce(name)
        golden = HERE / name
        if wrong:
            print(f"{name}: {wrong}")
            failures += 1
            continue
        if not text.strip():
            print(f"{name}: the report is empty")
            failures += 1
            continue
        if name.endswith((".json", ".sarif")):
            json.loads(text)
        if update:
            golden.write_text(text)
            continue
        expected = golden.read_text() if golden.exists() else ""
        if text != expected:
            failures += 1
            difference = list(difflib.unified_diff(expected.splitlines(), text.splitlines(), f"tests/golden/{name}", "this run", lineterm=""))
            print("\n".join(difference[:80]))
            print(f"{name} differs; if it should, run scripts/update-golden and review")
    # The report in the README is a part of the real one.
    readme = re.search(r"```text\n(.*?)```", (SOURCE / "README.md").read_text(), re.S)
    if not readme or readme[1].strip() not in (HERE / "shop.txt").read_text():
        print("the report in README.md is no part of tests/golden/shop.txt")
        failures += 1
    print(f"golden reports: {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
