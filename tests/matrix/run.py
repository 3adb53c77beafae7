"""The tests on each version of Spark: `python3 tests/matrix/run.py [--spark 4.0,4.1,4.2,4.3] [--only core,golden]`.

Each version has an environment of its own in `build/matrix`. `core` is `core.py` in an environment that has nothing but
the wheel; the others are the tests of those folders in one with their tools. `--only`
takes the names of PARTS. `--regenerate` records the golden results that differ from those of the default version, and
`--classes` writes `docs/spark-classes.md`.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

import argparse
import subprocess
from pathlib import Path

from judges.iceberg import JUDGE_PYTHON
from matrix import spark_classes
from matrix.environments import with_tests, with_wheel
from sqlext.spark.shim.shim_jar import MINORS

PARTS = {
    "golden": ["-m", "pytest", "tests/golden/test_golden.py"],
    "session": ["-m", "pytest", "tests/session"],
    "streaming": ["-m", "pytest", "tests/streaming"],
    "fuzz": ["tests/fuzz/run.py", "--count", "60", "--seed", "23000"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", default=",".join(MINORS))
    parser.add_argument("--only", default=",".join(["core", *PARTS]))
    parser.add_argument("--regenerate", action="store_true")
    parser.add_argument("--classes", action="store_true")
    arguments = parser.parse_args()
    if arguments.classes:
        spark_classes.DOCUMENT.write_text(spark_classes.document())
        return 0
    parts = arguments.only.split(",")
    unknown = {*arguments.spark.split(",")} - {*MINORS} | {*parts} - {"core", *PARTS}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join([*MINORS, 'core', *PARTS])}")
    failed = []
    for minor in arguments.spark.split(","):
        if arguments.regenerate:
            run(with_tests(minor), ["-m", "golden.record"])
            continue
        if "core" in parts and run(with_wheel(minor, built_wheel()), ["tests/matrix/core.py"], alone=True) != 0:
            failed.append(f"core on {minor}")
        for part in filter(PARTS.__contains__, parts):
            if run(with_tests(minor), PARTS[part]) != 0:
                failed.append(f"{part} on {minor}")
    print("failed: " + ", ".join(failed) if failed else "passed on all")
    return int(bool(failed))


def built_wheel() -> Path:
    """The wheel of `.ci/release.py`, which is run if there is none, or if it is older than what it is made of."""
    made_of = [
        Path(ROOT, "pyproject.toml"),
        *Path(ROOT, "sqlext").rglob("*.py"),
        *Path(ROOT, "jvm-shim").rglob("*.scala"),
    ]
    newest = max(path.stat().st_mtime for path in made_of)
    if not any(wheel.stat().st_mtime > newest for wheel in Path(ROOT, "dist").glob("sqlext-*.whl")):
        subprocess.check_call([sys.executable, os.path.join(ROOT, ".ci", "release.py")])
    return next(Path(ROOT, "dist").glob("sqlext-*.whl"))


def run(python: Path, step: list[str], *, alone: bool = False) -> int:
    """Runs Python on the clone's tests, or `alone` on what is installed."""
    print(f"== {python.parents[1].name}: {' '.join(step)}", flush=True)
    path = "" if alone else os.pathsep.join([ROOT, os.path.join(ROOT, "tests")])
    script = [os.path.join(ROOT, part) if part.endswith(".py") else part for part in step]
    return subprocess.call(
        [str(python), *script],
        cwd=os.path.join(ROOT, "build") if alone else ROOT,
        env={**os.environ, "PYTHONPATH": path, JUDGE_PYTHON: sys.executable},
    )


if __name__ == "__main__":
    sys.exit(main())
