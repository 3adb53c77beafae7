"""Statements that are idempotent batches: run, skipped, and recorded where they had nothing to commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.batch_statement import as_batch, session_batch, unless_created_before, unless_ran_before
from sqlext.command.change.row_level import load_target
from sqlext.command.dml.literal_insert import append_literals
from sqlext.command.environment import Environment
from sqlext.errors import AlreadyExistsError
from sqlext.spec.metadata.idempotent_batch import Batch
from unit.command.lake import Lake, name, refused, rows_for

TABLE = ("lake", "db", "t")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id INT)")
    return lake


def _batch(lake: Lake, version: int, session: str = "s") -> Environment:
    settings = {"sqlext.txn.app-id": "app", "sqlext.txn.version": str(version)}
    return as_batch(lake.environment.within(session), session, settings, {})


def _insert(environment: Environment, *ids: int) -> int:
    target = load_target(environment, None, name())
    return append_literals(environment, None, target, rows_for(target, id=ids)) if ids else 0


def _run(environment: Environment, *ids: int) -> int:
    return unless_ran_before(environment, TABLE, lambda now: _insert(now, *ids), -1)


def test_a_batch_is_run_once(lake: Lake) -> None:
    assert _run(_batch(lake, 1), 1) == 1
    assert _run(_batch(lake, 1), 2) == -1
    assert _run(_batch(lake, 0), 2) == -1
    assert _run(_batch(lake, 2), 2) == 1
    assert _run(lake.environment, 3) == 1
    assert lake.rows() == [(1,), (2,), (3,)]


def test_one_that_another_overtakes_behind_its_last_look_is_skipped(lake: Lake) -> None:
    def insert(now: Environment) -> int:
        target = load_target(now, None, name())
        assert _run(_batch(lake, 1), 7) == 1
        return append_literals(now, None, target, rows_for(target, id=[1]))

    before = {file.file_path for file in lake.files()}
    assert unless_ran_before(_batch(lake, 1), TABLE, insert, -1) == -1
    assert lake.rows() == [(7,)]
    folder = Path(lake.catalog.default_table_location(lake.load().identifier).removeprefix("file:"))
    assert len(list(folder.rglob("*.parquet"))) == len(before) + 1


def test_a_batch_with_nothing_to_commit_is_recorded_without_a_snapshot(lake: Lake) -> None:
    assert _run(_batch(lake, 1)) == 0
    assert lake.load().metadata.snapshots == ()
    assert _run(_batch(lake, 1), 1) == -1


def test_a_failed_batch_is_not_recorded(lake: Lake) -> None:
    def fail(now: Environment) -> int:
        load_target(now, None, name())
        raise ValueError("the rows are bad")

    with pytest.raises(ValueError, match="bad"):
        unless_ran_before(_batch(lake, 1), TABLE, fail, -1)
    assert _run(_batch(lake, 1), 1) == 1


def test_the_statements_of_a_transaction_are_one_run(lake: Lake) -> None:
    transactions = lake.environment.transactions
    transactions.begin("s")
    assert [_run(_batch(lake, 1), id) for id in (1, 2)] == [1, 1]
    transactions.commit("s")
    transactions.begin("s")
    assert _run(_batch(lake, 1), 3) == -1
    transactions.roll_back("s")
    assert lake.rows() == [(1,), (2,)]


def test_a_table_that_was_made_by_its_batch_is_there_already(lake: Lake) -> None:
    def create() -> None:
        raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name="t")

    with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
        unless_created_before(_batch(lake, 1), TABLE, create)

    def create_behind_another() -> None:
        _run(_batch(lake, 1), 1)
        create()

    unless_created_before(_batch(lake, 1), TABLE, create_behind_another)
    unless_created_before(_batch(lake, 1), TABLE, create)
    with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
        unless_created_before(_batch(lake, 2), TABLE, create)


def test_settings_of_a_session() -> None:
    assert session_batch({}) is None
    assert session_batch({"sqlext.txn.app-id": "a", "sqlext.txn.version": "3"}) == Batch("a", 3)
    with refused("BATCH_NOT_IDENTIFIED", "sqlext.txn.version is there without the setting sqlext.txn.app-id"):
        session_batch({"sqlext.txn.version": "3"})
    with refused("SETTING_UNKNOWN", "sqlext.txn.app-id"):
        session_batch({"sqlext.txn.appid": "a"})
    with refused("SETTING_INVALID", "sqlext.txn.version=x", "a whole number from 0"):
        session_batch({"sqlext.txn.app-id": "a", "sqlext.txn.version": "x"})


def test_options_of_a_write_come_before_the_sessions_settings(lake: Lake) -> None:
    settings = {"sqlext.txn.app-id": "a", "sqlext.txn.version": "3"}
    asked = as_batch(lake.environment, "s", settings, {"txn-app-id": "b", "txn-version": "4"}).batch
    assert asked is not None
    assert asked.run.batch == Batch("b", 4)
    with refused("BATCH_NOT_IDENTIFIED"):
        as_batch(lake.environment, "s", settings, {"txn-version": "4"})
