"""Every fault point of a commit whose changes are stored with it: the changelog is there with its snapshot or not at
all, and leads from the rows before to those after."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault.looked_up_change import require_changelogs
from fault.writing_process import (
    FAULTS,
    POINTS_OF_RECORDS,
    PROPERTIES,
    RECORDED,
    TABLE,
    LocalProcess,
    outcome_under,
    outcomes_around,
)
from simulator.statements import Change, Create, Statement
from small_tables import files_below


def _begin(folder: Path, operation: str) -> tuple[LocalProcess, Statement]:
    process = LocalProcess({"warehouse": str(folder)}).with_namespace()
    format_version = 2 if operation == "overwrite" else 3
    assert process.run(Create("s0", TABLE, format_version=format_version, properties=PROPERTIES)) == "acknowledged"
    for name in ("s1", "s2"):
        assert process.run(Change(name, TABLE, kind="append", ids=frozenset((1, 2)))) == "acknowledged"
    return process, RECORDED[operation]()


def _litter(folder: Path, told: str) -> set[str]:
    """Changelogs without a snapshot; all others are right."""
    process = LocalProcess({"warehouse": str(folder)})
    return require_changelogs(process, process.catalog.load_table(TABLE), told)


@pytest.mark.turns(1)
@pytest.mark.parametrize("operation", RECORDED)
def test_errors_lost_answers_and_kills(tmp_path: Path, operation: str) -> None:
    outcomes: Counter[str] = Counter()
    for point in POINTS_OF_RECORDS:
        for fault in FAULTS:
            folder = tmp_path / f"{point} {fault}".replace(" ", "-")
            process, statement = _begin(folder, operation)
            before, files = process.rows(statement), files_below(folder)
            assert before is not None
            after = +statement.apply(before)
            outcome = outcome_under(fault, POINTS_OF_RECORDS[point], folder, statement)
            rows = LocalProcess({"warehouse": str(folder)}).rows(statement)
            told = f"{operation}, {fault} at the {point}: {outcome} {statement.error}"
            litter = _litter(folder, told)
            if outcome == "acknowledged":
                assert (rows, litter) == (after, set()), told
            elif outcome == "refused":
                assert (rows, files_below(folder)) == (before, files), told
            else:
                assert rows in (before, after), told
                assert not litter or rows == before, told
            outcomes[outcome] += 1
            again = RECORDED[operation]()
            again.name = "y"
            assert process.run(again) == "acknowledged", f"{told}; then {again.error}"
            assert _litter(folder, told) == litter, told
    # Each point is one that the operation comes to.
    assert outcomes["killed"] == 2 * len(POINTS_OF_RECORDS)
    assert outcomes["refused"] >= 3


@pytest.mark.parametrize("operation", RECORDED)
def test_a_process_that_stands_still(tmp_path: Path, operation: str) -> None:
    """Another one commits meanwhile: what was found before is found anew."""
    for point in POINTS_OF_RECORDS:
        folder = tmp_path / point.replace(" ", "-")
        process, statement = _begin(folder, operation)
        before = process.rows(statement)
        assert before is not None
        other = Change("o", TABLE, kind="append", ids=frozenset((8,)))
        outcome, others = outcomes_around(POINTS_OF_RECORDS[point], folder, statement, other)
        told = f"{operation}, standing still at the {point}: {outcome}, the other {others}"
        assert (outcome, others) == ("acknowledged", "acknowledged"), f"{told} {statement.error} {other.error}"
        assert process.rows(statement) == +statement.apply(before) + Counter({(8, "o"): 1}), told
        assert _litter(folder, told) == set(), told
