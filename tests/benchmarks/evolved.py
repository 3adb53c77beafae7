"""Reading a table whose schema changed since its files were written, beside the same table before the changes.

A third table has the new schema from its first file on: the same rows in other files, whose widened columns are wider
and encoded in another way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.bench import Bench, Result
from benchmarks.data import tpch_table
from benchmarks.measure import Cost, middle

_OLD = """
  CAST(l_orderkey AS BIGINT) AS orderkey, CAST(l_partkey AS INT) AS part, CAST(l_suppkey AS BIGINT) AS suppkey,
  l_quantity AS quantity, l_extendedprice AS price, CAST(l_discount AS FLOAT) AS discount, l_shipdate AS shipdate,
  l_shipmode AS way, l_returnflag AS flag
"""
_CHANGES = (
    "ALTER COLUMN part TYPE BIGINT",
    "ALTER COLUMN discount TYPE DOUBLE",
    "RENAME COLUMN way TO mode",
    "RENAME COLUMN part TO partkey",
    "DROP COLUMN flag",
    "ADD COLUMN note STRING",
    "ALTER COLUMN shipdate FIRST",
    "ALTER COLUMN mode AFTER orderkey",
)
_NEW = "shipdate, orderkey, way AS mode, CAST(part AS BIGINT) AS partkey, suppkey, quantity, price, CAST(discount AS DOUBLE) AS discount, CAST(NULL AS STRING) AS note"  # noqa: E501
_NAMES = {"mode": "way", "partkey": "part"}  # of the evolved table and of the one before the changes
ADDED_COLUMN = "added column"
"""Which the table before the changes does not have."""
_QUERIES = {
    "all columns": """
        SELECT sum(orderkey), sum({partkey}), sum(suppkey), sum(quantity), sum(price), sum(discount), max(shipdate),
          max({mode}) FROM {table}""",
    ADDED_COLUMN: """
        SELECT sum(orderkey), count(note) FROM {table}""",
    "filtered": """
        SELECT {mode}, count(*), sum({partkey}) FROM {table}
        WHERE shipdate >= DATE'1994-01-01' AND shipdate < DATE'1996-01-01' AND {partkey} < 100000
        GROUP BY {mode} ORDER BY {mode}""",
}


def evolved(bench: Bench) -> Iterator[Result]:
    """Two queries of all tables in turns, so that a noisy minute hits all; in any order, as what ran before matters."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    bench.view(tpch_table(bench.data, bench.scale, "lineitem"), "source")
    bench.spark.sql(f"SELECT {_OLD} FROM source").createOrReplaceTempView("old_rows")
    tables = {mode: bench.table(mode.replace(" ", "_")) for mode in ("not evolved", "evolved", "written so")}
    for mode, table in tables.items():
        columns = _NEW if mode == "written so" else "*"
        rows = bench.spark.sql(f"SELECT {columns} FROM old_rows")
        ddl = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
        bench.recreate(table.split(".")[-1], ddl, "")
        bench.spark.sql(f"INSERT INTO {table} SELECT {columns} FROM old_rows")
        for change in _CHANGES if mode == "evolved" else ():
            bench.spark.sql(f"ALTER TABLE {table} {change}")
    rng = random.Random(bench.repeats)
    for case, template in _QUERIES.items():
        modes = ("evolved", "written so") if case == ADDED_COLUMN else tuple(tables)
        queries = {mode: _query(template, mode, tables[mode]) for mode in modes}
        costs: dict[str, list[Cost]] = {mode: [] for mode in modes}
        for _ in range(4 * bench.repeats + 2):
            for mode in rng.sample(modes, len(modes)):
                costs[mode].append(bench.cost(queries[mode]))
        for mode, query in queries.items():
            yield Result("evolved", case, bench.system.name, mode, middle(costs[mode][2:]), bench.answer(query))
    for table in tables.values():
        bench.spark.sql(f"DROP TABLE {table}")


def _query(template: str, mode: str, table: str) -> str:
    names = _NAMES if mode == "not evolved" else {name: name for name in _NAMES}
    return template.format(table=table, **names)
