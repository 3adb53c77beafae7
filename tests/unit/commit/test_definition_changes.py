"""Columns, partition fields and write order change in commits of their own, also against commits that come first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from small_tables import (
    SCHEMA,
    UNPARTITIONED,
    Writer,
    data_file,
    ids_read_by_pyiceberg,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.order_change import ChangeWriteOrder, SortTerm
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.schema_change import ChangeSchema, WriteWithSchema
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, DropField, FieldTerm, SpecChange
from sqlext.errors import SqlextError, ValidationConflict
from sqlext.spec.constraint import varchar_lengths
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import AddColumn, DropColumn, RenameColumn, WidenColumn, changed_schema
from sqlext.spec.sort_order import SortField
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import DateType, LongType, NestedField, StringType, StructType, TimestampType
from sqlext.storage.location import to_local_path

WIDE = Schema((*SCHEMA.fields, NestedField(3, "at", TimestampType()), NestedField(4, "day", DateType())))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def term(column: str, transform: str = "identity") -> FieldTerm:
    return FieldTerm(tuple(column.split(".")), parse_transform(transform))


def change_spec(writer: Writer, *changes: SpecChange, base: LoadedTable | None = None) -> PartitionSpec:
    return writer.commit(ChangeSpec(changes), base=base or writer.load()).table.metadata.spec()


def fields(spec: PartitionSpec) -> list[tuple[int, str, str]]:
    return [(field.field_id, field.name, str(field.transform)) for field in spec.fields]


def test_a_lost_race_adds_the_column_to_what_came_first(writer: Writer) -> None:
    base = writer.create()
    writer.commit(ChangeSchema((AddColumn(("a",), LongType()),)), base=base)
    outcome = writer.commit(ChangeSchema((AddColumn(("b",), LongType()),)), base=base)
    metadata = outcome.table.metadata
    assert outcome.attempts == 2
    assert [(field.id, field.name) for field in metadata.schema().fields[2:]] == [(3, "a"), (4, "b")]
    assert (metadata.last_column_id, len(metadata.schemas)) == (4, 3)


def test_a_lost_race_for_the_same_name_is_refused(writer: Writer) -> None:
    base = writer.create()
    add = ChangeSchema((AddColumn(("a",), LongType()),))
    writer.commit(add, base=base)
    with pytest.raises(SqlextError, match="FIELD_ALREADY_EXISTS"):
        writer.commit(add, base=base)


def test_a_schema_that_was_there_keeps_its_id(writer: Writer) -> None:
    writer.create()
    writer.commit(ChangeSchema((AddColumn(("a",), LongType()),)), base=writer.load())
    metadata = writer.commit(ChangeSchema((DropColumn(("a",)),)), base=writer.load()).table.metadata
    assert (metadata.current_schema_id, len(metadata.schemas), metadata.last_column_id) == (0, 2, 3)
    later = writer.commit(ChangeSchema((AddColumn(("a",), LongType()),)), base=writer.load()).table.metadata
    assert later.schema().fields[-1].id == 4


def test_a_name_mapping_takes_new_names_on(writer: Writer) -> None:
    mapping = '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["region"]}]'
    writer.create(properties={"schema.name-mapping.default": mapping})
    changes = (RenameColumn(("region",), "area"), AddColumn(("a",), LongType()))
    metadata = writer.commit(ChangeSchema(changes), base=writer.load()).table.metadata
    assert json.loads(metadata.properties["schema.name-mapping.default"]) == [
        {"field-id": 1, "names": ["id"]},
        {"field-id": 2, "names": ["region", "area"]},
        {"field-id": 3, "names": ["a"]},
    ]


def test_properties_follow_their_column(writer: Writer) -> None:
    properties = {"write.metadata.metrics.column.region": "full", "write.metadata.metrics.column.other": "none"}
    writer.create(properties=properties)
    renamed = writer.commit(ChangeSchema((RenameColumn(("region",), "area"),)), base=writer.load())
    assert renamed.table.metadata.properties == {
        "write.metadata.metrics.column.area": "full",
        "write.metadata.metrics.column.other": "none",
    }
    dropped = writer.commit(ChangeSchema((DropColumn(("area",)),)), base=writer.load())
    assert dropped.table.metadata.properties == {"write.metadata.metrics.column.other": "none"}


def test_columns_that_partitioning_or_order_need_stay(writer: Writer) -> None:
    writer.create(schema=WIDE, spec=PartitionSpec(0, (PartitionField(2, 1000, "region", parse_transform("identity")),)))
    drop = ChangeSchema((DropColumn(("region",)),))
    with pytest.raises(SqlextError, match=r"COLUMN_IN_USE.*DROP PARTITION FIELD region"):
        writer.commit(drop, base=writer.load())
    change_spec(writer, DropField(term("region")))
    writer.commit(ChangeWriteOrder((SortTerm(("region",), parse_transform("identity")),), "range"), base=writer.load())
    with pytest.raises(SqlextError, match=r"COLUMN_IN_USE.*sort order"):
        writer.commit(drop, base=writer.load())
    writer.commit(ChangeWriteOrder((), "none"), base=writer.load())
    metadata = writer.commit(drop, base=writer.load()).table.metadata
    assert [field.name for field in metadata.schema().fields] == ["id", "at", "day"]


def test_a_date_widens_only_where_its_partitions_stay_the_same(writer: Writer) -> None:
    writer.create(schema=WIDE, format_version=3)
    widen = ChangeSchema((WidenColumn(("day",), TimestampType()),))
    change_spec(writer, AddField(term("day", "bucket[4]")))
    change_spec(writer, DropField(term("day", "bucket[4]")))
    with pytest.raises(SqlextError, match=r"COLUMN_IN_USE.*day_bucket_4"):
        writer.commit(widen, base=writer.load())


def test_fields_are_added_dropped_and_replaced(writer: Writer) -> None:
    writer.create(schema=WIDE)
    assert fields(change_spec(writer, AddField(term("AT", "day")), AddField(term("id", "bucket[8]"), "shard"))) == [
        (1000, "at_day", "day"),
        (1001, "shard", "bucket[8]"),
    ]
    replaced = change_spec(writer, DropField(term("at_day")), AddField(term("at", "hour")))
    assert fields(replaced) == [(1001, "shard", "bucket[8]"), (1002, "at_hour", "hour")]
    assert change_spec(writer, DropField(term("shard")), DropField(term("at", "hour"))).fields == ()
    again = change_spec(writer, AddField(term("at", "day")), AddField(term("id", "bucket[8]")))
    assert fields(again) == [(1000, "at_day", "day"), (1001, "shard", "bucket[8]")]
    metadata = writer.load().metadata
    assert (metadata.default_spec_id, metadata.last_partition_id) == (1, 1002)
    assert [spec.spec_id for spec in metadata.partition_specs] == [0, 1, 2]


def test_version_1_leaves_void_fields(writer: Writer) -> None:
    writer.create(schema=WIDE, format_version=1)
    change_spec(writer, AddField(term("region")), AddField(term("id", "bucket[4]")))
    dropped = change_spec(writer, DropField(term("region")))
    assert fields(dropped) == [(1000, "region", "void"), (1001, "id_bucket_4", "bucket[4]")]
    assert fields(change_spec(writer, AddField(term("region")))) == [
        (1000, "region_1000", "void"),
        (1001, "id_bucket_4", "bucket[4]"),
        (1002, "region", "identity"),
    ]


def test_a_lost_race_adds_the_field_to_what_came_first(writer: Writer) -> None:
    base = writer.create(schema=WIDE)
    change_spec(writer, AddField(term("region")), base=base)
    spec = change_spec(writer, AddField(term("id", "bucket[4]")), base=base)
    assert fields(spec) == [(1000, "region", "identity"), (1001, "id_bucket_4", "bucket[4]")]


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        (AddField(term("nothing")), "UNRESOLVED_COLUMN"),
        (AddField(term("region", "day")), "INVALID_PARTITION_TRANSFORM"),
        (AddField(term("at", "month")), "INVALID_PARTITION_TRANSFORM"),
        (AddField(term("at", "day")), "FIELD_ALREADY_EXISTS"),
        (AddField(term("id"), "at_day"), "FIELD_ALREADY_EXISTS"),
        (AddField(term("id"), "region"), "INVALID_PARTITION_TRANSFORM"),
        (DropField(term("id")), "UNRESOLVED_COLUMN"),
    ],
    ids=str,
)
def test_refused(writer: Writer, change: SpecChange, condition: str) -> None:
    writer.create(schema=WIDE)
    change_spec(writer, AddField(term("at", "day")))
    with pytest.raises(SqlextError, match=rf"\[{condition}"):
        change_spec(writer, change)


def test_the_write_order_is_an_order_and_a_property(writer: Writer) -> None:
    writer.create(schema=WIDE, spec=UNPARTITIONED)
    by_region = ChangeWriteOrder((SortTerm(("REGION",), parse_transform("truncate[2]"), "desc", "nulls-last"),), "hash")
    metadata = writer.commit(by_region, base=writer.load()).table.metadata
    assert metadata.sort_order().fields == (SortField(2, parse_transform("truncate[2]"), "desc", "nulls-last"),)
    assert metadata.properties["write.distribution-mode"] == "hash"
    unordered = writer.commit(ChangeWriteOrder((), "none"), base=writer.load()).table.metadata
    assert (unordered.default_sort_order_id, unordered.properties["write.distribution-mode"]) == (0, "none")
    again = writer.commit(by_region, base=writer.load()).table.metadata
    assert (again.default_sort_order_id, len(again.sort_orders)) == (1, 2)
    with pytest.raises(SqlextError, match="UNRESOLVED_COLUMN"):
        writer.commit(ChangeWriteOrder((SortTerm(("c",), parse_transform("identity")),), "hash"), base=writer.load())


def test_strings_have_no_day(writer: Writer) -> None:
    writer.create()
    assert isinstance(SCHEMA.fields[1].type, StringType)
    with pytest.raises(SqlextError, match="INVALID_PARTITION_TRANSFORM"):
        writer.commit(ChangeWriteOrder((SortTerm(("region",), parse_transform("day")),), "range"), base=writer.load())


def test_rows_and_their_columns_come_in_one_commit(writer: Writer) -> None:
    base = writer.create()
    grown = changed_schema(SCHEMA, (AddColumn(("extra",), LongType()),), 2, 2)
    file = data_file(base.metadata, [1])
    outcome = writer.commit(WriteWithSchema(AppendFiles((file,)), grown, 0, 2), base=base)
    metadata = outcome.table.metadata
    assert outcome.snapshot is not None
    assert outcome.snapshot.schema_id == metadata.current_schema_id == 1
    assert ids_read_by_pyiceberg(outcome.table) == [1]


def test_columns_that_another_commit_gave_first_stop_the_rows(writer: Writer) -> None:
    base = writer.create()
    grown = changed_schema(SCHEMA, (AddColumn(("extra",), LongType()),), 2, 2)
    writer.commit(ChangeSchema((AddColumn(("other",), LongType()),)), base=base)
    file = data_file(base.metadata, [1])
    with pytest.raises(ValidationConflict, match="changed the columns"):
        writer.commit(WriteWithSchema(AppendFiles((file,)), grown, 0, 2), base=base)
    assert not Path(to_local_path(file.file_path)).exists()


def test_an_append_that_came_first_does_not_stop_them(writer: Writer) -> None:
    base = writer.create()
    grown = changed_schema(SCHEMA, (AddColumn(("extra",), LongType()),), 2, 2)
    writer.append(7)
    write = WriteWithSchema(AppendFiles((data_file(base.metadata, [1]),)), grown, 0, 2)
    outcome = writer.commit(write, base=base)
    assert (outcome.attempts, ids_read_by_pyiceberg(outcome.table)) == (2, [1, 7])


def test_lengths_of_strings_come_with_their_columns_and_only_grow(writer: Writer) -> None:
    nested = StructType((NestedField(1, "a", StringType()), NestedField(2, "b", StringType())))
    changes = (AddColumn(("s",), StringType(), lengths={0: 3}), AddColumn(("n",), nested, lengths={2: 4}))
    base = writer.create()
    first = writer.commit(ChangeSchema((AddColumn(("x",), LongType()),)), base=base)
    added = writer.commit(ChangeSchema(changes), base=base).table.metadata
    assert first.table.metadata.schema().column("x") is not None
    assert varchar_lengths(added.properties) == {4: 3, 7: 4}
    assert (added.schema().column_name(4), added.schema().column_name(7)) == ("s", "n.b")

    grown = (WidenColumn(("s",), StringType(), 5), WidenColumn(("n", "b"), StringType(), 4))
    wider = writer.commit(ChangeSchema(grown), base=writer.load()).table.metadata
    assert varchar_lengths(wider.properties) == {4: 5, 7: 4}
    for path, length in ((("s",), 4), (("region",), 100)):
        with pytest.raises(SqlextError, match="may hold longer values"):
            writer.commit(ChangeSchema((WidenColumn(path, StringType(), length),)), base=writer.load())
    lifted = writer.commit(ChangeSchema((WidenColumn(("s",), StringType()),)), base=writer.load()).table.metadata
    assert varchar_lengths(lifted.properties) == {7: 4}


def test_an_earlier_format_version_is_refused_by_the_tables_name(writer: Writer) -> None:
    with pytest.raises(SqlextError, match=r"version of lake\.db\.orders cannot go from 2 to 1"):
        writer.commit(ChangeProperties({"format-version": "1"}), base=writer.create())
