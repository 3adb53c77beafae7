"""`sqlext sql`: a statement in a session that the command starts, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def sqlext(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SQLEXT_CATALOG": str(folder), "TZ": "UTC"}
    command = [sys.executable, "-m", "sqlext", "sql", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_statement_is_run_and_its_rows_are_printed(tmp_path: Path) -> None:
    made = sqlext(tmp_path, "CREATE NAMESPACE db")
    assert (made.returncode, made.stdout) == (0, ""), made.stderr
    values = "SELECT 1 AS id, named_struct('a', DATE '2026-01-31', 'b', array(1.5D)) AS s, map('k', X'0aff') AS m"
    done = sqlext(tmp_path, f"CREATE TABLE db.t USING iceberg AS {values}")
    assert done.returncode == 0, done.stderr
    read = sqlext(tmp_path, "SELECT * FROM db.t", "--json")
    assert json.loads(read.stdout) == {
        "columns": ["id", "s", "m"],
        "rows": [[1, {"a": "2026-01-31", "b": [1.5]}, {"k": "0aff"}]],
        "is_all": True,
    }
    told = sqlext(tmp_path, "SELECT * FROM range(5)", "--limit", "2")
    assert told.stdout.splitlines() == ["id", "0", "1", "more rows are left out; --limit 0 shows all"]


@pytest.mark.parametrize("statement", ["SELECT * FROM db.nope", "SELEC 1", "DROP TABLE db.nope"])
def test_an_error_is_told_without_a_stack(tmp_path: Path, statement: str) -> None:
    done = sqlext(tmp_path, statement)
    assert (done.returncode, done.stdout) == (1, "")
    assert "SQLSTATE" in done.stderr
    assert not [one for one in ("\tat ", "Traceback", "WARN ") if one in done.stderr], done.stderr
