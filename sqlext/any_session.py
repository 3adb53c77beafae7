"""Functions for any session of Spark: that of a Python driver, and that of a client of Spark Connect, which has no JVM.

They are SQL and Spark's DataFrame API, and need no other package than PySpark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from sqlext.errors import NotFoundError


def catalog_class(name: str) -> str:
    """The class in `spark.sql.catalog.<name>` of a catalog of sqlext."""
    return "io.sqlext.SessionCatalog" if name == "spark_catalog" else "io.sqlext.Catalog"


@contextmanager
def transaction(
    spark: SparkSession, catalog: str | None = None, *, isolation: Literal["snapshot", "serializable"] = "snapshot"
) -> Iterator[SparkSession]:
    """Runs the session's statements within the block as one transaction: COMMIT at its end, ROLLBACK on an error.

    A serializable transaction conflicts with changes of the tables that it read, too. Raises NotFoundError
    CATALOG_NOT_FOUND if the session has no such `catalog` of sqlext, ValueError for another isolation level.

        >>> with sqlext.transaction(spark, "lake"):
        ...     _ = spark.sql("INSERT INTO lake.db.orders VALUES (7, 'Ida')")
        ...     _ = spark.sql("INSERT INTO lake.db.events VALUES (7, 'ordered')")
    """
    if catalog is not None and spark.conf.get(f"spark.sql.catalog.{catalog}", None) != catalog_class(catalog):
        raise NotFoundError("CATALOG_NOT_FOUND", name=catalog)
    if isolation not in ("snapshot", "serializable"):
        raise ValueError(f"{isolation!r} is no isolation level of a transaction")
    spark.sql("BEGIN ISOLATION LEVEL SERIALIZABLE" if isolation == "serializable" else "BEGIN")
    try:
        yield spark
    except BaseException:
        spark.sql("ROLLBACK")
        raise
    spark.sql("COMMIT")


def upsert(rows: DataFrame, table: str, options: Mapping[str, str] | None = None) -> None:
    """Inserts each row into the table, or replaces the row with its key, in one commit.

    Columns go by name; absent ones are null or have their defaults. `options` are those of a DataFrame's write. Rows
    with a column `_row_kind` may be deletes.

        >>> rows = spark.createDataFrame([(1, "Ada"), (2, "Eve")], "order_id INT, purchaser STRING")
        >>> sqlext.upsert(rows, "lake.db.orders")
        >>> spark.table("lake.db.orders").orderBy("order_id").first()
        Row(order_id=1, purchaser='Ada')
    """
    rows.writeTo(table).options(**{**(options or {}), "upsert-enabled": "true"}).append()
