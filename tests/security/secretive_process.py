"""A session whose catalogs have canaries for secrets: it does what users do, and shows what they see.

Its arguments are a folder, and the secrets' value.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext
from sqlext.catalog.catalog_settings import open_catalog

folder, canary = Path(sys.argv[1]), sys.argv[2]
logging.basicConfig(level=logging.DEBUG)
# At that level Py4J logs each of its calls, and so the settings as PySpark hands them to the JVM.
logging.getLogger("py4j").setLevel(logging.INFO)
OF_STORES = {"s3.access-key-id": "key", "s3.secret-access-key": canary, "s3.session-token": canary}
OF_DATABASES = {**OF_STORES, "type": "jdbc", "jdbc.password": canary}
OF_SERVERS = {**OF_STORES, **dict.fromkeys(("token", "credential", "header.X-Api-Token"), canary)}
CATALOGS = {
    "lake": {"warehouse": f"{folder}/warehouse", **OF_STORES},
    "base": {"uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": f"{folder}/base", **OF_DATABASES},
    "away": {"uri": "jdbc:postgresql://127.0.0.1:1/none", "warehouse": f"{folder}/away", **OF_DATABASES},
    "served": {"type": "rest", "uri": "http://127.0.0.1:1", **OF_SERVERS},
    "odd": {"warehouse": f"{folder}/odd", **OF_SERVERS},
}
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", f"file://{folder}/events")
for name, settings in CATALOGS.items():
    builder = builder.config(f"spark.sql.catalog.{name}", "io.sqlext.Catalog")
    for key, value in settings.items():
        builder = builder.config(f"spark.sql.catalog.{name}.{key}", value)
spark = sqlext.configure(builder).getOrCreate()


def tried(text: str) -> None:
    """Shows what a statement answers, or how it fails."""
    print("--", text.replace(canary, "CANARY"))
    try:
        for row in spark.sql(text).collect():
            print(row)
    except Exception as failure:
        print(str(failure).replace(text, ""))


for name in ("lake", "base"):
    for statement in (
        "CREATE NAMESPACE {0}.db",
        "CREATE TABLE {0}.db.t (id INT, v STRING, PRIMARY KEY (id)) PARTITIONED BY (v)",
        "INSERT INTO {0}.db.t SELECT id, 'a' FROM range(3)",
        "MERGE INTO {0}.db.t t USING (SELECT 1 AS id, 'a' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        "UPDATE {0}.db.t SET id = id / 0",
        "INSERT INTO {0}.db.t VALUES (1)",
        "EXPLAIN EXTENDED DELETE FROM {0}.db.t WHERE id > 1",
        "EXPLAIN FORMATTED SELECT * FROM {0}.db.t JOIN {0}.db.t AS u USING (id)",
        "DESCRIBE EXTENDED {0}.db.t",
        "SHOW CREATE TABLE {0}.db.t",
        "SHOW TBLPROPERTIES {0}.db.t",
        "SELECT * FROM {0}.db.t.snapshots",
        "SELECT * FROM {0}.db.t.files",
        "CREATE VIEW {0}.db.seen AS SELECT id FROM {0}.db.t",
        "SHOW CREATE TABLE {0}.db.seen",
        "DESCRIBE NAMESPACE EXTENDED {0}.db",
    ):
        tried(statement.format(name))
    tried(f"ALTER TABLE {name}.db.t SET TBLPROPERTIES ('s3.secret-access-key' = '{canary}')")
    tried(f"ALTER VIEW {name}.db.seen SET TBLPROPERTIES ('token' = '{canary}')")
    print(spark.table(f"{name}.db.t")._jdf.queryExecution().toString())
for name in ("away", "served", "odd"):
    tried(f"SHOW NAMESPACES IN {name}")
    tried(f"SELECT * FROM {name}.db.t")
tried("SET")
tried("SHOW CATALOGS")
for name in ("lake", "base"):
    catalog = open_catalog(name, CATALOGS[name])
    print(repr(catalog), vars(catalog), repr(catalog.io), vars(catalog.io), catalog.io.objects._settings)  # type: ignore[attr-defined]
spark.stop()
print("ended")
