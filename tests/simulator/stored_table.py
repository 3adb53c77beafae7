"""A table's files as a reader sees them that is not sqlext: metadata, live files, and the rows that are left."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap64

from simulator.files import EQUALITY, POSITIONS, ROWS
from simulator.statements import Rows
from simulator.store import Store
from sqlext.catalog.identifier import TableIdentifier

METADATA = re.compile(r"(.*)/metadata/v([0-9]+)(?:\.gz)?\.metadata\.json")
DATA, POSITION_DELETE, EQUALITY_DELETE = 0, 1, 2
GONE = 2
"""The status of an entry whose file is deleted."""

Document = Mapping[str, Any]


def decoded(data: bytes) -> Document:
    document: Document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return document


def bases(before: Document, new: list[Document]) -> Iterator[Document]:
    """What each of the new snapshots was made on: the version before them, with the snapshots before it."""
    for snapshot in new:
        yield before
        before = {**before, "last-sequence-number": snapshot["sequence-number"]}
        if "first-row-id" in snapshot:
            before = {**before, "next-row-id": snapshot["first-row-id"] + snapshot["added-rows"]}


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A live entry of a manifest, with the values that it inherits."""

    file: dict[str, Any]
    sequence_number: int
    snapshot_id: int
    file_sequence_number: int
    first_row_id: int | None

    @property
    def key(self) -> tuple[str, int | None]:
        return self.file["file_path"], self.file.get("content_offset")

    @property
    def origin(self) -> tuple[int | None, ...]:
        """What no later snapshot may change."""
        return self.snapshot_id, self.sequence_number, self.file_sequence_number, self.first_row_id


def live_files(listed: Document, entries: list[dict[str, Any]]) -> Iterator[LiveFile]:
    """The live entries of a manifest, which has the entry `listed` in its list (spec: Manifest Entry Fields)."""
    next_row_id = listed.get("first_row_id")
    for entry in entries:
        if entry["status"] == GONE:
            continue
        file = entry["data_file"]
        first_row_id = file.get("first_row_id")
        if first_row_id is None and next_row_id is not None:
            first_row_id, next_row_id = next_row_id, next_row_id + file["record_count"]
        snapshot_id, number, file_number = (
            own if entry[name] is None else entry[name]
            for name, own in (
                ("snapshot_id", listed["added_snapshot_id"]),
                ("sequence_number", listed["sequence_number"]),
                ("file_sequence_number", listed["sequence_number"]),
            )
        )
        yield LiveFile(file, number, snapshot_id, file_number, first_row_id)


class Observer:
    """Reads the store without being a step of anybody."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in ("read", "size", "exists", "list", "open_input", "folder_exists", "list_folders"):
            return getattr(self._store, name)
        raise AttributeError(name)


def live_rows(store: Store, live: list[LiveFile]) -> Rows:
    """The rows of a snapshot (spec: Scan Planning), as those know them who made the files."""
    rows: Rows = Counter()
    deletes = [one for one in live if one.file["content"] != DATA]
    for one in live:
        if one.file["content"] != DATA:
            continue
        location = one.file["file_path"]
        gone: set[int] = set()
        keys: set[int] = set()
        for delete in deletes:
            if delete.file["content"] == EQUALITY_DELETE:
                if delete.sequence_number > one.sequence_number:
                    keys.update(EQUALITY[delete.file["file_path"]])
            elif delete.sequence_number >= one.sequence_number:
                gone.update(_positions(store, delete.file, location))
        rows.update(row for at, row in enumerate(ROWS[location]) if at not in gone and row[0] not in keys)
    return rows


def _positions(store: Store, delete: dict[str, Any], location: str) -> list[int]:
    if delete.get("referenced_data_file") != location:
        return []
    if delete.get("content_offset") is None:
        return POSITIONS[delete["file_path"]][1]
    start, length = delete["content_offset"], delete["content_size_in_bytes"]
    blob = store.files[path_of(delete["file_path"])][start : start + length]
    return list(BitMap64.deserialize(blob[8:-4]))


def record_count(files: list[dict[str, Any]], content: int) -> int:
    return sum(one["record_count"] for one in files if one["content"] == content)


def changelog_location(snapshot: Document) -> str | None:
    """The manifest list of its changelog, in the table's folder."""
    id = snapshot["summary"].get("sqlext.changelog")
    folder = snapshot["manifest-list"].rpartition("/metadata/")[0]
    return None if id is None else f"{folder}/_changelog/snap-{id}.avro"


def version_of(path: str) -> int:
    match = METADATA.fullmatch(path)
    return int(match.group(2)) if match else 0


def path_of(location: str) -> str:
    return location.removeprefix("file://")


def identifier_of(location: str) -> TableIdentifier:
    *_, namespace, name = location.split("/")
    return TableIdentifier((namespace,), name)


def shown(rows: Rows) -> str:
    return ", ".join(f"{row}×{count}" if count > 1 else str(row) for row, count in sorted(rows.items())) or "no rows"
