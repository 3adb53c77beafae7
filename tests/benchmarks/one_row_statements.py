"""Statements that change one row of orders, found by its key: by SQL, by `sqlext.local` and by deltalake."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import sqlext.local
from benchmarks.bench import Bench, Result
from benchmarks.data import tpch_table
from benchmarks.measure import Cost, measured, middle

SUITE = "one_row_statements"
_WARM_UP, _ROUNDS = 20, 10
_NEW_KEYS = 100_000_000
# The generator's keys are the first eight of each 32; a round has some of them for itself.
_APART = 3_200
_INSERT, _UPSERT, _UPDATE, _DELETE = "INSERT", "UPSERT", "UPDATE", "DELETE"
_MERGE, _ON_CONFLICT = "MERGE", "INSERT … ON CONFLICT DO UPDATE"
_KEY = "o_orderkey"
# Rows of the statements that only one system has are left out.
_STATE = (
    f"SELECT count(*), sum(o_totalprice), max(o_orderkey) FROM {{table}} WHERE pmod(o_orderkey, {_APART}) NOT IN (4, 5)"
)

Change = Callable[[int], object]
"""One statement, for the round of a number."""


def one_row_statements(bench: Bench) -> Iterator[Result]:
    """Medians of ten rounds for each repeat, after twenty of warm-up; a round has each statement once."""
    source = tpch_table(bench.data, bench.scale, "orders")
    bench.view(source, "source")
    table = bench.table(SUITE)
    for mode in bench.chosen(bench.system.change_modes):
        bench.recreate(SUITE, bench.columns(source), mode, key=_KEY)
        bench.spark.sql(f"INSERT INTO {table} SELECT * FROM source")
        costs = _in_turns(_statements(bench, table), bench.repeats)
        check = bench.answer(_STATE.format(table=table))
        for case, cost in costs.items():
            yield Result(SUITE, case, bench.system.name, mode, cost, check if case == _INSERT else "")
        bench.spark.sql(f"DROP TABLE {table}")
    if bench.system.name == "sqlext":
        for library, changes in _LIBRARIES.items():
            if importlib.util.find_spec(library.partition(".")[0]) is not None:
                with tempfile.TemporaryDirectory() as folder:
                    found = _in_turns(changes(Path(folder), pq.read_table(source)), bench.repeats)
                for case, cost in found.items():
                    yield Result(SUITE, f"{case}, {library}", "sqlext", library, cost, "")


def _in_turns(changes: Mapping[str, Change], repeats: int) -> Mapping[str, Cost]:
    costs: dict[str, list[Cost]] = {case: [] for case in changes}
    for number in range(_WARM_UP + _ROUNDS * repeats):
        for case, change in changes.items():
            costs[case].append(measured(partial(change, number)))
    return {case: middle(cost[_WARM_UP:]) for case, cost in costs.items()}


def _statements(bench: Bench, table: str) -> Mapping[str, Change]:
    fields = bench.spark.table("source").schema.fields
    first = bench.spark.sql(f"SELECT * FROM source ORDER BY {_KEY} LIMIT 1").collect()[0]

    def values(key: int) -> Sequence[str]:
        told = zip(fields, [key, *first[1:]], strict=True)
        return [f"CAST('{value}' AS {field.dataType.simpleString()})" for field, value in told]

    def row(key: int) -> str:
        return ", ".join(values(key))

    def named(key: int) -> str:
        return ", ".join(f"{value} AS {field.name}" for field, value in zip(fields, values(key), strict=True))

    def merge(key: int) -> str:
        return (
            f"MERGE INTO {table} AS t USING (SELECT {named(key)}) AS s ON t.{_KEY} = s.{_KEY}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    changes: dict[str, Callable[[int], str]] = {
        _INSERT: lambda number: f"INSERT INTO {table} VALUES ({row(_NEW_KEYS + number)})",
        _UPDATE: lambda number: f"UPDATE {table} SET o_totalprice = o_totalprice + 1 WHERE {_KEY} = {_key(number, 1)}",
        _DELETE: lambda number: f"DELETE FROM {table} WHERE {_KEY} = {_key(number, 2)}",
        _MERGE: lambda number: merge(_key(number, 3)),
    }
    if bench.system.name == "sqlext":
        changes |= {
            _UPSERT: lambda number: f"UPSERT INTO {table} VALUES ({row(_key(number, 4))})",
            _ON_CONFLICT: lambda number: (
                f"INSERT INTO {table} VALUES ({row(_key(number, 5))}) ON CONFLICT ({_KEY})"
                " DO UPDATE SET o_totalprice = excluded.o_totalprice"
            ),
        }
    return {case: partial(_run, bench, text) for case, text in changes.items()}


def _run(bench: Bench, text: Callable[[int], str], number: int) -> object:
    return bench.spark.sql(text(number)).collect()


def _key(number: int, place: int) -> int:
    return _APART * (number + 1) + place


def _by_local(folder: Path, stored: pa.Table) -> Mapping[str, Change]:
    lake = sqlext.local.open(folder)
    assert isinstance(lake, sqlext.local.LocalCatalog)
    lake.create_namespace("db")
    types = ", ".join(f"{field.name} {_sql_type(field.type)}" for field in stored.schema)
    table = lake.create_table(f"CREATE TABLE db.t ({types}, PRIMARY KEY ({_KEY}) NOT ENFORCED)")
    table.append(stored)
    return {
        _INSERT: lambda number: table.append(_row(stored, _NEW_KEYS + number)),
        _DELETE: lambda number: table.delete(where=f"{_KEY} = {_key(number, 2)}"),
        _UPSERT: lambda number: table.upsert(_row(stored, _key(number, 4))),
    }


def _by_deltalake(folder: Path, stored: pa.Table) -> Mapping[str, Change]:
    from deltalake import DeltaTable, write_deltalake

    path = str(folder / "t")
    write_deltalake(path, stored)

    def merge(number: int) -> object:
        row = _row(stored, _key(number, 4))
        merger = DeltaTable(path).merge(row, f"t.{_KEY} = s.{_KEY}", source_alias="s", target_alias="t")
        return merger.when_matched_update_all().when_not_matched_insert_all().execute()

    return {
        _INSERT: lambda number: write_deltalake(path, _row(stored, _NEW_KEYS + number), mode="append"),
        _UPDATE: lambda number: DeltaTable(path).update(
            updates={"o_totalprice": "o_totalprice + 1"}, predicate=f"{_KEY} = {_key(number, 1)}"
        ),
        _DELETE: lambda number: DeltaTable(path).delete(f"{_KEY} = {_key(number, 2)}"),
        _UPSERT: merge,
    }


def _row(stored: pa.Table, key: int) -> pa.Table:
    first = stored.slice(0, 1)
    at, field = stored.schema.get_field_index(_KEY), stored.schema.field(_KEY)
    return first.set_column(at, field, pa.chunked_array([pa.array([key], field.type)]))


def _sql_type(type: pa.DataType) -> str:
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision}, {type.scale})"
    names = {
        pa.int64(): "BIGINT",
        pa.int32(): "INT",
        pa.string(): "STRING",
        pa.string_view(): "STRING",
        pa.date32(): "DATE",
    }
    return names[type]


_LIBRARIES: Mapping[str, Callable[[Path, pa.Table], Mapping[str, Change]]] = {
    "sqlext.local": _by_local,
    "deltalake": _by_deltalake,
}
