"""What the ways to write a change have in common: counts, conflicts, and rows that are matched twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyroaring import BitMap64

from sqlext.command.change.read_set import OWN_KEYS, SCANNED_ROWS
from sqlext.command.change.row_change import (
    KeyHasCopies,
    RowChange,
    changed_counts,
    conflict_scope,
    require_one_change,
    with_copies,
)
from sqlext.command.outcome import Counts
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.write.task import COPIES
from unit.command.lake import Lake, refused

CHANGE = RowChange("SELECT 1", "snapshot")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_deleted_rows_are_counted_by_their_positions() -> None:
    """Two source rows may delete one row, and each would count it."""
    written = WrittenFiles(
        positions={"a": BitMap64([1, 2, 3]), "b": BitMap64([0])}, counts={"inserted": 5, "updated": 3, "deleted": 9}
    )
    assert changed_counts(written) == Counts(5, 3, 1)
    assert changed_counts(WrittenFiles()) == Counts(0, 0, 0)


def test_new_rows_of_an_enforced_key_conflict_by_it(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id) ENFORCED)")
    lake.create("CREATE TABLE free (id BIGINT, PRIMARY KEY (id))")
    assert conflict_scope(CHANGE, lake.target()) == replace(SCANNED_ROWS, keys_unique=True)
    assert conflict_scope(CHANGE, lake.target("free")) == SCANNED_ROWS
    # The keys of its new rows are those of rows that it replaces.
    assert conflict_scope(replace(CHANGE, keeps_keys=True), lake.target()) == SCANNED_ROWS
    assert conflict_scope(replace(CHANGE, scope=OWN_KEYS, keeps_keys=True), lake.target()) == OWN_KEYS


def test_a_key_of_which_the_table_has_copies_is_written_by_another_select(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    change = replace(CHANGE, one_copy="SELECT 2", query=None)
    copies = WrittenFiles(counts={COPIES: 1})
    with pytest.raises(KeyHasCopies):
        require_one_change(None, lake.target(), change, copies)
    again = with_copies(change)
    assert (again.lowered, again.one_copy) == ("SELECT 2", None)
    require_one_change(None, lake.target(), again, copies)
    require_one_change(None, lake.target(), change, WrittenFiles(counts={COPIES: 0}))
    assert with_copies(CHANGE).lowered == "SELECT 1"


def test_target_rows_that_are_matched_twice_are_named_by_their_places(lake: Lake) -> None:
    """Up to five of them, where the target has no columns to name them by."""
    lake.create("CREATE TABLE t (id BIGINT)")
    written = WrittenFiles(repeated={"b": BitMap64(range(10)), "a": BitMap64([7])})
    named = replace(CHANGE, row_names=())
    with refused("MERGE_CARDINALITY_VIOLATION", "lake.db.t", '{"_file": "a", "_pos": 7}', '"_pos": 3}') as caught:
        require_one_change(None, lake.target(), named, written)
    assert str(caught.value).count('"_pos"') == 5
    require_one_change(None, lake.target(), CHANGE, written)
    require_one_change(None, lake.target(), named, WrittenFiles())
