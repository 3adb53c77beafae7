"""Writes what a release is tested by: `PYTHONPATH=<its code>:<its tests> python tests/releases/write.py 0.1.0 FOLDER`.

Run by the code of that release, it makes tables, a view, checkpoints of streams and a database of a catalog in FOLDER,
asks each table questions, and packs all of it with the answers into `tests/releases/<version>.zip`. FOLDER must not
exist. Statements here are those that the oldest release knows: for a later one add to them.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import sqlext
from golden_tables.canonical import canonical_rows

HERE = Path(__file__).parent

STATEMENTS = """
CREATE NAMESPACE {lake}.db;
CREATE TABLE {lake}.db.orders (id INT, v STRING, amount DECIMAL(10, 2), at TIMESTAMP, address
  STRUCT<city: STRING, zip: INT>, tags ARRAY<STRING>, `a.b` BIGINT, CONSTRAINT paid CHECK (amount >= 0),
  PRIMARY KEY (id))
  PARTITIONED BY (months(at)) TBLPROPERTIES ('format-version'='2');
INSERT INTO {lake}.db.orders SELECT CAST(id AS INT), concat('v', id), id * 1.5, timestamp'2025-01-20' +
  make_dt_interval(id), named_struct('city', 'Oslo', 'zip', CAST(id AS INT)), array('x', NULL), id FROM range(20);
ALTER TABLE {lake}.db.orders CREATE TAG first;
UPDATE {lake}.db.orders SET v = 'changed', address.city = 'Rome' WHERE id % 5 = 0;
ALTER TABLE {lake}.db.orders ADD COLUMN note STRING;
ALTER TABLE {lake}.db.orders RENAME COLUMN v TO value;
MERGE INTO {lake}.db.orders AS t USING (SELECT * FROM VALUES (1, 'merged'), (40, 'new') AS s (id, value)) AS s
  ON t.id = s.id WHEN MATCHED THEN UPDATE SET value = s.value, note = 'm'
  WHEN NOT MATCHED THEN INSERT (id, value, amount, at) VALUES (s.id, s.value, 7, timestamp'2025-03-01');
ALTER TABLE {lake}.db.orders ADD PARTITION FIELD bucket(2, id);
DELETE FROM {lake}.db.orders WHERE id IN (2, 3);
INSERT INTO {lake}.db.orders (id, value, amount, at) VALUES (50, 'late', 1, timestamp'2025-02-01');
ALTER TABLE {lake}.db.orders CREATE BRANCH draft;
DELETE FROM {lake}.db.orders.branch_draft WHERE id < 10;

