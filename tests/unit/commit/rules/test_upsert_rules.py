"""What a definition must have for rows to go in by key, and that a commit is held to what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import SCHEMA, Writer, warehouse_catalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.rules.sequence_field import sequence_columns
from sqlext.commit.rules.upsert_rules import require_upsert_rules
from sqlext.errors import AnalysisError
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, IdentityTransform, VoidTransform
from sqlext.spec.types import ListType, NestedField, StringType

UNKEYED = Schema(SCHEMA.fields)


def partitioned(source_id, transform):
    return PartitionSpec(1, (PartitionField(source_id, 1000, "p", transform),))


@pytest.mark.parametrize(
    ("schema", "spec", "properties", "condition"),
    [
        (SCHEMA, UNPARTITIONED, {"write.upsert.enabled": "true", "write.upsert.mode": "equality"}, None),
        (UNKEYED, UNPARTITIONED, {"write.upsert.enabled": "true"}, "UPSERT_WITHOUT_KEY"),
        (UNKEYED, partitioned(2, IdentityTransform()), {"write.upsert.mode": "equality"}, None),
        (SCHEMA, partitioned(2, IdentityTransform()), {"write.upsert.mode": "equality"}, "UPSERT_PARTITION_NOT_IN_KEY"),
        (SCHEMA, partitioned(1, BucketTransform(4)), {"write.upsert.mode": "equality"}, None),
        (SCHEMA, partitioned(2, VoidTransform()), {"write.upsert.mode": "equality"}, None),
        (SCHEMA, partitioned(2, IdentityTransform()), {"write.upsert.mode": "resolved"}, None),
        (SCHEMA, UNPARTITIONED, {"write.upsert.sequence-field": "nope"}, "INVALID_SEQUENCE_FIELD"),
        (SCHEMA, UNPARTITIONED, {"write.upsert.sequence-field": "Region, `id`"}, None),
        (UNKEYED, UNPARTITIONED, {"write.upsert.enabled": "as another engine spells it"}, None),
    ],
)
def test_rules(schema, spec, properties, condition):
    if condition is None:
        require_upsert_rules(schema, spec, properties, "t")
        return
    with pytest.raises(AnalysisError) as caught:
        require_upsert_rules(schema, spec, properties, "t")
    assert caught.value.condition == condition


def test_sequence_columns_are_spelled_as_the_schema_spells_them():
    assert sequence_columns(SCHEMA, ("REGION", "id"), "t") == ("region", "id")
    tags = Schema((NestedField(1, "tags", ListType(2, StringType(), False)),))
    with pytest.raises(AnalysisError) as caught:
        sequence_columns(tags, ("tags",), "t")
    assert caught.value.parameters["reason"] == "its type is list<string>"


def test_a_change_is_refused_for_what_it_breaks_alone(tmp_path: Path):
    """A table that another engine left with a broken rule can be changed all the same."""
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create(properties={"write.upsert.sequence-field": "gone"})
    writer.commit(ChangeProperties({"comment": "x"}), base=writer.load())
    with pytest.raises(AnalysisError) as caught:
        writer.commit(ChangeProperties({"write.upsert.sequence-field": "gone too"}), base=writer.load())
    assert caught.value.condition == "INVALID_SEQUENCE_FIELD"
