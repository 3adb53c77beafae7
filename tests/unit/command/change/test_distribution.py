"""How rows are spread and sorted, as far as a table alone tells: expressions, orders, and what the driver sorts."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest

from sqlext.command.change.distribution import keeps_order, ordered, partition_expressions, samples
from sqlext.commit.actions.spec_change import ChangeSpec, DropField, FieldTerm
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform, UnknownTransform
from sqlext.spec.types import DoubleType, LongType, NestedField, StringType
from unit.command.lake import Lake

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType(), required=True),
        NestedField(3, "amount", DoubleType(), required=True),
        NestedField(4, "note", StringType()),
    )
)
ROWS = pa.table({"id": [2, 1, 2], "name": ["b", "ü", "a"], "amount": [1.0, 2.0, 3.0], "note": ["x", None, "y"]})
UP = IdentityTransform()


def _table(*fields: SortField) -> TableMetadata:
    order = SortOrder(1 if fields else 0, fields)
    return new_table_metadata(SCHEMA, UNPARTITIONED, order, "/t", {}, 2, str(UUID(int=1)), 0)


def test_rows_of_an_unsorted_table_stay_as_they_are() -> None:
    assert ordered(ROWS, _table()) is ROWS


def test_rows_are_sorted_by_columns_that_cannot_be_null() -> None:
    by_id = ordered(ROWS, _table(SortField(1, UP), SortField(2, UP)))
    assert by_id is not None
    assert by_id.column("name").to_pylist() == ["ü", "a", "b"]
    by_name = ordered(ROWS, _table(SortField(2, UP)))
    assert by_name is not None
    assert by_name.column("id").to_pylist() == [2, 2, 1]


@pytest.mark.parametrize(
    "field",
    [
        SortField(1, UP, "desc"),
        SortField(3, UP),
        SortField(4, UP),
        SortField(1, BucketTransform(4)),
    ],
    ids=["downwards", "by doubles", "by what may be null", "by a transform"],
)
def test_any_other_order_is_sparks(field: SortField) -> None:
    assert ordered(ROWS, _table(SortField(2, UP), field)) is None


DATES = (
    "CREATE TABLE t (`a.b` STRING, s STRUCT<n: INT>, big BIGINT, d DECIMAL(9,2), day DATE, ts TIMESTAMP_NTZ,"
    " tz TIMESTAMP, u UUID) {}"
)
UTC_DAY = "(unix_micros(`tz`) - pmod(unix_micros(`tz`), 86400000000))"


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("`a.b`", "`a.b`"),
        ("s.n", "`s`.`n`"),
        ("bucket(4, `a.b`)", "CASE WHEN `a.b` IS NOT NULL THEN sqlext_bucket(4, `a.b`) END"),
        # A UUID is text to Spark, and its bytes are hashed.
        ("bucket(4, u)", "CASE WHEN `u` IS NOT NULL THEN sqlext_bucket(4, unhex(replace(`u`, '-', ''))) END"),
        ("truncate(3, `a.b`)", "substring(`a.b`, 1, 3)"),
        # The smallest BIGINT would overflow in its own type.
        ("truncate(10, big)", "(CAST(`big` AS DECIMAL(20,0)) - pmod(CAST(`big` AS DECIMAL(20,0)), 10))"),
        # The width counts in units of the last digit.
        ("truncate(50, d)", "(`d` - pmod(`d`, CAST('0.50' AS DECIMAL(38,2))))"),
        ("years(day)", "year(CAST(`day` AS DATE))"),
        ("months(ts)", "trunc(CAST(`ts` AS DATE), 'MONTH')"),
        ("days(ts)", "CAST(`ts` AS DATE)"),
        ("hours(ts)", "date_trunc('HOUR', `ts`)"),
        # Of an instant in UTC, whatever the session's zone.
        ("days(tz)", f"date_from_unix_date(CAST({UTC_DAY} / 86400000000 AS INT))"),
        ("hours(tz)", "(unix_micros(`tz`) - pmod(unix_micros(`tz`), 3600000000))"),
    ],
)
def test_rows_of_one_partition_have_one_value_of_its_expression(tmp_path: Path, term: str, text: str) -> None:
    lake = Lake(tmp_path)
    assert partition_expressions(lake.create(DATES.format(f"PARTITIONED BY ({term})")).metadata) == [text]


def test_a_partition_field_that_was_dropped_from_format_version_1_has_no_expression(tmp_path: Path) -> None:
    """Its place is kept by a void transform (spec: Partition Evolution)."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (a INT, b INT) PARTITIONED BY (a, b) TBLPROPERTIES ('format-version'='1')")
    lake.commit(ChangeSpec((DropField(FieldTerm(("a",), UP)),)))
    metadata = lake.load().metadata
    assert len(metadata.spec().fields) == 2
    assert partition_expressions(metadata) == ["`b`"]


def test_which_orders_writers_keep() -> None:
    assert not keeps_order(_table())
    assert keeps_order(_table(SortField(4, UP, "desc")))
    assert keeps_order(_table(SortField(1, BucketTransform(4))))
    assert not keeps_order(_table(SortField(1, UnknownTransform("zorder[3]")), SortField(2, UP)))


def test_a_range_is_found_by_a_sample_of_the_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number, (text, sampled) in enumerate(
        [
            ("(a INT)", False),
            ("(a INT) PARTITIONED BY (a)", False),
            ("(a INT) ORDERED BY (a)", True),
            ("(a INT) ORDERED BY (a) TBLPROPERTIES ('write.distribution-mode'='hash')", False),
            ("(a INT) PARTITIONED BY (a) TBLPROPERTIES ('write.distribution-mode'='range')", True),
            ("(a INT) TBLPROPERTIES ('write.distribution-mode'='range')", False),
        ]
    ):
        assert samples(lake.create(f"CREATE TABLE t{number} {text}").metadata) is sampled, text
