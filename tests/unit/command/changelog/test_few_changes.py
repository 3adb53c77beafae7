"""Few changes between two snapshots, read by the driver at the places of their rows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sqlext.command.changelog.changes import ChangeFeed, PlansInOrder
from sqlext.command.changelog.few_changes import few_changes
from sqlext.command.plan.planning import Planning
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.schema_change import AddColumn, RenameColumn
from sqlext.spec.types import StringType
from unit.command.lake import NAMESPACE, Lake

KEYED = "CREATE TABLE t (id BIGINT, d DOUBLE, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{}')"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _snapshots(lake: Lake) -> tuple[Snapshot, ...]:
    return lake.load().metadata.snapshots


def _changes(lake: Lake, before: Snapshot | None, after: Snapshot, most: int = 100) -> list[tuple[Any, ...]] | None:
    handle, _ = ChangeFeed(lake.environment).table(("lake", *NAMESPACE, "t"))
    found = few_changes(lake.environment, handle, before, after, most)
    return None if found is None else sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


@pytest.mark.parametrize("version", [2, 3])
def test_an_update_is_a_row_that_goes_and_one_of_its_key_that_comes(lake: Lake, version: int) -> None:
    lake.create(KEYED.format(version))
    lake.append(id=[1, 2, 3], d=[0.5, 1.5, None])
    path = lake.files()[0].file_path
    lake.delete({path: [0, 2]})
    lake.append(id=[1, 4], d=[9.5, math.nan])
    one, two, three = _snapshots(lake)
    assert _changes(lake, None, one) == [(1, 0.5, "+I"), (2, 1.5, "+I"), (3, None, "+I")]
    assert _changes(lake, one, two) == [(1, 0.5, "-D"), (3, None, "-D")]
    assert repr(_changes(lake, one, three)) == repr(
        [(1, 0.5, "-U"), (1, 9.5, "+U"), (3, None, "-D"), (4, math.nan, "+I")]
    )
    # A place that is behind: what came goes again.
    assert _changes(lake, two, one) == [(1, 0.5, "+I"), (3, None, "+I")]
    assert _changes(lake, two, two) == []


def test_rows_are_told_in_the_columns_that_the_table_has_now(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    lake.commit(ChangeSchema((RenameColumn(("id",), "a.b"), AddColumn(("note",), StringType())), False))
    lake.append(**{"a.b": [2], "note": ["x"]})
    _, new = _snapshots(lake)
    assert _changes(lake, None, new) == [(1, None, "+I"), (2, "x", "+I")]


def test_equality_deletes_are_resolved_to_positions(lake: Lake) -> None:
    lake.create(KEYED.format(2))
    lake.append(id=[1, 2], d=[0.0, 0.0])
    lake.upsert(id=[1], d=[5.0])
    lake.upsert(id=[1, 3], d=[6.0, 3.0])
    one, two, three = _snapshots(lake)
    assert _changes(lake, one, two) == [(1, 0.0, "-U"), (1, 5.0, "+U")]
    assert _changes(lake, two, three) == [(1, 5.0, "-U"), (1, 6.0, "+U"), (3, 3.0, "+I")]
    assert _changes(lake, one, three) == [(1, 0.0, "-U"), (1, 6.0, "+U"), (3, 3.0, "+I")]


def test_of_steps_in_their_order_each_snapshot_is_planned_once(lake: Lake) -> None:
    lake.create(KEYED.format(2))
    for number in range(4):
        lake.upsert(id=[1, number + 2], d=[float(number), 0.0])
    handle, _ = ChangeFeed(lake.environment).table(("lake", *NAMESPACE, "t"))
    plans = PlansInOrder(lake.environment)
    for before, after in pairwise((None, *_snapshots(lake))):
        assert after is not None
        told = few_changes(lake.environment, handle, before, after, 100, plans)
        assert told is not None
        assert told.equals(few_changes(lake.environment, handle, before, after, 100))
        assert plans.plan(handle, after) is plans.plan(handle, after)
    one, two, *_ = _snapshots(lake)
    assert plans.plan(handle, one).by_path().keys() < plans.plan(handle, two).by_path().keys()


def test_where_only_a_query_can_tell(lake: Lake) -> None:
    lake.create(KEYED.format(2))
    lake.append(id=[1, 2], d=[0.0, 0.0])
    one = _snapshots(lake)[0]
    assert _changes(lake, None, one, most=1) is None
    small = replace(lake.environment, planning=Planning.of({"sqlext.plan.driver-bytes": "1"}))
    handle, _ = ChangeFeed(small).table(("lake", *NAMESPACE, "t"))
    assert few_changes(small, handle, None, one, 100) is None


def test_columns_and_keys_that_the_driver_does_not_read(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, tags ARRAY<STRING>)")
    lake.append(id=[1], tags=[["a"]])
    assert _changes(lake, None, _snapshots(lake)[0]) is None
