"""Changes to rows of large tables: rows merged, with a key and without; scattered ones deleted and updated, few and
many; many writers at once."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from benchmarks.bench import Bench, Result
from benchmarks.data import scattered_orders, tpch_table
from benchmarks.measure import Cost, least, measured, middle
from benchmarks.systems import COMPACTS_ITSELF

MERGE = """
MERGE INTO {table} AS t USING {source} AS s ON t.o_orderkey = s.o_orderkey
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
STATE = "SELECT count(*), sum(o_totalprice), sum(ascii(o_orderstatus)), max(o_orderkey) FROM {table}"
LARGE = 10
WRITERS = (8, 32)
MERGES_EACH = 4
KEYS_A_COMMIT = 5_000
COMMITS = (10, 50, 200)
WARM_UPS, WARM_UP_S = 40, 40
WARM_TURNS = 20
_DENSE = {"bucket": "4", "num-sorted-run.compaction-trigger": "3", "compaction.max-size-amplification-percent": "3"}
OTHER_LAYOUTS = {
    "resolved v3, compacted": {**COMPACTS_ITSELF, "format-version": "3"},
    "equality, 4 buckets": {"write.upsert.mode": "equality", "bucket": "4"},
    "resolved, dense buckets": _DENSE,
    "resolved v3, dense buckets": {**_DENSE, "format-version": "3"},
}
WARM_CHANGES = 8
KEYLESS = (15, 15_000)
NEW_KEYS = 100_000_000
KEYLESS_MERGE = "MERGE INTO {table} AS t USING changes AS s ON t.o_orderkey = s.o_orderkey "
ONE_COLUMN = "WHEN MATCHED THEN UPDATE SET o_orderstatus = s.o_orderstatus"
KEYLESS_CLAUSES = {
    "all columns, or insert": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "one column, or insert": f"{ONE_COLUMN} WHEN NOT MATCHED THEN INSERT *",
    "one column": ONE_COLUMN,
    "insert": "WHEN NOT MATCHED THEN INSERT *",
    "delete": "WHEN MATCHED THEN DELETE",
}


def one_row(bench: Bench) -> Iterator[Result]:
    """A MERGE of one row that is there, as a query of literals, into orders, and into a table ten times as large."""
    for factor in (1, LARGE):
        source = tpch_table(bench.data, bench.scale * factor, "orders")
        bench.view(source, "source")
        for mode in bench.chosen(bench.system.merge_modes):
            target = bench.table("one_row")
            bench.recreate("one_row", bench.columns(source), mode, key="o_orderkey")
            bench.spark.sql(f"INSERT INTO {target} SELECT * FROM source")
            merges = (_merge_of_one_row(bench, target, number) for number in itertools.count(1))
            _warm_up(bench, merges)
            costs = [bench.cost(merge) for merge in itertools.islice(merges, bench.repeats)]
            check = bench.answer(STATE.format(table=target))
            rows = "1.5 M rows" if factor == 1 else "15 M rows"
            yield Result("one_row", rows, bench.system.name, mode, least(costs), check)
        bench.spark.sql(f"DROP TABLE {bench.table('one_row')}")


def _merge_of_one_row(bench: Bench, target: str, number: int) -> str:
    stored = bench.spark.sql(f"SELECT * FROM source WHERE o_orderkey = {3_200 * number + 1}")
    values = zip(stored.schema.fields, stored.collect()[0], strict=True)
    row = ", ".join(f"CAST('{value}' AS {f.dataType.simpleString()}) AS {f.name}" for f, value in values)
    return MERGE.format(table=target, source=f"(SELECT {row})")


def _warm_up(bench: Bench, statements: Iterator[str]) -> None:
    """A statement of a tenth of a second takes several times as long while the JVM has compiled little of it."""
    spent = 0.0
    for statement in itertools.islice(statements, WARM_UPS):
        spent += bench.cost(statement).wall
        if spent > WARM_UP_S:
            return


def scan_after(bench: Bench) -> Iterator[Result]:
    """A scan of orders after so many commits of 5,000 scattered keys each, beside the same table before them: the
    versions of one table in turns, so that a noisy minute hits all, and after so many that the JVM has compiled what
    reads small files: until then its compiler takes as much CPU. What a commit takes is on average, its compactions
    too."""
    source = tpch_table(bench.data, bench.scale, "orders")
    bench.view(source, "source")
    ways = {**bench.system.merge_modes, **OTHER_LAYOUTS}
    rng = random.Random(bench.repeats)
    for mode, properties in bench.chosen(ways).items() if bench.system.name == "sqlext" else ():
        target = bench.table("scan_after")
        bench.spark.sql(f"DROP TABLE IF EXISTS {target}")
        columns = bench.columns(source)
        bench.spark.sql(bench.system.create_table("scan_after", columns, properties, key="o_orderkey"))
        bench.spark.sql(f"INSERT INTO {target} SELECT * FROM source")
        versions, commits = _upserted(bench, target)
        scans = {case: STATE.format(table=version) for case, version in versions.items()}
        costs: dict[str, list[Cost]] = {case: [] for case in scans}
        for _ in range(WARM_TURNS + 4 * bench.repeats):
            for case in rng.sample(list(scans), len(scans)):
                costs[case].append(bench.cost(scans[case]))
        for case, scan in scans.items():
            cost = middle(costs[case][WARM_TURNS:])
            yield Result("scan_after", case, bench.system.name, mode, cost, bench.answer(scan))
        mean = Cost(fmean(cost.wall for cost in commits), fmean(cost.cpu for cost in commits))
        yield Result("scan_after", "an upsert", bench.system.name, mode, mean, "")
        bench.spark.sql(f"DROP TABLE {target}")


