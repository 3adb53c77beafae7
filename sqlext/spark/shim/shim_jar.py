"""The shim's jar for the installed Spark, compiled by the Scala compiler in Spark's jars.

The jar is cached by the hash of its sources and Spark's version, and compiled again if it is damaged. If two processes
compile at once, the last rename wins with equal bytes. `python -m sqlext.spark.shim.shim_jar` prints the jar's path,
for sessions that are built elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
import zlib
from pathlib import Path

import pyspark

from sqlext.errors import SqlextError, UnsupportedError

_CHECKOUT = Path(__file__).resolve().parents[3] / "jvm-shim"
_BRIDGE = "io/sqlext/Bridge.class"
_PACKAGED = Path(__file__).resolve().parents[2] / "jvm_shim"


def shim_jar(cache: Path | None = None) -> Path:
    """The path of the compiled shim, which is compiled (about 15 s) if it is not in the cache.

    Raises UnsupportedError if Java is not found, or if the sources do not compile with this Spark.
    """
    sources = _CHECKOUT if _CHECKOUT.is_dir() else _PACKAGED
    folder = cache or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sqlext"
    jar = folder / f"shim-spark{pyspark.__version__}-{_fingerprint(sources)}.jar"
    if not _is_whole(jar):
        folder.mkdir(parents=True, exist_ok=True)
        _compile(sources, jar)
    return jar


def _is_whole(jar: Path) -> bool:
    """Whether the jar exists and is complete; a full disk or a crash may leave a part of it."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.testzip() is None and _BRIDGE in archive.namelist()
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError):
        return False


def _fingerprint(sources: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(sources):
        digest.update(path.relative_to(sources).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _files(sources: Path) -> list[Path]:
    return sorted([*sources.rglob("*.scala"), *(p for p in (sources / "META-INF").rglob("*") if p.is_file())])


def _compile(sources: Path, jar: Path) -> None:
    spark_jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        classes = Path(scratch) / "classes"
        classes.mkdir()
        command = [_java(), "-cp", f"{spark_jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-d", str(classes)]
        done = subprocess.run(
            [*command, *(str(p) for p in sources.rglob("*.scala"))], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise UnsupportedError("SHIM_NOT_COMPILED", spark=pyspark.__version__, reason=done.stdout + done.stderr)
        built = Path(scratch) / "shim.jar"
        with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as archive:
            for root in (classes, sources):
                for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".scala"):
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
