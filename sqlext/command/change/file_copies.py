"""Data files whose rows a change copies, whichever way: by tasks, or by a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.change.distribution import keeps_order
from sqlext.command.change.materialized_change import MaterializedChange
from sqlext.command.change.row_change import RowChange, has_new_rows
from sqlext.command.change.row_level import Target
from sqlext.scan.live_rows import unread_type
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
from sqlext.spec.constraint import RowRule
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.sql.row_rules import row_rules


@dataclass(frozen=True, slots=True)
class FileCopies:
    """The data files `touched`, which lose a row, are replaced by copies with the rows of a cached change. Unless
    `keeps_others` they stay, and the new files have the new rows alone."""

    target: Target
    change: RowChange
    cached: MaterializedChange
    touched: Sequence[FileScanTask]
    keeps_others: bool = True

    @property
    def has_new_rows(self) -> bool:
        return has_new_rows(self.cached.rows)

    @property
    def partly_kept(self) -> Sequence[FileScanTask]:
        """Files that keep some rows as they are, as far as row counts tell."""
        return [task for task in self.touched if not deletes_all_rows(task, self.cached.found.positions)]

    def rows(self, operation: int) -> DataFrame:
        """The rows of the change with an operation."""
        return self.cached.rows.where(F.col("__operation") == operation)


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, which have the same columns; their partitions stay apart."""
    first, *others = frames
    for one in others:
        first = first.union(one)
    return first


def columns_read_by_tasks(metadata: TableMetadata, kept_columns: Sequence[str]) -> Sequence[str] | None:
    """Those of the kept columns that a change's query need not give, as tasks read them; None if tasks can read none,
    as far as metadata tells."""
    if not kept_columns or why_by_query(metadata, kept_columns) is not None or keeps_order(metadata):
        # A sorted table may have files that are not sorted, which a query puts in order.
        return None
    return columns_without_rules(kept_columns, row_rules(metadata.schema(), metadata.properties))


def columns_without_rules(columns: Sequence[str], rules: Sequence[RowRule]) -> Sequence[str]:
    """The columns but for those of rules, which are told in errors, and in which a null may get a value."""
    named = {name for rule in rules for name in (rule.name, *rule.columns)}
    return [name for name in columns if name not in named]


def why_by_query(metadata: TableMetadata, kept_columns: Sequence[str] | None) -> str | None:
    """Why tasks cannot copy files of a table with new values in all other columns than these; None if they can, as far
    as metadata tells. For a change without new values `kept_columns` is None."""
    schema = metadata.schema()
    unread = unread_type(schema)
    if unread is not None:
        return unread
    if NameMapping.of_table(metadata.properties) is not None:
        return "files may lack field ids, as the table has a name mapping"
    if kept_columns is not None and keeps_order(metadata):
        sources = {field.source_id for field in metadata.sort_order().fields}
        if not (keeps_partitions(metadata, kept_columns) and sources <= _ids(schema, kept_columns)):
            return "new values may change the partition or order of a sorted table's rows"
    return None


def keeps_partitions(metadata: TableMetadata, kept_columns: Sequence[str]) -> bool:
    """Whether rows with new values in all other columns than these stay in their partitions."""
    return _ids(metadata.schema(), kept_columns).issuperset(field.source_id for field in metadata.spec().fields)


def _ids(schema: Schema, columns: Sequence[str]) -> frozenset[int]:
    return frozenset(field.id for name in columns if (field := schema.column(name)) is not None)
