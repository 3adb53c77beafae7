"""Sorts of rows in memory by a sort order or by z-values, in the order that Spark has for values, nulls and NaN."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.command.compaction.z_order import z_values
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import IdentityTransform, UnknownTransform, VoidTransform
from sqlext.spec.types import Type
from sqlext.write.partitioner import column_indices, transform_column


@dataclass(frozen=True, slots=True)
class ZOrder:
    """A sort by the z-values of columns, by their field ids; see `z_values`."""

    source_ids: tuple[int, ...]
    text_bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class RowSort:
    """Sorts rows whose first columns are those of `schema`, by fields with transforms other than void and unknown."""

    schema: Schema
    by: SortOrder | ZOrder

    @property
    def is_z_order(self) -> bool:
        return isinstance(self.by, ZOrder)

    def sorted(self, rows: pa.Table) -> pa.Table:
        """The rows in order; equal ones stay as they are."""
        rows = rows.combine_chunks()
        if rows.num_rows < 2:
            return rows
        return rows.take(self._positions(rows))

    def z_values(self, rows: pa.Table) -> pa.Array:
        """The z-value of each row, of a sort by them."""
        assert isinstance(self.by, ZOrder)
        columns = [self._column(rows, id) for id in self.by.source_ids]
        return z_values(columns, self.by.text_bytes, self.by.most_bytes)

    def _positions(self, rows: pa.Table) -> pa.Array:
        # Only sorts need it, and it takes 100 ms to import.
        import polars as pl

        if isinstance(self.by, ZOrder):
            keys = [self.z_values(rows).cast(pa.binary())]
            fields: list[SortField | None] = [None]
        else:
            keys = [self._key(rows, field) for field in self.by.fields]
            fields = list(self.by.fields)
        frame = pl.DataFrame({str(at): pl.Series(pl.from_arrow(key)) for at, key in enumerate(keys)})
        order = frame.select(
            pl.arg_sort_by(
                frame.columns,
                descending=[field is not None and field.direction == "desc" for field in fields],
                nulls_last=[field is not None and field.null_order == "nulls-last" for field in fields],
                maintain_order=True,
            )
        )
        return order.to_series().to_arrow()

    def _key(self, rows: pa.Table, field: SortField) -> pa.Array:
        column, type = self._column(rows, field.source_id)
        if isinstance(field.transform, IdentityTransform):
            return column
        return transform_column(field.transform, type, column)

    def _column(self, rows: pa.Table, id: int) -> tuple[pa.Array, Type]:
        """A column or field of a struct, as one array, and its type."""
        first, *inside = column_indices(self.schema, id)
        column = rows.column(first).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0)
        return (pc.struct_field(column, inside) if inside else column), self.schema.field(id).type


def can_sort_in_memory(sort: RowSort) -> bool:
    """Whether a sort has only fields that `RowSort` sorts by."""
    return isinstance(sort.by, ZOrder) or all(
        not isinstance(field.transform, UnknownTransform | VoidTransform)
        and field.transform.can_transform(sort.schema.field(field.source_id).type)
        for field in sort.by.fields
    )
