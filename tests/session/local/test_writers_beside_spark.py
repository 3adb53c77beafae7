"""Writers with and without Spark at once on one table: no row is lost, and none comes twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlext.local

_WITHOUT_SPARK = """
import sys
import sqlext.local

table = sqlext.local.open(sys.argv[1], {"care": sys.argv[3]}).table(sys.argv[2])
for number in range(12):
    first = 1000 + 10 * number
    table.append([{"id": first + at, "v": "new", "n": 1} for at in range(4)])
    table.upsert([{"id": first, "v": "replaced", "n": 1}, {"id": first + 9, "v": "upserted", "n": 1}])
    table.delete([{"id": first + 1}])
    table.delete(where=f"id = {first + 2} AND n = 1")
"""


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "properties",
    [
        {"format-version": "2"},
        {"format-version": "3", "write-only": "false", "bucket": "2", "num-sorted-run.compaction-trigger": "4"},
        {"format-version": "2", "write.upsert.mode": "equality"},
        {"merge-engine": "deduplicate"},
    ],
    ids=["positions", "compacted buckets", "equality", "engine"],
)
def test_no_row_is_lost(spark: SparkSession, warehouse: Path, table_name: str, properties: dict[str, str]) -> None:
    pairs = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)"
        f" TBLPROPERTIES ('write.conflict.max-reruns'='100', {pairs})"
    )
    name = table_name.removeprefix("lake.")
    command = [sys.executable, "-c", _WITHOUT_SPARK, str(warehouse), name, "none"]
    writer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    number = 0
    while writer.poll() is None or number < 4:
        first = 100_000 + 10 * number
        spark.sql(f"INSERT INTO {table_name} VALUES ({first}, 'new', 1), ({first + 1}, 'new', 1)")
        spark.sql(f"UPSERT INTO {table_name} VALUES ({first}, 'replaced', 1), ({first + 9}, 'upserted', 1)")
        spark.sql(f"DELETE FROM {table_name} WHERE id = {first + 1}")
        number += 1
    assert writer.wait() == 0, writer.communicate()[1]
    expected = [(100_000 + 10 * n + at, v) for n in range(number) for at, v in ((0, "replaced"), (9, "upserted"))]
    for n in range(12):
        first = 1000 + 10 * n
        expected += [(first, "replaced"), (first + 3, "new"), (first + 9, "upserted")]
    found = sorted((row.id, row.v) for row in spark.table(table_name).collect())
    assert found == sorted(expected)
    lake = sqlext.local.open(str(warehouse))
    assert isinstance(lake, sqlext.local.LocalCatalog)
    rows = lake.table(name).to_arrow(["id", "v"]).to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == found
