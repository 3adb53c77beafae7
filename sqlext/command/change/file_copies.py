"""The input of copy-on-write, whichever way the files are copied: by tasks, or by a query."""

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
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping


@dataclass(frozen=True, slots=True)
class FileCopies:
    """The data files `touched`, which lose a row, are replaced by copies with the rows of a cached change."""

    target: Target
    change: RowChange
    cached: MaterializedChange
    touched: Sequence[FileScanTask]

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
        kept = {field.id for name in kept_columns if (field := schema.column(name)) is not None}
        sources = [
            *(field.source_id for field in metadata.sort_order().fields),
            *(field.source_id for field in metadata.spec().fields),
        ]
        if not kept.issuperset(sources):
            return "new values may change the partition or order of a sorted table's rows"
    return None
