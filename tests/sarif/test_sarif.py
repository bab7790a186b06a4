#!/usr/bin/env python3
"""SARIF as others read it: the published schema, Microsoft's SARIF multitool, and what DESIGN promises beyond both."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
TOOL = os.environ.get("PGLOCKLINT", str(SOURCE / "build/bin/pglocklint"))
MODULES = pathlib.Path(os.environ.get("PGLOCKLINT_NODE_MODULES", SOURCE / "build/node/node_modules"))
SKIPPED = 77
FLOWS = ["projects/parcels", *(f"session-lock-not-released/{name}" for name in ("bad_return.sql", "bad_libpqxx_throw.cpp", "bad_shape_helper_throw"))]

failures = []


def expect(condition: bool, what: str) -> None:
    if not condition:
        failures.append(what)


def report(folder: pathlib.Path, *arguments: str) -> bytes:
    command = [TOOL, "check", "--format", "sarif", "--no-cache", "--fail-on", "never", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    expect(run.returncode == 0, f"{arguments}: exit status {run.returncode}: {run.stderr.decode(errors='replace')}")
    return run.stdout


def check_promises(name: str, log: dict) -> None:
    expect(log.get("version") == "2.1.0", f"{name}: version")
    [run] = log["runs"]
    expect(run.get("columnKind") == "utf16CodeUnits", f"{name}: columnKind is utf16CodeUnits")
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        expect(bool(rule.get("helpUri")), f"{name}: {rule['id']} has a helpUri")
        expect(bool(rule["help"].get("text")) and bool(rule["help"].get("markdown")), f"{name}: {rule['id']} has help")
        expect(rule["name"][0].isupper() and "-" not in rule["name"], f"{name}: {rule['name']} is PascalCase")
    invocations = run.get("invocations", [])
    expect(not any("TimeUtc" in key for invocation in invocations for key in invocation), f"{name}: no timestamps")
    for result in run["results"]:
        expect(rules[result["ruleIndex"]]["id"] == result["ruleId"], f"{name}: ruleIndex names ruleId")
        [location] = result["locations"]
        physical = location["physicalLocation"]
        expect(physical["artifactLocation"].get("uriBaseId") == "%SRCROOT%", f"{name}: locations are relative to %SRCROOT%")
        region = physical["region"]
        expect(region["startLine"] == region.get("endLine", region["startLine"]), f"{name}: the primary region is one line")
        expect("primaryLocationLineHash" in result["partialFingerprints"], f"{name}: primaryLocationLineHash")
        for related in result.get("relatedLocations", []):
            expect(f"]({related['id']})" in result["message"]["text"], f"{name}: related location {related['id']} is linked from the message")
        for fix in result.get("fixes", []):
            expect(bool(fix["artifactChanges"]), f"{name}: a fix changes something")


def flows_of_text(text: str) -> list[list[tuple[str, int, str]]]:
    """The numbered paths of a text report, finding by finding: file, line and message of each step."""
    flows = []
    step = re.compile(r"    (\d+)\. (.+?):(\d+):\d+:(.*)")
    inside = False
    for line in text.splitlines():
        if line == "  path:":
            flows.append([])
            inside = True
        elif inside and (found := step.fullmatch(line)):
            number, file, at, message = found.groups()
            expect(int(number) == len(flows[-1]) + 1, f"text: step {number} follows step {len(flows[-1])}")
            flows[-1].append((file, int(at), message.strip()))
        elif inside and line.startswith("    "):  # the message goes on
            file, at, message = flows[-1][-1]
            flows[-1][-1] = (file, at, f"{message} {line.strip()}".strip())
        else:
            inside = False
    return flows


def check_flows(name: str, log: dict, text: str) -> None:
    """What a viewer shows step by step is what the text numbers."""
    flows = []
    for result in log["runs"][0]["results"]:
        for flow in result.get("codeFlows", []):
            [thread] = flow["threadFlows"]
            flows.append([])
            for step in thread["locations"]:
                location = step["location"]
                physical = location["physicalLocation"]
                expect(bool(location["message"]["text"].strip()), f"{name}: each step has a message")
                expect(physical["artifactLocation"].get("uriBaseId") == "%SRCROOT%", f"{name}: each step has a file")
                expect(physical["region"]["startLine"] >= 1 and physical["region"]["startColumn"] >= 1, f"{name}: each step has a place")
                flows[-1].append((physical["artifactLocation"]["uri"], physical["region"]["startLine"], location["message"]["text"]))
            orders = [step["executionOrder"] for step in thread["locations"] if "executionOrder" in step]
            expect(orders == sorted(orders), f"{name}: steps stand in the order of execution")
    expect(flows == flows_of_text(text), f"{name}: the steps are those of the text, in its order: {flows} and {flows_of_text(text)}")
    expect(any(len(flow) > 2 for flow in flows), f"{name}: some path has steps")


def examples() -> list[str]:
    """The rules' examples: of those in C++, which clang reads slowly, every seventh."""
    files = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "fixtures").rglob("*") if path.suffix in (".sql", ".sh", ".cpp"))
    slow = [path for path in files if path.endswith(".cpp")]
    return [path for path in files if not path.endswith(".cpp")] + slow[::7]


