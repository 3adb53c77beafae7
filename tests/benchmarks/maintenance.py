"""Procedures that look after a table, each called on tables that are the same for every system.

The tables are made by sqlext's commits without Spark, as fast as the disk allows, in the folder of each system.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench, Result
from benchmarks.measure import Cost, least
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.loop.transaction import commit
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path

SNAPSHOTS, KEPT_SNAPSHOTS = 2_200, 200
LIVE_FILES, ORPHANS = 20_000, 1_000
EXPIRY, ORPHAN_FILES = f"expire {SNAPSHOTS - KEPT_SNAPSHOTS:,} snapshots", f"orphans of {LIVE_FILES + ORPHANS:,} files"
_COLUMNS = "id bigint, s string"
_DAYS_AGO_S = 4 * 86_400
_WARM_UP = 20


def maintenance(bench: Bench) -> Iterator[Result]:
    """Each call has a table of its own, after one call on a small one."""
    if bench.system.name not in ("sqlext", "iceberg"):
        return
    costs: list[Cost] = []
    found: object = None
    for number in range(bench.repeats + 1):
        table, is_first = f"expired_{number}", number == 0
        snapshots = _WARM_UP if is_first else SNAPSHOTS
        _overwritten(bench, table, snapshots)
        cost = bench.cost(
            f"CALL lake.system.expire_snapshots(table => '{_name(bench, table)}', older_than =>"
            f" TIMESTAMP '2100-01-01', retain_last => {_WARM_UP // 2 if is_first else KEPT_SNAPSHOTS})"
        )
        if not is_first:
            costs.append(cost)
            found = bench.answer(f"SELECT count(*) FROM {bench.table(table)}.snapshots")
    yield Result("maintenance", EXPIRY, bench.system.name, "", least(costs), found)
    for table, live, orphans in (("warm_up", _WARM_UP, 1), ("with_orphans", LIVE_FILES, ORPHANS)):
        _with_orphans(bench, table, live, orphans)
        # Iceberg's catalog caches the table as it was made.
        bench.spark.sql(f"REFRESH TABLE {bench.table(table)}")
        call = f"CALL lake.system.remove_orphan_files(table => '{_name(bench, table)}', dry_run => true)"
        costs = [bench.cost(call) for _ in range(bench.repeats)]
    yield Result("maintenance", ORPHAN_FILES, bench.system.name, "", least(costs), len(bench.answer(call)))


def _overwritten(bench: Bench, name: str, snapshots: int) -> None:
    """A table whose snapshots each replace the one file of the one before."""
    bench.recreate(name, _COLUMNS, "")
    catalog, identifier = _catalog(bench, name)
    table, rng = catalog.load_table(identifier), random.Random(name)
    for number in range(snapshots):
        action = OverwriteFiles((_file(Path(to_local_path(table.metadata.location)), number),), delete_all=True)
        table = commit(catalog, identifier, action, base=table, clock=_now_ms, rng=rng).table


def _with_orphans(bench: Bench, name: str, live: int, orphans: int) -> None:
    """A table with files of one commit, and as many others beside them, all four days old."""
    bench.recreate(name, _COLUMNS, "")
    catalog, identifier = _catalog(bench, name)
    table = catalog.load_table(identifier)
    folder = Path(to_local_path(table.metadata.location))
    files = [_file(folder, number) for number in range(live + orphans)]
    commit(catalog, identifier, AppendFiles(files[:live]), base=table, clock=_now_ms, rng=random.Random(name))
    old = time.time() - _DAYS_AGO_S
    for path in folder.rglob("*"):
        os.utime(path, (old, old))


def _file(table: Path, number: int) -> ContentFile:
    """A data file with nothing in it: no row of it is read."""
    path = table / "data" / f"{number // 1000}" / f"{number}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return ContentFile(Content.DATA, f"file:{path}", "PARQUET", 0, (), 1, 1)


def _name(bench: Bench, table: str) -> str:
    return bench.table(table).removeprefix("lake.")


def _catalog(bench: Bench, name: str) -> tuple[WarehouseCatalog, TableIdentifier]:
    warehouse = bench.spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    return WarehouseCatalog("lake", warehouse, LocalFileIO()), TableIdentifier(("bench",), name)


def _now_ms() -> int:
    return int(time.time() * 1000)
