"""Spark's clause CHANGES: which snapshots its bounds take in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.changelog.changes_clause import ChangesClause
from sqlext.errors import AnalysisError
from unit.command.lake import NAMESPACE, Lake, refused

TABLE = ("lake", *NAMESPACE, "t")
ANY: Mapping[str, Any] = {}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id BIGINT)")
    made.append(id=[1])
    made.append(id=[2])
    made.append(id=[3])
    return made


def _text(lake: Lake, start: Mapping[str, Any] = ANY, end: Mapping[str, Any] = ANY, **given: Any) -> str:
    arguments = {
        "table": TABLE,
        "from": start,
        "to": end,
        "from_inclusive": True,
        "to_inclusive": True,
        "mode": "none",
        "updates": False,
        "options": {},
        **given,
    }
    return str(ChangesClause(ChangeFeed(lake.environment)).sql(arguments)["sql"])


def _told(lake: Lake, start: Mapping[str, Any] = ANY, end: Mapping[str, Any] = ANY, **given: Any) -> list[int]:
    """The numbers of the snapshots, the oldest is 1, that are told."""
    numbers = {one.snapshot_id: number for number, one in enumerate(lake.load().metadata.snapshots, 1)}
    text = _text(lake, start, end, **given)
    if "WHERE false" in text:
        return []
    return sorted(numbers[int(id)] for id in set(re.findall(r"(\d+)L AS `_commit_snapshot_id`", text)))


def test_bounds_by_snapshots(lake: Lake) -> None:
    one, two, three = ({"snapshot_id": each.snapshot_id} for each in lake.load().metadata.snapshots)
    assert _told(lake) == [1, 2, 3]
    assert _told(lake, two) == [2, 3]
    assert _told(lake, two, from_inclusive=False) == [3]
    assert _told(lake, one, two) == [1, 2]
    assert _told(lake, one, two, to_inclusive=False) == [1]
    assert _told(lake, two, three, from_inclusive=False, to_inclusive=False) == []
    assert _told(lake, ANY, one, to_inclusive=False) == []


def test_bounds_by_the_clock(lake: Lake) -> None:
    """Spark gives microseconds; snapshots have whole milliseconds."""
    first, second, third = (one.timestamp_ms * 1000 for one in lake.load().metadata.snapshots)

    def told(start: int, end: int, **given: bool) -> list[int]:
        return _told(lake, {"timestamp": start}, {"timestamp": end}, **given)

    assert told(second, third) == [2, 3]
    assert told(second, third, from_inclusive=False) == [3]
    assert told(second, third, to_inclusive=False) == [2]
    assert told(second + 1, third) == [3]
    assert told(second - 1, third, from_inclusive=False) == [2, 3]
    assert told(first - 1, third + 1) == [1, 2, 3]
    assert told(0, first - 1) == []
    assert told(first, second + 1, to_inclusive=False) == [1, 2]


def test_the_beginning_is_not_told_once_it_has_gone(lake: Lake) -> None:
    one, two, _ = lake.load().metadata.snapshots
    lake.expire(one.snapshot_id)
    with refused("CHANGES_EXPIRED", str(one.snapshot_id)):
        _text(lake, {"timestamp": 0})
    with refused("CHANGES_EXPIRED", str(one.snapshot_id), str(two.snapshot_id)):
        _text(lake, {"snapshot_id": two.snapshot_id})
    assert _told(lake, {"snapshot_id": two.snapshot_id}, from_inclusive=False) == [2]


def test_net_changes_are_one_step(lake: Lake) -> None:
    assert _told(lake, mode="netChanges") == [3]
    assert _told(lake, mode="dropCarryovers") == [1, 2, 3]


def test_the_words_are_sparks(lake: Lake) -> None:
    text = _text(lake, updates=True)
    assert "THEN 'update_preimage'" in text
    assert "THEN 'update_preimage'" not in _text(lake)
    newest = lake.load().metadata.snapshots[-1]
    assert f"WHEN {newest.snapshot_id}L THEN timestamp_millis({newest.timestamp_ms}L)" in text


def test_a_table_without_snapshots_has_none(lake: Lake) -> None:
    lake.create("CREATE TABLE empty (id BIGINT)")
    assert "WHERE false" in _text(lake, table=("lake", *NAMESPACE, "empty"))


def test_only_options_of_the_clause_are_taken(lake: Lake) -> None:
    assert _told(lake, options={"startingversion": "1", "computeUpdates": "true"}) == [1, 2, 3]
    with pytest.raises(AnalysisError, match="UNKNOWN_OPTION"):
        _told(lake, options={"branch": "b"})
