"""Environments of the matrix: one for each Spark, Python and set of packages, kept in `build/matrix`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sparks

from matrix.interpreters import Interpreter, running

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "matrix"


def with_tests(minor: str) -> Path:
    """The Python of an environment with this clone, what its tests need, and the newest PySpark of a version."""
    requirements = ["-e", f"{ROOT}[tests]", _pyspark(minor, "sql,connect")]
    return _python(f"spark-{minor}", running(), requirements, ROOT / "pyproject.toml")


def with_clone(minor: str) -> Path:
    """The Python of an environment with this clone, its dependencies, and the newest PySpark of a version."""
    return _python(f"clone-{minor}", running(), ["-e", str(ROOT), _pyspark(minor, "sql")], ROOT / "pyproject.toml")


def with_wheel(
    spark: str, wheel: Path, *pins: str, interpreter: Interpreter | None = None, client_of_connect: bool = False
) -> Path:
    """The Python of an environment with the wheel alone, its dependencies, and a PySpark: the newest of 4.1, or 4.1.0.

    `pins` hold other packages to a version, such as `pyarrow==18.0.0`. A client of Connect has PySpark's packages
    for it.
    """
    chosen = interpreter or running()
    kind = "connect" if client_of_connect else "oldest" if pins else "wheel"
    requirements = [str(wheel), _pyspark(spark, "sql,connect" if client_of_connect else "sql"), *pins]
    return _python(f"{kind}-{spark}-python{chosen.minor}", chosen, ["--no-build", *requirements], wheel)


def _pyspark(version: str, extras: str) -> str:
    return f"pyspark[{extras}] @ file://{sparks.wheel(version)}"


def _python(name: str, interpreter: Interpreter, requirements: Sequence[str], told_by: Path) -> Path:
    """The Python of a new environment, or of one that was made of the same requirements, which a file tells."""
    folder = FOLDER / name
    stamp = folder / "sqlext.stamp"
    wanted = hashlib.sha256(repr((interpreter.version, requirements)).encode())
    wanted.update(told_by.read_bytes())
    python = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted.hexdigest():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"sqlext: making the environment {name}", file=sys.stderr, flush=True)
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.check_call([*uv, "venv", "--python", str(interpreter.path), str(folder)])
        subprocess.check_call([*uv, "pip", "install", "--python", str(python), *requirements])
        stamp.write_text(wanted.hexdigest())
    return python
