"""Which changelogs tell the history between two snapshots, and which of it."""

from __future__ import annotations

from sqlext.command.changelog.change_spans import Span, changelog_spans, history_between
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import BEGINNING, FULL_COMPACTION, INPUT, LOOKUP, StoredChangelog
from sqlext.spec.metadata.table_metadata import TableMetadata

ID = "0f0e0d0c-0b0a-4908-8706-050403020100"


def _snapshot(number: int, operation: str = "overwrite", stored: StoredChangelog | None = None) -> Snapshot:
    summary = {"operation": operation, **({} if stored is None else stored.summary())}
    return Snapshot(number, number - 1 or None, number, number, "", summary)


def _metadata(*snapshots: Snapshot) -> TableMetadata:
    return TableMetadata(2, "", "", 0, 0, 0, 0, (), 0, (), 0, 0, (), snapshots=snapshots)


def _spans(snapshots: tuple[Snapshot, ...], start: int = 0, end: int = 0) -> list[tuple[int, int, int | None]]:
    by_id = {one.snapshot_id: one for one in snapshots}
    history = history_between(_metadata(*snapshots), by_id.get(start), by_id[end or len(snapshots)])
    assert history is not None
    return [
        (
            0 if span.before is None else span.before.snapshot_id,
            span.after.snapshot_id,
            None if span.changelog is None else span.changelog.snapshot_id,
        )
        for span in changelog_spans(history)
    ]


def test_each_snapshot_tells_its_own_changes() -> None:
    lookup = StoredChangelog(ID, LOOKUP)
    history = (_snapshot(1, "append"), _snapshot(2, stored=lookup), _snapshot(3, "replace"), _snapshot(4))
    assert _spans(history) == [(0, 1, None), (1, 2, 2), (3, 4, None)]
    assert _spans(history, 2, 3) == [(2, 3, None)]
    assert _spans(history, 4) == []


def test_a_compaction_tells_what_lies_between_two_snapshots() -> None:
    first = StoredChangelog(ID, FULL_COMPACTION, (BEGINNING, 2))
    second = StoredChangelog(ID, FULL_COMPACTION, (2, 5))
    history = (
        _snapshot(1),
        _snapshot(2),
        _snapshot(3),
        _snapshot(4, "replace", first),  # of what was there before another commit
        _snapshot(5),
        _snapshot(6, "replace", second),
        _snapshot(7),
    )
    assert _spans(history) == [(0, 2, 4), (2, 5, 6), (6, 7, None)]
    # Where it tells more than was asked for, or is behind it, the snapshots are told one by one.
    assert _spans(history, 1) == [(1, 2, None), (2, 5, 6), (6, 7, None)]
    assert _spans(history, end=3) == [(0, 1, None), (1, 2, None), (2, 3, None)]
    assert _spans(history, 2, 5) == [(2, 3, None), (4, 5, None)]


def test_a_changelog_of_snapshots_that_are_gone_tells_nothing() -> None:
    history = (_snapshot(3), _snapshot(4, "replace", StoredChangelog(ID, FULL_COMPACTION, (1, 3))))
    assert _spans(history, end=4) == [(0, 3, None)]


def test_what_is_read_at_the_price_of_the_changes() -> None:
    appended, changed = _snapshot(1, "append"), _snapshot(2)
    for producer, cheap in ((LOOKUP, True), (INPUT, False)):
        one = _snapshot(3, stored=StoredChangelog(ID, producer))
        assert Span(changed, one, one).reads_changes_only is cheap
    assert Span(None, appended).reads_changes_only
    assert not Span(appended, changed).reads_changes_only


def test_what_is_not_behind() -> None:
    history = (_snapshot(1), _snapshot(2), _snapshot(3))
    assert history_between(_metadata(*history), history[2], history[1]) is None
    assert history_between(_metadata(*history[1:]), history[0], history[2]) is None
