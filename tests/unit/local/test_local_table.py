"""Tables read and changed by one process: rows, versions, branches, batches, rules, and writers at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlext.local
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.local import LocalTable
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField, UuidType
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path
from unit.local.local_lake import created, open_lake, refused, rows_of

_KEYED = "id BIGINT, v STRING, PRIMARY KEY (id)"


@pytest.fixture
def table(tmp_path: Path) -> LocalTable:
    return created(open_lake(tmp_path), _KEYED)


def test_rows_without_columns_are_still_counted(table: LocalTable) -> None:
    table.append([{"id": id, "v": None} for id in range(5)])
    assert table.to_arrow([]).num_rows == 5
    assert table.to_arrow(columns=[], where="id > 2").num_rows == 2
    assert table.to_batches([]).read_all().num_columns == 0
    assert table.to_arrow([], where="id > 7").num_rows == 0


_Test = Callable[[int | None, date | None, str | None], bool]
_IN_ROW_GROUPS: dict[str, _Test] = {
    "id > 930": lambda id, day, name: id is not None and id > 930,
    "id IN (5, 505, 995)": lambda id, day, name: id in (5, 505, 995),
    "id IS NULL": lambda id, day, name: id is None,
    "NOT (id < 900 OR id >= 950)": lambda id, day, name: id is not None and 900 <= id < 950,
    "day = DATE'2026-01-05'": lambda id, day, name: day == date(2026, 1, 5),
    "day < DATE'2026-01-02' AND id > 20": lambda id, day, name: id is not None and id > 20 and day == date(2026, 1, 1),
    "name = 'é7'": lambda id, day, name: name == "é7",
    "name >= 'é9' OR id = 3": lambda id, day, name: (name is not None and name >= "é9") or id == 3,
    "name LIKE 'é1%'": lambda id, day, name: name is not None and name.startswith("é1"),
    "name = 'z'": lambda id, day, name: False,
}


@pytest.mark.parametrize("condition", _IN_ROW_GROUPS)
def test_conditions_on_files_of_many_row_groups(tmp_path: Path, condition: str) -> None:
    """Row groups that cannot have a row are passed over, beside rows that are deleted by position."""
    lake = open_lake(tmp_path)
    properties = {"write.parquet.row-group-limit": "100", "write.delete.mode": "merge-on-read"}
    table = created(lake, "id BIGINT, day DATE, name STRING", properties)
    rows = [
        (
            None if number % 100 == 50 else number,
            None if number // 100 == 3 else date(2026, 1, 1 + number // 100),
            None if number % 90 == 1 else f"é{number // 100}",
        )
        for number in range(1000)
    ]
    names = ("id", "day", "name")
    table.append([dict(zip(names, row, strict=True)) for row in rows])
    (file,) = table.metadata("files").to_pylist()
    assert pq.read_metadata(to_local_path(file["file_path"])).num_row_groups > 5
    table.delete(where="id BETWEEN 200 AND 219 OR id = 940")
    left = [row for row in rows if row[0] is None or not (200 <= row[0] <= 219 or row[0] == 940)]
    matching = [row for row in left if _IN_ROW_GROUPS[condition](*row)]
    assert rows_of(table, where=condition) == sorted(matching, key=repr)
    table.delete(where=condition)
    assert rows_of(table) == sorted([row for row in left if row not in matching], key=repr)


def test_a_column_whose_name_is_the_path_of_a_field(tmp_path: Path) -> None:
    """The bounds of the field are not those of the column."""
    table = created(open_lake(tmp_path), "`a.b` BIGINT, a STRUCT<b: BIGINT>")
    table.append([{"a.b": 1, "a": {"b": 100}}, {"a.b": 2, "a": {"b": 200}}])
    assert table.to_arrow(where="`a.b` = 2").num_rows == 1
    table.delete(where="`a.b` = 2")
    assert table.to_arrow().to_pylist() == [{"a.b": 1, "a": {"b": 100}}]


def test_one_name_is_not_a_list_of_letters(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    schema = pa.schema([("key", pa.int64()), ("part", pa.string()), ("k", pa.int64())])
    table = lake.create_table("db.named", schema, primary_key="key", partitioned_by="part")
    assert table.key == ("key",)
    table.append([{"key": 1, "part": "a", "k": 2}])
    assert table.to_arrow("key").to_pylist() == [{"key": 1}]
    assert table.metadata("partitions").num_rows == 1
    plain = lake.create_table("db.plain", schema)
    plain.upsert([{"key": 1, "part": "a", "k": 2}], equality_field_columns="key")
    plain.upsert([{"key": 1, "part": "b", "k": 3}], equality_field_columns="key")
    assert plain.to_arrow("part").to_pylist() == [{"part": "b"}]


def test_a_table_is_shown_by_its_name(table: LocalTable, tmp_path: Path) -> None:
    assert repr(table) == "LocalTable('local.db.t')"
    lake = open_lake(tmp_path)
    lake.create_table("CREATE TABLE db.`a.b` (id INT)")
    assert lake.table(lake.table("db.`a.b`").name).name == "db.`a.b`" == lake.tables("db")[0]
    assert repr(lake.table("db.`a.b`").branch("x-y")) == "LocalTable('local.db.`a.b`.`branch_x-y`')"


@pytest.mark.parametrize("batch", ["x1", ("app",), ("app", 1, 2), ("app", "one"), 7])
def test_what_is_no_batch_is_refused(table: LocalTable, batch: Any) -> None:
    with refused("INVALID_WRITE_OPTION", "batch = ", "it must"):
        table.append([{"id": 1, "v": "a"}], batch=batch)
    assert table.to_arrow().num_rows == 0


def test_what_is_no_row_is_told(table: LocalTable) -> None:
    with refused("LOCAL_ROWS_REFUSED", "they are list with int in it"):
        table.append([5])
    with refused("LOCAL_ROWS_REFUSED", "they are dict, not"):
        table.upsert({"id": 1})
    for condition in ("", "  ", "id = 1; id = 2"):
        with refused("PARSE_SYNTAX_ERROR", "expected one condition"):
            table.delete(where=condition)
    with refused("CATALOG_OPTION_REQUIRED", "has no warehouse"):
        sqlext.local.open("")


def test_a_deletion_is_told_by_keys_or_by_a_condition(table: LocalTable) -> None:
    table.append([{"id": 1, "v": "a"}])
    with refused("LOCAL_DELETE_REFUSED", "neither keys nor a condition"):
        table.delete()
    with refused("LOCAL_DELETE_REFUSED", "both keys and a condition"):
        table.delete([{"id": 1}], where="id = 1")
    with refused("LOCAL_DELETE_REFUSED", "a text in the place of keys, 'id = 1'", "where="):
        table.delete("id = 1")
    assert table.to_arrow().num_rows == 1


def test_rows_come_back_as_they_were_given(tmp_path: Path) -> None:
    table = created(
        open_lake(tmp_path),
        "i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(9, 2), s STRING, b BOOLEAN, y BINARY, t DATE, z TIMESTAMP,"
        " m TIMESTAMP_NTZ, a ARRAY<INT>, p MAP<STRING, INT>, r STRUCT<x: INT, y: STRING>",
    )
    row: dict[str, Any] = {
        "i": 1,
        "l": 2**40,
        "f": 0.5,
        "d": float("inf"),
        "n": Decimal("3.50"),
        "s": "é",
        "b": True,
        "y": b"\x00",
        "t": date(2024, 1, 31),
        "z": datetime(2024, 1, 31, 12, tzinfo=timezone.utc),
        "m": datetime(2024, 1, 31, 12),
        "a": [1, None],
        "p": [("k", 1)],
        "r": {"x": 1, "y": None},
    }
    nothing = dict.fromkeys(row)
    table.append([row, nothing])
    assert table.to_arrow().to_pylist() == [row, nothing]
    table.append(pl.DataFrame({"I": [7], "s": ["polars"]}))
    assert table.to_arrow(["s", "i"], "i = 7").to_pylist() == [{"s": "polars", "i": 7}]
    assert table.to_polars(["i"]).to_series().sort().to_list() == [None, 1, 7]
    table.append(pa.table({"i": pa.array([8], pa.int64())}).to_reader())
    table.append(table.to_arrow())
    assert table.to_arrow().num_rows == 8


@pytest.mark.parametrize(
    ("type", "values", "stored"),
    [
        ("INT", pa.array([1, None], pa.int64()), [1, None]),
        ("INT", pa.array([3.7, -3.7]), [3, -3]),
        ("BIGINT", pa.array([Decimal("-3.99")]), [-3]),
        ("DECIMAL(5, 1)", pa.array([Decimal("2.25"), Decimal("-2.25"), Decimal("2.35")]), ["2.3", "-2.3", "2.4"]),
        ("DECIMAL(5, 1)", pa.array([12], pa.int32()), ["12.0"]),
        ("DOUBLE", pa.array([Decimal("0.1"), None]), [0.1, None]),
        ("FLOAT", pa.array([1e300]), [float("inf")]),
        ("STRING", pa.array([1, None]), ["1", None]),
        ("STRING", pa.array([True, False]), ["true", "false"]),
        ("STRING", pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        ("STRING", pa.nulls(2), [None, None]),
        ("TIMESTAMP_NTZ", pa.array([date(2024, 1, 31)]), [datetime(2024, 1, 31)]),
        ("DATE", pa.array([datetime(2024, 1, 31, 23, 59)]), [date(2024, 1, 31)]),
        ("TIMESTAMP_NTZ", pa.array([10**9], pa.timestamp("ns")), [datetime(1970, 1, 1, 0, 0, 1)]),
    ],
)
def test_values_are_assigned_as_by_spark(tmp_path: Path, type: str, values: pa.Array, stored: list[Any]) -> None:
    table = created(open_lake(tmp_path), f"v {type}")
    table.append(pa.table({"v": values}))
    found = table.to_arrow().column("v").to_pylist()
    assert [str(one) if isinstance(one, Decimal) else one for one in found] == stored


@pytest.mark.parametrize(
    ("type", "values", "condition"),
    [
        ("INT", pa.array(["1"]), "LOCAL_ROWS_REFUSED"),
        ("INT", pa.array([True]), "LOCAL_ROWS_REFUSED"),
        ("BOOLEAN", pa.array([1]), "LOCAL_ROWS_REFUSED"),
        ("DATE", pa.array(["2024-01-31"]), "LOCAL_ROWS_REFUSED"),
        ("TIMESTAMP", pa.array([datetime(2024, 1, 31)]), "LOCAL_ROWS_REFUSED"),
        ("TIMESTAMP_NTZ", pa.array([datetime(2024, 1, 31, tzinfo=timezone.utc)]), "LOCAL_ROWS_REFUSED"),
        ("STRING", pa.array([1.5]), "LOCAL_ROWS_REFUSED"),
        ("DECIMAL(5, 1)", pa.array([1.5]), "LOCAL_ROWS_REFUSED"),
        ("STRUCT<x: INT>", pa.array([{"x": 1, "y": 2}]), "LOCAL_ROWS_REFUSED"),
        ("INT", pa.array([2**31]), "INVALID_COLUMN_VALUE"),
        ("INT", pa.array([float("nan")]), "INVALID_COLUMN_VALUE"),
        ("DECIMAL(5, 1)", pa.array([100_000]), "INVALID_COLUMN_VALUE"),
        ("TIMESTAMP_NTZ", pa.array([1], pa.timestamp("ns")), "INVALID_COLUMN_VALUE"),
        ("INT NOT NULL", pa.nulls(1), "NULL_IN_REQUIRED_COLUMN"),
    ],
)
def test_values_that_do_not_fit_are_refused(tmp_path: Path, type: str, values: pa.Array, condition: str) -> None:
    lake = open_lake(tmp_path)
    table = created(lake, f"v {type}")
    with refused(condition):
        table.append(pa.table({"v": values}))
    assert table.to_arrow().num_rows == 0
    assert not list((tmp_path / "warehouse" / "db" / "t").rglob("*.parquet"))


def test_columns_are_named(table: LocalTable) -> None:
    with refused("LOCAL_ROWS_REFUSED", "no column w", "it has id, v"):
        table.append([{"id": 1, "w": 2}])
    with refused("LOCAL_ROWS_REFUSED", "same columns"):
        table.append([{"id": 1}, {"id": 2, "v": "x"}])
    with refused("LOCAL_ROWS_REFUSED", "they are int, not"):
        table.append(3)
    with refused("UNRESOLVED_COLUMN.WITH_SUGGESTION"):
        table.to_arrow(["w"])
    with refused("UNRESOLVED_COLUMN.WITH_SUGGESTION"):
        table.to_arrow(where="w = 1")
    with refused("PARSE_SYNTAX_ERROR"):
        table.to_arrow(where="id = ")
    assert table.append([]) == 0


def test_versions(table: LocalTable) -> None:
    table.append([{"id": 1, "v": "a"}])
    first = table.metadata("snapshots").column("snapshot_id")[0].as_py()
    moment = table.metadata("snapshots").column("committed_at")[0].as_py()
    table.upsert([{"id": 1, "v": "b"}, {"id": 2, "v": "c"}])
    assert rows_of(table, snapshot=first) == [(1, "a")]
    assert rows_of(table, as_of=moment) == [(1, "a")]
    assert rows_of(table) == [(1, "b"), (2, "c")]
    told = table.changes(first).select(["id", "v", "_change_type"]).to_pylist()
    assert sorted((row["id"], row["v"], row["_change_type"]) for row in told) == [
        (1, "a", "UPDATE_BEFORE"),
        (1, "b", "UPDATE_AFTER"),
        (2, "c", "INSERT"),
    ]
    assert table.changes(net=True).num_rows == 2
    with refused("SNAPSHOT_NOT_FOUND"):
        table.to_arrow(snapshot=7)
    with refused("TIME_TRAVEL_TWICE"):
        table.to_arrow(snapshot=first, as_of=moment)
    with refused("LOCAL_TIME_WITHOUT_ZONE"):
        table.to_arrow(as_of=datetime(2024, 1, 1))


def test_changes_of_lists_and_structs(tmp_path: Path) -> None:
    table = created(open_lake(tmp_path), "id INT, tags ARRAY<INT>, s STRUCT<a: ARRAY<STRING>>, PRIMARY KEY (id)")
    table.append([{"id": 1, "tags": [1], "s": {"a": ["x"]}}, {"id": 2, "tags": [], "s": None}])
    first = table.metadata("snapshots").column("snapshot_id")[0].as_py()
    table.upsert([{"id": 1, "tags": [1, 2], "s": {"a": ["x"]}}])
    told = table.changes(first).select(["tags", "s", "_change_type"]).to_pylist()
    assert told == [
        {"tags": [1], "s": {"a": ["x"]}, "_change_type": "UPDATE_BEFORE"},
        {"tags": [1, 2], "s": {"a": ["x"]}, "_change_type": "UPDATE_AFTER"},
    ]


def test_a_batch_runs_once(table: LocalTable) -> None:
    assert table.append([{"id": 1, "v": "a"}], batch=("app", 7)) == 1
    assert table.append([{"id": 1, "v": "a"}], batch=("app", 7)) == 0
    assert table.append([{"id": 9, "v": "a"}], batch=("app", 6)) == 0
    assert table.delete(where="id = 44", batch=("app", 8)) == 0
    assert table.upsert([{"id": 2, "v": "b"}], batch=("app", 8)).row()[0] == 0
    assert table.upsert([{"id": 2, "v": "b"}], batch=("app", 9)).inserted == 1
    assert rows_of(table) == [(1, "a"), (2, "b")]
    with refused("INVALID_WRITE_OPTION", "('app', -1)"):
        table.append([{"id": 1, "v": "a"}], batch=("app", -1))


def test_keys_of_many_kinds(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    columns = "`a.b` STRING, d DATE, v INT, PRIMARY KEY (`a.b`, d)"
    table = created(lake, columns, name="db.`dotted.name`")
    day = date(2024, 1, 31)
    table.upsert([{"a.b": "x", "d": day, "v": 1}, {"a.b": "y", "d": day, "v": 2}])
    assert table.upsert([{"A.B": "x", "d": day, "v": 3}]).updated == 1
    assert table.delete([{"d": day, "a.b": "y"}, {"d": day, "a.b": "absent"}]) == 1
    assert rows_of(lake.table("db.`dotted.name`"), where="`a.b` = 'x' AND d = DATE '2024-01-31'") == [("x", day, 3)]
    with refused("LOCAL_ROWS_REFUSED", "no column v"):
        table.delete([{"d": day, "a.b": "y", "v": 1}])
    with refused("NULL_IN_REQUIRED_COLUMN"):
        table.delete([{"d": None, "a.b": "y"}])
    with refused("DUPLICATE_KEY"):
        table.upsert([{"a.b": "x", "d": day, "v": 3}] * 2)
    plain = created(lake, "v INT", name="db.plain")
    with refused("UPSERT_WITHOUT_KEY"):
        plain.upsert([{"v": 1}])
    with refused("UPSERT_WITHOUT_KEY"):
        plain.delete([{"v": 1}])


def test_checks_that_are_not_tested_here_are_refused(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    with refused("LOCAL_NEEDS_SPARK", "CHECK"):
        created(lake, "v STRING, CHECK (v RLIKE 'a+')")
    table = created(lake, "v STRING", {"sqlext.check.c": "v RLIKE ''a+''".replace("''", "\\'")})
    with refused("LOCAL_NEEDS_SPARK", "constraint c"):
        table.append([{"v": "a"}])
    assert table.to_arrow().num_rows == 0


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    properties = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    created(lake, "id BIGINT, n INT, PRIMARY KEY (id)", {**properties, "write.conflict.max-reruns": "100"})
    failures: list[BaseException] = []

    def work(writer: int) -> None:
        try:
            table = open_lake(tmp_path).table("db.t")
            for number in range(5):
                table.append([{"id": 100 * writer + number, "n": 1}, {"id": 7, "n": number}])
                table.delete(where=f"id = {100 * writer + number - 1}")
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(writer,)) for writer in (1, 2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failures
    assert rows_of(lake.table("db.t")) == [(104, 1), (204, 1), (304, 1), (7, 30)]


def test_a_table_that_looks_after_itself_stays_compact(tmp_path: Path) -> None:
    lake = sqlext.local.open(tmp_path / "warehouse")
    assert isinstance(lake, sqlext.local.LocalCatalog)
    lake.create_namespace("db")
    table = created(lake, _KEYED, {"bucket": "2", "num-sorted-run.compaction-trigger": "3"})
    for number in range(12):
        table.upsert([{"id": id, "v": str(number)} for id in range(number, number + 3)])
    assert len(rows_of(table)) == 14
    operations = table.metadata("snapshots").column("operation").to_pylist()
    assert "replace" in operations
    assert table.metadata("files").num_rows < 12


def test_the_input_is_the_changelog(tmp_path: Path) -> None:
    table = created(open_lake(tmp_path), _KEYED, {"changelog-producer": "input"})
    table.upsert([{"id": 1, "v": "a", "_row_kind": "+I"}, {"id": 2, "v": "b", "_row_kind": "-D"}])
    table.upsert([{"id": 1, "v": "c"}])
    told = [(row["_change_type"], row["id"], row["v"]) for row in table.changes().to_pylist()]
    assert told == [("INSERT", 1, "a"), ("DELETE", 2, "b"), ("INSERT", 1, "c")]
    with refused("INVALID_ROW_KIND"):
        table.upsert([{"id": 1, "v": "c", "_row_kind": "?"}])
    kept = [one for one in (tmp_path / "warehouse").rglob("*") if "changelog" in str(one) and one.is_file()]
    assert rows_of(table) == [(1, "c")]
    assert len(table.changes()) == 3, kept


def test_the_folder_of_a_table(tmp_path: Path, table: LocalTable) -> None:
    table.append([{"id": 1, "v": "a"}])
    again = sqlext.local.open(tmp_path / "warehouse" / "db" / "t")
    assert isinstance(again, LocalTable)
    again.append([{"id": 2, "v": "b"}])
    assert rows_of(table) == [(1, "a"), (2, "b")]
    assert table.key == ("id",)
    assert table.schema.names == ["id", "v"]


def test_tables_of_a_database_are_read_by_folder_and_written_by_name(tmp_path: Path) -> None:
    lake = sqlext.local.open(f"sqlite:{tmp_path / 'catalog.db'}", {"warehouse": str(tmp_path / "files")})
    assert isinstance(lake, sqlext.local.LocalCatalog)
    lake.create_namespace("db")
    table = created(lake, _KEYED)
    table.append([{"id": 1, "v": "a"}])
    assert lake.tables("db") == ["db.t"]
    assert lake.namespaces() == ["db"]
    folder = next((tmp_path / "files").rglob("metadata")).parent
    found = sqlext.local.open(folder)
    assert isinstance(found, LocalTable)
    assert rows_of(found) == [(1, "a")]
    assert found.changes().column("id").to_pylist() == [1]
    with refused("PATH_TABLE_READ_ONLY"):
        found.append([{"id": 2, "v": "b"}])
    lake.drop_table("db.t")
    with refused("TABLE_OR_VIEW_NOT_FOUND"):
        lake.table("db.t")


def test_branches(table: LocalTable, tmp_path: Path) -> None:
    table.append([{"id": 1, "v": "a"}])
    with refused("REFERENCE_NOT_FOUND"):
        table.branch("audit").to_arrow()
    with refused("TABLE_OR_VIEW_NOT_FOUND"):
        open_lake(tmp_path).table("db.absent")


def test_what_only_a_join_reads_is_refused(table: LocalTable) -> None:
    table.append([{"id": 1, "v": "a"}])
    with refused("LOCAL_NEEDS_SPARK", "RLIKE"):
        table.delete(where="v RLIKE 'a'")
    with refused("LOCAL_NEEDS_SPARK", "backslash"):
        table.to_arrow(where="v = 'a\\n'")
    with refused("LOCAL_NEEDS_SPARK"):
        table.to_arrow(where="id = '1'")
    with refused("LOCAL_NEEDS_SPARK"):
        table.to_arrow(where="id IN (SELECT 1)")


def test_columns_of_an_arrow_schema(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    schema = pa.schema(
        [pa.field("id", pa.int64()), pa.field("at", pa.timestamp("us", "UTC")), pa.field("x", pa.list_(pa.float32()))]
    )
    table = lake.create_table(
        "db.made", schema, primary_key=["id"], partitioned_by=["bucket(4, id)"], properties={"format-version": "3"}
    )
    table.upsert([{"id": 1, "at": datetime(2024, 1, 1, tzinfo=timezone.utc), "x": [0.5]}])
    assert table.key == ("id",)
    assert table.to_arrow().num_rows == 1
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
        lake.create_table("db.made", schema)


def test_uuids_in_key_and_condition(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    schema = Schema((NestedField(1, "u", UuidType(), required=True), NestedField(2, "n", LongType())), 0, (1,))
    catalog = WarehouseCatalog("local", str(tmp_path / "warehouse"), LocalFileIO())
    name = TableIdentifier(("db",), "t")
    action = CreateTable(
        schema=schema,
        spec=UNPARTITIONED,
        sort_order=UNSORTED,
        properties={},
        format_version=2,
        location=catalog.default_table_location(name),
    )
    commit(catalog, name, action, base=None, clock=lambda: 1_700_000_000_000, rng=random.Random(1))
    table = lake.table("db.t")
    one, other = UUID(int=1), UUID(int=2**127)
    table.upsert([{"u": one, "n": 1}, {"u": other, "n": 2}])
    assert table.upsert(pa.table({"u": [str(one)], "n": [3]})).updated == 1
    assert table.upsert(pa.table({"u": pa.array([other.bytes], pa.uuid()), "n": [4]})).updated == 1
    assert table.schema.field("u").type == pa.uuid()
    assert rows_of(table, where=f"u = '{one}'") == [(one, 3)]
    assert rows_of(table, where=f"u > '{one}'") == [(other, 4)]
    assert table.delete([{"u": one}]) == 1
    with refused("LOCAL_NEEDS_SPARK", "canonical"):
        table.to_arrow(where=f"u = '{str(one).upper()}x'")
    assert table.changes().num_rows == 7
