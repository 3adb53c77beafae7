from dataclasses import replace

import pytest

from sqlext.command.ddl.table_definition import define_table
from sqlext.errors import UnsupportedError
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import IntegerType, NestedField, TimestamptzNanoType
from sqlext.sql.layout_terms import partition_term
from sqlext.sql.parser import parse
from sqlext.sql.show_create_table import create_table_text
from sqlext.sql.statements.statement import TableName

NAME = TableName(("lake", "d`b", "t"))


def _int_default(field, text):
    return int(text.removeprefix("CAST('").removesuffix("' AS INT)"))


def made_by(text):
    statement = parse(text, catalogs=("lake",), current=("lake", "db"))
    definition = define_table(statement, None, "TIMESTAMP_LTZ", _int_default)
    return new_table_metadata(
        definition.schema,
        definition.spec,
        definition.sort_order,
        "file:///w/t",
        definition.properties,
        definition.format_version,
        "c9b8a1d2-0000-4000-8000-000000000000",
        0,
    )


def test_text():
    metadata = made_by(
        "CREATE TABLE lake.db.t (id INTEGER COMMENT 'unique id', at TIMESTAMP(3), `a b` ARRAY<INT>, PRIMARY KEY (id))"
        " PARTITIONED BY (days(at), bucket(4, id) AS shard) ORDERED BY (id DESC) COMMENT 'it''s'"
        " TBLPROPERTIES ('b' = 'x\\'y', 'a' = '\\\\')"
    )
    assert create_table_text(NAME, metadata) == (
        "CREATE TABLE `lake`.`d``b`.`t` (\n"
        "  `id` INT NOT NULL COMMENT 'unique id',\n"
        "  `at` TIMESTAMP_NTZ,\n"
        "  `a b` ARRAY<INT>,\n"
        "  PRIMARY KEY (`id`) NOT ENFORCED)\n"
        "USING iceberg\n"
        "PARTITIONED BY (days(`at`), bucket(4, `id`) AS `shard`)\n"
        "ORDERED BY (`id` DESC NULLS LAST)\n"
        "COMMENT 'it\\'s'\n"
        "TBLPROPERTIES (\n"
        "  'format-version' = '2',\n"
        "  'a' = '\\\\',\n"
        "  'b' = 'x\\'y',\n"
        "  'write.parquet.compression-codec' = 'zstd')"
    )


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t (a INT PRIMARY KEY, b STRING NOT NULL COMMENT 'x;y')",
        "CREATE TABLE t (a INT, b DATE, PRIMARY KEY (b, a) NOT ENFORCED)",
        "CREATE TABLE t (`a.b` INT PRIMARY KEY, c INT) PARTITIONED BY (bucket(2, `a.b`)) ORDERED BY (`a.b`)",
        "CREATE TABLE t (a INT, PRIMARY KEY (a) ENFORCED RELY)",
        "CREATE TABLE t (a VARCHAR(3), b STRUCT<x: ARRAY<VARCHAR(4)>, y: MAP<VARCHAR(5), INT>>)",
        "CREATE TABLE t (a INT NOT NULL DEFAULT 5 COMMENT 'c') TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE t (a BOOLEAN, b BIGINT, c FLOAT, d DOUBLE, e DECIMAL(9, 2))",
        "CREATE TABLE t (f TIMESTAMP, g TIMESTAMP_NTZ, h BINARY)",
        "CREATE TABLE t (a UUID, b BINARY(12), c TIME)",
        "CREATE TABLE t (a STRUCT<x: INT NOT NULL COMMENT 'q''r', `y z`: ARRAY<MAP<STRING, INT NOT NULL> NOT NULL>>)",
        "CREATE TABLE t (`ä 名` INT, `a``b` STRING, `select` INT) PARTITIONED BY (`ä 名`, truncate(3, `a``b`))",
        "CREATE TABLE t (a STRUCT<b: TIMESTAMP>) PARTITIONED BY (hours(a.b))",
        "CREATE TABLE t (a TIMESTAMP, b INT) PARTITIONED BY (years(a), a AS m, bucket(8, b), b)",
        "CREATE TABLE t (a INT, b STRING) ORDERED BY (a ASC NULLS LAST, truncate(2, b) DESC NULLS FIRST)",
        "CREATE TABLE t (a INT) COMMENT '\\\\ \\n '' \"' TBLPROPERTIES ('it''s' = '\\\\n', 'format-version' = '1')",
    ],
)
def test_the_text_makes_the_same_table_again(text):
    first = made_by(text)
    shown = create_table_text(TableName(("lake", "db", "t")), first)
    second = made_by(shown)
    assert second == first
    assert create_table_text(TableName(("lake", "db", "t")), second) == shown


def test_void_fields_are_left_out():
    schema = Schema((NestedField(1, "a", IntegerType()),))
    spec = PartitionSpec(0, (PartitionField(1, 1000, "a", parse_transform("void")),))
    metadata = new_table_metadata(schema, spec, UNSORTED, "file:///w/t", {}, 2, "u", 0)
    assert "PARTITIONED" not in create_table_text(NAME, metadata)


def test_a_transform_without_sql_spelling_is_refused():
    schema = Schema((NestedField(1, "a", IntegerType()),))
    with pytest.raises(UnsupportedError, match=r"UNSUPPORTED_TRANSFORM.*zorder"):
        partition_term(schema, PartitionField(1, 1000, "a", parse_transform("zorder[4]")))


def test_a_type_without_sql_spelling_is_refused():
    schema = Schema((NestedField(1, "a", TimestamptzNanoType()),))
    metadata = new_table_metadata(schema, UNPARTITIONED, UNSORTED, "file:///w/t", {}, 2, "u", 0)
    with pytest.raises(UnsupportedError):
        create_table_text(NAME, metadata)


def test_a_comment_at_the_end_of_an_expression_ends_before_its_bracket():
    metadata = made_by("CREATE TABLE lake.db.t (id INT)")
    properties = {"sqlext.generated.2": "id + 1 -- the next", "sqlext.check.c": "id > 0 -- more"}
    schema = Schema((*metadata.schema().fields, NestedField(2, "n", IntegerType())), schema_id=1)
    text = create_table_text(
        NAME,
        replace(metadata, schemas=(schema,), current_schema_id=1, properties={**metadata.properties, **properties}),
    )
    statement = parse(text, catalogs=("lake",), current=("lake", "db"))
    assert statement.columns[1].generated_text == "id + 1 -- the next"
    assert [check.condition.text for check in statement.checks] == ["id > 0 -- more"]
