"""Tables changed by one process without Spark: `sqlext.local` beside PyIceberg and deltalake, on a local folder.

Each library works in a process of its own; one that is not installed is left out: `pip install deltalake`.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sqlext.local
from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, least, middle

ROWS, CHANGED, NEW = 1_000_000, 100_000, 10_000
APPENDS = 100
UPSERT, MEMORY, APPEND = "upsert of 100,000 keys into 1 M rows", "peak memory of that process", "append of one row"
LOCAL, PYICEBERG, DELTALAKE = "sqlext.local", "PyIceberg", "deltalake"
_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.float64())])


def without_spark(bench: Bench) -> Iterator[Result]:
    """Seconds of an upsert and its process's memory, and of one of many appends of a row."""
    if bench.system.name != "sqlext":
        return
    for case, works in _WORKS.items():
        for library, work in works.items():
            if importlib.util.find_spec(library.partition(".")[0].lower()) is None:
                continue
            runs = [_in_process(work) for _ in range(bench.repeats)]
            cost = least([found[0] for found, _ in runs])
            yield Result("without_spark", case, "sqlext", library, cost, runs[0][0][1])
            if case == UPSERT:
                memory = min(peak for _, peak in runs) / 2**20
                yield Result("without_spark", MEMORY, "sqlext", library, Cost(0, 0), None, memory)


def _in_process(work: Callable[[Path], tuple[Cost, Any]]) -> tuple[tuple[Cost, Any], int]:
    """What the work returns, and the peak memory in bytes, of a new process."""
    context = multiprocessing.get_context("spawn")
    told = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=_run, args=(work, folder, told))
        process.start()
        found: tuple[tuple[Cost, Any], int] = told.get()
        process.join()
    return found


def _run(work: Callable[[Path], tuple[Cost, Any]], folder: str, told: Any) -> None:
    found = work(Path(folder))
    told.put((found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def _rows(first: int, count: int, tag: str) -> pa.Table:
    ids = np.arange(first, first + count)
    np.random.default_rng(first).shuffle(ids)
    return pa.table([ids, pa.array([f"{tag} {id % 1000}" for id in ids]), ids * 0.5], schema=_SCHEMA)


def _stored() -> pa.Table:
    return _rows(0, ROWS, "stored")


def _given() -> pa.Table:
    """Of the keys nine of ten are there."""
    return _rows(ROWS - CHANGED + NEW, CHANGED, "given")


def _check(rows: pa.Table) -> list[Any]:
    given = pc.sum(pc.starts_with(rows.column("v"), "given")).as_py()
    return [rows.num_rows, given, pc.sum(rows.column("n")).as_py()]


def _timed(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def _local_table(folder: Path, key: str = ", PRIMARY KEY (id)") -> sqlext.local.LocalTable:
    lake = sqlext.local.open(folder)
    assert isinstance(lake, sqlext.local.LocalCatalog)
    lake.create_namespace("db")
    return lake.create_table(f"CREATE TABLE db.t (id BIGINT NOT NULL, v STRING, n DOUBLE{key})")


def _local_upsert(folder: Path) -> tuple[Cost, Any]:
    table = _local_table(folder)
    table.append(_stored())
    given = _given()
    cost = _timed(lambda: table.upsert(given))
    return cost, _check(table.to_arrow())


def _pyiceberg_upsert(folder: Path) -> tuple[Cost, Any]:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.schema import Schema
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType

    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("db")
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "v", StringType()),
        NestedField(3, "n", DoubleType()),
        identifier_field_ids=[1],
    )
    table = catalog.create_table("db.t", schema)
    table.append(_stored())
    given = _given()
    cost = _timed(lambda: table.upsert(given))
    return cost, _check(table.scan().to_arrow())


def _local_append(folder: Path) -> tuple[Cost, Any]:
    table = _local_table(folder, key="")
    return _appended(lambda row: table.append(row), lambda: table.to_arrow())


def _deltalake_append(folder: Path) -> tuple[Cost, Any]:
    from deltalake import DeltaTable, write_deltalake

    path = str(folder / "t")
    return _appended(
        lambda row: write_deltalake(path, row, mode="append"),
        lambda: pa.table(DeltaTable(path).to_pyarrow_table()),
    )


def _appended(append: Callable[[pa.Table], object], read: Callable[[], pa.Table]) -> tuple[Cost, Any]:
    """The median of many appends, after one that is not counted."""
    append(_rows(APPENDS, 1, "given"))
    rows = [_rows(number, 1, "given") for number in range(APPENDS)]
    return middle([_timed(partial(append, row)) for row in rows]), _check(read())


_WORKS: Mapping[str, Mapping[str, Callable[[Path], tuple[Cost, Any]]]] = {
    UPSERT: {LOCAL: _local_upsert, PYICEBERG: _pyiceberg_upsert},
    APPEND: {LOCAL: _local_append, DELTALAKE: _deltalake_append},
}
