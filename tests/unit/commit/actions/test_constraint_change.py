"""Constraints and rows that are written at the same time: whichever comes second must see the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import ValidationConflict

CHECK = {"sqlext.check.small": "id < 9"}


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    return writer


def test_a_constraint_is_set_and_removed(writer: Writer) -> None:
    table = writer.append(1).table
    checked = table.metadata.current_snapshot_id
    set_ = writer.commit(ChangeConstraints(CHECK, checked_snapshot_id=checked), base=table).table
    assert set_.metadata.properties.items() >= CHECK.items()
    removed = writer.commit(ChangeConstraints(removed=frozenset(CHECK)), base=set_).table
    assert not CHECK.keys() & removed.metadata.properties.keys()


@pytest.mark.parametrize("stale", [False, True])
def test_rows_that_came_since_the_check_stand_in_the_way(writer: Writer, stale: bool) -> None:
    table = writer.load()
    writer.append(99, base=table)
    base = table if stale else writer.load()
    with pytest.raises(ValidationConflict):
        writer.commit(ChangeConstraints(CHECK, checked_snapshot_id=None), base=base)
    assert not CHECK.keys() & writer.load().metadata.properties.keys()


def test_rows_written_without_the_constraint_do_not_land_after_it(writer: Writer) -> None:
    table = writer.load()
    writer.commit(ChangeConstraints(CHECK), base=table)
    with pytest.raises(ValidationConflict):
        writer.append(99, base=table)
    assert writer.load().metadata.current_snapshot() is None


def test_other_properties_do_not_stand_in_the_way(writer: Writer) -> None:
    table = writer.load()
    writer.commit(ChangeProperties({"owner-team": "data"}), base=table)
    assert writer.append(1, base=table).attempts == 2
