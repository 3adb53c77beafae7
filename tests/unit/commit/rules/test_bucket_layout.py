"""Where buckets come from, and what may not take them away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from sqlext.commit.rules.bucket_layout import bucket_count, is_dynamic, require_buckets_kept, with_buckets
from sqlext.errors import AnalysisError
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import DateType, IntegerType, LongType, NestedField

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "day", DateType(), required=True),
        NestedField(3, "n", IntegerType()),
    ),
    identifier_field_ids=(1, 2),
)
BY_DAY = PartitionSpec(0, (PartitionField(2, 1000, "day", IdentityTransform()),))


def table(properties: Mapping[str, str], spec: PartitionSpec = UNPARTITIONED, schema: Schema = SCHEMA) -> TableMetadata:
    layout = with_buckets(schema, spec, UNSORTED, properties, 2)
    return new_table_metadata(
        schema,
        layout.spec,
        layout.sort_order,
        "file:///t",
        layout.properties,
        2,
        "5a1e2f0c-0000-4000-8000-000000000000",
        0,
    )


def test_the_first_free_column_of_the_key_is_divided_behind_the_own_partitioning() -> None:
    layout = with_buckets(SCHEMA, BY_DAY, UNSORTED, {"bucket": "4"}, 2)
    assert layout.spec.fields == (*BY_DAY.fields, PartitionField(1, 1001, "id_bucket", BucketTransform(4)))
    assert [field.source_id for field in layout.sort_order.fields] == [1, 2]
    assert layout.properties == {"bucket": "4", "write.distribution-mode": "hash"}


def test_what_is_told_otherwise_stays() -> None:
    own = SortOrder(1, (SortField(3, IdentityTransform()),))
    given = {"bucket": "4", "bucket-key": "`DAY`", "write.distribution-mode": "none"}
    layout = with_buckets(SCHEMA, UNPARTITIONED, own, given, 2)
    assert layout.spec.fields == (PartitionField(2, 1000, "day_bucket", BucketTransform(4)),)
    assert (layout.sort_order, layout.properties) == (own, {"bucket": "4", "write.distribution-mode": "none"})
    # As SHOW CREATE TABLE tells it.
    again = with_buckets(SCHEMA, layout.spec, own, layout.properties, 2)
    assert again == layout
    assert with_buckets(SCHEMA, BY_DAY, own, {}, 2).spec == BY_DAY


def test_a_number_that_goes_by_itself_begins_with_one_or_as_partitioned() -> None:
    assert bucket_count(table({"bucket": "-1"})) == 1
    there = PartitionSpec(0, (PartitionField(1, 1000, "b", BucketTransform(8)),))
    metadata = table({"bucket": "-1"}, there)
    assert (bucket_count(metadata), is_dynamic(metadata), is_dynamic(table({"bucket": "8"}, there))) == (8, True, False)
    assert bucket_count(table({}, there)) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"properties": {"bucket": "8"}}, "the table has 4"),
        ({"properties": {"bucket": "4", "bucket-key": "day"}}, "tells the column"),
        ({"partition_specs": (UNPARTITIONED,)}, "no more tell the bucket"),
        ({"schemas": (replace(SCHEMA, identifier_field_ids=(2,)),)}, "no more tell the bucket"),
    ],
)
def test_what_takes_a_table_out_of_its_layout_is_refused(changed: Mapping[str, object], reason: str) -> None:
    before = table({"bucket": "4"})
    after = replace(before, **changed)  # type: ignore[arg-type]
    if "schemas" in changed:
        after = replace(before, schemas=(replace(SCHEMA, identifier_field_ids=(2,), schema_id=1),), current_schema_id=1)
    if "partition_specs" in changed:
        after = replace(before, partition_specs=(replace(UNPARTITIONED, spec_id=1),), default_spec_id=1)
    with pytest.raises(AnalysisError, match=reason):
        require_buckets_kept(before, after, "lake.db.t")


def test_other_changes_pass() -> None:
    before = table({"bucket": "4"})
    for properties in ({"bucket": "-1"}, {}, {"bucket": "4", "x": "y"}):
        require_buckets_kept(before, replace(before, properties=properties), "lake.db.t")
    plain = table({})
    with pytest.raises(AnalysisError, match=r"CALL lake\.system\.rescale\('db\.t', 4\)"):
        require_buckets_kept(plain, replace(plain, properties={"bucket": "2"}), "lake.db.t")
