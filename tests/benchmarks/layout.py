"""What four readers take on files of several layouts and of Iceberg's writer: full scans, a range of keys, one key.

The tables hold lineitem, in the order of its key. Iceberg's is written by INSERT; those of sqlext are written and
committed without Spark, as two tasks would, so that what is counted is the writer's alone. All are read in the session
that Iceberg's runtime has, in turns; sqlext's own reader in a session of sqlext's. Each layout is a set of properties.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.bench import Bench, Result
from benchmarks.data import plain_strings, tpch_table
from benchmarks.measure import Cost, least, measured
from benchmarks.queries import Q1, Q6
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.loop.transaction import commit
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path
from sqlext.write.data_writer import DataWriter
from sqlext.write.write_plan import WritePlan

DEFAULT = "default"
LAYOUTS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    **{f"groups of {rows:,} rows": {"row-group-limit": str(rows)} for rows in (65_536, 122_880, 524_288, 2**30)},
    **{f"pages of {rows:,} rows": {"page-row-limit": str(rows)} for rows in (2_000, 5_000, 10_000, 100_000)},
    **{f"pages of {kilobytes} KB": {"page-size-bytes": str(kilobytes * 1024)} for kilobytes in (64, 256)},
    "dictionaries of 2 MB": {"dict-size-bytes": str(2 * 2**20)},
    "zstd 3": {"compression-level": "3"},
}
ALL, RANGE, KEY = "all columns", "0.1 % of the keys", "one key"
_TIMES = {"Q1": 1, "Q6": 5, ALL: 1, RANGE: 5, KEY: 10}
_TASKS = 2
_BATCH_ROWS = 10_000
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the session, its files, and what to compare it by."""

    writer: str
    layout: str
    name: str
    files: tuple[str, ...]

    def view(self, reader: str) -> str:
        return f"{self.name.rpartition('.')[2]}_{reader.lower()}"


def layout(bench: Bench) -> Iterator[Result]:
    """Bytes and CPU seconds of each write, then what each reader takes for each question."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    source = tpch_table(bench.data, bench.scale, "lineitem")
    rows = plain_strings(pq.read_table(source))
    bench.view(source, "source")
    tables = []
    if bench.system.name == "iceberg":
        bench.recreate("lineitem_iceberg", bench.columns(source), "")
        name = bench.table("lineitem_iceberg")
        bench.spark.sql(f"INSERT INTO {name} SELECT * FROM source")
        files = [path for (path,) in bench.answer(f"SELECT file_path FROM {name}.files")]
        tables.append(_Table("iceberg", DEFAULT, name, tuple(map(to_local_path, files))))
    for number, mode in enumerate(bench.chosen(LAYOUTS)):
        costs, table = _written(bench, f"lineitem_{number}", mode, rows, bench.columns(source))
        tables.append(table)
        if bench.system.name == "iceberg":
            yield Result("layout", "write", "sqlext", mode, least(costs), "")
    for table in tables:
        size = sum(Path(file).stat().st_size for file in table.files)
        if table.writer == bench.system.name or bench.system.name == "iceberg":
            yield Result("layout", "data files", table.writer, table.layout, Cost(0, 0), "", size / 1e6)
    keys = sorted(set(rows.column("l_orderkey").to_pylist()))
    for reader, questions in _readers(bench, tables).items():
        yield from _measured(bench, reader, questions, tables, keys)


def _written(bench: Bench, name: str, mode: str, rows: pa.Table, columns: str) -> tuple[list[Cost], _Table]:
    """A table that sqlext's writer has written, and what each of several writes of its files took."""
    properties = {f"write.parquet.{key}": value for key, value in LAYOUTS[mode].items()}
    bench.spark.sql(f"DROP TABLE IF EXISTS {bench.table(name)}")
    bench.spark.sql(bench.system.create_table(name, columns, properties))
    warehouse = bench.spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    io, identifier = LocalFileIO(), TableIdentifier(("bench",), name)
    catalog = WarehouseCatalog("lake", warehouse, io)
    table = catalog.load_table(identifier)
    costs: list[Cost] = []
    files: list[ContentFile] = []
    for number in range(bench.repeats):
        for file in files:
            io.delete(file.file_path)
        plan = WritePlan.from_metadata(table.metadata, f"written{number}", name)
        wall, cpu = time.perf_counter(), time.process_time()
        files = _files(plan, rows)
        costs.append(Cost(time.perf_counter() - wall, time.process_time() - cpu))
    commit(catalog, identifier, AppendFiles(files), base=table, clock=_now_ms, rng=random.Random(name))
    bench.spark.sql(f"REFRESH TABLE {bench.table(name)}")
    paths = tuple(to_local_path(file.file_path) for file in files)
    return costs, _Table("sqlext", mode, bench.table(name), paths)


