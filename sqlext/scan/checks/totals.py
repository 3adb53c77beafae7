"""Totals of snapshot summaries, counted anew (spec: Optional Snapshot Summary Fields)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry
from sqlext.spec.metadata.snapshot import Snapshot

_TOTALS = (
    "total-records",
    "total-files-size",
    "total-data-files",
    "total-delete-files",
    "total-position-deletes",
    "total-equality-deletes",
)
_OF_STATUS = {
    EntryStatus.ADDED: {
        "total-records": "added-records",
        "total-data-files": "added-data-files",
        "total-delete-files": "added-delete-files",
        "total-position-deletes": "added-position-deletes",
        "total-equality-deletes": "added-equality-deletes",
    },
    EntryStatus.DELETED: {
        "total-records": "deleted-records",
        "total-data-files": "deleted-data-files",
        "total-delete-files": "removed-delete-files",
        "total-position-deletes": "removed-position-deletes",
        "total-equality-deletes": "removed-equality-deletes",
    },
}


def totals_of(files: Iterable[ContentFile]) -> Counter[str]:
    """The totals of these live files, by their keys in a summary."""
    totals: Counter[str] = Counter()
    for file in files:
        totals["total-files-size"] += file.content_bytes
        if file.content == Content.DATA:
            totals["total-data-files"] += 1
            totals["total-records"] += file.record_count
            continue
        kind = "position" if file.content == Content.POSITION_DELETES else "equality"
        totals["total-delete-files"] += 1
        totals[f"total-{kind}-deletes"] += file.record_count
    return totals


def as_summary(totals: Mapping[str, int]) -> dict[str, str]:
    """All totals as a summary has them."""
    return {name: str(totals.get(name, 0)) for name in _TOTALS}


def told_totals(snapshot: Snapshot) -> Mapping[str, int]:
    """The totals in a snapshot's summary."""
    told = {name: snapshot.summary.get(name, "") for name in _TOTALS}
    return {name: int(text) for name, text in told.items() if text.isdecimal()}


def total_findings(snapshot: Snapshot, totals: Mapping[str, int]) -> Iterator[Finding]:
    """Totals in a snapshot's summary that are not those of its live files. A total that is missing is no fault."""
    for name in _TOTALS:
        told = snapshot.summary.get(name)
        if told is not None and told != str(totals.get(name, 0)):
            yield _finding(snapshot, name, told, totals.get(name, 0))


def change_findings(snapshot: Snapshot, own: Iterable[ManifestEntry]) -> Iterator[Finding]:
    """Counts of changes in a snapshot's summary that are not those of its entries: `own` have its id."""
    files: dict[EntryStatus, list[ContentFile]] = {EntryStatus.ADDED: [], EntryStatus.DELETED: []}
    for entry in own:
        if entry.status in files:
            files[entry.status].append(entry.file)
    for status, names in _OF_STATUS.items():
        counts = totals_of(files[status])
        for total, name in names.items():
            told = snapshot.summary.get(name)
            if told is not None and told != str(counts[total]):
                yield _finding(snapshot, name, told, counts[total])


def _finding(snapshot: Snapshot, name: str, told: str, count: int) -> Finding:
    return Finding(
        Check.TOTAL, snapshot.manifest_list, f"{name} {told}", str(count), Severity.WARNING, snapshot.snapshot_id
    )
