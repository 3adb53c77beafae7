"""`python3 .ci/release.py` makes a release in `dist`, checks it, and prints its paths: a wheel, which has the shim's
jar for each minor version of Spark, and a source distribution.

Each jar is compiled by the Scala compiler among the jars of the newest PySpark of its version. The checks: `twine
check`, what the archives contain (`distributions`), and that the wheel alone, installed by uv into an empty environment
beside the newest PySpark, can be imported and has its jar.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import distributions
import environment
import sparks

environment.enter("demo")

import sqlext
from sqlext.spark.shim.shim_jar import compile_shim, jar_name, spark_in
from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(environment.ROOT)
TREE = ROOT / "build" / "release"
EMPTY = ROOT / "build" / "release-environment"
DIST = ROOT / "dist"
UV = [sys.executable, "-m", "uv", "--quiet"]

IMPORTED = """
import sys
import sqlext
from sqlext.spark.shim.shim_jar import JARS, shim_jar
assert sqlext.__version__ == sys.argv[1], sqlext.__version__
assert sqlext.__file__.startswith(sys.prefix), sqlext.__file__
for name in dir(sqlext):
    getattr(sqlext, name)
assert shim_jar().parent == JARS, shim_jar()
"""


def main() -> int:
    """Makes and checks the release; 1 if something is wrong with it, which is told."""
    make()
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    faults = [*told_by_twine(wheel, sdist), *faults_of(wheel, sdist)]
    if not faults:
        faults = faults_of_installation(wheel)
    for fault in faults:
        print(f"sqlext: {fault}", file=sys.stderr)
    print(wheel, sdist)
    return 1 if faults else 0


def make() -> None:
    """Copies what the archives are made of, compiles the jars, and has uv make the archives."""
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT / "sqlext", TREE / "sqlext", ignore=shutil.ignore_patterns("__pycache__", "jars"))
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
    subprocess.check_call([*UV, "build", "--sdist", "--wheel", "--out-dir", str(DIST), str(TREE)])


def told_by_twine(*archives: Path) -> list[str]:
    """What `twine check --strict` finds, in an environment of uv's own."""
    command = [*UV, "tool", "run", "twine>=6", "check", "--strict", *map(str, archives)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"twine check: {done.stdout}{done.stderr}"]


def faults_of(wheel: Path, sdist: Path) -> list[str]:
    """What is wrong with the contents of the archives."""
    version, machine = sqlext.__version__, [f"{ROOT}{os.sep}"]
    code = {**_files("sqlext", "sqlext"), **_files("jvm-shim", "sqlext/jvm_shim")}
    source = {**_files("sqlext", "sqlext"), **_files("jvm-shim", "jvm-shim")}
    jars = [jar_name(minor) for minor in MINORS]
    return [
        *distributions.faults_of_wheel(distributions.members(wheel), version, code, jars, machine, entry_points()),
        *distributions.faults_of_sdist(distributions.members(sdist), version, source, machine),
    ]


def entry_points() -> dict[str, dict[str, str]]:
    """Those of the project, by their groups: its commands, and the plugin of pytest."""
    # Python 3.10 has no reader of TOML.
    tables = re.findall(r"^\[project\.([\w.-]+)\]\n((?:\w.*\n)+)", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    found = {name: dict(re.findall(r'^(\S+) = "(.*)"$', lines, re.MULTILINE)) for name, lines in tables}
    groups = {name.removeprefix("entry-points."): of for name, of in found.items() if name.startswith("entry-points.")}
    return {"console_scripts": found["scripts"], **groups}


def _files(folder: str, named: str) -> dict[str, bytes]:
    """The files of a folder of the clone, by their paths below `named`."""
    paths = subprocess.check_output(["git", "-C", str(ROOT), "ls-files", "-z", folder], text=True).split("\0")
    return {named + path.removeprefix(folder): (ROOT / path).read_bytes() for path in paths if path}


def faults_of_installation(wheel: Path) -> list[str]:
    """What happens in an environment that has the wheel and the newest PySpark alone, in a folder that is no clone."""
    shutil.rmtree(EMPTY, ignore_errors=True)
    python = EMPTY / "bin" / "python"
    subprocess.check_call([*UV, "venv", "--python", sys.executable, str(EMPTY)])
    pyspark = f"pyspark[sql] @ file://{sparks.wheel(MINORS[-1])}"
    subprocess.check_call([*UV, "pip", "install", "--no-build", "--python", str(python), str(wheel), pyspark])
    command = [str(python), "-I", "-c", IMPORTED, sqlext.__version__]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EMPTY)
    return [] if done.returncode == 0 else [f"the wheel cannot be imported: {done.stderr}"]


if __name__ == "__main__":
    sys.exit(main())
