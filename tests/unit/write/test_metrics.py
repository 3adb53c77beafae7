"""Metrics of written files, against PyIceberg's reading of the same footers and against Iceberg's conventions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema as PyIcebergSchema

from sqlext.errors import AnalysisError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import decode
from sqlext.spec.types import (
    BinaryType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    UuidType,
)
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.metrics import MetricsConfig
from unit.write.write_tables import ALL_TYPES, all_types, batch, local, plan

NAN = float("nan")


def written(folder: Path, schema: Schema, *batches: pa.RecordBatch, **changes: Any) -> ContentFile:
    writer = DataWriter(LocalFileIO(), plan(folder, schema, **changes), 0, 0)
    for one in batches:
        writer.write(one)
    (file,) = writer.close()
    return file


def bounds(schema: Schema, file: ContentFile, name: str) -> tuple[Any, Any]:
    field = schema.field_at(tuple(name.split(".")))
    assert field is not None
    assert file.lower_bounds is not None
    assert file.upper_bounds is not None
    lower, upper = file.lower_bounds.get(field.id), file.upper_bounds.get(field.id)
    return tuple(None if bound is None else decode(field.type, bound) for bound in (lower, upper))  # type: ignore[return-value]


def test_metrics_equal_pyicebergs_of_the_same_file(tmp_path: Path) -> None:
    file = written(tmp_path, ALL_TYPES, all_types())
    footer = pq.read_metadata(local(file.file_path))
    theirs_schema = PyIcebergSchema.model_validate(ALL_TYPES.to_json())
    theirs = data_file_statistics_from_parquet_metadata(
        footer,
        compute_statistics_plan(theirs_schema, {}),
        parquet_path_to_id_mapping(theirs_schema),
    ).to_serialized_dict()
    # PyIceberg counts inside lists and maps, where Iceberg does not, and has no bounds inside structs.
    in_structs = {17, 18}
    outside = set(range(1, 19)) | {24}
    assert theirs["record_count"] == file.record_count
    assert theirs["column_sizes"] == file.column_sizes
    assert tuple(theirs["split_offsets"]) == file.split_offsets
    for name in ("value_counts", "null_value_counts"):
        assert getattr(file, name) == {id: count for id, count in theirs[name].items() if id in outside}, name
    for name in ("lower_bounds", "upper_bounds"):
        ours = {id: bound for id, bound in getattr(file, name).items() if id not in in_structs}
        assert ours == theirs[name], name


def test_bounds_are_stored_values(tmp_path: Path) -> None:
    file = written(tmp_path, ALL_TYPES, all_types())
    assert bounds(ALL_TYPES, file, "i") == (-1, 3)
    assert bounds(ALL_TYPES, file, "small") == (Decimal("-1.20"), Decimal("3.00"))
    assert bounds(ALL_TYPES, file, "medium") == (Decimal("-0.01"), Decimal("12345678901234.56"))
    assert bounds(ALL_TYPES, file, "large") == (Decimal("-12.0000000001"), Decimal("1e25"))
    assert bounds(ALL_TYPES, file, "date") == (-1, 19_723)
    assert bounds(ALL_TYPES, file, "tz") == (1_709_168_523_456_789,) * 2
    assert bounds(ALL_TYPES, file, "point.label") == ("p", "p")


def test_nan_is_counted_and_never_a_bound(tmp_path: Path) -> None:
    file = written(tmp_path, ALL_TYPES, all_types())
    assert file.nan_value_counts == {3: 1, 4: 2, 17: 1}
    assert bounds(ALL_TYPES, file, "f") == (-2.0, 1.5)
    assert bounds(ALL_TYPES, file, "d") == (None, None)
    assert bounds(ALL_TYPES, file, "point.x") == (1.0, 1.0)


def test_a_row_group_of_nan_only_leaves_the_bounds_of_the_others(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "d", DoubleType()),))
    batches = [batch(schema, [NAN] * 1000), batch(schema, [float(i) for i in range(1000)])]
    file = written(tmp_path, schema, *batches, row_group_size=1)
    assert len(file.split_offsets or ()) == 2
    assert bounds(schema, file, "d") == (0.0, 999.0)
    assert file.nan_value_counts == {1: 1000}


def test_negative_zero_is_within_the_bounds(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "d", DoubleType()),))
    file = written(tmp_path, schema, batch(schema, [0.0, 0.0]))
    lower, upper = bounds(schema, file, "d")
    assert (str(lower), str(upper)) == ("-0.0", "0.0")


def test_nothing_inside_lists_and_maps_has_counts_or_bounds(tmp_path: Path) -> None:
    file = written(tmp_path, ALL_TYPES, all_types())
    for name in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"):
        assert not {20, 22, 23} & set(getattr(file, name)), name
    assert {20, 22, 23} <= set(file.column_sizes or {})


def test_uuid_bounds_are_by_unsigned_bytes(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "u", UuidType()),))
    ids = [UUID(int=1), UUID(int=1 << 126), UUID(int=1 << 64)]
    file = written(tmp_path, schema, batch(schema, [id.bytes for id in ids]))
    assert bounds(schema, file, "u") == (ids[0], ids[1])


@pytest.mark.parametrize("highest", [127, 63])
def test_uuids_that_java_orders_otherwise_have_no_bounds(tmp_path: Path, highest: int) -> None:
    schema = Schema((NestedField(1, "u", UuidType()),))
    file = written(tmp_path, schema, batch(schema, [UUID(int=1).bytes, UUID(int=1 << highest).bytes]))
    assert not {**(file.lower_bounds or {}), **(file.upper_bounds or {})}
    assert (file.value_counts, file.null_value_counts) == ({1: 2}, {1: 0})


@pytest.mark.parametrize(
    ("value", "upper"),
    [
        ("exactly sixteen!", "exactly sixteen!"),
        ("a rather long value", "a rather long vb"),
        ("é" * 17, "é" * 15 + "ê"),
        ("\U0001f600" * 20, "\U0001f600" * 15 + "\U0001f601"),
        ("b" * 15 + "\U0010ffff" + "b", "b" * 14 + "c"),
        ("b" * 15 + "\ud7ff" + "b", "b" * 15 + "\ue000"),
        ("\U0010ffff" * 17, None),
    ],
)
def test_upper_bounds_of_text_are_rounded_up(tmp_path: Path, value: str, upper: str | None) -> None:
    schema = Schema((NestedField(1, "s", StringType()),))
    assert bounds(schema, written(tmp_path, schema, batch(schema, [value])), "s") == (value[:16], upper)


def test_upper_bounds_of_bytes_are_rounded_up(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "b", BinaryType()),))
    file = written(tmp_path / "a", schema, batch(schema, [b"a\xff" + b"\xff" * 20]))
    assert bounds(schema, file, "b") == (b"a" + b"\xff" * 15, b"b")
    file = written(tmp_path / "b", schema, batch(schema, [b"\xff" * 17]))
    assert bounds(schema, file, "b") == (b"\xff" * 16, None)


def test_values_too_long_for_a_footer_have_no_bounds(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "s", StringType()),))
    file = written(tmp_path, schema, batch(schema, ["a" * 5_000]), batch(schema, ["b"] * 9), row_group_size=1)
    assert bounds(schema, file, "s") == (None, None)
    assert file.value_counts == {1: 10}


def test_properties_choose_how_much_is_recorded(tmp_path: Path) -> None:
    schema = Schema(tuple(NestedField(i, f"c{i}", StringType()) for i in range(1, 5)))
    config = MetricsConfig.from_properties(
        {
            "write.metadata.metrics.default": "counts",
            "write.metadata.metrics.column.c1": "none",
            "write.metadata.metrics.column.c2": "truncate(2)",
            "write.metadata.metrics.column.c3": "full",
        }
    )
    file = written(tmp_path, schema, batch(schema, *[["abcdefghijklmnopqrst"]] * 4), metrics=config)
    assert file.value_counts == {2: 1, 3: 1, 4: 1}
    assert file.lower_bounds == {2: b"ab", 3: b"abcdefghijklmnopqrst"}
    assert file.upper_bounds == {2: b"ac", 3: b"abcdefghijklmnopqrst"}
    assert 1 not in (file.column_sizes or {})


def test_only_the_first_hundred_columns_get_metrics_unasked(tmp_path: Path) -> None:
    schema = Schema(tuple(NestedField(i, f"c{i}", LongType()) for i in range(1, 121)))
    file = written(tmp_path, schema, batch(schema, *[[1]] * 120))
    assert set(file.value_counts or {}) == set(range(1, 101))


def test_a_mode_that_does_not_parse_is_refused() -> None:
    with pytest.raises(AnalysisError) as refused:
        MetricsConfig.from_properties({"write.metadata.metrics.column.a": "truncate(0)"})
    assert refused.value.condition == "INVALID_TABLE_PROPERTY"
