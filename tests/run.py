"""The tests: `python3 tests/run.py` the quick ones, `python3 tests/run.py --all` all of them, as CI runs them.

It sets up what it needs, then runs ruff, mypy, vulture and pytest. Pytest runs twice at the same time, for two cores:
each half has its own Spark session and judge. What both would make or fetch on their first use, such as the shim's jar
and the judge's, is there before they start. Any other arguments are pytest's: a folder, a file, `-k name`.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, ".ci"))

import environment

environment.enter("test")

CHECKS: list[tuple[str, list[str]]] = [
    ("ruff", ["-m", "ruff", "check", "."]),
    ("mypy", ["-m", "mypy"]),
    ("vulture", ["-m", "vulture"]),
]
FIRST_USES: list[tuple[str, list[str]]] = [
    ("the shim's jar", ["-m", "sqlext.spark.shim.shim_jar"]),
    ("the judge's jar", ["-m", "judges.iceberg_process"]),
    ("the REST catalog server's jar", ["-m", "catalog.rest_server"]),
    ("PostgreSQL", ["-m", "catalog.postgres_server"]),
]
QUICK = [
    ["tests/unit", "tests/test_layering.py", "tests/test_environment.py"],
    [
        "tests/golden",
        "tests/session/changes/test_data_frames.py",
        "tests/session/changes/test_merge_into.py",
        "tests/session/tables/test_primary_key.py",
        "tests/session/upserts/test_upserts.py",
        "tests/interchange/tables/test_golden_tables.py",
        "tests/interchange/changes/test_judged_statements.py",
    ],
]
_FIRST = [
    f"tests/{folder}"
    for folder in (
        "bad_input",
        "conflict",
        "crossread",
        "fault",
        "golden",
        "interchange",
        "notebooks",
        "simulator",
        "streaming",
    )
]
ALL = [_FIRST, ["tests", *(f"--ignore={folder}" for folder in _FIRST)]]


def main(arguments: list[str]) -> int:
    failed = [name for name, step in CHECKS if run(name, step) != 0]
    halves = {"": QUICK, "--all": ALL}.get(" ".join(arguments))
    if halves is None:
        halves = [arguments]
    else:
        failed += [name for name, step in FIRST_USES if run(name, step) != 0]
    if max(run_pytest(halves)) != 0:
        failed.append("pytest")
    print("failed: " + ", ".join(failed) if failed else "ruff, mypy, vulture and pytest passed", flush=True)
    return 1 if failed else 0


def run_pytest(halves: list[list[str]]) -> list[int]:
    """Exit codes of runs side by side; what the last prints is seen at once, the others' when all have ended."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [pathlib.Path(folder, str(number)) for number in range(len(halves) - 1)]
        others = [start(["-m", "pytest", *half], log) for half, log in zip(halves[:-1], logs, strict=True)]
        codes = [run(_name(halves[-1]), ["-m", "pytest", *halves[-1]]), *(other.wait() for other in others)]
        for half, log in zip(halves[:-1], logs, strict=True):
            print("==", _name(half), flush=True)
            sys.stdout.buffer.write(log.read_bytes())
            sys.stdout.flush()
    return codes


def _name(arguments: list[str]) -> str:
    return " ".join(["pytest", *arguments])


def run(name: str, step: list[str]) -> int:
    print(f"== {name}", flush=True)
    return start(step).wait()


def start(step: list[str], log: pathlib.Path | None = None) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tests")}
    with contextlib.ExitStack() as opened:
        output = None if log is None else opened.enter_context(log.open("wb"))
        return subprocess.Popen(
            [sys.executable, *step],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
