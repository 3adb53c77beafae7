"""Many small commits: single rows by SQL, one after the other and by many threads, and appends of files without SQL."""

from __future__ import annotations

import itertools
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.errors import PySparkException

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, ProcessTree, measured, middle
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.loop.transaction import commit
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.storage.file_io import LocalFileIO

INSERTS = 200
ENDS = 20
THREADS, EACH = 8, 10
APPENDERS = 64
SECONDS = 60
COLUMNS = "id bigint, name string, amount double"
GROUPED = "group commit"

_GAVE_UP = (PySparkException, Py4JError)
# Of its own it tries four times, and most of many writers would give up.
_PATIENT = {"iceberg": {"commit.retry.num-retries": "1000"}}
_RECORD_COUNT, _FILE_BYTES = 1, 900


def one_row_inserts(bench: Bench) -> Iterator[Result]:
    """INSERT of one row of literals, 200 times into one table: the median of all, and of the first and last 20."""
    for mode, table in _tables(bench):
        _warm_up(bench, table)
        costs = [bench.cost(_insert(table, number)) for number in range(INSERTS)]
        check = bench.answer(f"SELECT count(*), sum(id) FROM {table}")
        yield Result("one_row_inserts", "all", bench.system.name, mode, middle(costs), check)
        yield Result("one_row_inserts", "first", bench.system.name, mode, middle(costs[:ENDS]), "")
        yield Result("one_row_inserts", "last", bench.system.name, mode, middle(costs[-ENDS:]), "")
    if bench.system.name == "sqlext":
        yield from _pyiceberg_appends()


def _pyiceberg_appends() -> Iterator[Result]:
    """The same rows by PyIceberg, whose catalog is in SQLite."""
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.float64())])
    with tempfile.TemporaryDirectory() as folder:
        catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", schema)
        costs = []
        for number in range(INSERTS):
            row = pa.table({"id": [number], "name": [f"row {number}"], "amount": [number / 2]}, schema=schema)
            costs.append(measured(lambda row=row: table.append(row)))  # type: ignore[misc]
    for case, part in (("all", costs), ("first", costs[:ENDS]), ("last", costs[-ENDS:])):
        yield Result("one_row_inserts", f"{case}, PyIceberg", "pyiceberg", "append", middle(part), "")


def threads_insert(bench: Bench) -> Iterator[Result]:
    """Eight threads with ten INSERTs of one row each: the time until all have landed."""
    for mode, table in _tables(bench):
        _warm_up(bench, table)
        failures: list[str] = []

        def write(thread: int, table: str = table, failures: list[str] = failures) -> None:
            for number in range(EACH):
                try:
                    bench.spark.sql(_insert(table, thread * EACH + number)).collect()
                except _GAVE_UP as error:
                    failures.append(str(error).partition("\n")[0])

        cost = measured(lambda write=write: _in_threads(THREADS, write))  # type: ignore[misc]
        rows = bench.answer(f"SELECT count(*), sum(id) FROM {table}")
        told = mode if not failures else f"{mode}, {len(failures)} gave up"
        yield Result("threads_insert", f"{THREADS} x {EACH}", bench.system.name, told, cost, rows)


def appenders(bench: Bench) -> Iterator[Result]:
    """64 threads that INSERT rows for a minute: what one takes, by the median and at the worst."""
    for mode, table in _tables(bench):
        _warm_up(bench, table)
        numbers, seconds, failures = itertools.count(), list[float](), list[str]()
        end = time.monotonic() + SECONDS

        def write(
            thread: int,
            end: float = end,
            table: str = table,
            numbers: Iterator[int] = numbers,
            seconds: list[float] = seconds,
            failures: list[str] = failures,
        ) -> None:
            while (begun := time.monotonic()) < end:
                try:
                    bench.spark.sql(_insert(table, next(numbers))).collect()
                    seconds.append(time.monotonic() - begun)
                except _GAVE_UP as error:
                    failures.append(str(error).partition("\n")[0])

        cost = measured(lambda write=write: _in_threads(APPENDERS, write))  # type: ignore[misc]
        rows = int(bench.answer(f"SELECT count(*) FROM {table}")[0][0])
        lost = "" if rows == len(seconds) else f", {rows} ROWS"
        told = f"{mode}: {len(seconds)} landed, {len(failures)} gave up{lost}"
        each = cost.cpu / max(1, len(seconds))
        for case, wall in (("median", median(seconds)), ("slowest", max(seconds))):
            yield Result(
                "appenders", f"{APPENDERS} for a minute, {case}", bench.system.name, mode, Cost(wall, each), ""
            )
        yield Result("appenders", f"{APPENDERS} for a minute", bench.system.name, told, cost, "")


def file_appends(bench: Bench) -> Iterator[Result]:
    """Appends of one file that was written before, without SQL: seconds for each, one after the other and in groups."""
    table = _recreated(bench, bench.table("small"))
    if bench.system.name == "iceberg":
        yield Result("file_appends", "one writer", "iceberg", "Java", _iceberg_appends(bench, table), "")
    if bench.system.name == "sqlext":
        yield Result("file_appends", "one writer", "sqlext", "", _sequential_appends(bench, table), "")
        table = _recreated(bench, table)
        yield Result("file_appends", f"{APPENDERS} writers", "sqlext", GROUPED, _grouped_appends(bench, table), "")


