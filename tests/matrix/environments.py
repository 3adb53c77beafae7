"""Environments of the matrix: one for each version of Spark and each set of packages, kept in `build/matrix`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sparks

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "matrix"


def with_tests(minor: str) -> Path:
    """The Python of an environment with this clone, what its tests need, and the newest PySpark of a version."""
    return _python(f"spark-{minor}", ["-e", f"{ROOT}[tests]", _pyspark(minor)])


def with_wheel(minor: str, wheel: Path, *pins: str) -> Path:
    """The Python of an environment with the wheel alone, its dependencies, and the newest PySpark of a version.

    `pins` hold other packages to a version, such as `pyarrow==18.0.0`.
    """
    name = "-".join([f"wheel-{minor}", *(pin.replace("==", "-") for pin in pins)])
    return _python(name, [str(wheel), _pyspark(minor), *pins])


def _pyspark(minor: str) -> str:
    return f"pyspark[sql] @ file://{sparks.archive(minor)}"


def _python(name: str, requirements: Sequence[str]) -> Path:
    """The Python of a new environment, or of one that was made of the same requirements."""
    folder = FOLDER / name
    stamp = folder / "sqlext.stamp"
    wanted = hashlib.sha256(repr(requirements).encode())
    for one in (ROOT / "pyproject.toml", *(Path(one) for one in requirements if one.endswith(".whl"))):
        wanted.update(one.read_bytes())
    python = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted.hexdigest():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"sqlext: making the environment {name}", file=sys.stderr, flush=True)
        subprocess.check_call([sys.executable, "-m", "venv", str(folder)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.check_call([*pip, *requirements], env={**os.environ, "PYTHONPATH": ""})
        stamp.write_text(wanted.hexdigest())
    return python
