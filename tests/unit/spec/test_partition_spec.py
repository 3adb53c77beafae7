from __future__ import annotations

from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.errors import UnsupportedError
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, DayTransform, IdentityTransform, VoidTransform
from sqlext.spec.types import DateType, IntegerType, NestedField, StringType, TimestampType, UnknownType

SCHEMA = Schema(
    (NestedField(1, "id", IntegerType()), NestedField(2, "ts", TimestampType()), NestedField(3, "name", StringType()))
)
SPEC = PartitionSpec(
    1,
    (
        PartitionField(3, 1000, "a b", IdentityTransform()),
        PartitionField(2, 1001, "ts_day", DayTransform()),
        PartitionField(1, 1002, "id_bucket", BucketTransform(16)),
    ),
)


def test_paths_are_icebergs() -> None:
    assert SPEC.partition_path(SCHEMA, ("x/y ~é", 17501, 3)) == "a+b=x%2Fy+%7E%C3%A9/ts_day=2017-12-01/id_bucket=3"
    assert SPEC.partition_path(SCHEMA, (None, None, None)) == "a+b=null/ts_day=null/id_bucket=null"


def test_partition_types() -> None:
    assert [field.type for field in SPEC.partition_type(SCHEMA).fields] == [StringType(), DateType(), IntegerType()]
    assert [field.id for field in SPEC.partition_type(SCHEMA).fields] == [1000, 1001, 1002]
    without_name = SCHEMA.select({1, 2})
    assert SPEC.partition_type(without_name).fields[0].type == UnknownType()


def test_json_round_trips() -> None:
    assert PartitionSpec.from_json(SPEC.to_json()) == SPEC


def test_version_1_numbers_fields_by_position() -> None:
    fields = [
        {"name": "n", "transform": "identity", "source-id": 3},
        {"name": "i", "transform": "identity", "source-id": 1},
    ]
    spec = PartitionSpec.from_json({"spec-id": 0, "fields": fields})
    assert [field.field_id for field in spec.fields] == [1000, 1001]


def test_transforms_of_several_columns_are_refused() -> None:
    fields = [{"name": "n", "transform": "bucket[4]", "source-ids": [1, 2], "field-id": 1000}]
    with pytest.raises(UnsupportedError):
        PartitionSpec.from_json({"spec-id": 0, "fields": fields})


def test_void_fields_divide_nothing() -> None:
    assert UNPARTITIONED.is_unpartitioned
    assert PartitionSpec(2, (PartitionField(1, 1000, "x", VoidTransform()),)).is_unpartitioned
    assert not SPEC.is_unpartitioned
    assert UNPARTITIONED.last_assigned_field_id == 999


@given(st.lists(st.text(max_size=300), min_size=1, max_size=40), st.text(min_size=1, max_size=80))
def test_the_folder_of_a_partition_fits_any_file_system(values: list[str], name: str) -> None:
    """Names have at most 255 bytes, whole paths at most 1,024, and different values different folders."""
    schema = Schema(tuple(NestedField(n, f"c{n}", StringType()) for n in range(1, len(values) + 1)))
    fields = (PartitionField(n, 999 + n, f"{name}{n}", IdentityTransform()) for n in range(1, len(values) + 1))
    spec = PartitionSpec(0, tuple(fields))
    path = spec.partition_path(schema, values)
    assert path.isascii()
    assert len(path) <= 700
    assert all(0 < len(folder) <= 255 and folder not in (".", "..") for folder in path.split("/"))
    assert unquote_plus(path).encode()
    for place, value in enumerate(values):
        other = [*values[:place], value + "x", *values[place + 1 :]]
        assert spec.partition_path(schema, other) != path
