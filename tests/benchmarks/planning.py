"""Planning of queries over tables of many files: to one partition, and to few files by bounds.

`scan planning` is what a table format does, called through the interface by which Spark calls it: a builder is asked
for, filters and columns are pushed, and the scan's input partitions are made. The calls come from Python, and what so
many calls that do nothing cost is taken off. `whole query` is all that a user waits for before the first task: parsing,
loading the table, analysis, optimisation and scan planning.

Cold is the first plan that reads a table's manifests, in a session that has planned other tables; repeated is the same
query again; other values is a query that differs from all before it in its literals.
"""

from __future__ import annotations

import datetime
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Result
from benchmarks.many_files import FILES_PER_DAY, FILES_PER_MANIFEST, FIRST_DAY, ROWS_PER_FILE, many_file_table
from benchmarks.measure import Cost, measured, peak_memory

FILES = (20_000, 1_000_000)
WARM_UP = 1_000
_MB = 2**20
_CALLS = 8
_RUNS = 9


@dataclass(frozen=True, slots=True)
class _Case:
    """`where` gives a condition for each number below twenty; all ask for the same manifests, and as many files."""

    name: str
    where: Callable[[int], str]


def _day(number: int) -> str:
    return f"day = DATE'{FIRST_DAY + datetime.timedelta(days=number % (FILES_PER_MANIFEST // FILES_PER_DAY))}'"


def _ids(number: int) -> str:
    first = ROWS_PER_FILE * (number % WARM_UP) + 500
    return f"id >= {first}L AND id <= {first + 100}L"


CASES = (_Case("to a partition", _day), _Case("by bounds", _ids))


def planning(bench: Bench) -> Iterator[Result]:
    """Both cases of each number of files, cold and warm, and the memory that the driver holds afterwards."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    _make_tables(bench)
    for number in range(20):  # the first plans of a session are the JVM's warming up
        for case in CASES:
            query = _query(bench, WARM_UP, case, number % 2)
            _whole_query(bench, query)
            _Scan(bench, query).plan()
    for files in FILES:
        for case in CASES:
            yield from _of_case(bench, files, case)


def _of_case(bench: Bench, files: int, case: _Case) -> Iterator[Result]:
    def result(what: str, mode: str, cost: Cost, amount: float | None = None) -> Result:
        return Result("planning", f"{files:,} files {case.name}: {what}", bench.system.name, mode, cost, "", amount)

    query = _query(bench, files, case, 0)
    scan = _Scan(bench, query)
    nothing = _call_cost(bench)
    heap = _heap(bench)
    with peak_memory() as python:
        cold = measured(scan.plan)
    yield result("scan planning", "cold", cold.less(nothing))
    yield result("driver memory, Python's peak", "cold", Cost(0, 0), python.grown / _MB)
    yield result("driver memory, JVM's heap", "cold", Cost(0, 0), max(0, _heap(bench) - heap) / _MB)
    runs = 3 if cold.wall > 1 and bench.system.name == "iceberg" else _RUNS
    yield result("scan planning", "repeated", _repeated([scan.plan] * runs).less(nothing))
    yield result("whole query", "repeated", _repeated([lambda: _whole_query(bench, query)] * runs))
    others = [_query(bench, files, case, 1 + number) for number in range(runs)]
    yield result("scan planning", "other values", _repeated([_Scan(bench, one).plan for one in others]).less(nothing))
    others = [_query(bench, files, case, 1 + runs + number) for number in range(runs)]
    yield result("whole query", "other values", _repeated([lambda q=one: _whole_query(bench, q) for one in others]))  # type: ignore[misc]


def _make_tables(bench: Bench) -> None:
    """Each case has its own, so that the first plan of each is cold."""
    warehouse = Path(bench.spark.conf.get("spark.sql.catalog.lake.warehouse") or "")
    for files in (WARM_UP, *FILES):
        for case in CASES:
            many_file_table(bench.data.parent / "many_files", warehouse / "bench" / _name(files, case), files)


def _name(files: int, case: _Case) -> str:
    return f"files_{files}_{case.name.replace(' ', '_')}"


def _query(bench: Bench, files: int, case: _Case, number: int) -> str:
    return f"SELECT customer FROM {bench.table(_name(files, case))} WHERE {case.where(number)}"


def _whole_query(bench: Bench, query: str) -> None:
    plan = bench.spark.sql(query)._jdf.queryExecution().executedPlan()
    assert plan.collectLeaves().apply(0).inputPartitions().size() > 0, query


class _Scan:
    """A query's scan as Spark's planner asks for it, ready to be planned any number of times."""

    def __init__(self, bench: Bench, query: str) -> None:
        jvm = bench.spark._jvm
        assert jvm is not None
        self._rule = getattr(jvm, "org.apache.spark.sql.execution.datasources.v2.PushDownUtils")
        analyzed = bench.spark.sql(query)._jdf.queryExecution().analyzed()
        filter = analyzed.child()
        self._relation = filter.collectLeaves().apply(0)
        self._options = self._relation.options()
        conjuncts = jvm.java.util.ArrayList()
        condition = filter.condition()
        for one in [condition.left(), condition.right()] if " AND " in query else [condition]:
            conjuncts.add(one)
        self._filters = jvm.scala.jdk.javaapi.CollectionConverters.asScala(conjuncts).toSeq()
        self._columns = jvm.org.apache.spark.sql.types.StructType.fromDDL("customer STRING")

    def plan(self) -> None:
        """As many calls to the JVM as `_CALLS` says."""
        builder = self._relation.table().newScanBuilder(self._options)
        self._rule.pushFilters(builder, self._filters)
        builder.pruneColumns(self._columns)
        planned = builder.build().toBatch().planInputPartitions()
        assert len(planned) > 0


def _call_cost(bench: Bench) -> float:
    """Seconds of as many calls to the JVM as planning a scan takes, at their fastest."""
    jvm = bench.spark._jvm
    assert jvm is not None
    absolute = jvm.java.lang.Math.abs  # each dot is a call of its own
    return _CALLS * _fastest(lambda: absolute(1), 200)


def _fastest(work: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return min(found)


def _repeated(work: Sequence[Callable[[], object]]) -> Cost:
    """The least wall of all, and their mean CPU: a single one may be shorter than what the kernel counts in."""
    walls: list[float] = []

    def run() -> None:
        for one in work:
            begun = time.perf_counter()
            one()
            walls.append(time.perf_counter() - begun)

    total = measured(run)
    return Cost(min(walls), total.cpu / len(work))


def _heap(bench: Bench) -> int:
    """Bytes of the JVM's heap that are in use after a collection."""
    jvm: Any = bench.spark._jvm
    gc.collect()
    for _ in range(2):
        jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())
