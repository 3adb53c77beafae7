"""Table properties in plain words."""

from __future__ import annotations

import pytest

from sqlext.description.property_words import _WORDS, duration_told, property_words
from sqlext.properties import ALL, TableProperty


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("write-only", "false", "it looks after itself: compaction, expiry, old metadata files"),
        ("write.compaction-skip", "true", "writers do not compact it, someone else must"),
        ("bucket", "4", "rows are kept in 4 buckets by their key, each sorted and compacted on its own"),
        ("bucket", "-1", "the number of buckets grows with the rows"),
        ("history.expire.max-snapshot-age-ms", "3600000", "snapshots expire once they are 1 hour old"),
        ("write.target-file-size-bytes", "134217728", "data files are to have about 128 MiB"),
        ("write.merge.mode", "nonsense", "not understood: it must be one of copy-on-write, merge-on-read, auto"),
        ("write.metadata.metrics.column.a.b", "full", "statistics of a.b are kept as full"),
        ("users.own", "x", None),
    ],
)
def test_what_a_property_does(name: str, value: str, words: str | None) -> None:
    assert property_words(name, {name: value}) == words


@pytest.mark.parametrize("known", sorted(_WORDS, key=lambda one: one.name), ids=lambda one: one.name)  # type: ignore[attr-defined]
def test_each_value_that_is_allowed_has_words(known: TableProperty[object]) -> None:
    """As the parser knows them: for each word that it accepts, and for numbers, durations and columns."""
    accepted = 0
    for text in _TEXTS:
        told = property_words(known.name, {known.name: text})
        assert told
        accepted += not told.startswith("not understood")
    assert accepted
    assert known.name in ALL


def test_durations_in_words() -> None:
    told = [duration_told(ms) for ms in (0, 1, 1000, 90_000, 86_400_000, 432_000_000)]
    assert told == ["0 seconds", "1 millisecond", "1 second", "90 seconds", "1 day", "5 days"]


_TEXTS = (
    *("true", "false", "1", "2", "7 d", "256 mb", "id", "none", "parquet", "zstd", "gzip", "hash", "range", "auto"),
    *("merge-on-read", "copy-on-write", "serializable", "snapshot", "resolved", "equality", "input", "lookup"),
    *("full-compaction", "deduplicate", "partial-update", "aggregation", "first-row"),
)
