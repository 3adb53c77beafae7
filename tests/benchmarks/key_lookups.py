"""Rows of orders by their keys, chosen at random: by a SELECT, and in sqlext also by `sqlext.lookup`, in turns."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from pyspark.sql import Row

import sqlext
from benchmarks.bench import Bench, Result
from benchmarks.data import tpch_table
from benchmarks.measure import Cost, measured, middle

_KEYS = (1, 100)
_WARM_UP = 20


def key_lookups(bench: Bench) -> Iterator[Result]:
    """The median of twenty turns for each repeat, after twenty of warm-up."""
    source, table = tpch_table(bench.data, bench.scale, "orders"), bench.table("orders_by_key")
    bench.view(source, "source")
    bench.recreate("orders_by_key", bench.columns(source), "", key="o_orderkey")
    bench.spark.sql(f"INSERT INTO {table} SELECT * FROM source")
    stored = [row[0] for row in bench.spark.sql(f"SELECT o_orderkey FROM {table} ORDER BY o_orderkey").collect()]
    ways: dict[str, Callable[[list[int]], list[Row]]] = {"SELECT": partial(_selected, bench, table)}
    if bench.system.name == "sqlext":
        ways["sqlext.lookup"] = partial(sqlext.lookup, bench.spark, table)
    for count in _KEYS:
        rng = random.Random(count)
        costs: dict[str, list[Cost]] = {way: [] for way in ways}
        found = dict.fromkeys(ways, 0)

        def look_up(way: str, keys: list[int], found: dict[str, int] = found) -> None:
            found[way] += len(ways[way](keys))

        for _ in range(20 * bench.repeats + _WARM_UP):
            keys = rng.sample(stored, count)
            for way in rng.sample([*ways], len(ways)):
                costs[way].append(measured(partial(look_up, way, keys)))
        for way, cost in costs.items():
            yield Result("key_lookups", f"keys: {count}", bench.system.name, way, middle(cost[_WARM_UP:]), found[way])
    bench.spark.sql(f"DROP TABLE {table}")


def _selected(bench: Bench, table: str, keys: list[int]) -> list[Row]:
    listed = ", ".join(map(str, keys))
    rows: list[Row] = bench.spark.sql(f"SELECT * FROM {table} WHERE o_orderkey IN ({listed})").collect()
    return rows
