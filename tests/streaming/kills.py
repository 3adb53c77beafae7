"""Streams that are killed again and again: what is in the tables at the end is what went in, once."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.loop.transaction import commit
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import LocalFileIO
from sqlext.streaming.routed_batch import BATCH_ID, QUERY_ID
from streaming.json_stream import folded, write_file
from streaming.killed_process import COMPACTION_FAULTS, COUNTED_FAULTS, FAULTS, MODES, SOURCE, checkpoint, run

PROCESS = Path(__file__).with_name("killed_process.py")
# The files of a query that nobody kills, and whose keys are its own.
OTHER_SOURCE = "other"
FILES_A_RUN = 2
KEYS = 5
_FAULTS_OF = {"log": FAULTS, "state": FAULTS + COMPACTION_FAULTS, "counted": COUNTED_FAULTS}
IN_BETWEEN = ("nothing", "expiry", "rollback", "compaction", "another query")
_numbers = itertools.count(1)


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
    """Streams over folders of files, in a warehouse of their own, into `tables`: some that are killed, and as many that
    are not.

    One file is one batch, so that a snapshot's batch id is the number of a file.
    """

    def __init__(self, spark: SparkSession, folder: Path, seed: int, tables: Sequence[str] = tuple(MODES)) -> None:
        self._spark = spark
        self._tables = tables
        self._rng = random.Random(seed)
        self._folder = folder
        self._warehouse = folder / "warehouse"
        # A session keeps a catalog as it was opened, so a name serves one warehouse.
        self._in_session = f"killed{next(_numbers)}"
        self._files: dict[str, list[list[dict[str, Any]]]] = {SOURCE: [], OTHER_SOURCE: []}
        # By table: the files whose rows a rollback has taken.
        self._rolled_back: dict[str, set[tuple[str, int]]] = {table: set() for table in tables}
        self.kills: Counter[str] = Counter()
        self.in_between: Counter[str] = Counter()
        for source in self._files:
            (folder / source).mkdir(parents=True)

    def create_tables(self) -> None:
        """In the parent's session, where a catalog is opened on the streams' warehouse."""
        spark, catalog = self._spark, self._in_session
        spark.conf.set(f"spark.sql.catalog.{catalog}", "io.sqlext.Catalog")
        spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(self._warehouse))
        mode = self._rng.choice(["resolved", "equality"])
        spark.sql(f"CREATE NAMESPACE {catalog}.db")
        spark.sql(f"CREATE TABLE {catalog}.db.log (id BIGINT, v STRING)")
        spark.sql(
            f"CREATE TABLE {catalog}.db.counted (number BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT, v STRING)"
        )
        spark.sql(
            f"CREATE TABLE {catalog}.db.state (id BIGINT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
            f" ('format-version'='{self._rng.choice([2, 3])}', 'write.upsert.mode'='{mode}', 'bucket'='2',"
            " 'num-sorted-run.compaction-trigger'='2')"
        )

    def run_and_kill(self, fault: str | None = None) -> None:
        """New files, a run that ends at some point of some batch, or at `fault`, and what others do before the next
        one."""
        for _ in range(FILES_A_RUN):
            self._put_file(SOURCE)
        stream = self._rng.choice(self._tables)
        fault = fault or self._rng.choice(_FAULTS_OF[stream])
        may_not_come = fault in COMPACTION_FAULTS
        nth = 1 if fault == "claimed" or may_not_come else self._rng.randint(1, FILES_A_RUN)
        ended = self._run(stream, fault, nth)
        told = f"{stream} came to {fault} less than {nth} times and ended with {ended}:\n{self._last_output()}"
        assert ended == -9 or (may_not_come and ended == 0), told
        self.kills[f"{stream} {fault}"] += ended == -9
        self._do(self._rng.choice(IN_BETWEEN))

    def run_to_the_end(self) -> None:
        """What is left is written."""
        assert self._run("-", "-", 1) == 0

    def check(self) -> None:
        """The tables against the model, and nothing is left of what was staged."""
        for table in self._tables:
            rows = self._spark.table(f"{self._in_session}.db.{table}").collect()
            found = sorted((row.id, row.v) for row in rows)
            events = self._events(table)
            told = events if MODES[table] == "append" else folded(events).values()
            assert found == sorted((event["id"], event["v"]) for event in told)
            if table == "counted":
                self._check_numbers(rows)
        assert not list(self._warehouse.rglob("stream-*"))

    def _check_numbers(self, rows: Sequence[Row]) -> None:
        """Each row has a number of its own, behind those of all batches before it."""
        numbers = {row.v: row.number for row in rows}
        assert len({*numbers.values()} - {None}) == len(rows)
        for source, files in self._files.items():
            furthest = 0
            for number, events in enumerate(files):
                if (source, number) not in self._rolled_back["counted"]:
                    given = [numbers[event["v"]] for event in events]
                    assert min(given) > furthest, (source, number)
                    furthest = max(given)

    def _events(self, table: str) -> list[dict[str, Any]]:
        """What a table was given and has not lost. Keys are of one source, so that no order is between the sources."""
        return [
            event
            for source, files in self._files.items()
            for number, events in enumerate(files)
            if (source, number) not in self._rolled_back[table]
            for event in events
        ]

    def _put_file(self, source: str) -> None:
        files = self._files[source]
        first = 0 if source == SOURCE else KEYS
        files.append([self._event(first, f"{source}{len(files)}") for _ in range(self._rng.randint(1, 6))])
        write_file(self._folder / source, len(files) - 1, files[-1])

    def _event(self, first: int, name: str) -> dict[str, Any]:
        kind = self._rng.choice(["+I", "+U", "-D"])
        return {"id": first + self._rng.randrange(KEYS), "v": f"{name}.{self._rng.random()}", "_row_kind": kind}

    def _run(self, *fault: object) -> int:
        places = (str(self._warehouse), str(self._folder))
        command = [sys.executable, str(PROCESS), *places, *map(str, fault), *self._tables]
        with (self._folder / "errors.txt").open("a") as errors:
            process = subprocess.Popen(command, stdout=errors, stderr=errors, start_new_session=True, env=os.environ)
            return process.wait(600)

    def _last_output(self) -> str:
        """Of the processes that were killed."""
        return (self._folder / "errors.txt").read_text(errors="replace")[-8_000:]

    def _do(self, what: str) -> None:
        """What others do to the tables while the streams are down."""
        self.in_between[what] += 1
        if what == "another query":
            self._put_file(OTHER_SOURCE)
        for table in self._tables:
            if what == "expiry":
                self._expire(table)
            elif what == "rollback":
                self._roll_back(table)
            elif what == "another query":
                run(self._spark, self._folder, OTHER_SOURCE, f"{self._in_session}.db", table)
        if what == "compaction" and "state" in self._tables:
            self._spark.sql(f"CALL {self._in_session}.system.compact('db.state')")

    def _roll_back(self, table: str) -> None:
        """By one snapshot, where the one before is there. What the stream has committed does not come again."""
        metadata = self._load(table).metadata
        head = metadata.current_snapshot()
        if head is None or head.parent_snapshot_id not in {one.snapshot_id for one in metadata.snapshots}:
            return
        if BATCH_ID in head.summary:
            source = next(one for one in self._files if self._query_id(one, table) == head.summary[QUERY_ID])
            self._rolled_back[table].add((source, int(head.summary[BATCH_ID])))
        self._spark.sql(f"CALL {self._in_session}.system.rollback_to_snapshot('db.{table}', {head.parent_snapshot_id})")

    def _query_id(self, source: str, table: str) -> str | None:
        told = checkpoint(self._folder, source, table) / "metadata"
        return str(json.loads(told.read_text())["id"]) if told.exists() else None

    def _expire(self, table: str) -> None:
        loaded = self._load(table)
        now = time.time_ns() // 1_000_000
        commit(
            self._catalog,
            loaded.identifier,
            ExpireAllButHeads(),
            base=loaded,
            clock=lambda: now,
            rng=self._rng,
            manifests=ManifestCache(),
        )

    def _load(self, table: str) -> LoadedTable:
        return self._catalog.load_table(TableIdentifier(("db",), table))

    @cached_property
    def _catalog(self) -> WarehouseCatalog:
        return WarehouseCatalog(self._in_session, str(self._warehouse), LocalFileIO())
