"""A client of Spark Connect needs no package but PySpark."""

from __future__ import annotations

import subprocess
import sys

ABSENT = ("fastavro", "mmh3", "polars", "pyiceberg_core", "pyroaring", "sqlglot")
SCRIPT = f"""
import sys
sys.modules.update(dict.fromkeys({ABSENT!r}))
import sqlext
CALLED = (
    sqlext.transaction,
    sqlext.upsert,
    sqlext.merge,
    sqlext.lookup,
    sqlext.write_stream,
    sqlext.table,
    sqlext.procedures.undo,
)
print(*(called.__name__ for called in CALLED))
import pydoc
print("upsert" in pydoc.render_doc(sqlext), "attach" in dir(sqlext))
"""


def test_what_a_client_calls_imports_nothing_but_pyspark() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    told = ["transaction", "upsert", "merge", "lookup", "write_stream", "table", "undo", "True", "False"]
    assert run.stdout.split() == told, run.stderr
