"""Snapshot summaries: counts of a snapshot's changes, and totals (spec: Optional Snapshot Summary Fields)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlext.scan.filter.file_filter import partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile

# Total, and the added and removed counts that change it.
_TOTALS = (
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
)


def snapshot_summary(
    *,
    operation: str,
    added: Iterable[ContentFile],
    removed: Iterable[ContentFile],
    previous: Mapping[str, str] | None,
    properties: Mapping[str, str],
) -> dict[str, str]:
    """The summary of a snapshot that adds and removes these files.

    `previous` is the parent's summary (None: no parent); a total that it lacks stays absent. `properties` cannot
    replace counts or totals.
    """
    added, removed = tuple(added), tuple(removed)
    changes = _counters(added, "added", "added") + _counters(removed, "deleted", "removed")
    summary = {"operation": operation}
    summary.update((name, value) for name, value in properties.items() if name != "operation")
    summary.update((name, str(count)) for name, count in changes.items())
    summary["changed-partition-count"] = str(len({partition_key(file) for file in (*added, *removed)}))
    summary.update(_totals(changes, previous))
    return summary


def _counters(files: Iterable[ContentFile], data_verb: str, verb: str) -> Counter[str]:
    """Counts of added or removed files; zeros are left out, as in Iceberg."""
    counts: Counter[str] = Counter()
    for file in files:
        counts[f"{verb}-files-size"] += file.content_bytes
        if file.content == Content.DATA:
            counts[f"{data_verb}-data-files"] += 1
            counts[f"{data_verb}-records"] += file.record_count
            continue
        kind = "position" if file.content == Content.POSITION_DELETES else "equality"
        counts[f"{verb}-delete-files"] += 1
        counts[f"{verb}-dvs" if file.is_deletion_vector else f"{verb}-{kind}-delete-files"] += 1
        counts[f"{verb}-{kind}-deletes"] += file.record_count
    return +counts


def _totals(changes: Counter[str], previous: Mapping[str, str] | None) -> dict[str, str]:
    totals = {}
    for total, added, removed in _TOTALS:
        before = "0" if previous is None else previous.get(total, "")
        if before.isdecimal():
            totals[total] = str(max(0, int(before) + changes[added] - changes[removed]))
    return totals
