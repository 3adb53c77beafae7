"""Every way to write, with rows of 20 kB, in a process whose driver has 1 GB: prints what each table has afterwards.

Estimates take such rows for small ones: of a text the optimiser knows no size.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

# Of an upsert more than the driver has memory for; of the others more than it takes.
MANY, ROWS = 12_000, 2_000
# Of 20 kB, of which no encoding makes much less; and one of which every encoding does.
_LARGE, _REPEATED = "repeat(uuid(), 560)", "repeat('a', 20160)"
_COLUMNS = "(id BIGINT, v STRING, n BIGINT, PRIMARY KEY (id))"
_EQUALITY = "'write.upsert.mode'='equality'"
_SOURCE = "(SELECT id, {value} AS v, -id AS n FROM range({rows}))"

WAYS = {
    "insert": ("", ["INSERT INTO {t} SELECT * FROM {source}"]),
    "sorted insert": (
        "'write.distribution-mode'='none'",
        ["ALTER TABLE {t} WRITE ORDERED BY n", "INSERT INTO {t} SELECT * FROM {source}"],
    ),
    "upsert by position": ("", ["UPSERT INTO {t} SELECT * FROM {source}"]),
    "upsert by equality": (_EQUALITY, ["UPSERT INTO {t} SELECT * FROM {source}"]),
    "insert only": (
        "",
        ["MERGE INTO {t} USING {source} AS s ON t.n = s.n AND t.id > 10 WHEN NOT MATCHED THEN INSERT *"],
    ),
    "merge on the key": (
        "",
        ["MERGE INTO {t} USING {source} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
         " WHEN NOT MATCHED THEN INSERT *"],
    ),
    "merge": (
        "",
        ["MERGE INTO {t} USING {source} AS s ON t.id = s.id WHEN MATCHED AND s.n < 0 THEN UPDATE SET v = s.v"
         " WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, s.v, s.n)"],
    ),
    "update": ("", ["INSERT INTO {t} SELECT id, 'b', -id FROM range({rows})", "UPDATE {t} SET v = {value}"]),
    "kept columns": ("", ["INSERT INTO {t} SELECT * FROM {source}", "UPDATE {t} SET n = n - 1 WHERE id % 3 = 0"]),
    "update that writes files anew": (
        "'write.update.mode'='copy-on-write'",
        ["INSERT INTO {t} SELECT id, 'b', -id FROM range({rows})", "UPDATE {t} SET v = {value} WHERE id % 2 = 0"],
    ),
    "update that weighs": (
        "'write.update.mode'='auto'",
        ["INSERT INTO {t} SELECT id, 'b', -id FROM range({rows})", "UPDATE {t} SET v = {value} WHERE id % 2 = 0"],
    ),
    "delete": ("", ["INSERT INTO {t} SELECT * FROM {source}", "DELETE FROM {t} WHERE id % 2 = 0"]),
    "replace where": (
        "",
        ["INSERT INTO {t} SELECT * FROM {source}", "INSERT INTO {t} REPLACE WHERE id % 2 = 0 SELECT 0L, {value}, 0L"],
    ),
    "changelog": (
        "'changelog-producer'='lookup'",
        ["INSERT INTO {t} SELECT * FROM {source}", "UPDATE {t} SET n = 1 WHERE id % 2 = 0"],
    ),
    "merge engine": (
        "'merge-engine'='partial-update'",
        ["UPSERT INTO {t} SELECT * FROM {source}", "UPSERT INTO {t} SELECT id, NULL, 5 FROM range(100)"],
    ),
    "compaction": (
        "",
        ["INSERT INTO {t} SELECT * FROM {source}", "INSERT INTO {t} SELECT id + {rows}, v, n FROM {source}",
         "CALL lake.system.compact('db.t')"],
    ),
    "compaction of buckets": (
        f"{_EQUALITY}, 'bucket'='2'",
        ["UPSERT INTO {t} SELECT * FROM {source}", "UPSERT INTO {t} SELECT * FROM {source}",
         "CALL lake.system.compact('db.t')"],
    ),
}  # fmt: skip


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="sqlext-large-rows-") as folder:
        settings = {
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": "8",
            # Spark's Parquet reader decodes so many rows at a time, whatever their size.
            "spark.sql.parquet.columnarReaderBatchSize": "128",
        }
        spark = sqlext.session(lake=str(Path(folder)), master="local[2]", conf=settings)
        spark.sql("CREATE NAMESPACE lake.db")
        for name in names or WAYS:
            print(json.dumps({"way": name, "found": _run(spark, name)}), flush=True)


def _run(spark: SparkSession, name: str) -> list[int]:
    properties, statements = WAYS[name]
    value = _REPEATED if name.startswith(("compaction", "kept", "delete", "replace", "merge engine")) else _LARGE
    rows = MANY if name == "upsert by position" else ROWS
    with_ = f" WITH ({properties})" if properties else ""
    spark.sql(f"CREATE TABLE lake.db.t {_COLUMNS}{with_}")
    for statement in statements:
        source = _SOURCE.format(value=value, rows=rows)
        spark.sql(statement.format(t="lake.db.t", source=source, value=value, rows=rows))
    found = spark.sql("SELECT count(*), count(DISTINCT id), sum(n), sum(length(v)) FROM lake.db.t").collect()[0]
    spark.sql("DROP TABLE lake.db.t PURGE")
    return list(found)


if __name__ == "__main__":
    main(sys.argv[1:])
