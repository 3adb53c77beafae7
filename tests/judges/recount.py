"""The counters of snapshot summaries, counted anew over the manifests as PyIceberg reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntryStatus
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Snapshot

COUNTERS = ("added-", "deleted-", "removed-", "total-")


def recounted(metadata_location: str) -> dict[int, tuple[dict[str, int], dict[str, int]]]:
    """By snapshot: the counters of its summary, and the same as its manifests have them.

    Without sizes where there are deletion vectors: PyIceberg does not tell how much of a file is one.
    """
    table = StaticTable.from_metadata(metadata_location)
    counted = {one.snapshot_id: (_told(one), _found(table, one)) for one in table.snapshots()}
    if any("added-dvs" in told for told, _ in counted.values()):
        return {id: (_without_sizes(told), _without_sizes(found)) for id, (told, found) in counted.items()}
    return counted


def _without_sizes(counters: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counters.items() if not name.endswith("files-size")}


def _told(snapshot: Snapshot) -> dict[str, int]:
    assert snapshot.summary is not None
    properties = snapshot.summary.additional_properties
    return {name: int(value) for name, value in properties.items() if name.startswith(COUNTERS)}


def _found(table: StaticTable, snapshot: Snapshot) -> dict[str, int]:
    live, added, removed = [], [], []
    for manifest in snapshot.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
            by_this = entry.snapshot_id == snapshot.snapshot_id
            if entry.status == ManifestEntryStatus.DELETED:
                removed += [entry.data_file] if by_this else []
                continue
            live.append(entry.data_file)
            added += [entry.data_file] if by_this and entry.status == ManifestEntryStatus.ADDED else []
    changes = _counted(added, "added-", "added-") + _counted(removed, "deleted-", "removed-")
    totals = _counted(live, "total-", "total-")
    kinds = ("data-files", "delete-files", "records", "files-size", "position-deletes", "equality-deletes")
    return dict(changes) | {f"total-{kind}": totals[f"total-{kind}"] for kind in kinds}


def _counted(files: Iterable[DataFile], of_data: str, of_any: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in files:
        counts[f"{of_any}files-size"] += file.file_size_in_bytes
        if file.content == DataFileContent.DATA:
            counts[f"{of_data}data-files"] += 1
            counts[f"{of_data}records"] += file.record_count
            continue
        kind = "position" if file.content == DataFileContent.POSITION_DELETES else "equality"
        counts[f"{of_any}delete-files"] += 1
        counts[f"{of_any}dvs" if file.file_format == FileFormat.PUFFIN else f"{of_any}{kind}-delete-files"] += 1
        counts[f"{of_any}{kind}-deletes"] += file.record_count
    return counts
