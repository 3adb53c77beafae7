"""Many small upserts into keyed tables: what a table that looks after itself costs, and how it is afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from urllib.parse import urlparse

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, measured, middle

ROWS, UPSERTED = 200_000, 10
CARED_FOR, SHORT_HISTORY, WRITE_ONLY = "looks after itself", "with a minute of history", "write-only"
MODES: Mapping[str, Mapping[str, str]] = {
    CARED_FOR: {},
    SHORT_HISTORY: {"history.expire.max-snapshot-age-ms": "60000"},
    WRITE_ONLY: {"write-only": "true"},
}
# By default the snapshots of five days are kept, so that only a shorter history tells what expiry does.
RUNS = {1_000: (CARED_FOR, WRITE_ONLY), 10_000: (SHORT_HISTORY,)}
_SCAN = "SELECT count(*), sum(id), sum(amount % 1000), max(name) FROM {table}"
# The upserts at each end that are compared.
_COMPARED = 50
_WARM_UP = 20


def care(bench: Bench) -> Iterator[Result]:
    """The upserts of one table after the other, and what each table is like afterwards."""
    if bench.system.name != "sqlext":
        return
    for count, modes in RUNS.items():
        for mode, properties in bench.chosen(MODES).items():
            if mode in modes:
                yield from _upserts(bench, count, mode, properties)


def case(count: int, what: str) -> str:
    """The name of a result."""
    return f"{count:,} upserts: {what}"


def _upserts(bench: Bench, count: int, mode: str, properties: Mapping[str, str]) -> Iterator[Result]:
    table, clean = (bench.table(f"cared_{name}") for name in ("for", "clean"))
    _make(bench, table, properties)
    for number in range(_WARM_UP):
        _upsert(bench, table, number)
    _make(bench, table, properties)
    seconds = list[float]()
    whole = measured(lambda: seconds.extend(_seconds(bench, table, number) for number in range(count)))
    _make(bench, clean, {"write-only": "true"}, f"SELECT * FROM {table}")
    scans: dict[str, list[Cost]] = {table: [], clean: []}
    for _ in range(8 * bench.repeats):
        for name, costs in scans.items():
            costs.append(bench.cost(_SCAN.format(table=name)))
    check = bench.answer(_SCAN.format(table=table))
    assert check == bench.answer(_SCAN.format(table=clean)), check

    def told(what: str, cost: Cost, amount: float | None = None, unit: str = "MB") -> Result:
        return Result("care", case(count, what), bench.system.name, mode, cost, check, amount, unit)

    yield told("all", whole)
    for what, part in (("first", seconds[:_COMPARED]), ("last", seconds[-_COMPARED:])):
        yield told(what, Cost(median(part), 0))
    yield told("median", Cost(median(seconds), 0))
    yield told("beyond the median", Cost(sum(seconds) - count * median(seconds), 0))
    yield told("slowest", Cost(max(seconds), 0))
    yield told("scan", middle(scans[table][bench.repeats :]))
    yield told("scan of a clean table", middle(scans[clean][bench.repeats :]))
    data, metadata = _megabytes(bench, table)
    yield told("data", Cost(0, 0), data)
    yield told("metadata", Cost(0, 0), metadata)
    # A million files take no megabyte, so the number of files is told as if it were one.
    files = bench.answer(f"SELECT count(*) FROM {table}.files")[0][0]
    yield told("live files", Cost(0, 0), float(files), "files")


def _make(bench: Bench, table: str, properties: Mapping[str, str], rows: str | None = None) -> None:
    bench.spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    columns = "id bigint, name string, amount bigint"
    bench.spark.sql(bench.system.create_table(table.rpartition(".")[2], columns, properties, key="id"))
    # Hashes, as data that can hardly be compressed.
    made = f"SELECT id, sha2(cast(id AS string), 256), xxhash64(id) FROM range({ROWS})"
    bench.spark.sql(f"INSERT INTO {table} {rows or made}")


def _upsert(bench: Bench, table: str, number: int) -> None:
    """Of ten rows, one of which is new."""
    first = number * 7919 % ROWS
    known = ROWS + number
    keys = [*((first + 1_000 * place) % known for place in range(UPSERTED - 1)), known]
    values = ", ".join(f"({key}, 'upsert {number}', {number})" for key in keys)
    bench.spark.sql(f"UPSERT INTO {table} VALUES {values}")


def _seconds(bench: Bench, table: str, number: int) -> float:
    begun = time.monotonic()
    _upsert(bench, table, number)
    return time.monotonic() - begun


def _megabytes(bench: Bench, table: str) -> tuple[float, float]:
    """Of live data files, and of all that is in the metadata folder."""
    live = bench.answer(f"SELECT sum(file_size_in_bytes) FROM {table}.data_files")[0][0]
    newest = bench.answer(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1")[0][0]
    folder = Path(urlparse(newest).path).parent
    return int(live) / 1e6, sum(file.stat().st_size for file in folder.iterdir()) / 1e6
