"""Iceberg's own Spark runtime as a judge: a second process with its own session over the same warehouse folder.

    judge = IcebergJudge("/tmp/warehouse")           # starts on the first statement
    judge.sql("SELECT * FROM lake.db.t")             # -> sorted canonical rows

Requests and answers are JSON lines over the process's standard input and output. The runtime's jar is resolved once
through Spark's own Ivy into the user's cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

# Drivers of the databases that its JDBC catalog is asked to open.
DRIVERS = ("org.xerial:sqlite-jdbc:3.50.3.0", "org.postgresql:postgresql:42.7.7")
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
JUDGE_PYTHON = "SQLEXT_JUDGE_PYTHON"
"""Names a Python with the Spark that the judge runs on, where the tests run on another."""
IVY_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlext" / "ivy"


class JudgeError(Exception):
    """The judge refused a statement; `condition` is Spark's error condition where there is one."""

    def __init__(self, condition: str | None, message: str) -> None:
        self.condition = condition
        super().__init__(message)


class IcebergJudge:
    """Asks Iceberg's runtime; its catalog `lake` is a Hadoop catalog over `warehouse`."""

    def __init__(self, warehouse: str | Path) -> None:
        self._catalogs = {"lake": {"type": "hadoop", "warehouse": str(warehouse)}}
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    def sql(self, text: str) -> list[list[Any]]:
        """Rows of a statement in canonical form, sorted; raises `JudgeError` with the runtime's message."""
        rows: list[list[Any]] = self._ask({"sql": text})["rows"]
        return rows

    def view_metadata(self, text: str) -> str:
        """View metadata as Iceberg writes it that has read `text`."""
        written: str = self._ask({"view_metadata": text})["written"]
        return written

    def add_catalog(self, name: str, warehouse: str | Path) -> None:
        """Puts a further warehouse folder under a catalog name."""
        self.add_settings(name, {"type": "hadoop", "warehouse": str(warehouse)})

    def add_settings(self, name: str, settings: dict[str, str]) -> None:
        """Puts a catalog of any kind under a name: what follows `spark.sql.catalog.<name>.`."""
        self._catalogs[name] = settings
        if self._process:
            self._ask({"catalog": name, "settings": settings})

    def close(self) -> None:
        if self._process:
            assert self._process.stdin
            self._process.stdin.close()
            self._process.wait(timeout=60)
            self._process = None
        if self._log:
            self._log.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the Iceberg judge ended; its log ends with:\n{self._log_tail()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise JudgeError(answer["condition"], answer["error"])
        return answer

    def _start(self) -> subprocess.Popen[str]:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the judge
        environment = {**os.environ, "TZ": "UTC", "PYTHONPATH": str(Path(__file__).parents[1])}
        # a judge must not inherit what the session under test told its own JVM
        for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_CONF_DIR"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [os.environ.get(JUDGE_PYTHON, sys.executable), "-m", "judges.iceberg_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
        )
        for name, settings in self._catalogs.items():
            self._ask({"catalog": name, "settings": settings})
        return self._process

    def _log_tail(self) -> str:
        assert self._log
        self._log.seek(0)
        return self._log.read()[-3000:].decode(errors="replace")
