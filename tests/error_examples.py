"""Programs that end with an error, for conditions that no recorded statement ends with.

Those of `PROGRAMS` start no JVM, and run when docs/errors.md is made or compared. Those of `IN_SPARK` run in the
session of the tests, by tests/session/sessions/test_error_examples.py.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent

from recorded_errors import steady
from sqlext.errors import SqlextError

BEFORE = """
import sqlext.local
lake = sqlext.local.open("./warehouse")
lake.create_namespace("db")
"""
"""What runs before each of them."""

_DATABASE = """
        base = sqlext.local.open("sqlite:./tables.db", {"warehouse": "./files"}, name="base")
        base.create_namespace("db")"""
PROGRAMS: dict[str, str] = {
    "CATALOG_FAILURE": """
        from pathlib import Path

        Path("tables.db").write_text("This is no database, but a text that somebody has put in its place.")
        sqlext.local.open("sqlite:./tables.db", {"warehouse": "./files"}, name="base")
    """,
    "CATALOG_UNREACHABLE": """
        sqlext.local.open({"type": "rest", "uri": "http://localhost:1"}, name="base")
    """,
    "CATALOG_OPTION_INVALID": 'sqlext.local.open("./warehouse", {"group-commit": "always"})',
    "CATALOG_OPTION_REFUSED": 'sqlext.local.open("./warehouse", {"warehose": "./elsewhere"})',
    "CATALOG_OPTION_REQUIRED": 'sqlext.local.open({"type": "jdbc", "warehouse": "./warehouse"}, name="base")',
    "CHANGES_NOT_BEHIND": """
        t = lake.create_table("CREATE TABLE db.t (id INT)")
        t.append([{"id": 1}])
        t.append([{"id": 2}])
        first, last = (one["snapshot_id"] for one in t.metadata("history").to_pylist())
        t.changes(last, first)
    """,
    "COMMIT_CONFLICT": """
        from sqlext.testing import Faults

        t = lake.create_table("CREATE TABLE db.t (id INT) TBLPROPERTIES ('commit.retry.total-timeout-ms'='0')")
        with Faults(lake).lose_next_commit(times=9, required=False):
            t.append([{"id": 1}])
    """,
    "COMMIT_STATE_UNKNOWN": """
        from sqlext.testing import Faults

        t = lake.create_table("CREATE TABLE db.t (id INT)")
        with Faults(lake).lose_answer():
            t.append([{"id": 1}])
    """,
    "CORRUPT_FILE": """
        from pathlib import Path

        lake.create_table("CREATE TABLE db.t (id INT)")
        Path("warehouse/db/t/metadata/v1.metadata.json").write_text("no JSON")
        lake.table("db.t").schema
    """,
    "FILE_NOT_FOUND": """
        from pathlib import Path

        t = lake.create_table("CREATE TABLE db.t (id INT)")
        t.append([{"id": 1}])
        for file in Path("warehouse/db/t/data").glob("*.parquet"):
            file.unlink()
        t.to_arrow()
    """,
    "INVALID_LOCATION": 'sqlext.local.open("file:warehouse")',
    "INVALID_RETENTION": """
        lake.create_table(
            "CREATE TABLE db.t (id INT, at STRING)"
            " TBLPROPERTIES ('record-level.expire-time'='7 d', 'record-level.time-field'='at')"
        )
    """,
    "INVALID_ROWKIND_FIELD": """
        lake.create_table("CREATE TABLE db.t (id INT, op INT, PRIMARY KEY (id)) TBLPROPERTIES ('rowkind.field'='op')")
    """,
    "LOCAL_DELETE_REFUSED": 'lake.create_table("CREATE TABLE db.t (id INT)").delete("id = 7")',
    "LOCAL_NEEDS_SPARK": """
        t = lake.create_table("CREATE TABLE db.t (id INT, v STRING)")
        t.to_arrow(where="upper(v) = 'A'")
    """,
    "LOCAL_ROWS_REFUSED": 'lake.create_table("CREATE TABLE db.t (id INT)").append([{"id": "seven"}])',
    "LOCAL_TIME_WITHOUT_ZONE": """
        from datetime import datetime

        lake.create_table("CREATE TABLE db.t (id INT)").to_arrow(as_of=datetime(2026, 1, 31))
    """,
    "LOCATION_IN_USE": f"""
        import os
{_DATABASE}
        base.create_table("CREATE TABLE db.a (id INT)")
        base.create_table(f"CREATE TABLE db.b (id INT) LOCATION '{{os.getcwd()}}/files/db/a'")
    """,
    "LOCATION_NOT_ALLOWED": """
        import os

        options = {"warehouse": "./files", "allowed-locations": f"{os.getcwd()}/more"}
        base = sqlext.local.open("sqlite:./tables.db", options, name="base")
        base.create_namespace("db")
        base.create_table(f"CREATE TABLE db.t (id INT) LOCATION '{os.getcwd()}/elsewhere'")
    """,
    "PACKAGE_REQUIRED": """
        import sys

        sys.modules["httpx"] = None  # as if it were not installed
        sqlext.local.open({"type": "rest", "uri": "http://localhost:8181"}, name="base")
    """,
    "PATH_OUTSIDE_WAREHOUSE": """
        import os

        os.mkdir("elsewhere")
        os.symlink("../../elsewhere", "warehouse/db/t")
        lake.create_table("CREATE TABLE db.t (id INT)")
    """,
    "PATH_TABLE_READ_ONLY": f"""{_DATABASE}
        base.create_table("CREATE TABLE db.t (id INT)")
        sqlext.local.open("./files/db/t").append([{{"id": 1}}])
    """,
    "ROW_KIND_TWICE": """
        lake.create_table("CREATE TABLE db.t (k INT, op STRING, PRIMARY KEY (k)) TBLPROPERTIES ('rowkind.field'='op')")
        lake.table("db.t").upsert([{"k": 1, "op": "+I", "_row_kind": "-D"}])
    """,
    "STORAGE_FAILURE": """
        from sqlext.testing import Faults

        t = lake.create_table("CREATE TABLE db.t (id INT)")
        with Faults(lake).fail_storage("write", "manifest"):
            t.append([{"id": 1}])
    """,
    "TOO_DEEPLY_NESTED": """lake.create_table(f"CREATE TABLE db.t (v {'ARRAY<' * 61}INT{'>' * 61})")""",
    "UNSUPPORTED_LOCATION": 'sqlext.local.open("gs://bucket/warehouse")',
    "WRITE_CONFLICT": """
        from sqlext.testing import Faults

        t = lake.create_table(
            "CREATE TABLE db.t (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.conflict.max-reruns'='0')"
        )
        with Faults(lake).lose_next_commit(by=lambda same: same.upsert([{"id": 1, "v": 2}])):
            t.upsert([{"id": 1, "v": 3}])
    """,
}
IN_SPARK: dict[str, str] = {
    "CATALOG_CLASS_WRONG": """
        spark.conf.set("spark.sql.catalog.attic", "io.sqlext.SessionCatalog")
        spark.sql("SHOW NAMESPACES IN attic")
    """,
    "CATALOG_NOT_FOUND": """
        with sqlext.transaction(spark, "lakes"):
            spark.sql("CREATE TABLE t (id INT)")
    """,
    "COLUMNS_CHANGED_SINCE": """
        spark.sql("CREATE TABLE orders (id INT, buyer STRING)")
        orders = spark.table("orders")
        spark.sql("ALTER TABLE orders RENAME COLUMN buyer TO purchaser")
        orders.show()
    """,
    "DROPPED_TABLE_NOT_FOUND": """
        spark.conf.set("spark.sql.catalog.vault", "io.sqlext.Catalog")
        spark.conf.set("spark.sql.catalog.vault.warehouse", "./vault")
        spark.conf.set("spark.sql.catalog.vault.undrop-retention", "7d")
        spark.sql("CREATE NAMESPACE vault.db")
        spark.sql("UNDROP TABLE vault.db.orders")
    """,
    "INVALID_STREAM_OPTION": """
        spark.sql("CREATE TABLE events (id INT)")
        spark.readStream.option("stream-from", "now").table("events")
    """,
    "JAR_REQUIRED": """
        spark.conf.set("spark.sql.catalog.bucket", "io.sqlext.Catalog")
        spark.conf.set("spark.sql.catalog.bucket.warehouse", "s3://bucket/warehouse")
        spark.sql("SHOW NAMESPACES IN bucket")
    """,
    "PATH_REQUIRED": 'spark.read.format("sqlext").load()',
    "REWRITE_COMMITS_FAILED": """
        from sqlext.testing import Faults

        spark.sql("CREATE TABLE events (id INT)")
        for number in range(2):
            spark.sql(f"INSERT INTO events VALUES ({number})")
        options = "'rewrite-all', 'true', 'partial-progress.enabled', 'true'"
        options += ", 'partial-progress.max-failed-commits', '0'"
        with Faults().fail_storage("write", "manifest", times=None):
            spark.sql(f"CALL system.rewrite_data_files(table => 'events', options => map({options}))")
    """,
    "STREAM_COLUMNS_CHANGED": """
        spark.sql("CREATE TABLE events (id INT)")
        stream = spark.readStream.table("events").writeStream.format("noop").start()
        stream.processAllAvailable()
        spark.sql("ALTER TABLE events ADD COLUMN v INT")
        spark.sql("INSERT INTO events VALUES (2, 2)")
        stream.processAllAvailable()
    """,
    "STREAM_CONTINUOUS": """
        spark.sql("CREATE TABLE events (id INT)")
        events = spark.readStream.table("events").writeStream.format("noop")
        events.trigger(continuous="1 second").start()
    """,
    "STREAM_KEY_CHANGED": """
        spark.sql("CREATE TABLE events AS SELECT 1 AS id, 1 AS v")
        spark.sql("CREATE TABLE copy (id INT NOT NULL, v INT NOT NULL, PRIMARY KEY (id))")
        events = spark.readStream.table("events")
        stream = sqlext.write_stream(events).upsert().checkpoint("/home/ada/copy").to_table("lake.shop.copy")
        stream.processAllAvailable()
        spark.sql("ALTER TABLE copy MODIFY PRIMARY KEY (v)")
        spark.sql("INSERT INTO events VALUES (1, 1)")
        stream.processAllAvailable()
    """,
    "STREAM_OF_PLACE": """
        spark.sql("CREATE TABLE events (id INT)")
        spark.readStream.table("lake.shop.events.ro")
    """,
    "STREAM_POSITION_GONE": """
        spark.sql("CREATE TABLE events (id INT)")
        events = spark.readStream.option("protect-from-expiry", "false").table("events")
        stream = events.writeStream.option("checkpointLocation", "/home/ada/copy").trigger(availableNow=True)
        for number in range(3):
            spark.sql(f"INSERT INTO events VALUES ({number})")
            if number == 0:
                stream.format("noop").start().awaitTermination()
        spark.sql("CALL system.expire_snapshots('events', TIMESTAMP '2100-01-01', 1)")
        stream.format("noop").start().awaitTermination()
    """,
    "STREAM_PROGRESS_MISSING": """
        spark.sql("CREATE TABLE events (id INT)")
        spark.sql("CREATE TABLE copy (id INT)")
        events = spark.readStream.table("events")
        stream = sqlext.write_stream(events).checkpoint("/home/ada/copy").trigger(availableNow=True)
        spark.sql("INSERT INTO events VALUES (1)")
        stream.to_table("lake.shop.copy").awaitTermination()
        spark.sql("CREATE TABLE other_copy (id INT)")
        spark.sql("INSERT INTO events VALUES (2)")
        stream.to_table("lake.shop.other_copy").awaitTermination()
    """,
    "STREAM_ROUTE_COLUMNS": """
        spark.sql("CREATE TABLE events (kind STRING, id INT)")
        spark.sql("CREATE TABLE rest (kind STRING, id INT)")
        spark.sql("CREATE TABLE clicks (kind STRING)")
        spark.sql("INSERT INTO events VALUES ('clicks', 1)")
        events = sqlext.write_stream(spark.readStream.table("events")).route_by("kind")
        events.checkpoint("/home/ada/rest").to_table("lake.shop.rest").processAllAvailable()
    """,
    "STREAM_ROUTE_UNKNOWN": """
        spark.sql("CREATE TABLE events (kind STRING, id INT)")
        spark.sql("CREATE TABLE rest (kind STRING, id INT)")
        spark.sql("INSERT INTO events VALUES ('clicks', 1)")
        events = sqlext.write_stream(spark.readStream.table("events")).route_by("kind")
        events.checkpoint("/home/ada/rest").to_table("lake.shop.rest").processAllAvailable()
    """,
    "STREAM_SNAPSHOT_CHANGES_ROWS": """
        spark.sql("CREATE TABLE events (id INT)")
        stream = spark.readStream.table("events").writeStream.format("noop").start()
        spark.sql("INSERT INTO events VALUES (1), (2)")
        stream.processAllAvailable()
        spark.sql("DELETE FROM events WHERE id = 1")
        stream.processAllAvailable()
    """,
    "STREAM_TABLE_REPLACED": """
        spark.sql("CREATE TABLE events (id INT)")
        spark.sql("CREATE TABLE copy (id INT)")
        events = spark.readStream.table("events")
        stream = sqlext.write_stream(events).checkpoint("/home/ada/copy").to_table("lake.shop.copy")
        stream.processAllAvailable()
        spark.sql("DROP TABLE copy")
        spark.sql("CREATE TABLE copy (id INT)")
        spark.sql("INSERT INTO events VALUES (1)")
        stream.processAllAvailable()
    """,
    "LOOKUP_KEY_REFUSED": """
        spark.sql("CREATE TABLE orders (id INT, buyer STRING, PRIMARY KEY (id))")
        sqlext.lookup(spark, "orders", [1, "2"])
    """,
    "LOOKUP_WITHOUT_KEY": """
        spark.sql("CREATE TABLE orders (id INT, buyer STRING)")
        sqlext.lookup(spark, "orders", [1])
    """,
    "MERGE_RETURNS_COUNTS": """
        spark.sql("CREATE TABLE orders (id INT, buyer STRING, PRIMARY KEY (id))")
        rows = spark.createDataFrame([(1, "Ada")], "id INT, buyer STRING")
        sqlext.merge(rows, "orders", ["id"], "WHEN NOT MATCHED THEN INSERT * RETURNING *")
    """,
    "TRANSACTION_CONFLICT": """
        spark.sql("CREATE TABLE orders (id INT, quantity INT)")
        spark.sql("INSERT INTO orders VALUES (1, 5)")
        other = spark.newSession()
        with sqlext.transaction(spark, "lake"):
            spark.sql("UPDATE orders SET quantity = 6")
            other.sql("UPDATE lake.shop.orders SET quantity = 7")
    """,
    "TRANSACTION_READ_CONFLICT": """
        spark.sql("CREATE TABLE orders AS SELECT 1 AS id")
        other = spark.newSession()
        with sqlext.transaction(spark, "lake"):
            spark.table("orders").count()
            other.sql("INSERT INTO lake.shop.orders VALUES (2)")
            other.sql("CREATE TABLE lake.shop.stock AS SELECT 1 AS id")
            spark.table("stock").count()
    """,
    "UNKNOWN_STREAM_OPTION": """
        spark.sql("CREATE TABLE events (id INT)")
        spark.readStream.option("start-snapshot", "1").table("events")
    """,
}


def program(name: str) -> str:
    """The text of a program."""
    return dedent(PROGRAMS[name] if name in PROGRAMS else IN_SPARK[name]).strip()


@cache
def message(name: str) -> str:
    """What a program ends with, in a folder of its own that is called /home/ada, and with ids as `<id>`."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with _packages_back():
                exec(compile(BEFORE + program(name), name, "exec"), {})
        except SqlextError as error:
            return steady(str(error), [Path(folder).resolve()])
        finally:
            os.chdir(here)
    raise AssertionError(f"the example of {name} ends without an error")


@contextmanager
def _packages_back() -> Iterator[None]:
    """After the block, packages that it has hidden by None in `sys.modules` are there again."""
    before = dict(sys.modules)
    try:
        yield
    finally:
        for hidden in [name for name, module in sys.modules.items() if module is None]:
            del sys.modules[hidden]
            sys.modules.update({hidden: before[hidden]} if hidden in before else {})
