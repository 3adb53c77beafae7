"""After which commits all buckets are compacted, by their number, by a stream's batches and by the clock."""

from __future__ import annotations

import pytest

from sqlext.command.changelog.full_compaction import full_compaction_is_due
from sqlext.errors import AnalysisError
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import BEGINNING, FULL_COMPACTION, LOOKUP, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata

ID = "0f0e0d0c-0b0a-4908-8706-050403020100"
MINUTE_MS = 60_000
PRODUCER = {"changelog-producer": "full-compaction"}
TEN_MINUTES = {**PRODUCER, "changelog-producer.compaction-interval": "10 min"}


def _table(properties: dict[str, str], *changes: StoredChangelog | None, compacted: int = 0) -> TableMetadata:
    """A table with a snapshot at each full minute; the one numbered `compacted` is of a compaction."""
    snapshots = []
    for number, stored in enumerate(changes, 1):
        operation = "replace" if number == compacted else "overwrite"
        summary = {"operation": operation, **({} if stored is None else stored.summary())}
        snapshots.append(Snapshot(number, number - 1 or None, number, number * MINUTE_MS, "", summary))
    return TableMetadata(2, "", "", 0, 0, 0, 0, (), 0, (), 0, 0, (), properties=properties, snapshots=tuple(snapshots))


def _due(metadata: TableMetadata, minute: float = 99, trigger_ms: int | None = None) -> bool:
    return full_compaction_is_due(metadata, metadata.snapshots[-1], int(minute * MINUTE_MS), trigger_ms)


def test_each_commit_where_nothing_is_said() -> None:
    assert _due(_table(PRODUCER, None))
    assert _due(_table(PRODUCER, None), trigger_ms=MINUTE_MS)
    assert not _due(_table({}, None))
    assert not _due(_table({"changelog-producer": "lookup"}, StoredChangelog(ID, LOOKUP)))


@pytest.mark.parametrize("trigger_ms", [None, 1])
def test_the_number_of_commits_goes_before_the_interval(trigger_ms: int | None) -> None:
    properties = {**TEN_MINUTES, "full-compaction.delta-commits": "3"}
    assert not _due(_table(properties, None, None), trigger_ms=trigger_ms)
    assert _due(_table(properties, None, None, None), 3, trigger_ms)


@pytest.mark.parametrize(
    ("trigger_ms", "commits"),
    [(2 * MINUTE_MS, 5), (3 * MINUTE_MS, 3), (10 * MINUTE_MS, 1), (11 * MINUTE_MS, 1), (60 * MINUTE_MS, 1)],
)
def test_the_interval_is_divided_by_that_of_the_trigger(trigger_ms: int, commits: int) -> None:
    """As in Paimon, down to one commit; how late it is does not matter."""
    for late in (0, 99):
        assert _due(_table(TEN_MINUTES, *[None] * commits), late, trigger_ms)
        if commits > 1:
            assert not _due(_table(TEN_MINUTES, *[None] * (commits - 1)), late, trigger_ms)


def test_without_a_trigger_the_clock_decides() -> None:
    """From the last full compaction on, before the first one from the first change."""
    history = _table(TEN_MINUTES, None, None, None)
    assert not _due(history, 10.9)
    assert _due(history, 11)
    told = StoredChangelog(ID, FULL_COMPACTION, (BEGINNING, 3))
    later = _table(TEN_MINUTES, None, None, None, told, None, compacted=4)
    assert not _due(later, 13.9)
    assert _due(later, 14)


def test_nothing_is_due_where_all_is_told() -> None:
    told = StoredChangelog(ID, FULL_COMPACTION, (BEGINNING, 2))
    compacted = _table(TEN_MINUTES, None, None, told, compacted=3)
    assert not _due(compacted, 99)
    assert not _due(compacted, 99, MINUTE_MS)
    between = _table(TEN_MINUTES, None, None, None, told, compacted=4)
    assert _due(between, 99)


def test_an_interval_that_is_none() -> None:
    with pytest.raises(AnalysisError) as caught:
        _due(_table({**PRODUCER, "changelog-producer.compaction-interval": "10"}, None))
    assert caught.value.condition == "INVALID_TABLE_PROPERTY"
