#!/usr/bin/env python3
"""Measures pglocklint against what bounds it, side by side, and prints a table. Called by scripts/bench."""
import math
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1])
TREES = sys.argv[2:] or ["/usr/include", "/usr/share"]
TOOL = str(BUILD / "bin/pglocklint")
PEER = str(BUILD / "bin/pg_query_peer")
RECORDER = str(BUILD / "bin/pglocklint_texts")
CORPUS = BUILD / "bench/corpus"
ROUNDS = 7
THREADS = os.cpu_count() or 1


class Measured:
    def __init__(self, command):
        start = time.perf_counter()
        pid = os.posix_spawn(shutil.which(command[0]), command, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        self.seconds = time.perf_counter() - start
        self.cpu = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1024
        self.status = os.waitstatus_to_exitcode(status)


def side_by_side(ours, theirs):
    """The best of several rounds, taken in turn so that a busy moment of the machine meets both."""
    pairs = [(Measured(ours), Measured(theirs)) for _ in range(ROUNDS)]
    for one, _ in pairs:
        if one.status != 0:
            sys.exit(f"{' '.join(ours)} ended with {one.status}")
    return tuple(min((pair[side] for pair in pairs), key=lambda m: m.seconds) for side in (0, 1))


def check(*arguments):
    return [TOOL, "check", "--no-cache", "--fail-on", "never", "--format", "json", *map(str, arguments)]


rows = []


def row(what, ours, theirs, bound, unit="ms", factor=1000, attribute="seconds"):
    value = getattr(ours, attribute) * factor
    if theirs is None:
        rows.append((what, f"{value:.0f} {unit}", "", "", f"≤ {bound} {unit}", value <= bound))
    else:
        other = getattr(theirs, attribute) * factor
        rows.append((what, f"{value:.0f} {unit}", f"{other:.0f} {unit}", f"{value / other:.2f}", f"≤ {bound} ×", value / other <= bound))


def cpp_rows():
    """One unit against clang's own syntax check of it, and a compile with the plugin against one without."""
    root = (HERE / "../..").resolve()
    folder = BUILD / "bench/cpp"
    folder.mkdir(parents=True, exist_ok=True)
    units = {"a libpqxx unit": root / "fixtures/unordered-lock-set/bad_cpp_unordered_set.cpp", "a unit with JSON": root / "analyzer/cli/config.cpp"}
    flags = ["-std=c++20", "-I/usr/include/postgresql", *(f"-I{layer}" for layer in sorted((BUILD / "layers").glob("*")))]
    compile = ["clang++-19", "-w", *flags]
    for name, unit in units.items():
        worker = ["/bin/sh", "-c", 'unit=$0; exec "$@" < "$unit"', str(unit), str(BUILD / "bin/pglocklint-clang"), "--root", str(root),
                  "--file", str(unit.relative_to(root)), "--", *flags]
        ours, theirs = side_by_side(worker, [*compile, "-fsyntax-only", str(unit)])
        row(f"{name} : clang++-19 -fsyntax-only, processor time", ours, theirs, 1.1, attribute="cpu")
        plain = [*compile, "-O2", "-c", str(unit), "-o", str(folder / "x.o")]
        ours, theirs = side_by_side([*plain, f"-fplugin={BUILD / 'lib/pglocklint-clang-plugin.so'}"], plain)
        row(f"{name}, -O2 with the plugin : without, processor time", ours, theirs, 1.03, attribute="cpu")
    # A project costs what its units with locks cost.
    project = folder / "project"
    if not project.is_dir():
        project.mkdir()
        for number in range(40):
            body = 'tx.exec_params("SELECT pg_advisory_xact_lock($1)", id);' if number % 10 == 0 else 'tx.exec_params("DELETE FROM job WHERE id = $1", id);'
            (project / f"{number:02}.cpp").write_text(f"#include <pqxx/pqxx>\nvoid run{number}(pqxx::work& tx, int id) {{ {body} }}\n")
    units = " ".join(map(str, sorted(project.glob("*.cpp"))))
    theirs = Measured(["/bin/sh", "-c", f"for unit in {units}; do {' '.join(compile)} -fsyntax-only $unit || exit 1; done"])
    row("40 units, 4 of them with locks : clang++-19 -fsyntax-only of all, processor time", Measured(check(project)), theirs, 0.15, attribute="cpu")


def function_rows():
    """How the time grows with the functions of a program: the exponent is the slope of least squares through the logarithms."""
    points = []
    for count in (10_000, 31_623, 100_000):
        folder = BUILD / f"bench/functions-{count}"
        if not folder.is_dir():
            subprocess.run([sys.executable, "-B", str(HERE / "generate_functions.py"), str(folder), str(count)], check=True)
        runs = [Measured(check("-j", 1, folder)) for _ in range(3)]
        if any(run.status != 0 for run in runs):
            sys.exit(f"{count} functions: ended with {[run.status for run in runs]}")
        points.append((math.log(count), math.log(min(run.cpu for run in runs)), min(run.cpu for run in runs), max(run.megabytes for run in runs)))
    mean_x, mean_y = (sum(point[axis] for point in points) / len(points) for axis in (0, 1))
    exponent = sum((x - mean_x) * (y - mean_y) for x, y, *_ in points) / sum((x - mean_x) ** 2 for x, *_ in points)
    times = ", ".join(f"{seconds:.1f} s" for *_, seconds, _ in points)
    rows.append((f"10,000, 31,623 and 100,000 functions, 1,000 keys: {times} of processor time, exponent", f"{exponent:.2f}", "", "", "≤ 1.1", exponent <= 1.1))
    rows.append(("100,000 functions: peak memory", f"{points[-1][3]:.0f} MB", "", "", "", True))


def main():
    script = (HERE / "generate.py").read_bytes() + (HERE / "generate_functions.py").read_bytes()
    made_by = BUILD / "bench/made_by"
    if not made_by.exists() or made_by.read_bytes() != script:
        shutil.rmtree(BUILD / "bench", ignore_errors=True)
        subprocess.run([sys.executable, "-B", str(HERE / "generate.py"), str(CORPUS)], check=True)
        made_by.write_bytes(script)
    texts = BUILD / "bench/texts"
    with open(os.devnull, "w") as nothing:
        subprocess.run([RECORDER, *check("-j", 1, CORPUS)[1:]], check=True, stdout=nothing, env={**os.environ, "PGLOCKLINT_TEXTS": str(texts)})
    for threads in sorted({1, THREADS}):
        ours, theirs = side_by_side(check("-j", threads, CORPUS), [PEER, str(CORPUS), str(threads), str(texts)])
        row(f"10 MB of migrations, 737 files, -j{threads} : libpg_query's own work", ours, theirs, 1.3)
        if threads == 1:  # says more than the clock while the machine has other things to do
            row("the same, processor time", ours, theirs, 1.3, attribute="cpu")
    ours, theirs = side_by_side(check("-j", THREADS, *TREES), ["rg", "-j", str(THREADS), "-li", "advisory", *TREES])
    row(f"{' '.join(TREES)} : rg -li advisory", ours, theirs, 2)

    large = BUILD / "bench/large"
    large.mkdir(parents=True, exist_ok=True)
    block = b"".join(path.read_bytes() for path in sorted(CORPUS.glob("*.sql")))
    quiet = b"".join(line for line in block.splitlines(keepends=True) if line.startswith((b"INSERT", b"UPDATE", b"ALTER", b"GRANT", b"COMMENT")))
    file = large / "one.sql"
    if not file.exists():
        file.write_bytes((quiet * (100_000_000 // len(quiet) + 1))[:100_000_000])
    row("one file of 100 MB of ordinary statements: peak memory", Measured(check(file)), None, 250, "MB", 1, "megabytes")
    for what, folder, text in (("ordinary statements", "many-ordinary", quiet), ("statements, 12 % with locks", "many-locks", block)):
        many = BUILD / "bench" / folder
        if not many.is_dir():
            many.mkdir()
            for number in range(100):
                start = number * 93_000 % (len(text) - 1_100_000)
                (many / f"{number:03}.sql").write_bytes(text[text.index(b";\n", start) + 2:][:1_000_000])
        row(f"100 files of 1 MB of {what}: peak memory", Measured(check(many)), None, 250, "MB", 1, "megabytes")
    function_rows()
    cpp_rows()
    one = HERE / "../../fixtures/projects/shop"
    best = min((Measured(check(one)) for _ in range(ROUNDS)), key=lambda m: m.seconds)
    rows.append(("the demo project", f"{best.seconds * 1000:.0f} ms", "", "", "", True))

    width = max(len(r[0]) for r in rows)
    print(f"{'':{width}}  {'pglocklint':>10}  {'other':>8}  {'ratio':>5}  goal")
    for what, ours, theirs, ratio, goal, met in rows:
        print(f"{what:{width}}  {ours:>10}  {theirs:>8}  {ratio:>5}  {goal}{'' if met else '  MISSED'}")
    print(f"Best of {ROUNDS} rounds in turn, {THREADS} processors. libpg_query's own work: one scanner split of all files, and parse, unpack and "
          "free of\nexactly the texts that pglocklint hands to it, those inside of function bodies among them; nothing is done with the trees.")


main()
