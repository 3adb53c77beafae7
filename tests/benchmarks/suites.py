"""What is measured: each suite is the same work for every system."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.bench import Bench, Result
from benchmarks.care import care
from benchmarks.change_feeds import change_feeds
from benchmarks.data import order_changes, tpch_table
from benchmarks.data_file_rewrites import data_file_rewrites
from benchmarks.evolved import evolved
from benchmarks.history import history
from benchmarks.key_lookups import key_lookups
from benchmarks.layout import layout
from benchmarks.libraries import LIBRARIES
from benchmarks.maintenance import maintenance
from benchmarks.manifest_rewrites import manifest_rewrites
from benchmarks.measure import Cost, least
from benchmarks.one_row_statements import SUITE as ONE_ROW
from benchmarks.one_row_statements import one_row_statements
from benchmarks.planning import planning
from benchmarks.process_appends import process_appends
from benchmarks.queries import Q1, Q6
from benchmarks.row_changes import MERGE, ROW_CHANGES, STATE
from benchmarks.small_commits import SMALL_COMMITS
from benchmarks.stream_upserts import stream_upserts
from benchmarks.tpch import SUITE, tpch
from benchmarks.without_spark import without_spark


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
    """Lineitem into an empty table: all of it plain, some eight of eleven rows, and all partitioned by the month of
    l_shipdate."""
    source = tpch_table(bench.data, bench.scale, "lineitem")
    bench.view(source, "source")
    columns = bench.columns(source)
    target = bench.table("lineitem_insert")
    for case in ("plain", "by a condition", "by month"):
        partition, selected, ddl = "", "*", columns
        where = " WHERE l_discount > 0.02" if case == "by a condition" else ""
        if case == "by month" and bench.system.hidden_partitions:
            partition = "months(l_shipdate)"
        elif case == "by month":
            partition, selected, ddl = "l_shipmonth", "*, trunc(l_shipdate, 'MM')", columns + ", l_shipmonth date"
        costs = []
        for _ in range(bench.repeats):
            bench.recreate("lineitem_insert", ddl, "", partition=partition)
            costs.append(bench.cost(f"INSERT INTO {target} SELECT {selected} FROM source{where}"))
        check = bench.answer(f"SELECT count(*), sum(l_extendedprice), max(l_comment) FROM {target}")
        yield Result("insert", case, bench.system.name, "", least(costs), check)
    bench.spark.sql(f"DROP TABLE {target}")


def upsert(bench: Bench) -> Iterator[Result]:
    """Rounds of 1 % changed and 0.1 % new orders: the cost of all rounds, checked by the table after them."""
    for mode in bench.chosen(bench.system.merge_modes):
        yield from _upsert_rounds(bench, mode, table_factor=1)


def upsert_10x(bench: Bench) -> Iterator[Result]:
    """The same number of changes against a table ten times as large, for the way that does not read the table."""
    for mode in bench.chosen(bench.system.merge_modes):
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
            total += bench.cost(MERGE.format(table=target, source="changes"))
        merges.append(total)
        question = STATE.format(table=target)
        reads.append(bench.cost(question))
        check = bench.answer(question)
    yield Result(suite, f"{bench.rounds} rounds", bench.system.name, mode, least(merges), check)
    yield Result(suite, "scan after", bench.system.name, mode, least(reads), check)


SUITES: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "scan": scan,
    "insert": insert,
    "upsert": upsert,
    "upsert_10x": upsert_10x,
    "planning": planning,
    "evolved": evolved,
    "history": history,
    "manifest_rewrites": manifest_rewrites,
    **ROW_CHANGES,
    **SMALL_COMMITS,
    ONE_ROW: one_row_statements,
    "stream_upserts": stream_upserts,
    "process_appends": process_appends,
    "maintenance": maintenance,
    "care": care,
    "rewrites": data_file_rewrites,
    "layout": layout,
    "key_lookups": key_lookups,
    "change_feeds": change_feeds,
    "without_spark": without_spark,
    SUITE: tpch,
    **LIBRARIES,
}

OF_ICEBERG_TABLES = frozenset(
    {
        "care",
        "change_feeds",
        "planning",
        "evolved",
        "history",
        "key_lookups",
        "layout",
        "maintenance",
        "manifest_rewrites",
        "rewrites",
        "without_spark",
    }
)
"""Suites that have nothing for Delta."""
