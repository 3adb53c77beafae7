"""spark-sql with the shim's jar: the JVM starts the Python side itself."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from drivers.spark_servers import run

PYTHON = "spark.sqlext.python"
STATEMENTS = """
CREATE NAMESPACE lake.db;
CREATE TABLE lake.db.t (id INT, v STRING, ts TIMESTAMP, PRIMARY KEY (id));
INSERT INTO lake.db.t VALUES (1, 'a', TIMESTAMP '2024-01-02 03:04:05'), (2, 'b', null);
MERGE INTO lake.db.t t USING (SELECT 2 AS id, 'c' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v;
SELECT * FROM lake.db.t ORDER BY id;
INSERT INTO lake.db.t SELECT id + 10, 'x', null FROM range(300000);
DELETE FROM lake.db.t WHERE id % 2 = 0;
SELECT count(*) FROM lake.db.t;
BEGIN;
DELETE FROM lake.db.t;
SELECT count(*) FROM lake.db.t;
ROLLBACK;
SELECT count(*) FROM lake.db.t;
INSERT INTO lake.db.t (nope) VALUES (1);
"""


def test_statements_run_and_the_python_side_ends_with_the_jvm(tmp_path: Path) -> None:
    done = run("spark-sql", tmp_path, "-e", STATEMENTS)
    assert done.stdout.splitlines() == [
        "2\t2\t0\t0",
        "1\t0\t1\t0",
        "1\ta\t2024-01-02 03:04:05",
        "2\tc\tNULL",
        "300000\t300000\t0\t0",
        "150001\t0\t0\t150001",
        "150001",
        "150001\t0\t0\t150001",
        "0",
        "150001",
    ], done.stderr[-4000:]
    assert done.returncode != 0
    assert "sqlext: starting its Python side" in done.stderr
    assert "UNRESOLVED_COLUMN" in done.stderr
    # its working directory is the warehouse, as that of its parent
    running = subprocess.run(["pgrep", "-f", "sqlext.serve"], capture_output=True, text=True, check=False).stdout
    assert [one for one in running.split() if os.path.realpath(f"/proc/{one}/cwd") == str(tmp_path.resolve())] == []


@pytest.mark.turns(1, pool="spark-sql that lacks something")
def test_without_a_python_one_error_says_what_to_set(tmp_path: Path) -> None:
    done = run("spark-sql", tmp_path, "-e", "SHOW NAMESPACES IN lake", settings={PYTHON: "no-such-python"})
    assert "[PYTHON_NOT_STARTED]" in done.stderr
    assert "no-such-python" in done.stderr
    assert "Set spark.sqlext.python" in done.stderr


@pytest.mark.turns(1, pool="spark-sql that lacks something")
def test_without_the_package_one_error_says_what_to_install(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=False, symlinks=True)
    python = tmp_path / "empty" / "bin" / "python"
    done = run("spark-sql", tmp_path, "-e", "SHOW NAMESPACES IN lake", settings={PYTHON: str(python)})
    assert "[PYTHON_NOT_STARTED]" in done.stderr
    assert "No module named" in done.stderr
    assert "to a Python that has sqlext's wheel" in done.stderr


def test_serve_is_for_spark_alone() -> None:
    done = subprocess.run([sys.executable, "-m", "sqlext.serve"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NOT_A_CHILD_OF_SPARK" in done.stdout