CREATE TABLE {lake}.db.vectors (id BIGINT, v STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('format-version'='3', 'write-only'='true');
INSERT INTO {lake}.db.vectors SELECT id, concat('v', id) FROM range(30);
DELETE FROM {lake}.db.vectors WHERE id % 3 = 0;
ALTER TABLE {lake}.db.vectors ADD COLUMN rank INT DEFAULT 7;
UPSERT INTO {lake}.db.vectors VALUES (1, 'upserted', 1), (100, 'new', 2);
DELETE FROM {lake}.db.vectors WHERE id = 2;

CREATE TABLE {lake}.db.equality (id BIGINT, v STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('format-version'='2', 'write.upsert.mode'='equality', 'write-only'='true');
INSERT INTO {lake}.db.equality SELECT id, concat('v', id) FROM range(10);
UPSERT INTO {lake}.db.equality VALUES (3, 'three'), (11, 'eleven');
UPSERT INTO {lake}.db.equality VALUES (4, 'four'), (11, 'again');

CREATE TABLE {lake}.db.buckets (id BIGINT, v STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('format-version'='2', 'bucket'='2', 'write-only'='true');
UPSERT INTO {lake}.db.buckets SELECT id, 'a' FROM range(20);
UPSERT INTO {lake}.db.buckets SELECT id, 'b' FROM range(10, 30);
UPSERT INTO {lake}.db.buckets VALUES (5, 'c');

CREATE TABLE {lake}.db.sums (k STRING, total BIGINT, latest STRING, seq INT, PRIMARY KEY (k))
  TBLPROPERTIES ('merge-engine'='aggregation', 'fields.total.aggregate-function'='sum', 'sequence.field'='seq',
    'fields.latest.aggregate-function'='last_value', 'write-only'='true');
UPSERT INTO {lake}.db.sums VALUES ('a', 1, 'x', 1), ('b', 2, 'y', 1);
UPSERT INTO {lake}.db.sums VALUES ('a', 10, 'z', 2);

CREATE TABLE {lake}.db.logged (id BIGINT, v STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('changelog-producer'='lookup', 'write-only'='true');
UPSERT INTO {lake}.db.logged VALUES (1, 'a'), (2, 'b');
UPSERT INTO {lake}.db.logged VALUES (2, 'c'), (3, 'd');
DELETE FROM {lake}.db.logged WHERE id = 1;

CREATE TABLE {lake}.db.plain (id BIGINT, day DATE) PARTITIONED BY (day)
  TBLPROPERTIES ('format-version'='1', 'write.metadata.compression-codec'='gzip');
INSERT INTO {lake}.db.plain SELECT id, date_add(date'2025-01-01', CAST(id % 3 AS INT)) FROM range(9);
DELETE FROM {lake}.db.plain WHERE id = 4;

CREATE TABLE {lake}.db.events (id BIGINT, kind STRING);
CREATE TABLE {lake}.db.totals (id BIGINT, kind STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true');
CREATE TABLE {lake}.db.landed (id BIGINT);

CREATE VIEW {lake}.db.some_orders AS SELECT id, value FROM {lake}.db.orders WHERE id > 10;

CREATE NAMESPACE {base}.db;
CREATE TABLE {base}.db.t (id BIGINT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true');
INSERT INTO {base}.db.t VALUES (1, 'a'), (2, 'b');
UPDATE {base}.db.t SET v = 'c' WHERE id = 2
"""
TABLES = ["orders", "vectors", "equality", "buckets", "sums", "logged", "plain", "events", "totals", "landed"]
QUERIES = [
    *(f"SELECT * FROM {{lake}}.db.{name}" for name in TABLES),
    "SELECT * FROM {lake}.db.orders VERSION AS OF 'first'",
    "SELECT * FROM {lake}.db.orders.branch_draft",
    "SELECT id, _row_id, _last_updated_sequence_number FROM {lake}.db.vectors",
    "SELECT * FROM table_changes('{lake}.db.logged')",
    "SELECT * FROM table_changes('{lake}.db.vectors')",
    "SELECT * FROM {lake}.db.some_orders",
    "SELECT * FROM {base}.db.t",
    "SELECT made_current_at, snapshot_id, is_current_ancestor FROM {lake}.db.orders.history",
    "SELECT name, type, snapshot_id FROM {lake}.db.orders.refs",
]


def names(version: str) -> dict[str, str]:
    """The release's catalogs: `lake` is a folder, `base` a database. One session may have those of all releases."""
    return {"lake": f"lake_{version.replace('.', '_')}", "base": f"base_{version.replace('.', '_')}"}


def catalogs(version: str, folder: Path) -> dict[str, str]:
    """Settings of these catalogs."""
    lake, base = (f"spark.sql.catalog.{name}" for name in names(version).values())
    return {
        lake: "io.sqlext.Catalog",
        f"{lake}.warehouse": str(folder / "lake"),
        base: "io.sqlext.Catalog",
        f"{base}.type": "jdbc",
        f"{base}.uri": f"jdbc:sqlite:{folder / 'base.sqlite'}",
        f"{base}.warehouse": str(folder / "base"),
    }


def run_streams(spark: SparkSession, folder: Path, lake: str) -> None:
    """Both streams, up to what there is: a table into a keyed one, as a named consumer, and files into a table."""
    events = spark.readStream.option("consumer-id", "audit").table(f"{lake}.db.events")
    keyed = sqlext.write_stream(events).upsert().checkpoint(str(folder / "checkpoints" / "totals"))
    keyed.trigger(availableNow=True).to_table(f"{lake}.db.totals").awaitTermination()
    files = spark.readStream.schema("id BIGINT").json(str(folder / "landing"))
    landed = sqlext.write_stream(files).checkpoint(str(folder / "checkpoints" / "landed"))
    landed.trigger(availableNow=True).to_table(f"{lake}.db.landed").awaitTermination()


def answers(spark: SparkSession, queries: list[str]) -> list[dict[str, Any]]:
    """Columns and rows of each query."""
    found = []
    for query in queries:
        rows = spark.sql(query)
        listed = [row.asDict(recursive=True).values() for row in rows.collect()]
        found.append({"query": query, "columns": rows.columns, "rows": canonical_rows(listed)})
    return found


def main(version: str, folder: str) -> None:
    root, named = Path(folder), names(version)
    (root / "landing").mkdir(parents=True)
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    spark = sqlext.session(master="local[1]", conf={**catalogs(version, root), **settings})
    for statement in STATEMENTS.split(";"):
        spark.sql(statement.format(**named))
    for batch in range(2):
        rows = f"SELECT id % 4, 'batch {batch}' FROM range({batch * 2}, {batch * 2 + 3})"
        spark.sql(f"INSERT INTO {named['lake']}.db.events {rows}")
        (root / "landing" / f"{batch}.json").write_text(f'{{"id": {batch}}}\n')
        run_streams(spark, root, named["lake"])
    found = answers(spark, [query.format(**named) for query in QUERIES])
    spark.stop()
    (root / "index.json").write_text(json.dumps({"prefix": str(root), "answers": found}, indent=1))
    with zipfile.ZipFile(HERE / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".crc":
                packed.write(path, Path(version) / path.relative_to(root))


if __name__ == "__main__":
    main(*sys.argv[1:])