def _upserted(bench: Bench, table: str) -> tuple[dict[str, str], list[Cost]]:
    """The table's versions before and after so many upserts, and what each took."""
    versions = {"no upserts": _version(bench, table)}
    changes = scattered_orders(bench.data, bench.scale, KEYS_A_COMMIT, max(COMMITS))
    costs = []
    for number, file in enumerate(sorted(changes.iterdir()), 1):
        bench.view(file, "changes")
        costs.append(bench.cost(MERGE.format(table=table, source="changes")))
        if number in COMMITS:
            versions[f"{number} upserts"] = _version(bench, table)
    return versions, costs


def _version(bench: Bench, table: str) -> str:
    newest = bench.answer(f"SELECT max_by(snapshot_id, committed_at) FROM {table}.snapshots")[0][0]
    return f"{table} VERSION AS OF {newest}"


def delete_update(bench: Bench) -> Iterator[Result]:
    """DELETE of 0.5 % and UPDATE of 1 % of lineitem's rows, scattered over all of it, each after some to warm up.

    Each has values of its own, as a user's statements have, and runs once more in a table that was made anew: Spark
    compiles the values of a condition into its code, and keeps that for the same text.
    """
    source = tpch_table(bench.data, bench.scale, "lineitem")
    bench.view(source, "source")
    target = bench.table("changed")
    for mode in bench.chosen(bench.system.change_modes):
        _recreate_whole(bench, "changed", source, mode)
        for number in range(1, WARM_CHANGES + 1):
            for change in _scattered_changes(target, 10 * number).values():
                bench.spark.sql(change)
        costs: dict[str, list[Cost]] = {}
        for number in range(WARM_CHANGES + 1, WARM_CHANGES + bench.repeats + 1):
            for turn in ("", " again"):
                _recreate_whole(bench, "changed", source, mode)
                for case, change in _scattered_changes(target, 10 * number).items():
                    costs.setdefault(case + turn, []).append(bench.cost(change))
        check = bench.answer(f"SELECT count(*), sum(l_quantity) FROM {target}")
        for case, measured_costs in costs.items():
            yield Result("delete_update", case, bench.system.name, mode, least(measured_costs), check)
        bench.spark.sql(f"DROP TABLE {target}")


def _recreate_whole(bench: Bench, name: str, source: Path, mode: str) -> None:
    bench.recreate(name, bench.columns(source), mode)
    bench.spark.sql(f"INSERT INTO {bench.table(name)} SELECT * FROM source")


def _scattered_changes(table: str, first: int) -> dict[str, str]:
    """A DELETE and an UPDATE of rows that none of another `first`, a multiple of ten below 500, touches."""
    row = "pmod(xxhash64(l_orderkey, l_linenumber), 1000)"
    return {
        "DELETE 0.5 %": f"DELETE FROM {table} WHERE {row} >= {first} AND {row} < {first + 5}",
        "UPDATE 1 %": f"UPDATE {table} SET l_quantity = l_quantity + 1"
        f" WHERE {row} >= {990 - first} AND {row} < {1000 - first}",
    }


def concurrent(bench: Bench) -> Iterator[Result]:
    """Writers that merge into keys of their own, of files that all of them touch: how many of their merges land."""
    for mode in bench.chosen(bench.system.merge_modes):
        for writers in WRITERS:
            bench.recreate("counters", "id bigint, n bigint", mode, key="id")
            target = bench.table("counters")
            bench.spark.sql(f"INSERT INTO {target} SELECT id, 0 FROM range(0, {writers * 10}, 1, 1)")
            landed: list[int] = []
            cost = measured(lambda w=writers, t=target, done=landed: _race(bench, t, w, done))  # type: ignore[misc]
            total = int(bench.answer(f"SELECT sum(n) FROM {target}")[0][0])
            case = f"{writers} writers x {MERGES_EACH}"
            counted = "exact" if total == 10 * len(landed) else f"{total} of {10 * len(landed)}"
            told = f"{len(landed)} of {writers * MERGES_EACH} landed, sum {counted}"
            yield Result("concurrent", case, bench.system.name, f"{mode}: {told}", cost, "")
        bench.spark.sql(f"DROP TABLE {bench.table('counters')}")