def _iceberg_appends(bench: Bench, name: str) -> Cost:
    java = bench.spark._jvm  # what Iceberg's own writers call when their files are written
    assert java is not None
    loaded = java.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(bench.spark._jsparkSession, name)
    location = loaded.location()

    def append(number: int) -> None:
        file = (
            java.org.apache.iceberg.DataFiles.builder(loaded.spec())
            .withPath(f"{location}/data/{number}.parquet")
            .withFormat("parquet")
            .withRecordCount(_RECORD_COUNT)
            .withFileSizeInBytes(_FILE_BYTES)
            .build()
        )
        loaded.newAppend().appendFile(file).commit()

    return _each(append)


def _each(append: Callable[[int], object]) -> Cost:
    for number in range(ENDS):
        append(INSERTS + number)
    cost = measured(lambda: [append(number) for number in range(INSERTS)])
    return Cost(cost.wall / INSERTS, cost.cpu / INSERTS)


def _sequential_appends(bench: Bench, name: str) -> Cost:
    catalog, identifier = _catalog(bench, name)
    rng, table = random.Random(1), [catalog.load_table(identifier)]

    def append(number: int) -> None:
        action = AppendFiles([_file(table[0].metadata.location, str(number))])
        table[0] = commit(catalog, identifier, action, base=table[0], clock=_now_ms, rng=rng).table

    return _each(append)


def _grouped_appends(bench: Bench, name: str) -> Cost:
    """Each writer appends one file after the other, with nothing to do in between."""
    catalog, identifier = _catalog(bench, name)
    committer = GroupCommitter(catalog, clock=_now_ms, rng=random.Random(1))
    first = catalog.load_table(identifier)
    end, landed = time.monotonic() + SECONDS / 3, [0] * APPENDERS

    def write(writer: int) -> None:
        table = first
        while time.monotonic() < end:
            file = _file(first.metadata.location, f"{writer}-{landed[writer]}")
            table = committer.commit(identifier, AppendFiles([file]), base=table).table
            landed[writer] += 1

    tree, begun = ProcessTree(), time.monotonic()
    before = tree.sample()
    _in_threads(APPENDERS, write)
    wall, cpu = time.monotonic() - begun, tree.sample() - before
    commits = sum(landed)
    snapshot = catalog.load_table(identifier).metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary["total-data-files"] == str(commits)
    return Cost(wall / commits, cpu / commits)


def _file(location: str, name: str) -> ContentFile:
    return ContentFile(Content.DATA, f"{location}/data/{name}.parquet", "PARQUET", 0, (), _RECORD_COUNT, _FILE_BYTES)


def _catalog(bench: Bench, name: str) -> tuple[WarehouseCatalog, TableIdentifier]:
    _, *namespace, table = name.split(".")
    warehouse = bench.spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    return WarehouseCatalog("lake", warehouse, LocalFileIO()), TableIdentifier(tuple(namespace), table)


def _tables(bench: Bench) -> Iterator[tuple[str, str]]:
    """An empty table for each way that the system has, with the way's name."""
    yield "", _recreated(bench, bench.table("small"))
    if bench.system.name == "sqlext":
        conf, warehouse = bench.spark.conf, bench.spark.conf.get("spark.sql.catalog.lake.warehouse")
        settings: Mapping[str, Any] = {"": "io.sqlext.Catalog", ".warehouse": warehouse, ".group-commit": "process"}
        for name, value in settings.items():
            conf.set(f"spark.sql.catalog.together{name}", value)
        yield GROUPED, _recreated(bench, bench.table("small").replace("lake.", "together."))


def _recreated(bench: Bench, table: str) -> str:
    bench.spark.sql(f"DROP TABLE IF EXISTS {table}")
    properties = ", ".join(f"'{name}'='{value}'" for name, value in _PATIENT.get(bench.system.name, {}).items())
    with_properties = f" TBLPROPERTIES ({properties})" if properties else ""
    bench.spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING {bench.system.provider}{with_properties}")
    return table


def _warm_up(bench: Bench, table: str) -> None:
    """In another table, as the JVM is slow at first."""
    other = f"{table}_warm"
    _recreated(bench, other)
    for number in range(ENDS):
        bench.spark.sql(_insert(other, number)).collect()
    bench.spark.sql(f"DROP TABLE {other}")


def _insert(table: str, number: int) -> str:
    return f"INSERT INTO {table} VALUES ({number}, 'row {number}', {number / 2}D)"


def _in_threads(count: int, write: Callable[[int], None]) -> None:
    together = threading.Barrier(count)

    def begin(number: int) -> None:
        together.wait()
        write(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(begin, range(count)))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


SMALL_COMMITS: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "one_row_inserts": one_row_inserts,
    "threads_insert": threads_insert,
    "appenders": appenders,
    "file_appends": file_appends,
}
