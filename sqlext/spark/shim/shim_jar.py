"""The shim's jar for the Spark that will run: from the wheel, or compiled by the Scala compiler in Spark's jars.

A wheel has a jar for each minor version of Spark that sqlext runs on. A source checkout has none, and compiles the jar
it needs: it is cached by the hash of its sources and the exact version of the Spark that it was compiled against, and
compiled again if it is damaged. If two processes compile at once, the last rename wins with equal bytes.

`python -m sqlext.spark.shim.shim_jar` prints the jar's path, for sessions that are built elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyspark

from sqlext.errors import SqlextError, UnsupportedError
from sqlext.spark.shim.supported_spark import MINORS, require_supported

_PACKAGE = Path(__file__).resolve().parents[2]
_CHECKOUT = _PACKAGE.parent / "jvm-shim"
_PACKAGED = _PACKAGE / "jvm_shim"
JARS = _PACKAGE / "jars"
"""The folder of the jars of a wheel."""

_SHOWN_ERRORS = 3
_BRIDGE = "io/sqlext/Bridge.class"
_CORE = re.compile(r"spark-core_(2\.\d+)-(\d+\.\d+)(\.\S+)\.jar")


@dataclass(frozen=True, slots=True)
class Spark:
    """A Spark: the folder of its jars, and the version that they have, such as 4.1 and 4.1.4."""

    jars: Path
    minor: str
    version: str


def tell(line: str) -> None:
    """Shows a line to whoever waits."""
    print(line, file=sys.stderr, flush=True)


def installed_spark() -> Spark:
    """The Spark that PySpark starts: that of SPARK_HOME if it is set, which may be another one than PySpark's.

    Raises UnsupportedError SPARK_NOT_FOUND, or SPARK_NOT_SUPPORTED for a version of which sqlext has no shim.
    """
    return spark_in(Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars")


def spark_in(jars: Path) -> Spark:
    """The Spark of a folder of jars. Raises as `installed_spark`."""
    found = [named for path in jars.glob("spark-core_*.jar") if (named := _CORE.fullmatch(path.name))]
    if not found:
        raise UnsupportedError("SPARK_NOT_FOUND", folder=str(jars))
    scala, minor, rest = found[0].groups()
    require_supported(minor + rest, scala)
    return Spark(jars, minor, minor + rest)


def shim_jar(cache: Path | None = None, *, tell: Callable[[str], None] = tell) -> Path:
    """The path of the shim's jar for the installed Spark; if it must be compiled (20 to 90 s), `tell` gets a line.

    Raises UnsupportedError as `installed_spark`, if Java is not found, if the sources do not compile, or if the cache
    cannot be written.
    """
    spark = installed_spark()
    packaged = JARS / jar_name(spark.minor)
    if packaged.exists():
        return packaged
    sources = _CHECKOUT if _CHECKOUT.is_dir() else _PACKAGED
    folder = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlext"
    jar = folder / f"shim-spark{spark.version}-{_fingerprint(sources)}.jar"
    if not _is_whole(jar):
        _require_writable(folder)
        tell(f"sqlext: compiling its JVM shim for Spark {spark.version} into {folder} (a minute or so, once)")
        compile_shim(sources, spark, jar)
    return jar


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UnsupportedError("SHIM_NOT_KEPT", folder=str(folder), reason=error.strerror) from None


def jar_name(minor: str) -> str:
    """The name of a wheel's jar for a minor version of Spark."""
    return f"sqlext-shim-spark{minor}.jar"


def _is_whole(jar: Path) -> bool:
    """Whether the jar exists and is complete; a full disk or a crash may leave a part of it."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.testzip() is None and _BRIDGE in archive.namelist()
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError):
        return False


def _fingerprint(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted([*sources.rglob("*.scala"), *_services(sources)]):
        digest.update(path.relative_to(sources).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _services(sources: Path) -> list[Path]:
    return [path for path in (sources / "META-INF").rglob("*") if path.is_file()]


def scala_sources(sources: Path, minor: str) -> list[Path]:
    """The files to compile for a minor version of Spark: all but those of folders of `version` for other ones.

    Such a folder is named after one version, as in `4.0`, or after the first and the last, as in `4.1-4.3`.
    """
    of_versions = sources / "version"
    others = [folder for folder in of_versions.iterdir() if folder.is_dir() and not _is_for(folder.name, minor)]
    return sorted(path for path in sources.rglob("*.scala") if not any(folder in path.parents for folder in others))


def _is_for(folder: str, minor: str) -> bool:
    first, _, last = folder.partition("-")
    return MINORS.index(first) <= MINORS.index(minor) <= MINORS.index(last or first)


def compile_shim(sources: Path, spark: Spark, jar: Path) -> None:
    """Compiles the shim into `jar`, which is whole or not there. Raises UnsupportedError as `shim_jar`."""
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        classes = Path(scratch) / "classes"
        classes.mkdir()
        command = [_java(), "-cp", f"{spark.jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-d", str(classes)]
        files = [str(path) for path in scala_sources(sources, spark.minor)]
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if " error: " in line]
            reason = "; ".join(errors[:_SHOWN_ERRORS]) or (done.stderr or done.stdout).strip()
            raise UnsupportedError("SHIM_NOT_COMPILED", spark=spark.version, reason=reason)
        built = Path(scratch) / "shim.jar"
        with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as archive:
            for root, paths in ((classes, classes.rglob("*.class")), (sources, _services(sources))):
                for path in sorted(paths):
                    archive.write(path, path.relative_to(root).as_posix())
        with built.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(built, jar)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or (home and not Path(java).exists()):
        raise java_not_found()
    return java


def java_not_found() -> SqlextError:
    """The error for a machine without Java."""
    return UnsupportedError("JAVA_NOT_FOUND")


if __name__ == "__main__":
    print(shim_jar())
