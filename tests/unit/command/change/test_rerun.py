"""Statements that run again because others of the process have committed, in each of their runs, before them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.environment import Environment
from sqlext.commit.action import Action
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import StaleRead
from sqlext.spec.expression import AlwaysTrue
from unit.command.lake import Lake

TABLE = ("lake", "db", "t")


def _waiting(lake: Lake) -> int:
    """Commits and statements that are in a line of the lake."""
    return sum(map(len, lake.queue._lines.values()))


def _all_rows_read(table: LoadedTable) -> Action:
    head = table.metadata.current_snapshot_id
    return RowDelta(base_snapshot_id=head, read_filter=AlwaysTrue())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id BIGINT)")
    return made


def test_a_statement_that_is_slower_than_the_others_lands_in_its_turn(lake: Lake) -> None:
    others: list[threading.Thread] = []

    def statement(environment: Environment) -> int:
        """Another thread commits, or waits for its turn, while the statement runs."""
        table = lake.load()
        other = threading.Thread(target=lake.append, kwargs={"id": [len(others)]})
        others.append(other)
        other.start()
        while other.is_alive() and _waiting(lake) < 2:
            """It is on its way."""
        environment.commit("lake", table, _all_rows_read(table))
        return len(others)

    assert run_with_reruns(lake.environment, TABLE, statement) == 3
    for other in others:
        other.join()
    assert _waiting(lake) == 0
    assert len(lake.load().metadata.snapshots) == 4


def test_a_statement_that_conflicts_while_another_has_its_turn_runs_behind_it(lake: Lake) -> None:
    """At once it would be overtaken by that one, and read in vain."""
    landed: list[str] = []
    seen: list[tuple[int, list[str]]] = []
    runs = 0

    def late(environment: Environment) -> None:
        if environment.overtaken is None:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")
        seen.append((environment.overtaken.times, list(landed)))

    other = threading.Thread(target=run_with_reruns, args=(lake.environment, TABLE, late))

    def statement(environment: Environment) -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")
        other.start()
        while other.is_alive() and _waiting(lake) < 2:
            """It is on its way."""
        landed.append("the first")

    run_with_reruns(lake.environment, TABLE, statement)
    other.join()
    assert seen == [(1, ["the first"])]
    assert _waiting(lake) == 0


def test_a_statement_keeps_no_turn_once_it_has_landed_or_failed(lake: Lake) -> None:
    runs: list[Environment] = []

    def statement(environment: Environment) -> None:
        runs.append(environment)
        if len(runs) < 4:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")
        assert not environment.statements_run_again(lake.load())
        environment.commit("lake", lake.load(), ChangeProperties({"a": "b"}))
        assert _waiting(lake) == 0, "what it does behind its commit, such as a compaction, has no turn to wait for"
        raise RuntimeError("a failure")

    with pytest.raises(RuntimeError):
        run_with_reruns(lake.environment, TABLE, statement)
    assert [run.overtaken and run.overtaken.times for run in runs] == [None, 1, 2, 3]
    assert _waiting(lake) == 0


def test_a_compaction_sees_that_statements_wait_to_run_again(lake: Lake) -> None:
    runs = 0

    def statement(environment: Environment) -> None:
        nonlocal runs
        runs += 1
        assert lake.environment.statements_run_again(lake.load()) == (runs > 2)
        if runs < 4:
            raise StaleRead("CONCURRENT_CHANGE", name="t", reason="it was changed")

    run_with_reruns(lake.environment, TABLE, statement)
    assert not lake.environment.statements_run_again(lake.load())
