"""Runs of streaming queries as values, and the ones that are remembered."""

from __future__ import annotations

import pytest

from sqlext.commit.actions.stream_progress import KEPT_PLANS, StreamProgress
from sqlext.streaming import query_run
from sqlext.streaming.query_run import QueryRun, QueryRuns

RUN = QueryRun("query", StreamProgress("run"), key=(1,))


def test_a_batch_that_lands_takes_the_plans_of_empty_ones_along() -> None:
    run = RUN.begins(0, "a").passed_over().begins(1, "b")
    action = run.advance(1)
    assert (action.expected, action.progress) == (RUN.progress, StreamProgress("run", 1, {0: "a", 1: "b"}))
    landed = run.landed(1, now_ms=7)
    assert landed.progress == action.progress
    assert (landed.plans, landed.empty_batches, landed.committed_ms) == ({}, 0, 7)
    assert landed.begins(2, "c").advance(2).expected == action.progress
    assert RUN.plans == {}


def test_every_so_many_empty_batches_one_is_committed() -> None:
    run, committed = RUN, []
    for batch in range(7):
        due = run.is_empty_for(3)
        run = run.landed(batch, 0) if due else run.passed_over()
        committed.append(due)
    assert committed == [False, False, True, False, False, True, False]
    assert not any(run.is_empty_for(0) for run in (RUN, RUN.passed_over()))


def test_plans_of_empty_batches_do_not_pile_up() -> None:
    run = RUN
    for batch in range(100):
        run = run.begins(batch, str(batch)).passed_over()
    assert run.plans == {batch: str(batch) for batch in range(100 - KEPT_PLANS, 100)}


def test_the_runs_whose_batches_came_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_run, "_REMEMBERED_RUNS", 2)
    runs = QueryRuns()
    for name in ("a", "b"):
        runs.put(("table", name), RUN)
    again = runs.put(("table", "a"), RUN.begins(1, "plan"))
    runs.put(("table", "c"), RUN)
    assert runs.of(("table", "a")) is again
    assert runs.of(("table", "b")) is None
