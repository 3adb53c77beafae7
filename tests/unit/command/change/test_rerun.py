"""Statements that run again because others of the process have committed, in each of their runs, before them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from small_tables import ORDERS, Clock, Writer, data_file, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.command.change.rerun import run_until_not_overtaken
from sqlext.command.environment import Environment
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.errors import StaleRead
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spec.expression import AlwaysTrue
from sqlext.write.merged_file import merge_data_files

TABLE = ("lake", *ORDERS.namespace, ORDERS.name)


class Process:
    """The environment of one process, over a warehouse with one table."""

    def __init__(self, folder: Path) -> None:
        self.writer = Writer(warehouse_catalog(folder))
        self.writer.create()
        catalogs = Catalogs(
            OpenCatalogs(lambda name, options: self.writer.catalog), RememberedMetadata(), self.writer.catalog.io
        )
        catalogs.opened.initialize("lake", {})
        clock, rng = Clock(), self.writer.rng
        self.queue = AttemptQueue()
        self.environment = Environment(
            catalogs,
            ScanBridge(catalogs, ManifestCache(), PositionDeleteCache()),
            clock=clock,
            rng=rng,
            sleep=clock.sleep,
            transactions=OpenTransactions(catalogs, rng),
            queue=self.queue,
            groups=GroupCommitters(clock=clock, rng=rng, sleep=clock.sleep, queue=self.queue, merge=merge_data_files),
        )

    def load(self) -> LoadedTable:
        return self.environment.catalogs.load(TABLE)

    def append(self, id: int) -> None:
        table = self.load()
        self.environment.commit("lake", table, AppendFiles((data_file(table.metadata, [id]),)))

    def waiting(self) -> int:
        """Commits and statements that are in a line of the process."""
        return sum(map(len, self.queue._lines.values()))


def _all_rows_read(table: LoadedTable) -> Action:
    head = table.metadata.current_snapshot_id
    return RowDelta(base_snapshot_id=head, read_filter=AlwaysTrue())


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_a_statement_that_is_slower_than_the_others_lands_in_its_turn(process: Process) -> None:
    others: list[threading.Thread] = []

    def statement(environment: Environment) -> int:
        """Another thread commits, or waits for its turn, while the statement runs."""
        table = process.load()
        other = threading.Thread(target=process.append, args=(len(others),))
        others.append(other)
        other.start()
        while other.is_alive() and process.waiting() < 2:
            """It is on its way."""
        environment.commit("lake", table, _all_rows_read(table))
        return len(others)

    assert run_until_not_overtaken(process.environment, TABLE, statement) == 3
    for other in others:
        other.join()
    assert process.waiting() == 0
    assert len(process.load().metadata.snapshots) == 4


def test_a_statement_keeps_no_turn_once_it_has_landed_or_failed(process: Process) -> None:
    runs: list[Environment] = []

    def statement(environment: Environment) -> None:
        runs.append(environment)
        if len(runs) < 4:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")
        assert not environment.statements_run_again(process.load())
        environment.commit("lake", process.load(), ChangeProperties({"a": "b"}))
        assert process.waiting() == 0, "what it does behind its commit, such as a compaction, has no turn to wait for"
        raise RuntimeError("a failure")

    with pytest.raises(RuntimeError):
        run_until_not_overtaken(process.environment, TABLE, statement)
    assert [run.overtaken and run.overtaken.times for run in runs] == [None, 1, 2, 3]
    assert process.waiting() == 0


def test_a_compaction_sees_that_statements_wait_to_run_again(process: Process) -> None:
    runs = 0

    def statement(environment: Environment) -> None:
        nonlocal runs
        runs += 1
        assert process.environment.statements_run_again(process.load()) == (runs > 2)
        if runs < 4:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")

    run_until_not_overtaken(process.environment, TABLE, statement)
    assert not process.environment.statements_run_again(process.load())
