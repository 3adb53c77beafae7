"""CALL rewrite_data_files on tables of small files, of deleted rows, and of unsorted rows.

The tables are made by sqlext's writer and commits without Spark, and are the same for every system.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, least
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.loop.transaction import commit
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.delete_writer import write_position_deletes
from sqlext.write.write_plan import WritePlan

SMALL_FILES, SMALL_ROWS = 1_000, 2_000
LARGE_FILES, LARGE_ROWS = 8, 7_500_000
SMALL, DELETED, SORTED = f"{SMALL_FILES:,} small files", "1 GB, 20 % of the rows deleted", "1 GB, sorted"
_COLUMNS = "id bigint, customer int, price decimal(12,2), day date, comment string"
_WORDS = 997


def data_file_rewrites(bench: Bench) -> Iterator[Result]:
    """Each call has a table of its own, after calls on a small one."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    for number in range(3):
        _table(bench, f"warm_up_{number}", 20, 1_000, deleted=0.2)
        order = ", sort_order => 'customer, id'" if number == 2 else ""
        bench.cost(f"CALL lake.system.rewrite_data_files(table => 'bench.warm_up_{number}'{order})")
    for case, files, rows, deleted, arguments in (
        (SMALL, SMALL_FILES, SMALL_ROWS, 0.0, ""),
        (DELETED, LARGE_FILES, LARGE_ROWS, 0.2, ", options => map('rewrite-all', 'true')"),
        (SORTED, LARGE_FILES, LARGE_ROWS, 0.0, ", sort_order => 'customer, id', options => map('rewrite-all', 'true')"),
    ):
        if bench.modes and not any(mode in case for mode in bench.modes):
            continue
        costs: list[Cost] = []
        for number in range(bench.repeats):
            name = f"rewritten_{number}"
            _table(bench, name, files, rows if case == SMALL else int(rows * bench.scale), deleted)
            costs.append(bench.cost(f"CALL lake.system.rewrite_data_files(table => 'bench.{name}'{arguments})"))
        check = bench.answer(f"SELECT count(*), sum(id), max(comment) FROM {bench.table(name)}")
        yield Result("rewrites", case, bench.system.name, "", least(costs), check)
        for number in range(bench.repeats):
            bench.spark.sql(f"DROP TABLE {bench.table(f'rewritten_{number}')} PURGE")


def _table(bench: Bench, name: str, files: int, rows: int, deleted: float) -> None:
    bench.recreate(name, _COLUMNS, "")
    warehouse = bench.spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    io, identifier, rng = LocalFileIO(), TableIdentifier(("bench",), name), random.Random(name)
    catalog = WarehouseCatalog("lake", warehouse, io)
    table = catalog.load_table(identifier)
    plan = WritePlan.from_metadata(table.metadata, "made", name)
    made, numbers = [], np.random.default_rng(7)
    for number in range(files):
        writer = DataWriter(io, plan, number, 0)
        for start in range(0, rows, 200_000):
            writer.write(_rows(numbers, number * rows + start, min(200_000, rows - start)))
        made += writer.close()
    table = commit(catalog, identifier, AppendFiles(made), base=table, clock=_now_ms, rng=rng).table
    if deleted:
        positions = {file.file_path: _some(numbers, file.record_count, deleted) for file in made}
        of_files = {file.file_path: (file.spec_id, file.partition) for file in made}
        marks = write_position_deletes(io, plan, positions, of_files)
        delta = RowDelta((), marks, isolation="snapshot")
        commit(catalog, identifier, delta, base=table, clock=_now_ms, rng=rng)
    bench.spark.sql(f"REFRESH TABLE {bench.table(name)}")


def _rows(numbers: np.random.Generator, first: int, count: int) -> pa.RecordBatch:
    words = pa.array([f"word{number}" for number in range(_WORDS)])
    comment = [words.take(pa.array(numbers.integers(0, _WORDS, count))) for _ in range(3)]
    cents = pa.array(numbers.integers(100, 10_000_000, count))
    columns = [
        pa.array(np.arange(first, first + count)),
        pa.array(numbers.integers(0, 1_000_000, count).astype(np.int32)),
        cents,
        pa.array(numbers.integers(8_000, 10_500, count).astype(np.int32)).cast(pa.date32()),
        pc.binary_join_element_wise(*comment, " "),
    ]
    return pa.RecordBatch.from_arrays(columns, ["id", "customer", "price", "day", "comment"])


def _some(numbers: np.random.Generator, count: int, share: float) -> BitMap64:
    return BitMap64(np.flatnonzero(numbers.random(count) < share).astype(np.uint64))


def _now_ms() -> int:
    return int(time.time() * 1000)
