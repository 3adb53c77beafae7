"""Iceberg's own REST catalog server for tests: its jar, fetched once through Spark's Ivy, on a free port."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import httpx
import pyspark

from free_port import free_port
from judges.iceberg import IVY_CACHE

_GROUP, _ARTIFACT, _VERSION = "org.apache.iceberg", "iceberg-open-api", "1.10.0"
_JAR = IVY_CACHE.parent / "rest" / f"{_ARTIFACT}-{_VERSION}.jar"
_START_S = 90.0


class RestServer:
    """A server over a database and a warehouse in `folder`. `settings` are further ones of its own catalog."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.warehouse = f"file://{folder}/w"
        port = free_port()
        self.uri = f"http://127.0.0.1:{port}"
        given = {
            "rest.port": str(port),
            "uri": f"jdbc:sqlite:file:{folder}/catalog.db",
            "jdbc.schema-version": "V1",
            # an SQLite file takes one writer
            "clients": "1",
            "warehouse": self.warehouse,
            **settings,
        }
        environment = {**os.environ, **{_variable(name): value for name, value in given.items()}}
        self._log = (folder / f"rest-{secrets.token_hex(4)}.log").open("wb")
        command = [_java(), "-Xmx400m", "-XX:TieredStopAtLevel=1", "-cp", str(jar())]
        self._process = subprocess.Popen(
            [*command, "org.apache.iceberg.rest.RESTCatalogServer"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self._await()

    def settings(self) -> dict[str, str]:
        """What a catalog needs to use the server."""
        return {"type": "rest", "uri": self.uri}

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _await(self) -> None:
        end = time.monotonic() + _START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                httpx.get(f"{self.uri}/v1/config").raise_for_status()
                return
            except httpx.TransportError:
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(Path(self._log.name).read_text(errors="replace")[-3000:])


def _variable(name: str) -> str:
    """The environment variable that the server reads a setting from."""
    return "CATALOG_" + name.replace("-", "__").replace(".", "_").upper()


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java") or "java"


def jar() -> Path:
    """The server's jar, fetched where it is not there yet; two that fetch it at a time do not disturb each other."""
    if not _JAR.exists():
        _JAR.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_JAR.parent) as folder:
            jars = Path(pyspark.__file__).parent / "jars" / "*"
            command = [_java(), "-cp", str(jars), "org.apache.ivy.Main", "-cache", f"{folder}/cache"]
            dependency = ["-dependency", _GROUP, _ARTIFACT, _VERSION, "-types", "jar", "-confs", "default"]
            fetched = ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
            done = subprocess.run([*command, *dependency, *fetched], capture_output=True, check=False)
            if not Path(folder, _JAR.name).exists():
                raise RuntimeError(done.stdout[-2000:].decode(errors="replace"))
            Path(folder, _JAR.name).replace(_JAR)
    return _JAR


if __name__ == "__main__":
    jar()
