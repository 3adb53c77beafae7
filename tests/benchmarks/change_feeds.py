"""`table_changes` over six commits of a keyed table of 200,000 rows: computed by the driver, and by a query."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, measured, middle

_COMMITS = 6
_ROWS = 200_000
# By case: a statement of each commit, and the mode of upserts.
_CASES = {
    "100 rows each": ("UPSERT INTO {table} SELECT id, 'changed', {n} FROM range({n}00, {n}00 + 100)", "resolved"),
    "100 rows each, by equality deletes": (
        "UPSERT INTO {table} SELECT id, 'changed', {n} FROM range({n}00, {n}00 + 100)",
        "equality",
    ),
    "20,000 rows each": ("UPDATE {table} SET amount = amount + 1 WHERE id % 10 = {n}", "resolved"),
}
_LIMIT = "sqlext.plan.table-changes-rows"


def change_feeds(bench: Bench) -> Iterator[Result]:
    """The median of five turns for each repeat, after one of warm-up."""
    if bench.system.name != "sqlext":
        return
    table = bench.table("told")
    for case, (statement, mode) in _CASES.items():
        bench.recreate("told", "id bigint, name string, amount bigint", "", key="id")
        properties = f"'write-only'='true', 'write.upsert.mode'='{mode}'"
        bench.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({properties})")
        bench.spark.sql(f"INSERT INTO {table} SELECT id, concat('n', id), id FROM range({_ROWS})")
        first = bench.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()[0].snapshot_id
        for number in range(1, _COMMITS + 1):
            bench.spark.sql(statement.format(table=table, n=number))
        query = f"SELECT * FROM table_changes('{table}', {first})"
        costs: dict[str, list[Cost]] = {"by the driver": [], "by a query": []}
        found = dict.fromkeys(costs, 0)

        def read(way: str, query: str = query, found: dict[str, int] = found) -> None:
            if way == "by a query":
                bench.spark.conf.set(_LIMIT, "0")
            found[way] = len(bench.spark.sql(query).collect())
            bench.spark.conf.unset(_LIMIT)

        for _ in range(5 * bench.repeats + 1):
            for way, cost in costs.items():
                cost.append(measured(partial(read, way)))
        for way, cost in costs.items():
            yield Result("change_feeds", case, bench.system.name, way, middle(cost[1:]), found[way])
    bench.spark.sql(f"DROP TABLE {table}")
