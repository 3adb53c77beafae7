"""The real Flink in a process of its own, and the jobs that it runs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

COMMIT_S = 300


class FlinkError(Exception):
    """What Flink refused or failed at."""


class FlinkSession:
    """A Flink over one warehouse folder, in a process of its own."""

    def __init__(self, python: str, warehouse: Path, log: Path) -> None:
        self._warehouse = warehouse
        self._log: IO[bytes] = log.open("wb")
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("flink_process.py")), str(warehouse)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # Else PyFlink starts a server for Python functions, by Beam.
            env={**kept, "TZ": "UTC", "_python_worker_execution_mode": "process"},
        )

    def sql(self, text: str) -> None:
        self.ask("sql", text)

    def rows(self, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """All rows, as Flink reads them."""
        names = ", ".join(f"`{name}`" for name in columns)
        return [tuple(row) for row in self.ask("rows", f"SELECT {names} FROM ice.{table}")]

    def ask(self, verb: str, given: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({verb: given}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise FlinkError(f"Flink's process ended; its log is {self._log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise FlinkError(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(60)
        self._process.kill()
        self._log.close()

    def metadata(self, table: str) -> dict[str, Any]:
        """The newest metadata of a table, as its file has it."""
        folder = Path(self._warehouse, *table.split("."), "metadata")
        version = (folder / "version-hint.text").read_text().strip()
        document: dict[str, Any] = json.loads((folder / f"v{version}.metadata.json").read_text())
        return document


class FlinkJob:
    """A job that inserts what is put in a folder as Debezium's JSON, one file at a time."""

    def __init__(self, flink: FlinkSession, table: str, columns: str, folder: Path) -> None:
        self._flink, self._table, self._folder = flink, table, folder
        self._files = 0
        folder.mkdir(parents=True)
        source = f"default_catalog.default_database.source_{folder.name}"
        flink.sql(
            f"CREATE TABLE {source} ({columns}) WITH ('connector'='filesystem','path'='file://{folder}',"
            "'format'='debezium-json','source.monitor-interval'='100 ms')"
        )
        self._number = flink.ask("start", f"INSERT INTO ice.{table} SELECT * FROM {source}")

    def put(self, lines: Sequence[str], rows: int) -> int:
        """A file whose last line brings the last of `rows` rows; the snapshot that has all of it."""
        before = self._sequence_number()
        hidden = self._folder / f".{self._files}.json"
        hidden.write_text("\n".join(lines) + "\n")
        hidden.rename(self._folder / f"{self._files:04}.json")
        self._files += 1
        ends = time.monotonic() + COMMIT_S
        while time.monotonic() < ends:
            metadata = self._flink.metadata(self._table)
            new = [one for one in metadata.get("snapshots", ()) if one["sequence-number"] > before]
            if sum(int(one["summary"].get("added-records", 0)) for one in new) >= rows:
                return int(metadata["current-snapshot-id"])
            state = self._flink.ask("state", self._number)
            if state not in ("CREATED", "RUNNING"):
                raise FlinkError(f"the job that writes {self._table} is {state}")
            time.sleep(0.1)
        raise FlinkError(f"{self._table} has not got the file {self._files} within {COMMIT_S} s")

    def stop(self) -> None:
        self._flink.ask("stop", self._number)

    def _sequence_number(self) -> int:
        return int(self._flink.metadata(self._table)["last-sequence-number"])
