"""CALL rewrite_manifests on a partitioned table of 20,000 files in 400 manifests, which become one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.bench import Bench, Result
from benchmarks.many_files import many_file_table
from benchmarks.measure import Cost

FILES, PER_MANIFEST = 20_000, 50
CASE = f"{FILES:,} files in {FILES // PER_MANIFEST} manifests"
WARM_UPS, RUNS = 4, 7


def manifest_rewrites(bench: Bench) -> Iterator[Result]:
    """Each run rewrites a table of its own; the first ones are the warming up of the JVM."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    costs, answers = [], []
    warehouse = Path(bench.spark.conf.get("spark.sql.catalog.lake.warehouse") or "")
    for run in range(WARM_UPS + RUNS):
        name = f"rewritten_{run}"
        table = warehouse / "bench" / name
        if not table.exists():
            many_file_table(bench.data.parent / "many_files", table, FILES, PER_MANIFEST)
        costs.append(bench.cost(f"CALL lake.system.rewrite_manifests('bench.{name}')"))
        manifests = f"SELECT count(*), sum(existing_data_files_count) FROM {bench.table(name)}.manifests"
        answers.append(bench.answer(manifests))
    counted = costs[WARM_UPS:]
    middle = Cost(median(one.wall for one in counted), median(one.cpu for one in counted))
    yield Result("manifest_rewrites", CASE, bench.system.name, "", middle, answers[-1])
