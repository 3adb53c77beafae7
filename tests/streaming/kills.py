"""Streams that are killed again and again: what is in the tables at the end is what went in, once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.transaction import commit
from sqlext.scan.manifest_cache import ManifestCache
from sqlext.spec.metadata_update import RemoveSnapshots
from sqlext.spec.requirement import AssertTableUUID
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import LocalFileIO
from streaming.json_stream import folded, write_file
from streaming.killed_process import COMPACTION_FAULTS, FAULTS

PROCESS = Path(__file__).with_name("killed_process.py")
TABLES = ("log", "state")
FILES_A_RUN = 2
KEYS = 5


@dataclass(frozen=True)
class ExpireAllButHeads:
    """All snapshots go that no reference names."""

    def begin(self, context: CommitContext) -> ExpireAllButHeads:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        assert base is not None
        heads = {reference.snapshot_id for reference in base.refs.values()}
        gone = tuple(one.snapshot_id for one in base.snapshots if one.snapshot_id not in heads)
        return StagedChange(base, (RemoveSnapshots(gone),) if gone else (), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None: ...

    def abandon(self) -> None: ...


class KilledStreams:
    """Two streams over one folder of files, in a warehouse of their own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._rng = random.Random(seed)
        self._folder = folder
        self._warehouse = folder / "warehouse"
        self._events: list[dict[str, Any]] = []
        self._files = 0
        self.kills: Counter[str] = Counter()
        (folder / "source").mkdir(parents=True)

    def create_tables(self, spark: SparkSession) -> None:
        """In the parent's session, whose catalog `killed` is on the streams' warehouse."""
        spark.conf.set("spark.sql.catalog.killed", "io.sqlext.Catalog")
        spark.conf.set("spark.sql.catalog.killed.warehouse", str(self._warehouse))
        mode = self._rng.choice(["resolved", "equality"])
        spark.sql("CREATE NAMESPACE killed.db")
        spark.sql("CREATE TABLE killed.db.log (id BIGINT, v STRING)")
        spark.sql(
            "CREATE TABLE killed.db.state (id BIGINT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
            f" ('format-version'='{self._rng.choice([2, 3])}', 'write.upsert.mode'='{mode}', 'bucket'='2',"
            " 'num-sorted-run.compaction-trigger'='2')"
        )

    def run_and_kill(self) -> None:
        """New files, and a run that ends at some point of some batch."""
        self._put_files()
        stream = self._rng.choice(TABLES)
        fault = self._rng.choice(FAULTS if stream == "log" else FAULTS + COMPACTION_FAULTS)
        may_not_come = fault in COMPACTION_FAULTS
        nth = 1 if fault == "claimed" or may_not_come else self._rng.randint(1, FILES_A_RUN)
        ended = self._run(stream, fault, nth)
        assert ended == -9 or (may_not_come and ended == 0), f"{stream} came to {fault} less than {nth} times"
        self.kills[f"{stream} {fault}"] += ended == -9
        if self._rng.random() < 0.5:
            self._expire()

    def run_to_the_end(self) -> None:
        """What is left is written."""
        assert self._run("-", "-", 1) == 0

    def check(self, spark: SparkSession) -> None:
        """The tables against the model, and nothing is left of what was staged."""
        log = Counter((row.id, row.v) for row in spark.table("killed.db.log").collect())
        assert log == Counter((event["id"], event["v"]) for event in self._events)
        state = sorted((row.id, row.v) for row in spark.table("killed.db.state").collect())
        assert state == sorted((row["id"], row["v"]) for row in folded(self._events).values())
        assert not list(self._warehouse.rglob("stream-*"))

    def _put_files(self) -> None:
        for _ in range(FILES_A_RUN):
            events = [self._event() for _ in range(self._rng.randint(1, 6))]
            self._events += events
            write_file(self._folder / "source", self._files, events)
            self._files += 1

    def _event(self) -> dict[str, Any]:
        number = len(self._events)
        kind = self._rng.choice(["+I", "+U", "-D"])
        return {"id": self._rng.randrange(KEYS), "v": f"v{number}.{self._rng.random()}", "_row_kind": kind}

    def _run(self, *fault: object) -> int:
        command = [sys.executable, str(PROCESS), str(self._warehouse), str(self._folder), *map(str, fault)]
        with (self._folder / "errors.txt").open("a") as errors:
            process = subprocess.Popen(command, stdout=errors, stderr=errors, start_new_session=True, env=os.environ)
            return process.wait(600)

    def _expire(self) -> None:
        catalog = WarehouseCatalog("killed", str(self._warehouse), LocalFileIO())
        for table in TABLES:
            loaded = catalog.load_table(TableIdentifier(("db",), table))
            now = time.time_ns() // 1_000_000
            commit(
                catalog,
                loaded.identifier,
                ExpireAllButHeads(),
                base=loaded,
                clock=lambda now=now: now,
                rng=self._rng,
                manifests=ManifestCache(),
            )
