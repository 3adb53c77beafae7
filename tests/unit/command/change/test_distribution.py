"""Which orders of a table the driver can put rows into by itself."""

from __future__ import annotations

from uuid import UUID

import pyarrow as pa
import pytest

from sqlext.command.change.distribution import ordered
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import DoubleType, LongType, NestedField, StringType

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType(), required=True),
        NestedField(3, "amount", DoubleType(), required=True),
        NestedField(4, "note", StringType()),
    )
)
ROWS = pa.table({"id": [2, 1, 2], "name": ["b", "ü", "a"], "amount": [1.0, 2.0, 3.0], "note": ["x", None, "y"]})
UP = IdentityTransform()


def _table(*fields: SortField) -> TableMetadata:
    order = SortOrder(1 if fields else 0, fields)
    return new_table_metadata(SCHEMA, UNPARTITIONED, order, "/t", {}, 2, str(UUID(int=1)), 0)


def test_rows_of_an_unsorted_table_stay_as_they_are() -> None:
    assert ordered(ROWS, _table()) is ROWS


def test_rows_are_sorted_by_columns_that_cannot_be_null() -> None:
    by_id = ordered(ROWS, _table(SortField(1, UP), SortField(2, UP)))
    assert by_id is not None
    assert by_id.column("name").to_pylist() == ["ü", "a", "b"]
    by_name = ordered(ROWS, _table(SortField(2, UP)))
    assert by_name is not None
    assert by_name.column("id").to_pylist() == [2, 2, 1]


@pytest.mark.parametrize(
    "field",
    [
        SortField(1, UP, "desc"),
        SortField(3, UP),
        SortField(4, UP),
        SortField(1, BucketTransform(4)),
    ],
    ids=["downwards", "by doubles", "by what may be null", "by a transform"],
)
def test_any_other_order_is_sparks(field: SortField) -> None:
    assert ordered(ROWS, _table(SortField(2, UP), field)) is None
