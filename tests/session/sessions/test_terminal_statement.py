"""`sqlext sql`: a statement in a session that the command starts, as a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from unit.command.lake import Lake


def sqlext(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SQLEXT_CATALOG": str(folder), "TZ": "Asia/Tokyo"}
    command = [sys.executable, "-m", "sqlext", "sql", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.turns(1, pool="own sessions")
def test_a_statement_is_run_and_its_rows_are_printed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, day DATE)")
    lake.append(id=[1, 2, 3], day=[20_000] * 3)
    values = (
        "id, named_struct('day', day, 'b', array(1.5D)) AS s, map('k', X'0aff') AS m,"
        " TIMESTAMP_NTZ'2024-01-01 00:00:00' AS n, map(struct(1 AS a), null) AS u,"
        " map(TIMESTAMP'2024-01-01 00:00:00Z', array(TIMESTAMP'2024-01-01 00:00:00Z')) AS t"
    )
    instant = "2024-01-01T00:00:00+00:00"
    others = [instant.partition("+")[0], {'{"a": 1}': None}, {instant: [instant]}]
    done = sqlext(tmp_path, f"SELECT {values} FROM db.t ORDER BY id", "--limit", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "columns": ["id", "s", "m", "n", "u", "t"],
        "rows": [[number, {"day": "2024-10-04", "b": [1.5]}, {"k": "0aff"}, *others] for number in (1, 2)],
        "is_all": False,
    }
    assert done.stderr == ""
    assert sqlext(tmp_path, "SHOW CREATE TABLE db.t").stdout.startswith(
        "CREATE TABLE `lake`.`db`.`t` (\n  `id` BIGINT,\n"
    )


@pytest.mark.turns(1, pool="own sessions")
@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM db.nope", *(pytest.param(text, marks=pytest.mark.long) for text in ("SELEC 1", "DROP TABLE db.t"))],
)
def test_an_error_is_told_without_a_stack(tmp_path: Path, statement: str) -> None:
    done = sqlext(tmp_path, statement)
    assert (done.returncode, done.stdout) == (1, "")
    assert "SQLSTATE" in done.stderr
    assert "\\n" not in done.stderr
    assert not [one for one in ("\tat ", "Traceback", "WARN ") if one in done.stderr], done.stderr


@pytest.mark.long
def test_a_statement_without_rows_prints_nothing(tmp_path: Path) -> None:
    done = sqlext(tmp_path, "CREATE NAMESPACE db")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    told = sqlext(tmp_path, "SELECT * FROM range(5)", "--limit", "2")
    assert told.stdout.splitlines() == ["id", "0", "1", "more rows are left out; --limit 0 shows all"]


@pytest.mark.turns(1, pool="own sessions")
def test_a_terminal_sees_that_spark_starts_and_a_pipe_has_rows_alone(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SQLEXT_CATALOG": str(tmp_path), "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "sqlext", "sql", "SELECT 1 AS one"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment) as process:
        os.close(theirs)
        out, shown = process.stdout, b""
        assert out is not None
        # a terminal whose other side has ended is an error
        with contextlib.suppress(OSError):
            while read := os.read(ours, 65_536):
                shown += read
        assert out.read().split() == ["one", "1"]
    os.close(ours)
    assert process.returncode == 0
    assert b"starting Spark" in shown
    assert b"WARN" not in shown
