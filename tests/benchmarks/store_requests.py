"""What an object store is asked for by each statement: `python3 tests/benchmarks/store_requests.py [--commits 200]`.

Prints a Markdown table with the requests of sqlext and of Iceberg's Spark runtime for the same statements on tables of
their own in one S3 server, before and after `--commits` further commits of one row each. Both have their metadata in
folders of the warehouse.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

import argparse
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from catalog.s3_server import Answer, Application, S3Server, s3a_settings
from judges.iceberg import RUNTIME

KINDS = ("PUT", "GET", "HEAD", "LIST", "DELETE")
CREATE = {
    "lake": "CREATE TABLE lake.db.t (id BIGINT, part INT, v STRING, PRIMARY KEY (id)) PARTITIONED BY (part)",
    "ice": "CREATE TABLE ice.db.t (id BIGINT, part INT, v STRING) USING iceberg PARTITIONED BY (part) TBLPROPERTIES"
    " ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')",
}
STATEMENTS = (
    ("first look at a table", "DESCRIBE TABLE {t}"),
    ("INSERT of one row", "INSERT INTO {t} VALUES (-{n}, 0, 'a')"),
    (
        "INSERT of 200,000 rows in 4 partitions",
        "INSERT INTO {t} SELECT id, id % 4, 'a' FROM range({n}00000, {n}00000 + 200000)",
    ),
    (
        "MERGE of one row on the key",
        "MERGE INTO {t} t USING (SELECT {n}00000L AS id, 0 AS part, 'b' AS v) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    ),
    ("UPDATE of one row", "UPDATE {t} SET v = 'c' WHERE id = {n}00001"),
    ("DELETE of one row", "DELETE FROM {t} WHERE id = {n}00002"),
    ("SELECT of one row", "SELECT * FROM {t} WHERE id = {n}00003"),
    ("the same again", "SELECT * FROM {t} WHERE id = {n}00003"),
    ("count(*)", "SELECT count(*) FROM {t}"),
    ("SELECT of all rows", "SELECT max(v) FROM {t}"),
)


class CountedRequests:
    """A door of the server that counts what comes in."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, application: Application, request: dict[str, Any], respond: Any) -> Answer:
        listed = request["REQUEST_METHOD"] == "GET" and "list-type" in request["QUERY_STRING"]
        self.counts["LIST" if listed else request["REQUEST_METHOD"]] += 1
        return application(request, respond)

    def taken(self) -> Counter[str]:
        """Those since the last call."""
        counts, self.counts = self.counts, Counter()
        return counts


def started(server: S3Server, warehouse: str) -> SparkSession:
    conf = {
        **s3a_settings(RUNTIME),
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{warehouse}/ice",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        **{f"spark.sql.catalog.lake.{name}": value for name, value in server.settings().items()},
    }
    return sqlext.session(master="local[2]", conf=conf, lake=f"{warehouse}/lake")


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "none"


def measured(spark: SparkSession, requests: CountedRequests, catalog: str, number: int) -> list[Counter[str]]:
    found = []
    for _, statement in STATEMENTS:
        requests.taken()
        spark.sql(statement.format(t=f"{catalog}.db.t", n=number)).collect()
        found.append(requests.taken())
    return found


def table(rounds: dict[str, dict[str, list[Counter[str]]]]) -> Iterable[str]:
    systems = {"lake": "sqlext", "ice": "Iceberg"}
    yield "| statement | " + " | ".join(f"{systems[name]}, {when}" for when in rounds for name in systems) + " |"
    yield "|---|" + "---|" * (len(rounds) * len(systems))
    for number, (name, _) in enumerate(STATEMENTS):
        cells = [told(rounds[when][system][number]) for when in rounds for system in systems]
        yield f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commits", type=int, default=200)
    commits = parser.parse_args().commits
    server, requests = S3Server(), CountedRequests()
    server.door = requests
    spark = started(server, f"s3a://{server.new_bucket()}/w")
    try:
        for catalog, create in CREATE.items():
            spark.sql(f"CREATE NAMESPACE {catalog}.db")
            spark.sql(create)
            # what a class or a connection asks for on its first use is none of a statement's
            measured(spark, requests, catalog, 1)
        early = {catalog: measured(spark, requests, catalog, 4) for catalog in CREATE}
        for catalog in CREATE:
            for number in range(commits):
                spark.sql(f"INSERT INTO {catalog}.db.t VALUES ({number}, 1, 'd')")
        late = {catalog: measured(spark, requests, catalog, 7) for catalog in CREATE}
        print("\n".join(table({"a new table": early, f"{commits} commits later": late})))
    finally:
        with suppress(PySparkException):
            spark.stop()
        server.stop()


if __name__ == "__main__":
    main()
