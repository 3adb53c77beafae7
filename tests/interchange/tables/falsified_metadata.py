"""Writes a table's metadata anew, as writers have left it whose counts, bounds and totals are absent or wrong.

What is falsified a reader can tell from the number of a file's rows, or need not believe: a summary's totals, counts of
a manifest list that contradict each other, counts of a column that are not those of the rows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from judges.pyiceberg_judge import latest_metadata
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestFile, encode_manifest, encode_manifest_list
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import LocalFileIO

METRICS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
TOTALS = ("records", "files-size", "data-files", "delete-files", "position-deletes", "equality-deletes")
WRONG = ("0", "-1", "7", "many", "", "²", "9" * 30)


def falsify(random: Random, folder: Path, honest: dict[ContentKey, ContentFile]) -> None:
    """Puts a new version of the metadata beside the newest, whose current snapshot has the same files.

    `honest` keeps files as they came, so that no falsehood comes on top of another, which hides it.
    """
    newest = Path(latest_metadata(folder))
    io = LocalFileIO()
    metadata = decode_table_metadata(newest.read_bytes(), str(newest))
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    number = int(newest.name.split(".")[0][1:]) + 1
    cache = ManifestCache(0)
    listed = []
    for place, manifest in enumerate(cache.manifests(io, snapshot)):
        entries = [
            replace(entry, file=_falsified_file(random, honest.setdefault(entry.file.key, entry.file)))
            for entry in cache.entries(io, manifest, metadata)
        ]
        data = encode_manifest(
            entries,
            schema=metadata.schema(),
            spec=metadata.specs_by_id()[manifest.spec_id],
            content=manifest.content,
            format_version=metadata.format_version,
        )
        path = folder / "metadata" / f"falsified-{number}-{place}.avro"
        path.write_bytes(data)
        listed.append(_falsified_counts(random, replace(manifest, path=str(path), length=len(data)), metadata))
    data = encode_manifest_list(
        listed,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        format_version=metadata.format_version,
        first_row_id=snapshot.first_row_id,
    )
    path = folder / "metadata" / f"falsified-{number}.avro"
    path.write_bytes(data)
    text = json.loads(newest.read_text())
    current = next(one for one in text["snapshots"] if one["snapshot-id"] == snapshot.snapshot_id)
    current["manifest-list"] = str(path)
    _falsify_summary(random, current)
    newest.with_name(f"v{number}.metadata.json").write_text(json.dumps(text))
    (folder / "metadata" / "version-hint.text").write_text(str(number))


def _falsify_summary(random: Random, snapshot: dict[str, Any]) -> None:
    summary = snapshot["summary"]
    if random.random() < 0.2:
        del snapshot["summary"]
        return
    for total in TOTALS:
        name, kind = f"total-{total}", random.random()
        if kind < 0.3:
            summary.pop(name, None)
        elif kind < 0.8:
            summary[name] = random.choice(WRONG)
    if random.random() < 0.5:
        summary["total-delete-files"] = "0"


def _falsified_counts(random: Random, manifest: ManifestFile, metadata: TableMetadata) -> ManifestFile:
    files = ("added_files_count", "existing_files_count", "deleted_files_count")
    rows = ("added_rows_count", "existing_rows_count", "deleted_rows_count")
    kind = random.random()
    if metadata.format_version == 1 and kind < 0.4:
        return replace(manifest, **dict.fromkeys((*files, *rows)))
    if kind < 0.6:
        manifest = replace(manifest, **dict.fromkeys(files, 0))
    if random.random() < 0.5 and (metadata.format_version < 3 or manifest.first_row_id is not None):
        manifest = replace(manifest, **{name: random.choice((-1, 0, 1, 1000)) for name in rows})
        if manifest.has_live_files is False:  # rows of live files in a manifest that has none
            manifest = replace(manifest, existing_rows_count=1)
    return manifest


def _falsified_file(random: Random, file: ContentFile) -> ContentFile:
    if file.content == Content.POSITION_DELETES:
        return file
    metrics = {name: dict(getattr(file, name) or {}) for name in METRICS}
    told_by_values = set()
    for field_id in metrics["value_counts"]:
        kind = random.random()
        if kind < 0.3:
            metrics["value_counts"][field_id] = random.choice((-1, file.record_count - 1, file.record_count + 1))
            metrics["null_value_counts"][field_id] = random.randint(-1, file.record_count)
            told_by_values.add(field_id)
        elif kind < 0.4:
            metrics["null_value_counts"][field_id] = random.choice((-1, file.record_count + 1))
        elif kind < 0.5:
            metrics["nan_value_counts"][field_id] = random.choice((-1, file.record_count + 1))
    for name, metric in metrics.items():
        for field_id in list(metric):
            if random.random() < 0.2 and not (name == "value_counts" and field_id in told_by_values):
                del metric[field_id]
        if random.random() < 0.1 and name != "value_counts":
            metrics[name] = None  # type: ignore[assignment]
    return replace(file, **metrics)
