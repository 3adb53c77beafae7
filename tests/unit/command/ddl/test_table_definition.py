"""What a CREATE TABLE defines: ids, key, partitioning, order and properties, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sqlext.command.ddl.table_definition import (
    TableDefinition,
    complete,
    define_table,
    described_terms,
    with_identifier_fields,
)
from sqlext.spec.constraint import varchar_lengths
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, LongType, NestedField, StringType, StructType
from unit.command.lake import read, refused


def _text(field: NestedField, text: str) -> Any:
    """Stands where Spark computes a DEFAULT: a number, or a text in its quotes."""
    return text.strip("'") if text.startswith("'") else int(text)


def _define(text: str, replaced: TableMetadata | None = None, *, query: Schema | None = None) -> TableDefinition:
    return define_table(read(text), query, "TIMESTAMP_LTZ", _text, replaced)


def _metadata(text: str) -> TableMetadata:
    made = _define(text)
    return new_table_metadata(
        made.schema, made.spec, made.sort_order, "/t", made.properties, made.format_version, "uuid", 0
    )


def test_ids_go_from_the_top_level_down() -> None:
    """As Iceberg assigns them (spec: Reserved Field IDs, Column Projection): all of a level before the next."""
    schema = _define("CREATE TABLE t (a STRUCT<x: INT, y: ARRAY<INT>>, b MAP<STRING, INT>, `c.d` DATE)").schema
    assert [(field.id, field.name) for field in schema.fields] == [(1, "a"), (2, "b"), (3, "c.d")]
    assert [schema.column_name(id) for id in (4, 5, 6, 7, 8)] == ["a.x", "a.y", "a.y.element", "b.key", "b.value"]


def test_a_key_is_required_and_of_the_table() -> None:
    definition = _define("CREATE TABLE t (a INT, b INT, PRIMARY KEY (b, a) ENFORCED RELY)")
    assert definition.schema.identifier_field_ids == (1, 2)
    assert all(field.required for field in definition.schema.fields)
    assert definition.properties["write.key.enforced"] == "true"
    assert definition.properties["identifier-fields.rely"] == "true"
    assert "write.key.enforced" not in _define("CREATE TABLE t (a INT PRIMARY KEY)").properties
    by_property = _define("CREATE TABLE t (a INT, `b.c` INT) TBLPROPERTIES ('primary-key'='a, `b.c`')")
    assert by_property.schema.identifier_field_ids == (1, 2)
    assert "primary-key" not in by_property.properties, "the schema says it"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("(a INT, b INT) TBLPROPERTIES ('primary-key'='b, a, b')", "named twice in (b, a, b)"),
        ("(a INT PRIMARY KEY) TBLPROPERTIES ('primary-key'='a')", "both"),
        ("(a INT) TBLPROPERTIES ('primary-key'='a,')", "not a list of columns"),
        ("(a INT) TBLPROPERTIES ('write.key.enforced'='true')", "no key is declared"),
        ("(a INT, PRIMARY KEY (a) NOT ENFORCED) TBLPROPERTIES ('write.key.enforced'='true')", "contradicts"),
    ],
)
def test_keys_that_are_none(columns: str, said: str) -> None:
    with refused("INVALID_PRIMARY_KEY", said):
        _define(f"CREATE TABLE t {columns}")


def test_partition_fields_have_icebergs_names() -> None:
    columns = "ts TIMESTAMP, `a.b` TIMESTAMP, s STRING, n STRUCT<x: INT>"
    terms = "days(ts), hours(`a.b`), bucket(4, s), truncate(3, s), s, n.x"
    spec = _define(f"CREATE TABLE t ({columns}) PARTITIONED BY ({terms})").spec
    assert [(field.field_id, field.name) for field in spec.fields] == [
        (1000, "ts_day"),
        (1001, "a.b_hour"),
        (1002, "s_bucket"),
        (1003, "s_trunc"),
        (1004, "s"),
        (1005, "n.x"),
    ]
    assert [str(field.transform) for field in spec.fields[2:4]] == ["bucket[4]", "truncate[3]"]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("days(s)", "column s has type string"),
        ("years(ts), days(ts)", "redundant"),
        ("bucket(4, s), bucket(8, s)", "two fields have this name"),
    ],
)
def test_partitioning_that_is_refused(terms: str, said: str) -> None:
    with refused("INVALID_PARTITION_TRANSFORM", said):
        _define(f"CREATE TABLE t (s STRING, ts TIMESTAMP) PARTITIONED BY ({terms})")


def test_nulls_stand_where_spark_has_them() -> None:
    order = _define("CREATE TABLE t (a INT, b STRING) ORDERED BY (a, b DESC, truncate(2, b) NULLS LAST)").sort_order
    assert order.order_id == 1
    assert [(str(field.transform), field.direction, field.null_order) for field in order.fields] == [
        ("identity", "asc", "nulls-first"),
        ("identity", "desc", "nulls-last"),
        ("truncate[2]", "asc", "nulls-last"),
    ]


def test_lengths_and_defaults_are_those_of_the_columns_new_ids() -> None:
    columns = "s STRUCT<x: VARCHAR(3)>, v VARCHAR(5) DEFAULT 'ab', n INT DEFAULT 7"
    definition = _define(f"CREATE TABLE t ({columns}) TBLPROPERTIES ('format-version'='3')")
    schema = definition.schema
    lengths = varchar_lengths(definition.properties)
    assert {schema.column_name(id): length for id, length in lengths.items()} == {"s.x": 3, "v": 5}
    assert [field.write_default for field in schema.fields] == [None, "ab", 7]
    assert [field.initial_default for field in schema.fields] == [None, None, None], "there are no rows yet"


def test_properties_that_are_said_elsewhere_are_not_kept() -> None:
    definition = _define(
        "CREATE TABLE t (a INT) COMMENT 'c' TBLPROPERTIES ('format-version'='3', 'write.merge.mode'='auto')"
    )
    assert definition.format_version == 3
    assert definition.properties == {
        "write.parquet.compression-codec": "zstd",
        "comment": "c",
        "sqlext.write.merge.mode": "auto",
    }


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("(_pos INT)", "RESERVED_COLUMN_NAME"),
        ("(a INT, A INT)", "COLUMN_ALREADY_EXISTS"),
        ("(s STRUCT<x: INT, X: INT>)", "COLUMN_ALREADY_EXISTS"),
        ("(a INT) TBLPROPERTIES ('provider'='iceberg')", "RESERVED_TABLE_PROPERTY"),
        ("(a INT) TBLPROPERTIES ('write.formt.default'='parquet')", "UNKNOWN_TABLE_PROPERTY"),
        ("(a INT) TBLPROPERTIES ('write.merge.mode'='fast')", "INVALID_TABLE_PROPERTY"),
        ("(v VARIANT) TBLPROPERTIES ('format-version'='2')", "FORMAT_VERSION_TOO_LOW"),
        ("(a INT) TBLPROPERTIES ('write.metadata.metrics.column.b'='full')", "INVALID_TABLE_PROPERTY"),
        ("(a DOUBLE, PRIMARY KEY (a))", "INVALID_PRIMARY_KEY"),
    ],
)
def test_tables_that_are_refused(text: str, condition: str) -> None:
    with refused(condition):
        _define(f"CREATE TABLE t {text}")


def test_case_tells_columns_apart_in_a_session_that_says_so() -> None:
    schema = Schema((NestedField(1, "a", LongType()), NestedField(2, "A", LongType())))
    assert complete(schema, (), (), {}, case_sensitive=True).schema.fields == schema.fields
    with refused("COLUMN_ALREADY_EXISTS"):
        complete(schema, (), (), {}, case_sensitive=False)


def test_columns_of_a_query_may_be_keyed_and_partitioned() -> None:
    query = Schema((NestedField(7, "id", LongType()), NestedField(8, "p", StringType())))
    definition = _define("CREATE TABLE t PARTITIONED BY (p) AS SELECT 1", query=query)
    assert [(field.id, field.required) for field in definition.schema.fields] == [(1, False), (2, False)]
    assert definition.spec.fields[0].source_id == 2


def test_a_table_that_is_replaced_keeps_its_ids_and_how_it_is_written() -> None:
    before = _metadata(
        "CREATE TABLE t (a INT, b STRING, PRIMARY KEY (a) ENFORCED) TBLPROPERTIES"
        " ('write.target-file-size-bytes'='1000', 'comment'='old', 'write.merge.mode'='auto', 'owner.team'='x')"
    )
    after = _define(
        "CREATE OR REPLACE TABLE t (b STRING, c INT) TBLPROPERTIES ('write.merge.mode'='copy-on-write')", before
    )
    assert [(field.id, field.name) for field in after.schema.fields] == [(2, "b"), (3, "c")]
    assert after.properties["write.target-file-size-bytes"] == "1000"
    assert after.properties["write.merge.mode"] == "copy-on-write"
    assert "sqlext.write.merge.mode" not in after.properties
    assert "write.key.enforced" not in after.properties


def test_batches_of_a_table_that_is_replaced_are_left_to_its_commit() -> None:
    """They are kept as the commit finds them: by then another may have written a later batch."""
    before = _metadata("CREATE TABLE t (a INT) TBLPROPERTIES ('owner.team'='x')")
    before = replace(before, properties={**before.properties, "sqlext.txn.app": "{}"})
    after = _define("CREATE OR REPLACE TABLE t (a INT)", before)
    assert "owner.team" in after.properties
    assert "sqlext.txn.app" not in after.properties


def test_a_nested_field_may_be_a_key() -> None:
    struct = StructType((NestedField(2, "x", LongType(), required=True), NestedField(3, "d", DoubleType())))
    schema = Schema((NestedField(1, "s", struct, required=True),))
    assert with_identifier_fields(schema, [("s", "x")]).identifier_field_ids == (2,)
    with refused("INVALID_PRIMARY_KEY"):
        with_identifier_fields(schema, [("s", "d")])


# Spark's own transforms, as the shim describes them


def _term(name: str, *columns: tuple[str, ...], numbers: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"name": name, "columns": list(columns), "numbers": list(numbers)}


def test_sparks_transforms_are_icebergs() -> None:
    given = [_term("identity", ("a",)), _term("days", ("s", "t")), _term("bucket", ("a",), numbers=(4,))]
    assert described_terms(given) == [
        ("identity", ("a",), None, None),
        ("day", ("s", "t"), None, None),
        ("bucket", ("a",), 4, None),
    ]


@pytest.mark.parametrize(
    ("term", "said"),
    [
        (_term("cluster_by", ("a",)), "cluster_by(a)"),
        (_term("sorted_bucket", ("a",), numbers=(4,)), "sortBy"),
        (_term("bucket", ("a",), ("b",), numbers=(4,)), "bucket(a, b)"),
        (_term("identity"), "one source column"),
    ],
)
def test_sparks_transforms_that_are_no_partitioning(term: dict[str, Any], said: str) -> None:
    with refused("INVALID_PARTITION_TRANSFORM", said):
        described_terms([term])


def test_a_definition_of_spark_has_a_provider_that_is_not_kept() -> None:
    schema = Schema((NestedField(1, "a", LongType()),))
    definition = complete(
        schema, (), (), {"provider": "iceberg", "owner": "me", "location": "/x"}, case_sensitive=False
    )
    assert definition.properties == {"write.parquet.compression-codec": "zstd"}
