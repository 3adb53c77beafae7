"""sqlext on each version of Spark: `python3 tests/matrix/run.py [--spark 4.0,4.1,4.2,4.3] [--only core,golden]`.

Each version has an environment of its own in `build/matrix`. `--only` takes the names of parts:

- `abilities`: the files of `abilities` in every way to run (`--way driver,Connect`), or some (`--ability merge,views`);
- `core`: `core.py` in an environment that has nothing but the wheel, with the Pythons and Javas of
  docs/compatibility.md, or with those of `--python 3.10,3.13`, `--java 21` and `--oldest`, the lowest versions of the
  dependencies. A Python and a Java are looked for by version, or given by path;
- those of PARTS: the tests of these folders in an environment with their tools.

It writes docs/compatibility.md, if all abilities and the documented runs of the core have passed when they last ran.
With `--missing` it runs only those that have not with the sources as they are. `--regenerate` records the golden
results that differ from those of the default version, and `--classes` writes `docs/spark-classes.md`.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

import argparse
import datetime
import json
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from judges.iceberg import JUDGE_PYTHON
from matrix import compatibility, spark_classes
from matrix.ability import WAYS, Ability, abilities
from matrix.attempts import Attempt, read
from matrix.core_runs import DOCUMENTED, CoreRun
from matrix.environments import with_tests, with_wheel
from matrix.interpreters import interpreter, java
from matrix.lower_bounds import lower_bounds
from matrix.outcomes import FAILED, PROJECT, YES, Kept, Outcome, Versions, judged, made_of
from sqlext.spark.shim.supported_spark import MINORS

PARTS = {
    "golden": ["-m", "pytest", "tests/golden/test_golden.py"],
    "session": ["-m", "pytest", "tests/session"],
    "streaming": ["-m", "pytest", "tests/streaming"],
    "drivers": ["-m", "pytest", "tests/drivers"],
    "cluster": ["-m", "pytest", "tests/cluster"],
    "fuzz": ["tests/fuzz/run.py", "--count", "60", "--seed", "23000"],
}
_WAY_S = 3600


def main() -> int:
    arguments = _arguments()
    if arguments.classes:
        spark_classes.DOCUMENT.write_text(spark_classes.document())
        return 0
    if arguments.regenerate:
        return max(run(with_tests(minor), ["-m", "golden.record"]) for minor in arguments.spark)
    failed = []
    if "abilities" in arguments.only:
        chosen = [one for one in abilities() if one.name in arguments.ability]
        for minor in arguments.spark:
            for way in arguments.way:
                those = [one for one in chosen if way in one.ways()]
                if arguments.missing:
                    those = [one for one in those if not Kept().is_newest((minor, way, one))]
                failed += run_abilities(minor, way, those)
    if "core" in arguments.only:
        runs = [one for one in core_runs(arguments) if not (arguments.missing and Kept().is_newest(one))]
        failed += [f"core: {one.name()}" for one in runs if run_core(one).kind == FAILED]
    for minor in arguments.spark:
        for part in filter(PARTS.__contains__, arguments.only):
            if run(with_tests(minor), PARTS[part]) != 0:
                failed.append(f"{part} on {minor}")
    if {"core", "abilities"} & {*arguments.only}:
        write_document()
    print("failed: " + ", ".join(failed) if failed else "passed on all")
    return int(bool(failed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = {
        "spark": MINORS,
        "only": ("core", "abilities", *PARTS),
        "way": WAYS,
        "ability": [one.name for one in abilities()],
    }
    for name, known in choices.items():
        parser.add_argument(f"--{name}", default=",".join(known), metavar=",".join(known[:6]))
    parser.add_argument("--python", metavar="3.10,3.13")
    parser.add_argument("--java", metavar="17,21")
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--classes", action="store_true")
    arguments = parser.parse_args()
    for name, known in choices.items():
        given = getattr(arguments, name).split(",")
        if unknown := {*given} - {*known}:
            parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join(known)}")
        setattr(arguments, name, given)
    return arguments


def run_abilities(minor: str, way: str, chosen: Sequence[Ability]) -> list[str]:
    """Runs the abilities in one JVM and keeps their outcomes; what has failed, in words."""
    if not chosen:
        return []
    python, kept = with_wheel(minor, built_wheel(), client_of_connect=True), Kept()
    versions = _versions(python, java().home)
    print(f"== {len(chosen)} abilities on Spark {versions.spark}, {way}", flush=True)
    started, waiting, failed = time.monotonic(), {one.name: one for one in chosen}, []
    ended = (Attempt(name, None, 0, "the process ended before it") for name in list(waiting) if name in waiting)
    for attempt in chain(_attempts(python, way, chosen), ended):
        ability = waiting.pop(attempt.ability)
        outcome = judged(ability, minor, way, attempt, versions)
        kept.put_ability(minor, way, ability, outcome)
        if outcome.kind == FAILED:
            print(f"FAILED {ability.name} on {minor}, {way}\n  {outcome.told}", flush=True)
            failed.append(f"{ability.name} on {minor}, {way}")
    print(f"   in {time.monotonic() - started:.0f} s", flush=True)
    return failed


def _attempts(python: Path, way: str, chosen: Sequence[Ability]) -> Iterator[Attempt]:
    with tempfile.TemporaryDirectory() as warehouse:
        module = f"matrix.ways.{way.replace('-', '_').lower()}"
        process = subprocess.Popen(
            [str(python), "-m", module, os.path.realpath(warehouse), *(one.name for one in chosen)],
            cwd=os.path.join(ROOT, "build"),
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tests"), "TZ": "UTC"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        yield from read(process.stdout)
        process.wait(timeout=_WAY_S)


def core_runs(arguments: argparse.Namespace) -> Iterator[CoreRun]:
    """The documented ones, or those of the Pythons, Javas and packages that are given."""
    if arguments.python is None and arguments.java is None and not arguments.oldest:
        yield from (one for one in DOCUMENTED if one.minor in arguments.spark)
        return
    for minor in arguments.spark:
        for python in _parts(arguments.python):
            for home in _parts(arguments.java):
                yield CoreRun(f"{minor}.0" if arguments.oldest else minor, python, home, arguments.oldest)


def _parts(given: str | None) -> Iterable[str | None]:
    return given.split(",") if given else [None]


def run_core(one: CoreRun) -> Outcome:
    """Runs the core script as it says, and keeps the outcome."""
    pins = lower_bounds() if one.oldest else ()
    chosen = interpreter(one.python) if one.python else None
    home = java(one.java).home
    print(f"== core: {one.name()}", flush=True)
    python = with_wheel(one.spark, built_wheel(), *pins, interpreter=chosen)
    done = subprocess.run(
        [str(python), os.path.join(ROOT, "tests", "matrix", "core.py")],
        cwd=os.path.join(ROOT, "build"),
        env={**os.environ, "PYTHONPATH": "", "JAVA_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    steps = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [f"{step['step']}: {step['error']}" for step in steps if step["error"]]
    if done.returncode != 0 or not steps:
        outcome = Outcome(FAILED, "; ".join(errors) or f"exit code {done.returncode}", _versions(python, home))
        print(f"FAILED core: {one.name()}\n  " + "\n  ".join(errors), flush=True)
    else:
        outcome = Outcome(YES, f"{len(steps)} steps passed", _versions(python, home))
    Kept().put_core(one, outcome)
    return outcome


def _versions(python: Path, java_home: Path) -> Versions:
    asked = "import platform, pyspark; print(pyspark.__version__, platform.python_version())"
    spark, version = subprocess.check_output([str(python), "-c", asked], text=True).split()
    return Versions(spark, version, java(str(java_home)).version, datetime.date.today().isoformat())


def write_document() -> None:
    """Writes docs/compatibility.md, or says what has not passed."""
    kept = Kept()
    missing = kept.missing(DOCUMENTED)
    if missing:
        print(f"docs/compatibility.md is left as it is, without a pass of: {', '.join(missing)}", flush=True)
        return
    compatibility.DOCUMENT.write_text(compatibility.document(kept))


def built_wheel() -> Path:
    """The wheel of `.ci/release.py`, which is run if there is none, or if it is older than what it is made of."""
    newest = max(path.stat().st_mtime for path in (PROJECT, *made_of()))
    if not any(wheel.stat().st_mtime > newest for wheel in Path(ROOT, "dist").glob("sqlext-*.whl")):
        subprocess.check_call([sys.executable, os.path.join(ROOT, ".ci", "release.py")])
    return next(Path(ROOT, "dist").glob("sqlext-*.whl"))


def run(python: Path, step: list[str]) -> int:
    """Runs Python on the clone's tests."""
    print(f"== {python.parents[1].name}: {' '.join(step)}", flush=True)
    return subprocess.call(
        [str(python), *step],
        cwd=ROOT,
        env={
            **os.environ,
            "SQLEXT_TESTS_COMPILE": "1",
            "PYTHONPATH": os.pathsep.join([ROOT, os.path.join(ROOT, "tests")]),
            JUDGE_PYTHON: sys.executable,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
