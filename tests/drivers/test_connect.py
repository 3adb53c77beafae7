"""Spark Connect: a client without a JVM has SQL, DataFrames, streams, and all of sqlext that needs no JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from drivers.spark_servers import CONNECT, server
from free_port import free_port
from golden.runner import area_names

HERE = Path(__file__).parent
SOME_AREAS = ["transactions", "errors", "upsert", "time_travel"]
"""In CI; all of them with SQLEXT_GOLDEN=all."""


@dataclass(frozen=True)
class RunningServer:
    port: int
    ui_port: int
    folder: Path

    def jobs(self) -> list[str]:
        """The descriptions of the server's jobs in its UI."""
        root = f"http://127.0.0.1:{self.ui_port}/api/v1/applications"
        with urlopen(root) as answer:
            (application,) = json.load(answer)
        with urlopen(f"{root}/{application['id']}/jobs") as answer:
            return [one.get("description", "") for one in json.load(answer)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder, ui_port = tmp_path_factory.mktemp("connect").resolve(), free_port()
    with server(CONNECT, folder, {"spark.ui.enabled": "true", "spark.ui.port": str(ui_port)}) as port:
        yield RunningServer(port, ui_port, folder)


def client(script: str, *arguments: str) -> Any:
    environment = {**os.environ, "TZ": "UTC", "SPARK_CONNECT_MODE_ENABLED": "1"}
    run = subprocess.run(
        [sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1]), run.stderr


def test_a_client_has_all_that_needs_no_jvm(running: RunningServer) -> None:
    found, _ = client("connect_client.py", str(running.port))
    assert found == {
        "upserted": [[1, "a"], [2, None]],
        "many": 249_999,
        "looked up": [[[1, "a"]], {"id": 77}, 78, []],
        "merged": [
            {"affected": 2, "inserted": 1, "updated": 1, "deleted": 0},
            [1, 0, 0, 1],
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            0,
        ],
        "in the transaction": [2, 249_999],
        "after it": 2,
        "table": ["id", True, "lake.db.t: about 2", [2, 249_997], 2, 1],
        "expired": [True, 1],
        "views of others": "TABLE_OR_VIEW_NOT_FOUND",
        "settings of others": "UTC",
        "errors": [
            "INVALID_PRIMARY_KEY",
            "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
            "TABLE_OR_VIEW_NOT_FOUND",
        ],
        "stream": 5,
    }
    names = {name[:60] for name in running.jobs()}
    assert "INSERT INTO lake.db.t: fetch rows" in names, names
    assert any(name.startswith("DELETE FROM lake.db.t") for name in names), names


def test_golden_results(running: RunningServer) -> None:
    areas = area_names() if os.environ.get("SQLEXT_GOLDEN") == "all" else SOME_AREAS
    differing, told = client("connect_golden.py", str(running.port), str(running.folder), *areas)
    assert differing == [], told[-6000:]