def _race(bench: Bench, table: str, writers: int, landed: list[int]) -> None:
    together = threading.Barrier(writers)

    def write(writer: int) -> None:
        together.wait()
        for number in range(MERGES_EACH):
            source = f"(SELECT {writer * 10} + id AS id, {number + 1}L AS n FROM range(10))"
            try:
                bench.spark.sql(
                    f"MERGE INTO {table} AS t USING {source} AS s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT *"
                ).collect()
            except (PySparkException, Py4JError):
                continue
            landed.append(writer)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))


def large_merge(bench: Bench) -> Iterator[Result]:
    """A MERGE of a million rows into fifteen million, to be run with `--driver-memory 2g`."""
    source = tpch_table(bench.data, bench.scale * LARGE, "orders")
    bench.view(source, "source")
    target = bench.table("large")
    for mode in bench.chosen(bench.system.merge_modes):
        bench.recreate("large", bench.columns(source), mode, key="o_orderkey")
        bench.spark.sql(f"INSERT INTO {target} SELECT * FROM source")
        changed = "(SELECT * FROM source WHERE pmod(xxhash64(o_orderkey), 15) = 0)"
        cost = bench.cost(MERGE.format(table=target, source=changed))
        yield Result(
            "large_merge", "1 M into 15 M", bench.system.name, mode, cost, bench.answer(STATE.format(table=target))
        )
    bench.spark.sql(f"DROP TABLE {target}")


def keyless_merge(bench: Bench) -> Iterator[Result]:
    """MERGEs of rows that the driver has, half of them new, into orders that has no key."""
    source = tpch_table(bench.data, bench.scale, "orders")
    bench.view(source, "source")
    target = bench.table("keyless")
    for mode in bench.chosen(bench.system.change_modes):
        for keys in KEYLESS:
            _view_half_new(bench, keys)
            for case, clauses in KEYLESS_CLAUSES.items():
                costs = []
                for _ in range(1 + bench.repeats):
                    _recreate_whole(bench, "keyless", source, mode)
                    costs.append(bench.cost(KEYLESS_MERGE.format(table=target) + clauses))
                check = bench.answer(STATE.format(table=target))
                yield Result("keyless_merge", f"{keys:,} rows: {case}", bench.system.name, mode, least(costs), check)
        bench.spark.sql(f"DROP TABLE {target}")


def _view_half_new(bench: Bench, keys: int) -> None:
    (file,) = scattered_orders(bench.data, bench.scale, keys, 1).iterdir()
    changes = pq.read_table(file)
    numbers = changes.column("o_orderkey").to_numpy()
    numbers = numbers + np.where(np.arange(len(numbers)) % 2, NEW_KEYS, 0)
    place = changes.schema.get_field_index("o_orderkey")
    changes = changes.set_column(place, "o_orderkey", pa.array(numbers, changes.schema.field(place).type))
    bench.spark.createDataFrame(changes).createOrReplaceTempView("changes")


def wide_changes(bench: Bench) -> Iterator[Result]:
    """Changes of 10 %, of half and of all rows of lineitem, scattered over all of it, each of a table made anew."""
    source = tpch_table(bench.data, bench.scale, "lineitem")
    bench.view(source, "source")
    target = bench.table("changed")
    for mode in bench.chosen(bench.system.change_modes):
        for case, statement in _wide_changes(target).items():
            costs = []
            for _ in range(bench.repeats):
                _recreate_whole(bench, "changed", source, mode)
                costs.append(bench.cost(statement))
            check = bench.answer(f"SELECT count(*), sum(l_quantity), max(l_comment) FROM {target}")
            yield Result("wide_changes", case, bench.system.name, mode, least(costs), check)
        bench.spark.sql(f"DROP TABLE {target}")


def _wide_changes(table: str) -> dict[str, str]:
    row = "pmod(xxhash64(l_orderkey, l_linenumber), 100)"
    update = f"UPDATE {table} SET l_quantity = l_quantity + 1 WHERE {row} < "
    some = f"SELECT l_orderkey, l_linenumber, l_quantity FROM source WHERE {row} < {{share}}"
    merge = (
        f"MERGE INTO {table} AS t USING ({some}) AS s"
        " ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber"
        " WHEN MATCHED THEN UPDATE SET l_quantity = s.l_quantity + 1"
    )
    return {
        "UPDATE 10 %": f"{update}10",
        "UPDATE 50 %": f"{update}50",
        "UPDATE 100 %": f"{update}100",
        "MERGE 10 %": merge.format(share=10),
        "MERGE 50 %": merge.format(share=50),
        "INSERT OVERWRITE": f"INSERT OVERWRITE {table} SELECT * FROM source",
    }


ROW_CHANGES: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "one_row": one_row,
    "scan_after": scan_after,
    "delete_update": delete_update,
    "concurrent": concurrent,
    "large_merge": large_merge,
    "keyless_merge": keyless_merge,
    "wide_changes": wide_changes,
}
