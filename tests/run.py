"""All tests: `python3 tests/run.py [pytest arguments]` sets up what it needs, then ruff, mypy, pytest."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, ".ci"))

import environment

environment.enter("test")

STEPS = [
    ("ruff", ["-m", "ruff", "check", "."]),
    ("mypy", ["-m", "mypy"]),
    ("pytest", ["-m", "pytest", *sys.argv[1:]]),
]


def main() -> int:
    failed = []
    for name, arguments in STEPS:
        print(f"== {name}", flush=True)
        if subprocess.call([sys.executable, *arguments], cwd=ROOT) != 0:
            failed.append(name)
    print("failed: " + ", ".join(failed) if failed else "ruff, mypy and pytest passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
