"""TPC-H's 22 queries over its eight tables, as the system wrote them; for sqlext also over the generator's Parquet
files. The text of the queries is that of DuckDB's extension `tpch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import duckdb_extension_tpch

from benchmarks.bench import Bench, Result
from benchmarks.data import tpch_table
from benchmarks.measure import Cost, least

SUITE = "tpch"
TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
PARQUET = "spark.read.parquet"
# A twentieth of the rows, spread over all files.
_UPDATES = (
    "UPDATE {orders} SET o_shippriority = o_shippriority + 1 WHERE pmod(xxhash64(o_orderkey), 20) = 0",
    "UPDATE {lineitem} SET l_tax = l_tax + 0.01 WHERE pmod(xxhash64(l_orderkey, l_linenumber), 20) = 0",
)


def tpch(bench: Bench) -> Iterator[Result]:
    """The queries one after the other, each in turns by relations; then by tables with 5 % of two tables updated."""
    files = {name: tpch_table(bench.data, bench.scale, name) for name in TABLES}
    for name, file in files.items():
        bench.view(file, f"source_{name}")
        bench.recreate(name, bench.columns(file), "merge-on-read v2")
        bench.spark.sql(f"INSERT INTO {bench.table(name)} SELECT * FROM source_{name}")
    tables = {name: bench.table(name) for name in TABLES}
    relations = {"": tables}
    if bench.system.name == "sqlext":
        relations[PARQUET] = {name: f"source_{name}" for name in TABLES}
    yield from _measured(bench, relations, "")
    for update in _UPDATES:
        bench.spark.sql(update.format(**tables))
    yield from _measured(bench, {"": tables}, ", 5 % updated")


def _measured(bench: Bench, relations: Mapping[str, Mapping[str, str]], state: str) -> Iterator[Result]:
    for number, query in _queries():
        costs: dict[str, list[Cost]] = {mode: [] for mode in relations}
        checks = {}
        for run in range(bench.repeats + 1):
            for mode, names in relations.items():
                for name, relation in names.items():
                    bench.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {relation}")
                if run:
                    costs[mode].append(bench.cost(query))
                else:
                    checks[mode] = sorted(bench.answer(query))
        for mode, found in costs.items():
            yield Result(SUITE, f"Q{number}{state}", bench.system.name, mode, least(found), checks[mode])


def _queries() -> list[tuple[int, str]]:
    """Number and text of each."""
    (extension,) = Path(duckdb_extension_tpch.__file__).parent.glob("extensions/*/*.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        rows = connection.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr").fetchall()
    return [(number, text.strip().rstrip(";")) for number, text in rows]
