"""Every fault point, by an error, a lost answer, kill -9 and a long stand-still, in every operation: afterwards the
statement is wholly in or out, its outcome says which, and the table can be read and written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fault.writing_process import (
    FAULTS,
    OPERATIONS,
    POINTS,
    PROPERTIES,
    TABLE,
    LocalProcess,
    outcome_under,
    outcomes_around,
)
from simulator.statements import Change, Create, Statement
from small_tables import files_below

# What is written before the commit is the write task's to name an error of, and no step of these operations.
_ANSWERS_OF = ("manifest", "manifest list", "deletion vector", "compare-and-swap", "folder")


def _begin(folder: Path, operation: str) -> tuple[LocalProcess, Statement]:
    """A table of some commits, unless the operation makes one, and the statement."""
    process = LocalProcess({"warehouse": str(folder)}).with_namespace()
    if operation != "create":
        format_version = 2 if operation in ("upsert", "overwrite") else 3
        assert process.run(Create("s0", TABLE, format_version=format_version, properties=PROPERTIES)) == "acknowledged"
        for name in ("s1", "s2"):
            assert process.run(Change(name, TABLE, kind="append", ids=frozenset((1, 2)))) == "acknowledged"
    return process, OPERATIONS[operation]()


def _after(operation: str, before: Counter[Any] | None, statement: Statement) -> Counter[Any] | None:
    return None if operation == "drop" else +statement.apply(Counter() if before is None else before)


def _require_writable(folder: Path, rows: Counter[Any] | None) -> None:
    """Another process goes on from there."""
    other = LocalProcess({"warehouse": str(folder)}, "other")
    if rows is None:
        made = Create("o0", TABLE)
        assert other.run(made) == "acknowledged", made.error
        rows = Counter()
    added = Change("o1", TABLE, kind="append", ids=frozenset((9,)))
    assert other.run(added) == "acknowledged", added.error
    assert LocalProcess({"warehouse": str(folder)}).rows(added) == rows + Counter({(9, "o1"): 1})


@pytest.mark.turns(1)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_errors_lost_answers_and_kills(tmp_path: Path, operation: str) -> None:
    reached = 0
    for point in POINTS:
        for fault in FAULTS:
            if fault == "lost answer" and point not in _ANSWERS_OF:
                continue
            folder = tmp_path / f"{point} {fault}".replace(" ", "-")
            process, statement = _begin(folder, operation)
            before, files = process.rows(statement), files_below(folder)
            after = _after(operation, before, statement)
            outcome = outcome_under(fault, POINTS[point], folder, statement)
            rows = LocalProcess({"warehouse": str(folder)}).rows(statement)
            told = f"{operation}, {fault} at the {point}: {outcome} {statement.error}"
            if outcome == "acknowledged":
                assert rows == after, told
            elif outcome == "refused":
                assert rows == before, told
                assert files_below(folder) == files, told
            else:
                assert rows in (before, after), told
            reached += outcome != "acknowledged"
            _require_writable(folder, rows)
    # Every operation has steps that matter; else nothing was tested.
    assert reached >= 3


@pytest.mark.turns(1)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_that_stands_still(tmp_path: Path, operation: str) -> None:
    """Meanwhile another one commits; then the first goes on."""
    for point in POINTS:
        folder = tmp_path / point.replace(" ", "-")
        process, statement = _begin(folder, operation)
        before = process.rows(statement)
        other = Change("o", TABLE, kind="append", ids=frozenset((8,)))
        outcome, others = outcomes_around(POINTS[point], folder, statement, other)
        theirs = Counter({(8, "o"): 1}) if others == "acknowledged" else Counter()
        rows = LocalProcess({"warehouse": str(folder)}).rows(statement)
        base = Counter() if before is None else before
        in_either_order = (
            _after(operation, base + theirs, statement),
            _plus(_after(operation, base, statement), theirs),
        )
        told = f"{operation}, standing still at the {point}: {outcome}, the other {others}: {rows}"
        if outcome == "acknowledged":
            assert rows in in_either_order, told
        else:
            assert rows == base + theirs, told
        _require_writable(folder, rows)


def _plus(rows: Counter[Any] | None, others: Counter[Any]) -> Counter[Any] | None:
    return None if rows is None else rows + others
