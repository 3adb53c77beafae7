"""The tests: `python3 tests/run.py` the quick ones, `--all` what CI runs, `--long` what CI has no time for.

It sets up what it needs, then runs ruff, mypy, vulture and pytest. The tests are in parts, of which three run at a time
on two cores, as each waits for processes and servers for a part of its time: each has its own Spark session and judge.
What all would make or fetch on their first use, such as the shim's jar and the judge's, is there before they start.
With `--long` some parts are measured, and it fails where they run too few of the lines of sqlext: see
`line_coverage.py`. Any other arguments are pytest's: a folder, a file, or `-k name`; tests that are marked `long` are
left out unless `-m long` asks for them.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import IO, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, ".ci"))

import environment

environment.enter("test")

CHECKS: list[tuple[str, list[str]]] = [
    ("ruff", ["-m", "ruff", "check", "."]),
    ("mypy", ["-m", "mypy"]),
    ("mypy of what tests name", ["-m", "mypy", "--config-file", "tests/mypy.ini", "tests"]),
    ("vulture", ["-m", "vulture"]),
]
FIRST_USES: list[tuple[str, list[str]]] = [
    ("the shim's jar", ["-m", "sqlext.spark.shim.shim_jar"]),
    ("the judge's jar", ["-m", "judges.iceberg_process"]),
    ("the REST catalog server's jar", ["-m", "catalog.rest_server"]),
    ("PostgreSQL", ["-m", "catalog.postgres_server"]),
]


class Part(NamedTuple):
    """Arguments of one run of pytest. One that is measured takes up to twice the time of its Python code."""

    arguments: list[str]
    measured: bool = False


_UNIT = ["tests/unit", "tests/matrix/test_abilities.py", "tests/test_layering.py", "tests/test_environment.py"]
QUICK = [
    Part(
        [
            "tests/golden/test_golden.py",
            "tests/session/changes/test_data_frames.py",
            "tests/session/changes/test_merge_into.py",
            "tests/session/tables/test_primary_key.py",
            "tests/session/upserts/test_upserts.py",
            "tests/interchange/tables/test_golden_tables.py",
            "tests/interchange/changes/test_judged_statements.py",
        ]
    ),
    Part(_UNIT),
]
_STATEMENTS = ["tests/golden/test_golden.py", "tests/streaming"]
_NAMED = [
    Part([f"tests/session/{room}" for room in ("changes", "commits", "names", "tables")]),
    Part([f"tests/session/{room}" for room in ("changelogs", "reads", "sessions", "upserts")]),
    Part(["tests/bad_input", "tests/conflict", "tests/crossread", "tests/interchange"]),
    Part(_STATEMENTS),
    Part(["tests/cluster", "tests/drivers", "tests/notebooks", "tests/golden/test_strategies.py"]),
    Part(_UNIT),
]
_OTHERS = Part(["tests", *(f"--ignore={path}" for part in _NAMED for path in part.arguments)])
ALL = [*_NAMED[:-1], _OTHERS, _NAMED[-1]]
"""The longest first, so that those that end last end together."""
LONG = [Part(["tests", "-m", "long"]), Part(_STATEMENTS, measured=True), Part(_UNIT, measured=True)]


def main(arguments: list[str]) -> int:
    failed = [name for name, step in CHECKS if run(name, step) != 0]
    parts = {"": QUICK, "--all": ALL, "--long": LONG}.get(" ".join(arguments))
    if parts is None:
        failed += ["pytest"] if run(_name(arguments), ["-m", "pytest", *arguments]) != 0 else []
    else:
        failed += [name for name, step in FIRST_USES if run(name, step) != 0]
        failed += run_parts(parts, {"SQLEXT_TESTS_COMPILE": "1"} if parts is LONG else {})
    print("failed: " + ", ".join(failed) if failed else "ruff, mypy, vulture and pytest passed", flush=True)
    return 1 if failed else 0


def run_parts(parts: list[Part], variables: dict[str, str]) -> list[str]:
    """Runs three at a time, and shows what each has printed once it has ended; what has failed."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(3) as three:
        traced = {"COVERAGE_FILE": os.path.join(folder, "data")}
        logs = [pathlib.Path(folder, f"{number}.log") for number in range(len(parts))]
        variables = {**variables, **traced}
        codes = list(three.map(lambda part, log: _run_part(part, log, variables), parts, logs))
        failed = ["pytest"] if any(codes) else []
        if any(part.measured for part in parts) and run("coverage", ["-m", "line_coverage"], traced) != 0:
            failed.append("coverage")
    return failed


def _run_part(part: Part, log: pathlib.Path, variables: dict[str, str]) -> int:
    step = ["-m", "pytest", *part.arguments]
    with log.open("wb") as output:
        started = start(["-m", "coverage", "run", *step] if part.measured else step, variables, output)
        code = started.wait()
    sys.stdout.buffer.write(f"== {_name(part.arguments)}\n".encode() + log.read_bytes())
    sys.stdout.flush()
    return code


def _name(arguments: list[str]) -> str:
    return " ".join(["pytest", *arguments])


def run(name: str, step: list[str], variables: dict[str, str] | None = None) -> int:
    print(f"== {name}", flush=True)
    return start(step, variables or {}).wait()


def start(step: list[str], variables: dict[str, str], output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *step],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tests"), **variables},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
