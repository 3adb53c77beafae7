"""What is measured: full scans, bulk inserts, keyed upserts and planning, each the same work for every system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from benchmarks.data import order_changes, tpch_table
from benchmarks.many_files import many_file_table
from benchmarks.measure import Cost, least, measured
from benchmarks.systems import System

Q1 = """
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount),
  count(*)
FROM {table} WHERE l_shipdate <= DATE'1998-09-02'
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
"""
Q6 = """
SELECT sum(l_extendedprice * l_discount) FROM {table} WHERE l_shipdate >= DATE'1994-01-01'
  AND l_shipdate < DATE'1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
"""

MERGE = """
MERGE INTO {table} AS t USING changes AS s ON t.o_orderkey = s.o_orderkey
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
STATE = """
SELECT count(*), sum(o_totalprice), sum(ascii(o_orderstatus)), max(o_orderkey) FROM {table}
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """One system's session and the size of the work."""

    system: System
    spark: SparkSession
    data: Path
    scale: float
    repeats: int
    rounds: int

    def table(self, name: str) -> str:
        return f"{self.system.namespace}.{name}"

    def columns(self, parquet: Path) -> str:
        fields = self.spark.read.parquet(str(parquet)).schema.fields
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)

    def answer(self, query: str) -> list[list[str]]:
        return [[str(value) for value in row] for row in self.spark.sql(query).collect()]

    def recreate(self, name: str, columns: str, mode: str, *, key: str = "", partition: str = "") -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.table(name)}")
        properties = self.system.merge_modes.get(mode, {})
        self.spark.sql(self.system.create_table(name, columns, properties, key=key, partition=partition))

    def cost(self, statement: str) -> Cost:
        return measured(lambda: self.spark.sql(statement).collect())

    def view(self, parquet: Path, name: str) -> None:
        self.spark.read.parquet(str(parquet)).createOrReplaceTempView(name)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the output. `check` must be equal for all systems of a case."""

    suite: str
    case: str
    system: str
    mode: str
    cost: Cost
    check: object


def scan(bench: Bench) -> Iterator[Result]:
    """Q1 and Q6 over lineitem as the system wrote it; for sqlext also as `spark.read.parquet` of the same files."""
    source = tpch_table(bench.data, bench.scale, "lineitem")
    bench.view(source, "source")
    bench.recreate("lineitem", bench.columns(source), "")
    bench.spark.sql(f"INSERT INTO {bench.table('lineitem')} SELECT * FROM source")
    relations = {"": bench.table("lineitem")}
    if bench.system.name == "sqlext":
        files = [
            row.file_path for row in bench.spark.sql(f"SELECT file_path FROM {bench.table('lineitem')}.files").collect()
        ]
        bench.spark.read.parquet(*files).createOrReplaceTempView("same_files")
        relations["spark.read.parquet, same files"] = "same_files"
    # the shorter query is noisier, and may run more often
    for case, query, runs in (("Q1", Q1, bench.repeats), ("Q6", Q6, 8 * bench.repeats)):
        # turns, so that a noisy minute hits both relations
        costs: dict[str, list[Cost]] = {mode: [] for mode in relations}
        for _ in range(runs + 1):
            for mode, relation in relations.items():
                costs[mode].append(bench.cost(query.format(table=relation)))
        for mode, relation in relations.items():
            check = bench.answer(query.format(table=relation))
            yield Result("scan", case, bench.system.name, mode, least(costs[mode][1:]), check)


def insert(bench: Bench) -> Iterator[Result]:
    """All of lineitem into an empty table, plain and partitioned by the month of l_shipdate."""
    source = tpch_table(bench.data, bench.scale, "lineitem")
    bench.view(source, "source")
    columns = bench.columns(source)
    target = bench.table("lineitem_insert")
    for case in ("plain", "by month"):
        partition, selected, ddl = "", "*", columns
        if case == "by month" and bench.system.hidden_partitions:
            partition = "months(l_shipdate)"
        elif case == "by month":
            partition, selected, ddl = "l_shipmonth", "*, trunc(l_shipdate, 'MM')", columns + ", l_shipmonth date"
        costs = []
        for _ in range(bench.repeats):
            bench.recreate("lineitem_insert", ddl, "", partition=partition)
            costs.append(bench.cost(f"INSERT INTO {target} SELECT {selected} FROM source"))
        check = bench.answer(f"SELECT count(*), sum(l_extendedprice), max(l_comment) FROM {target}")
        yield Result("insert", case, bench.system.name, "", least(costs), check)
    bench.spark.sql(f"DROP TABLE {target}")


def upsert(bench: Bench) -> Iterator[Result]:
    """Rounds of 1 % changed and 0.1 % new orders: the cost of all rounds, checked by the table after them."""
    for mode in bench.system.merge_modes:
        yield from _upsert_rounds(bench, mode, table_factor=1)


def upsert_10x(bench: Bench) -> Iterator[Result]:
    """The same number of changes against a table ten times as large, for the way that does not read the table."""
    for mode in bench.system.merge_modes:
        if mode == "equality":
            yield from _upsert_rounds(bench, mode, table_factor=10)


def _upsert_rounds(bench: Bench, mode: str, *, table_factor: int) -> Iterator[Result]:
    suite = "upsert" if table_factor == 1 else f"upsert_{table_factor}x"
    source = tpch_table(bench.data, bench.scale * table_factor, "orders")
    changes = order_changes(bench.data, bench.scale, bench.rounds, table_factor=table_factor)
    bench.view(source, "source")
    target = bench.table("orders")
    merges: list[Cost] = []
    reads: list[Cost] = []
    check: object = None
    for _ in range(bench.repeats):
        bench.recreate("orders", bench.columns(source), mode, key="o_orderkey")
        bench.spark.sql(f"INSERT INTO {target} SELECT * FROM source")
        total = Cost(0, 0)
        for file in changes:
            bench.view(file, "changes")
            total += bench.cost(MERGE.format(table=target))
        merges.append(total)
        question = STATE.format(table=target)
        reads.append(bench.cost(question))
        check = bench.answer(question)
    yield Result(suite, f"{bench.rounds} rounds", bench.system.name, mode, least(merges), check)
    yield Result(suite, "scan after", bench.system.name, mode, least(reads), check)


def planning(bench: Bench) -> Iterator[Result]:
    """Planning a query, through Spark, of tables of many files: to one partition, and to few files by bounds.

    Cold is the first plan that reads the table's manifests; what Python's memory grows by is in its name.
    """
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    warehouse = Path(bench.spark.conf.get("spark.sql.catalog.lake.warehouse"))
    store = bench.data.parent / "many_files"
    for files in (1_000, *PLANNED_FILES):
        many_file_table(store, warehouse / "bench" / f"files_{files}", files)
    for where in PLANNED_QUERIES.values():  # the first plans of a session are the JVM's warming up
        for _ in range(5):
            _planned_partitions(bench, f"SELECT customer FROM {bench.table('files_1000')} WHERE {where}")
    for files in PLANNED_FILES:
        for case, where in PLANNED_QUERIES.items():
            query = f"SELECT customer FROM {bench.table(f'files_{files}')} WHERE {where}"
            held = psutil.Process().memory_info().rss
            costs = [measured(lambda query=query: _planned_partitions(bench, query)) for _ in range(4 * bench.repeats)]  # type: ignore[misc]
            grown = max(0, psutil.Process().memory_info().rss - held) // 2**20
            name = f"{files:,} files {case}"
            yield Result("planning", name, bench.system.name, f"cold, Python +{grown} MB", costs[0], "planned")
            yield Result("planning", name, bench.system.name, "repeated", least(costs[1:]), "planned")


PLANNED_FILES = (20_000, 1_000_000)
PLANNED_QUERIES = {"to a partition": "day = DATE'2020-01-02'", "by bounds": "id BETWEEN 500500 AND 500600"}


def _planned_partitions(bench: Bench, query: str) -> int:
    """Plans a query to the end, its files too; their number is that of Spark's tasks."""
    execution = bench.spark.sql(query)._jdf.queryExecution()
    partitions: int = execution.executedPlan().collectLeaves().apply(0).inputPartitions().size()
    assert partitions > 0, query
    return partitions


SUITES: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "scan": scan,
    "insert": insert,
    "upsert": upsert,
    "upsert_10x": upsert_10x,
    "planning": planning,
}
