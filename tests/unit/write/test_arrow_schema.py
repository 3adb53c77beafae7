from __future__ import annotations

import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema as PyIcebergSchema

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import GeospatialType, NestedField
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.parquet_column import parquet_columns
from unit.write.write_tables import ALL_TYPES


def test_field_ids_and_nullability_are_pyicebergs() -> None:
    ours = schema_to_arrow(ALL_TYPES)
    theirs = schema_to_pyarrow(PyIcebergSchema.model_validate(ALL_TYPES.to_json()))
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.name, mine.nullable, mine.metadata) == (other.name, other.nullable, other.metadata)
    assert ours.field("tags").type.value_field.metadata == theirs.field("tags").type.value_field.metadata
    assert ours.field("map").type.item_field.metadata == theirs.field("map").type.item_field.metadata


def test_a_type_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(UnsupportedError) as refused:
        schema_to_arrow(Schema((NestedField(1, "g", GeospatialType("geometry")),)))
    assert refused.value.condition == "UNSUPPORTED_WRITE"


def test_leaves_are_named_as_in_the_file() -> None:
    paths = {column.path: (column.field_id, column.repeated) for column in parquet_columns(ALL_TYPES)}
    assert paths["point.x"] == (17, False)
    assert paths["tags.list.element"] == (20, True)
    assert paths["map.key_value.value"] == (23, True)
