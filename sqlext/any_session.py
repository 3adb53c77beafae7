"""Functions for any session of Spark: that of a Python driver, and that of a client of Spark Connect, which has no JVM.

They are SQL and Spark's DataFrame API, and need no other package than PySpark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType

from sqlext.catalog.identifier import in_backticks, name_parts
from sqlext.errors import NotFoundError, UnsupportedError

# Quoted text and comments, in which a word means nothing, and the word.
_RETURNING = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|(?<![\w.])(RETURNING)(?!\w)""",
    re.IGNORECASE | re.DOTALL,
)


def catalog_class(name: str) -> str:
    """The class in `spark.sql.catalog.<name>` of a catalog of sqlext."""
    return "io.sqlext.SessionCatalog" if name == "spark_catalog" else "io.sqlext.Catalog"


def is_catalog(spark: SparkSession, name: str) -> bool:
    """Whether the session has a catalog of sqlext with this name."""
    return bool(spark.conf.get(f"spark.sql.catalog.{name}", None) == catalog_class(name))


def current_catalog(spark: SparkSession, named: str | None = None) -> str:
    """The session's current catalog. Raises NotFoundError CATALOG_NOT_FOUND unless it is one of sqlext, for the first
    part `named` of a name that begins with no catalog of sqlext, or else for the current catalog."""
    current = str(spark.catalog.currentCatalog())
    if not is_catalog(spark, current):
        raise NotFoundError("CATALOG_NOT_FOUND", name=named or current)
    return current


@contextmanager
def transaction(
    spark: SparkSession, catalog: str | None = None, *, isolation: Literal["snapshot", "serializable"] = "snapshot"
) -> Iterator[SparkSession]:
    """Runs the session's statements within the block as one transaction: COMMIT at its end, ROLLBACK on an error.

    A serializable transaction conflicts with changes of the tables that it read, too. The tables that the statements
    name say which catalog it is of; a `catalog` that is given has to be there, before any statement runs.

    Raises NotFoundError CATALOG_NOT_FOUND if the session has no such catalog of sqlext, ValueError for another level of
    isolation.

        >>> with sqlext.transaction(spark, "lake"):
        ...     _ = spark.sql("INSERT INTO lake.db.orders VALUES (7, 'Ida')")
        ...     _ = spark.sql("INSERT INTO lake.db.events VALUES (7, 'ordered')")
    """
    if catalog is not None and not is_catalog(spark, catalog):
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


class MergeCounts(NamedTuple):
    """The rows of the target that a MERGE changed; a number is None where the statement does not tell it."""

    affected: int
    inserted: int | None
    updated: int | None
    deleted: int | None


def merge(
    rows: DataFrame,
    table: str,
    on: str | Iterable[str],
    when: str = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    *,
    schema_evolution: bool = False,
) -> MergeCounts:
    """Merges the rows into the table by the statement MERGE, in one commit, and returns its counts.

    In SQL the rows are `source`, and the table is `target`. `on` is a condition as text, or a column, or a list of
    columns, that both have and that are to be equal; null equals nothing. A text that is the name of a column of the
    rows is that column, unless it is BOOLEAN. `when` are the clauses of the statement. With `schema_evolution` columns
    of the rows that the table lacks are added to it.

    Raises the errors of the statement, whose text begins with `MERGE INTO`, AnalysisError INVALID_NAME, ValueError for
    an empty list of columns, and UnsupportedError MERGE_RETURNS_COUNTS for clauses with RETURNING.

        >>> rows = spark.createDataFrame([(1, "Eva"), (3, "Kim")], "order_id INT, purchaser STRING")
        >>> sqlext.merge(rows, "lake.db.orders", on="order_id")
        MergeCounts(affected=2, inserted=1, updated=1, deleted=0)
        >>> sqlext.merge(rows, "lake.db.orders", "target.order_id = source.order_id AND source.purchaser = 'Kim'",
        ...              "WHEN MATCHED THEN DELETE")
        MergeCounts(affected=1, inserted=0, updated=0, deleted=1)
    """
    condition = on if isinstance(on, str) and not _is_column(on, rows) else " AND ".join(map(_equal, _listed(on)))
    if not condition:
        raise ValueError("a MERGE needs a condition, or columns that are to be equal")
    if any(found[1] for found in _RETURNING.finditer(when)):
        raise UnsupportedError("MERGE_RETURNS_COUNTS")
    name = in_backticks(*name_parts(table))
    # PySpark replaces what is in braces, and keeps a view for the source while the statement runs.
    target, condition, clauses = (text.replace("{", "{{").replace("}", "}}") for text in (name, condition, when))
    evolution = "WITH SCHEMA EVOLUTION " if schema_evolution else ""
    text = f"MERGE {evolution}INTO {target} AS target\nUSING {{source}} AS source\nON {condition}\n{clauses}"
    affected, inserted, updated, deleted = rows.sparkSession.sql(text, source=rows).collect()[0]
    return MergeCounts(affected, inserted, updated, deleted)


def _is_column(text: str, rows: DataFrame) -> bool:
    """Whether the text is a column's name, and cannot be a condition."""
    return any(field.name.lower() == text.lower() and field.dataType != BooleanType() for field in rows.schema.fields)


def _listed(columns: str | Iterable[str]) -> Iterable[str]:
    return [columns] if isinstance(columns, str) else columns


def _equal(column: str) -> str:
    return f"{in_backticks('target', column)} = {in_backticks('source', column)}"
