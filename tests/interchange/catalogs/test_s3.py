"""A warehouse in S3, in an application of its own: written by Python, read by Spark's readers and by Iceberg's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from catalog.s3_server import SECRET, S3Server, s3a_settings
from judges.iceberg import RUNTIME

APPLICATION = """
import json, sys
import sqlext
from pyspark.sql import SparkSession

given = json.loads(sys.argv[1])
builder = SparkSession.builder.master("local[2]")
for key, value in given["conf"].items():
    builder = builder.config(key, value)
spark = sqlext.configure(builder, lake=given["warehouse"]).getOrCreate()
spark.sql("CREATE NAMESPACE lake.db")
spark.sql("CREATE TABLE lake.db.t (id BIGINT, v STRING, p INT, PRIMARY KEY (id)) PARTITIONED BY (p)")
spark.sql("INSERT INTO lake.db.t VALUES (1, 'a', 0), (2, 'b', 1)")
# too many rows for the driver: executors write these
spark.range(10, 3010).selectExpr("id", "repeat('x', 12000) AS v", "int(id % 2) AS p").writeTo("lake.db.t").append()
spark.sql("DELETE FROM lake.db.t WHERE id = 11")
spark.sql("MERGE INTO lake.db.t t USING (SELECT 2L AS id, 'merged' AS v, 1 AS p) s ON t.id = s.id"
          " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
question = "SELECT count(*), count(DISTINCT p), min(v), max(length(v)), sum(id) FROM {}.db.t"
answers = [list(spark.sql(question.format(name)).first()) for name in ("lake", "ice")]
spark.sql("INSERT INTO ice.db.t VALUES (5, 'iceberg', 0)")
answers.append([row[0] for row in spark.sql("SELECT v FROM lake.db.t WHERE id IN (2, 5, 11) ORDER BY id").collect()])
spark.conf.set("sqlext.plan.force", "tasks")
source = "SELECT v, id FROM lake.db.t"
spark.sql("CREATE TABLE lake.db.copy (v STRING, id BIGINT)")
explained = spark.sql(f"EXPLAIN INSERT INTO lake.db.copy {source}").first()[0]
answers.append("tasks read the files of the query themselves" in explained)
spark.sql(f"INSERT INTO lake.db.copy {source}")
differing = f"({source} EXCEPT ALL TABLE lake.db.copy) UNION ALL (TABLE lake.db.copy EXCEPT ALL {source})"
answers.append(spark.sql(differing).count())
answers.append(spark.table("lake.db.copy").count())
plan = spark.sql("SELECT * FROM lake.db.t")._jdf.queryExecution().toString()
spark.sql("CREATE TABLE lake.db.gone AS SELECT 1 AS id")
spark.sql("DROP TABLE lake.db.gone")
try:
    spark.sql("SELECT * FROM lake.db.gone")
except Exception as error:
    answers.append(error.getCondition())
print(json.dumps({"answers": answers, "plan": plan}))
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.mark.long
def test_a_warehouse_in_s3(s3: S3Server) -> None:
    bucket = s3.new_bucket()
    settings = s3.settings()
    conf = {
        **s3a_settings(RUNTIME),
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"s3a://{bucket}/w",
        "spark.sql.catalog.ice.cache-enabled": "false",
        **{f"spark.sql.catalog.lake.{name}": value for name, value in settings.items()},
    }
    given = json.dumps({"conf": conf, "warehouse": f"s3a://{bucket}/w"})
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    ended = subprocess.run(
        [sys.executable, "-c", APPLICATION, given],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    said = json.loads(ended.stdout.splitlines()[-1])
    ours, iceberg, rows, by_tasks, different, copied, gone = said["answers"]
    assert ours == iceberg == [3001, 2, "a", 12000, 3 - 11 + sum(range(10, 3010))]
    assert rows == ["merged", "iceberg"]
    assert (by_tasks, different, copied) == (True, 0, 3002)
    assert gone == "TABLE_OR_VIEW_NOT_FOUND"
    assert SECRET not in said["plan"] + ended.stderr
    assert not any("gone" in key for key in s3.keys(bucket))
