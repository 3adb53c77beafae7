"""Reading a table whose schema changed since its files were written, beside one that was written with that schema."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import Bench, Result
from benchmarks.data import tpch_table
from benchmarks.measure import Cost, least

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
_QUERIES = {
    "all columns": """
        SELECT sum(orderkey), sum(partkey), sum(suppkey), sum(quantity), sum(price), sum(discount), max(shipdate),
          max(mode), count(note) FROM {table}""",
    "filtered": """
        SELECT mode, count(*), sum(partkey) FROM {table}
        WHERE shipdate >= DATE'1994-01-01' AND shipdate < DATE'1996-01-01' AND partkey < 100000
        GROUP BY mode ORDER BY mode""",
}


def evolved(bench: Bench) -> Iterator[Result]:
    """Two queries of both tables in turns, so that a noisy minute hits both."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    bench.view(tpch_table(bench.data, bench.scale, "lineitem"), "source")
    bench.spark.sql(f"SELECT {_OLD} FROM source").createOrReplaceTempView("old_rows")
    tables = {"written so": bench.table("plain"), "evolved": bench.table("evolved")}
    for (mode, table), columns in zip(tables.items(), (_NEW, "*"), strict=True):
        rows = bench.spark.sql(f"SELECT {columns} FROM old_rows")
        ddl = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
        bench.recreate(table.split(".")[-1], ddl, "")
        bench.spark.sql(f"INSERT INTO {table} SELECT {columns} FROM old_rows")
        for change in _CHANGES if mode == "evolved" else ():
            bench.spark.sql(f"ALTER TABLE {table} {change}")
    for case, query in _QUERIES.items():
        costs: dict[str, list[Cost]] = {mode: [] for mode in tables}
        for _ in range(4 * bench.repeats + 2):
            for mode, table in tables.items():
                costs[mode].append(bench.cost(query.format(table=table)))
        for mode, table in tables.items():
            check = bench.answer(query.format(table=table))
            yield Result("evolved", case, bench.system.name, mode, least(costs[mode][2:]), check)
    for table in tables.values():
        bench.spark.sql(f"DROP TABLE {table}")
