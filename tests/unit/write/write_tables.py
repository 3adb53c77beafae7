"""Small schemas, plans and batches that the tests of this folder share."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from sqlext.errors import StorageError
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.file_layout import FileLayout
from sqlext.write.metrics import MetricsConfig
from sqlext.write.write_plan import WritePlan

OPERATION_ID = "0b5f6c1e-1111-4222-8333-444455556666"
KEYED = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
    ),
    identifier_field_ids=(1,),
)

NAN = float("nan")
ALL_TYPES = Schema(
    (
        NestedField(1, "i", IntegerType(), required=True),
        NestedField(2, "l", LongType()),
        NestedField(3, "f", FloatType()),
        NestedField(4, "d", DoubleType()),
        NestedField(5, "small", DecimalType(9, 2)),
        NestedField(6, "medium", DecimalType(18, 2)),
        NestedField(7, "large", DecimalType(38, 10)),
        NestedField(8, "date", DateType()),
        NestedField(9, "ts", TimestampType()),
        NestedField(10, "tz", TimestamptzType()),
        NestedField(11, "s", StringType()),
        NestedField(12, "b", BinaryType()),
        NestedField(13, "fixed", FixedType(3)),
        NestedField(14, "flag", BooleanType()),
        NestedField(15, "time", TimeType()),
        NestedField(
            16, "point", StructType((NestedField(17, "x", DoubleType()), NestedField(18, "label", StringType())))
        ),
        NestedField(19, "tags", ListType(20, StringType(), False)),
        NestedField(21, "map", MapType(22, StringType(), 23, DoubleType(), False)),
        NestedField(24, "empty", LongType()),
    )
)


def plan(folder: Path, schema: Schema = KEYED, spec: PartitionSpec = UNPARTITIONED, **changes: Any) -> WritePlan:
    values: dict[str, Any] = {
        "table_name": "lake.db.t",
        "schema": schema,
        "spec": spec,
        "specs": (spec,),
        "format_version": 2,
        "data_location": f"file://{folder}/data",
        "operation_id": OPERATION_ID,
        "sort_order_id": 0,
        "target_file_size": 512 << 20,
        "row_group_size": 128 << 20,
        "compression": "zstd",
        "compression_level": None,
        "metrics": MetricsConfig(None),
        "layout": FileLayout(),
        "delete_granularity": "partition",
    }
    return WritePlan(**(values | changes))


def metadata_with(properties: Mapping[str, str]) -> TableMetadata:
    """The metadata of an empty table of `KEYED` rows with these properties."""
    uuid = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
    return new_table_metadata(KEYED, UNPARTITIONED, UNSORTED, "file:///w/db/t", properties, 2, uuid, 1)


def batch(schema: Schema, *columns: list[Any]) -> pa.RecordBatch:
    arrow = schema_to_arrow(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def keyed(ids: Any, name: str = "n") -> pa.RecordBatch:
    ids = list(ids)
    return batch(KEYED, ids, [f"{name}{id}" for id in ids])


def local(location: str) -> str:
    return location.removeprefix("file://")


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def all_types() -> pa.RecordBatch:
    moment = datetime(2024, 2, 29, 1, 2, 3, 456789)
    return batch(
        ALL_TYPES,
        [3, -1, 2],
        [2**40, None, -5],
        [1.5, NAN, -2.0],
        [NAN, NAN, None],
        [Decimal("-1.20"), Decimal("3.00"), None],
        [Decimal("12345678901234.56"), Decimal("-0.01"), None],
        [Decimal("1e25"), Decimal("-12.0000000001"), None],
        [date(1969, 12, 31), date(2024, 1, 1), None],
        [moment, None, datetime(1960, 1, 1)],
        [moment.replace(tzinfo=timezone.utc), None, None],
        ["exactly sixteen!", "a rather long value", "zzzzzzzzzzzzzzzzzzz"],
        [b"\x00", b"\xff" * 20, None],
        [b"abc", b"abd", None],
        [True, False, None],
        [1, 86_399_999_999, None],
        [{"x": 1.0, "label": "p"}, None, {"x": NAN, "label": None}],
        [["a", "b"], [], None],
        [[("k", 1.0)], [("k", NAN), ("j", None)], None],
        [None, None, None],
    )


class MeetingIO(LocalFileIO):
    """A disk that takes files only several at a time, and refuses one whose path has `refused` in it."""

    def __init__(self, parties: int, refused: str = "nothing") -> None:
        self._all = threading.Barrier(parties)
        self._refused = refused

    def open_output(self, location: str) -> BinaryIO:
        output = super().open_output(location)
        close = output.close

        def met() -> None:
            self._all.wait(60)
            close()
            if self._refused in location:
                raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason="no space left")

        output.close = met  # type: ignore[method-assign]
        return output
