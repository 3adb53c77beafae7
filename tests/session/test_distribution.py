"""How rows are spread over write tasks, as Spark plans it."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from sqlext.command.distribution import distribute, order
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.table_metadata import new_table_metadata
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import IntegerType, NestedField, StringType

SCHEMA = Schema((NestedField(1, "id", IntegerType()), NestedField(2, "kind", StringType())))
BY_KIND = PartitionSpec(0, (PartitionField(2, 1000, "kind", IdentityTransform()),))
BY_ID = SortOrder(1, (SortField(1, IdentityTransform(), "desc", "nulls-last"),))


@pytest.mark.parametrize(
    ("mode", "spec", "sort_order", "exchange"),
    [
        (None, BY_KIND, UNSORTED, "hashpartitioning(kind"),
        (None, UNPARTITIONED, BY_ID, "rangepartitioning(id DESC NULLS LAST"),
        ("hash", UNPARTITIONED, UNSORTED, None),
        ("none", BY_KIND, BY_ID, None),
        ("range", BY_KIND, BY_ID, "rangepartitioning(kind ASC NULLS FIRST, id DESC NULLS LAST"),
        ("range", UNPARTITIONED, BY_ID, "rangepartitioning(id DESC NULLS LAST"),
        ("range", UNPARTITIONED, UNSORTED, None),
    ],
)
def test_rows_are_spread_as_the_table_says(
    spark: SparkSession, mode: str | None, spec: PartitionSpec, sort_order: SortOrder, exchange: str | None
) -> None:
    properties = {} if mode is None else {"write.distribution-mode": mode}
    metadata = new_table_metadata(SCHEMA, spec, sort_order, "file:///t", properties, 2, "uuid", 0)
    rows = distribute(spark.createDataFrame([(1, "a")], "id INT, kind STRING"), metadata)
    plan = re.sub("#[0-9]+", "", rows._jdf.queryExecution().executedPlan().toString())
    assert exchange in plan if exchange else "Exchange" not in plan


def test_rows_of_a_task_are_in_the_order_of_the_table(spark: SparkSession) -> None:
    by_bucket = SortOrder(2, (SortField(1, BucketTransform(2), "asc", "nulls-first"), *BY_ID.fields))
    given = spark.createDataFrame([(n,) for n in (3, None, 1, 2, 4)], "id INT")
    for sort_order, expected in [(BY_ID, [4, 3, 2, 1, None]), (by_bucket, [None, 4, 2, 1, 3])]:
        metadata = new_table_metadata(SCHEMA, UNPARTITIONED, sort_order, "file:///t", {}, 2, "uuid", 0)
        assert [row.id for row in order(given.coalesce(1), metadata).collect()] == expected
        assert [row.id for row in order(given.repartition(3), metadata, one_task=True).collect()] == expected
    assert [BucketTransform(2).apply(IntegerType(), id) for id in (4, 2, 1, 3)] == [0, 0, 0, 1]