def main() -> int:
    if not (MODULES / "ajv").is_dir():
        print(f"no validators in {MODULES}: scripts/setup --tests installs them")
        return 1 if os.environ.get("CI") else SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        # Columns in UTF-16 units, names that URIs must escape, and text that JSON must.
        odd = folder / "odd"
        (odd / "with space").mkdir(parents=True)
        (odd / "with space" / "né#1.sql").write_text(
            "/* é𝄞 */ SELECT pg_advisory_xact_lock(id) FROM \"tab\tle\" WHERE x > 'é𝄞\"\\' LIMIT 10;\n", encoding="utf-8")
        (odd / "empty.sql").write_text("")
        logs = {
            "shop.sarif": report(SOURCE / "fixtures/projects", "shop"),
            "shop-all.sarif": report(SOURCE / "fixtures/projects", "--all", "--include-suppressed", "shop"),
            "fixtures.sarif": report(SOURCE, "--all", *examples()),
            "flows.sarif": report(SOURCE / "fixtures", *FLOWS),
            "nothing.sarif": report(odd, "empty.sql"),
            "odd.sarif": report(folder, "--all", "odd"),
        }
        for name, content in logs.items():
            (folder / name).write_bytes(content)
            try:
                log = json.loads(content)
            except ValueError as error:
                expect(False, f"{name}: not JSON: {error}")
                continue
            check_promises(name, log)
        text = subprocess.run([TOOL, "check", "--no-cache", "--color", "never", "--fail-on", "never", *FLOWS], cwd=SOURCE / "fixtures", capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=300).stdout.decode()
        check_flows("flows.sarif", json.loads(logs["flows.sarif"]), text)
        expect(bool(json.loads(logs["shop.sarif"])["runs"][0]["results"]), "the shop has results")
        expect(not json.loads(logs["nothing.sarif"])["runs"][0]["results"], "an empty file has none")
        for result in json.loads(logs["odd.sarif"])["runs"][0]["results"]:
            if result["ruleId"] == "AL101":
                region = result["locations"][0]["physicalLocation"]["region"]
                line = "/* é𝄞 */ SELECT pg_advisory_xact_lock(id)"
                column = len(line[: line.index("pg_adv")].encode("utf-16-le")) // 2 + 1
                starts = {region["startColumn"]} | {
                    related["physicalLocation"]["region"]["startColumn"] for related in result.get("relatedLocations", [])}
                expect(column in starts, f"columns count UTF-16 units: {column} not among {sorted(starts)}")
                break
        else:
            expect(False, "the odd file has a finding")
        files = [str(folder / name) for name in logs]
        schema = subprocess.run(["node", str(HERE / "validate.js"), str(MODULES), *files], capture_output=True, text=True, timeout=300)
        expect(schema.returncode == 0, "schema: " + schema.stdout + schema.stderr)

        # A broken log must not pass, or the validators validate nothing.
        broken = json.loads(logs["shop.sarif"])
        broken["version"] = "9"
        (folder / "broken.sarif").write_text(json.dumps(broken))
        schema = subprocess.run(["node", str(HERE / "validate.js"), str(MODULES), str(folder / "broken.sarif")], capture_output=True, timeout=300)
        expect(schema.returncode == 1, "the schema validator accepts a broken log")

        multitool = [str(MODULES / ".bin/sarif-multitool-linux"), "validate"]
        # Its exit status is 0 even with errors: the output tells.
        run = subprocess.run([*multitool, *files], capture_output=True, text=True, timeout=300)
        output = run.stdout + run.stderr
        bad = [line for line in output.splitlines() if ": error " in line or ": warning SARIF1" in line]
        expect(not bad and f"{len(files)} files scanned" in output, "multitool: " + "\n".join(bad[:20] or [output]))
        run = subprocess.run([*multitool, str(folder / "broken.sarif")], capture_output=True, text=True, timeout=300)
        expect(": error " in run.stdout + run.stderr, "the multitool accepts a broken log: " + run.stdout + run.stderr)

    for failure in failures:
        print(failure)
    print(f"SARIF: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
