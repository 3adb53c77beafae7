"""Partition statistics files: values of all types come back, and columns are as the specification names them."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.scan.partition_counts import PartitionCounts
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UuidType,
)
from sqlext.write.partition_statistics_file import decode_partition_statistics, encode_partition_statistics

VALUES = {
    BooleanType(): False,
    IntegerType(): -1,
    LongType(): 2**40,
    FloatType(): 0.5,
    DoubleType(): -0.0,
    DecimalType(9, 2): Decimal("-1.50"),
    DateType(): -3,
    TimeType(): 5,
    TimestampType(): -1,
    TimestamptzType(): 10**15,
    TimestampNanoType(): 1,
    StringType(): "ä",
    UuidType(): UUID(int=2**127),
    FixedType(3): b"\0\1\2",
    BinaryType(): b"",
}
PARTITION = StructType(tuple(NestedField(1000 + n, f"p{n}", type) for n, type in enumerate(VALUES)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_written_is_read(version: int) -> None:
    vectors = 1 if version > 2 else 0
    rows = [
        PartitionCounts(0, (None,) * len(VALUES), 1, 2, 3, 4, 5, 6, 7, vectors),
        PartitionCounts(1, tuple(VALUES.values()), 10, 1, 100, last_updated_at=5, last_updated_snapshot_id=6),
    ]
    data = encode_partition_statistics(rows, PARTITION, version)
    schema = pq.read_schema(BytesIO(data))
    assert list(fields_by_id(schema)) == [*range(1, 13), *([13] if version > 2 else [])]
    assert schema.field("position_delete_record_count").nullable == (version < 3)
    assert pq.read_table(BytesIO(data))["total_record_count"].null_count == 2
    found = decode_partition_statistics(data, PARTITION)
    assert [PartitionCounts(**{name: value or 0 for name, value in row.items()}).key for row in found] == [
        row.key for row in rows
    ]
    for row, read in zip(rows, found, strict=True):
        assert all(getattr(row, name) == (value or getattr(row, name)) for name, value in read.items())
        assert read["dv_count"] == (row.dv_count if version > 2 else None)


def test_a_field_that_the_file_is_older_than_is_null() -> None:
    narrow = StructType(PARTITION.fields[:1])
    data = encode_partition_statistics([PartitionCounts(0, (True,), 1, 1, 1)], narrow, 2)
    wider = StructType((PARTITION.fields[3], NestedField(1000, "renamed", BooleanType())))
    assert decode_partition_statistics(data, wider)[0]["partition"] == (None, True)


def test_another_file_is_refused() -> None:
    sink = BytesIO()
    pq.write_table(pa.table({"spec_id": [1]}), sink)
    with pytest.raises(ValueError, match="column partition is missing"):
        decode_partition_statistics(sink.getvalue(), PARTITION)
