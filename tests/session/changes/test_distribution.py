"""How rows are spread over write tasks, as Spark plans it."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from pyiceberg import transforms as pyiceberg_transforms
from pyiceberg import types as pyiceberg_types
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.distribution import distribute, order, partition_expressions
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)

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


@pytest.mark.parametrize(
    ("type", "theirs", "value"),
    [
        (IntegerType(), pyiceberg_types.IntegerType(), "34"),
        (LongType(), pyiceberg_types.LongType(), "-34L"),
        (DateType(), pyiceberg_types.DateType(), "DATE '1969-11-16'"),
        (TimestampType(), pyiceberg_types.TimestampType(), "TIMESTAMP_NTZ '2017-11-16 22:31:08.000001'"),
        (TimestamptzType(), pyiceberg_types.TimestamptzType(), "TIMESTAMP '2017-11-16 22:31:08+01:00'"),
        (StringType(), pyiceberg_types.StringType(), "'eisbär'"),
        (BinaryType(), pyiceberg_types.BinaryType(), "X'00010203'"),
        (DecimalType(9, 2), pyiceberg_types.DecimalType(9, 2), "-14.20BD"),
        (UuidType(), pyiceberg_types.UUIDType(), "'F79C3E09-677C-4bbd-a479-3f349cb785e7'"),
    ],
)
def test_rows_of_a_bucket_come_together(
    spark: SparkSession, type: Type, theirs: pyiceberg_types.PrimitiveType, value: str
) -> None:
    """Spark finds the bucket that the file will be in."""
    schema = Schema((NestedField(1, "k", type),))
    spec = PartitionSpec(0, (PartitionField(1, 1000, "bucket", BucketTransform(1000)),))
    metadata = new_table_metadata(schema, spec, UNSORTED, "file:///t", {}, 2, "uuid", 0)
    (bucket,) = (F.expr(text) for text in partition_expressions(metadata))
    rows = spark.sql(f"VALUES ({value}), (NULL) AS t(k)")
    stored = UUID(rows.collect()[0].k) if isinstance(type, UuidType) else rows.toArrow()["k"][0].as_py()
    judge = pyiceberg_transforms.BucketTransform(1000).transform(theirs)
    assert [row[0] for row in rows.select(bucket).collect()] == [judge(stored), None]


def test_rows_of_a_task_are_in_the_order_of_the_table(spark: SparkSession) -> None:
    by_bucket = SortOrder(2, (SortField(1, BucketTransform(2), "asc", "nulls-first"), *BY_ID.fields))
    given = spark.createDataFrame([(n,) for n in (3, None, 1, 2, 4)], "id INT")
    for sort_order, expected in [(BY_ID, [4, 3, 2, 1, None]), (by_bucket, [None, 4, 2, 1, 3])]:
        metadata = new_table_metadata(SCHEMA, UNPARTITIONED, sort_order, "file:///t", {}, 2, "uuid", 0)
        assert [row.id for row in order(given.coalesce(1), metadata).collect()] == expected
        assert [row.id for row in order(given.repartition(3), metadata, one_task=True).collect()] == expected
    assert [BucketTransform(2).apply(IntegerType(), id) for id in (4, 2, 1, 3)] == [0, 0, 0, 1]
