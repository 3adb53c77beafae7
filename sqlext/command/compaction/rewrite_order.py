"""The order into which a rewrite on demand puts rows: a table's, a given one, or that of z-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlext.command.change.distribution import keeps_order
from sqlext.command.compaction.row_sort import ZOrder
from sqlext.command.compaction.z_order import has_z_bytes
from sqlext.commit.actions.order_change import SortTerm, numbered_order, sort_order
from sqlext.errors import AnalysisError
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.sort_order import SortOrder
from sqlext.spec.transform import IdentityTransform
from sqlext.write.write_plan import can_sort

Refusal = Callable[[str], AnalysisError]


def table_order(metadata: TableMetadata, refused: Refusal) -> SortOrder:
    """The table's order. Raises what `refused` gives for a table without one that sqlext can sort by."""
    if not keeps_order(metadata):
        raise refused("the table has no sort order to sort by. Give sort_order")
    return metadata.sort_order()


def given_order(terms: Sequence[SortTerm], metadata: TableMetadata, refused: Refusal) -> SortOrder:
    """The order of the terms, with the id of an equal one of the table. Raises AnalysisError for an unusable column."""
    order = numbered_order(sort_order(terms, metadata.schema()), metadata)
    if not can_sort(metadata.schema(), order):
        raise refused("Spark cannot sort by buckets of a UUID")
    return order


def z_order(
    columns: Sequence[tuple[str, ...]], metadata: TableMetadata, text_bytes: int, z_bytes: int, refused: Refusal
) -> ZOrder:
    """The z-order of columns, without those that have one value in a partition. Raises AnalysisError for one that is
    not there or of a type without z-values."""
    schema = metadata.schema()
    one_value = {field.source_id for field in metadata.spec().fields if field.transform == IdentityTransform()}
    ids = []
    for column in columns:
        (field,) = sort_order([SortTerm(column, IdentityTransform())], schema).fields
        type = schema.field(field.source_id).type
        if not has_z_bytes(type):
            raise refused(f"column {path_text(column)} is of type {type}, which has no z-values")
        if field.source_id not in one_value:
            ids.append(field.source_id)
    if not ids:
        raise refused("all columns of the z-order are partition columns, of which a file has one value")
    return ZOrder(tuple(ids), text_bytes, z_bytes)
