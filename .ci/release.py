"""`python3 .ci/release.py` makes `dist/sqlext-….whl`, which has the shim's jar for each minor version of Spark.

Each jar is compiled by the Scala compiler among the jars of the newest PySpark of its version.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import environment
import sparks

environment.enter("demo")

from sqlext.spark.shim.shim_jar import compile_shim, jar_name, spark_in
from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(environment.ROOT)
TREE = ROOT / "build" / "release"
DIST = ROOT / "dist"


def main() -> int:
    """Copies what a wheel is made of, compiles its jars, and has pip make the wheel; prints its path."""
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT / "sqlext", TREE / "sqlext", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "jvm-shim", TREE / "jvm-shim")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, TREE / name)
    jars = TREE / "sqlext" / "jars"
    jars.mkdir()
    for minor in MINORS:
        spark = spark_in(Path(sparks.jars(minor)))
        print(f"sqlext: compiling the shim for Spark {spark.version}", file=sys.stderr, flush=True)
        compile_shim(TREE / "jvm-shim", spark, jars / jar_name(minor))
    shutil.rmtree(DIST, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call([*pip, "wheel", "--no-deps", "-w", str(DIST), str(TREE)])
    print(*(os.path.join(DIST, name) for name in os.listdir(DIST)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
