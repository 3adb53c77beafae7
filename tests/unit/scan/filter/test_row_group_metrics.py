"""Counts and bounds of row groups, as a footer tells them."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.filter.pruning import metrics_ranges
from sqlext.scan.filter.row_group_metrics import row_group_metrics
from sqlext.scan.filter.value_range import UNKNOWN_RANGE, ValueRange
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BinaryType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UuidType,
)

UUIDS = (UUID(int=1), UUID(int=2))
COLUMNS = {
    "int": (IntegerType(), pa.array([-5, None, 7], pa.int32()), (-5, 7)),
    "long": (LongType(), pa.array([2**40, None, -1]), (-1, 2**40)),
    "widened": (LongType(), pa.array([1, None, 2], pa.int32()), (1, 2)),
    "day": (DateType(), pa.array([date(1969, 12, 31), None, date(1970, 1, 5)]), (-1, 4)),
    "local": (TimestampType(), pa.array([datetime(1970, 1, 1, 0, 0, 1), None, None], pa.timestamp("us")), (10**6,) * 2),
    "text": (StringType(), pa.array(["b", None, "é"]), ("b", "é")),
    "bytes": (BinaryType(), pa.array([b"\xff", None, b""]), (b"", b"\xff")),
    "uuid": (
        UuidType(),
        pa.array([UUID(int=1).bytes, None, UUID(int=2).bytes], pa.binary(16)),
        (UUID(int=1), UUID(int=2)),
    ),
    "at": (TimestamptzType(), pa.array([datetime(1970, 1, 1, tzinfo=timezone.utc), None, None]), (0, 0)),
}


def test_bounds_and_nulls(tmp_path: Path) -> None:
    schema = Schema([NestedField(id, name, of) for id, (name, (of, _, _)) in enumerate(COLUMNS.items(), 1)])
    twice = pa.table({name: values for name, (_, values, _) in COLUMNS.items()})
    pq.write_table(pa.concat_tables([twice, twice.slice(1, 1)]), tmp_path / "f", row_group_size=3)
    footer = pq.read_metadata(tmp_path / "f")
    names = {field.id: field.name for field in schema.fields}
    first, second = (row_group_metrics(footer, group, names, schema) for group in range(2))
    assert (first.record_count, second.record_count) == (3, 1)
    ranges = metrics_ranges(first, metrics_columns([schema]))
    for id, (_, _, (lower, upper)) in enumerate(COLUMNS.values(), 1):
        assert ranges(id) == ValueRange(True, False, True, lower, upper)
    # The one row of the second has nulls alone.
    of_nulls = metrics_ranges(second, metrics_columns([schema]))
    assert {of_nulls(id).may_be_value for id in names} == {False}


def test_what_a_footer_does_not_tell(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2], "text": ["a", "b"], "number": [0.5, 1.5], "absent": [1, 2]})
    schema = Schema(
        [
            NestedField(1, "n", LongType()),
            NestedField(2, "text", StringType()),
            NestedField(3, "number", DoubleType()),
            NestedField(4, "other", LongType()),
        ]
    )
    measured = metrics_columns([schema])
    names = {1: "n", 2: "text", 3: "number"}
    for told, known in ((["n", "text", "number"], ValueRange(False, False, True, 1, 2)), (False, UNKNOWN_RANGE)):
        pq.write_table(rows, tmp_path / "f", write_statistics=told)
        metrics = row_group_metrics(pq.read_metadata(tmp_path / "f"), 0, names, schema)
        ranges = metrics_ranges(metrics, measured)
        assert ranges(1) == (known if told else ValueRange(may_be_nan=False))
        assert ranges(2) == (ValueRange(False, False, True, "a", "b") if told else ValueRange(may_be_nan=False))
        assert ranges(4) == ValueRange(may_be_nan=False)
        assert ranges(3) == UNKNOWN_RANGE


def test_a_field_of_a_struct_whose_path_is_the_name_of_a_column(tmp_path: Path) -> None:
    rows = pa.table({"a.b": [1, 2], "a": [{"b": 100, "c": None}, {"b": 200, "c": None}], "a.c": [3, 4]})
    schema = Schema([NestedField(1, "a.b", LongType()), NestedField(2, "a.c", LongType())])
    pq.write_table(rows, tmp_path / "f")
    metrics = row_group_metrics(pq.read_metadata(tmp_path / "f"), 0, {1: "a.b", 2: "a.c"}, schema)
    ranges = metrics_ranges(metrics, metrics_columns([schema]))
    assert [ranges(1), ranges(2)] == [ValueRange(False, False, True, 1, 2), ValueRange(False, False, True, 3, 4)]