def _files(plan: WritePlan, rows: pa.Table) -> list[ContentFile]:
    each, found = -(-rows.num_rows // _TASKS), []
    for number in range(_TASKS):
        writer = DataWriter(LocalFileIO(), plan, number, 0)
        for batch in rows.slice(number * each, each).to_batches(_BATCH_ROWS):
            # As Spark sends them, with memory of their own.
            writer.write(pa.concat_batches([batch, batch.slice(0, 0)]))
        found += writer.close()
    return found


_Question = Callable[[_Table, int, int], object]


def _readers(bench: Bench, tables: Sequence[_Table]) -> Mapping[str, Mapping[str, _Question]]:
    """By reader and question: what asks it of a table, for keys from the one to the other."""
    if bench.system.name == "sqlext":
        return {"sqlext": _by_spark(bench, lambda table: table.name)}
    for table in tables:
        bench.spark.read.parquet(*table.files).createOrReplaceTempView(table.view("Spark"))
    connection = duckdb.connect()
    return {
        "Spark": _by_spark(bench, lambda table: table.view("Spark")),
        "Iceberg": _by_spark(bench, lambda table: table.name),
        "DuckDB": {case: partial(_ask_duckdb, connection, query) for case, query in _QUERIES.items()},
        "Polars": {case: partial(_ask_polars, ask) for case, ask in _OF_POLARS.items()},
    }


_QUERIES = {
    "Q1": Q1,
    "Q6": Q6,
    ALL: "SELECT * FROM {table}",
    RANGE: "SELECT * FROM {table} WHERE l_orderkey BETWEEN {first} AND {last}",
    KEY: "SELECT * FROM {table} WHERE l_orderkey = {first}",
}


def _by_spark(bench: Bench, relation: Callable[[_Table], str]) -> Mapping[str, _Question]:
    def asked(query: str, table: _Table, first: int, last: int) -> None:
        frame = bench.spark.sql(query.format(table=relation(table), first=first, last=last))
        # All columns, and no row becomes one of Python.
        frame.write.format("noop").mode("overwrite").save()

    return {case: partial(asked, query) for case, query in _QUERIES.items()}


def _ask_duckdb(connection: duckdb.DuckDBPyConnection, query: str, table: _Table, first: int, last: int) -> object:
    files = f"read_parquet({list(table.files)!r})"
    if query == _QUERIES[ALL]:
        # A result of all rows would be most of the work.
        query = "SELECT min(COLUMNS(*)) FROM {table}"
    return connection.execute(query.format(table=files, first=first, last=last)).fetch_arrow_table()


def _ask_polars(ask: Callable[[pl.LazyFrame, int, int], pl.LazyFrame], table: _Table, first: int, last: int) -> object:
    return ask(pl.scan_parquet(list(table.files), glob=False), first, last).collect()


def _q1(rows: pl.LazyFrame, first: int, last: int) -> pl.LazyFrame:
    price, discount, tax = (pl.col(f"l_{name}").cast(pl.Float64) for name in ("extendedprice", "discount", "tax"))
    quantity = pl.col("l_quantity").cast(pl.Float64)
    kept = rows.filter(pl.col("l_shipdate") <= pl.date(1998, 9, 2)).group_by("l_returnflag", "l_linestatus")
    return kept.agg(
        quantity.sum().alias("quantity"),
        price.sum().alias("price"),
        (price * (1 - discount)).sum().alias("discounted"),
        (price * (1 - discount) * (1 + tax)).sum().alias("charge"),
        discount.mean().alias("discount"),
        pl.len(),
    )


def _q6(rows: pl.LazyFrame, first: int, last: int) -> pl.LazyFrame:
    price, discount = pl.col("l_extendedprice").cast(pl.Float64), pl.col("l_discount").cast(pl.Float64)
    kept = rows.filter(
        pl.col("l_shipdate") >= pl.date(1994, 1, 1),
        pl.col("l_shipdate") < pl.date(1995, 1, 1),
        discount.is_between(0.0499, 0.0701),
        pl.col("l_quantity").cast(pl.Float64) < 24,
    )
    return kept.select((price * discount).sum())


_OF_POLARS: Mapping[str, Callable[[pl.LazyFrame, int, int], pl.LazyFrame]] = {
    "Q1": _q1,
    "Q6": _q6,
    ALL: lambda rows, first, last: rows.select(pl.all().min()),
    RANGE: lambda rows, first, last: rows.filter(pl.col("l_orderkey").is_between(first, last)),
    KEY: lambda rows, first, last: rows.filter(pl.col("l_orderkey") == first),
}


def _measured(
    bench: Bench, reader: str, questions: Mapping[str, _Question], tables: Sequence[_Table], keys: Sequence[int]
) -> Iterator[Result]:
    """The least of several turns, each of which asks every table the same, after some to warm up."""
    rng = random.Random(reader)
    width = max(1, len(keys) // 1_000)
    for case, ask in questions.items():
        costs: dict[_Table, list[Cost]] = {table: [] for table in tables}
        for turn in range(_WARM_UP + bench.repeats):
            places = [rng.randrange(len(keys) - width) for _ in range(_TIMES[case])]
            ranges = [(keys[place], keys[place + width - 1]) for place in places]
            for table in rng.sample(tables, len(tables)):
                cost = measured(partial(_ask_all, ask, table, ranges))
                if turn >= _WARM_UP:
                    costs[table].append(Cost(cost.wall / len(ranges), cost.cpu / len(ranges)))
        for table in tables:
            yield Result("layout", f"{reader}: {case}", table.writer, table.layout, least(costs[table]), "")


def _ask_all(ask: _Question, table: _Table, ranges: Sequence[tuple[int, int]]) -> None:
    for first, last in ranges:
        ask(table, first, last)


def _now_ms() -> int:
    return int(time.time() * 1000)
