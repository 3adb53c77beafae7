"""What the format asks of the files of all snapshots: none is lost, none is orphaned, vectors fit their files."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
from pyroaring import BitMap64

from crossread.history import History

_DELETED = 2
_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"


@dataclass(frozen=True, slots=True)
class AvroFile:
    """An Avro file: its header's metadata and its records."""

    path: str
    header: Mapping[str, str]
    records: list[dict[str, Any]]

    @classmethod
    def read(cls, location: str) -> AvroFile:
        return _read_avro(local_path(location))


@cache
def _read_avro(path: str) -> AvroFile:
    with open(path, "rb") as source:
        reader = fastavro.reader(source)
        return AvroFile(path, dict(reader.metadata), list(reader))


def local_path(location: str) -> str:
    return location.removeprefix("file://").removeprefix("file:")


def lost_and_orphaned_files(history: History) -> Iterator[str]:
    """Live files of any snapshot that are not there, and files in the table's folder that nothing of it ever named."""
    folder = Path(history.location).parents[1]
    named = {local_path(one["metadata-file"]) for one in history.metadata.get("metadata-log") or ()}
    for path in folder.glob("metadata/*.metadata.json"):
        named.add(str(path))
        for snapshot in History.of(str(path)).snapshots:
            named |= _named_by(snapshot)
    for snapshot in history.snapshots:
        for file in _live(snapshot):
            if not Path(file).exists():
                yield f"{file}, live in snapshot {snapshot['snapshot-id']}, is not there"
    there = {str(path) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}
    there -= {str(folder / "metadata" / "version-hint.text")}
    yield from (f"{path} is of no snapshot" for path in sorted(there - named))


def _named_by(snapshot: Mapping[str, Any]) -> set[str]:
    """Every file of a snapshot, its own and its manifests' deleted ones, as far as its lists are still there."""
    named = {local_path(snapshot["manifest-list"])}
    for manifest in _manifests(snapshot):
        named.add(manifest)
        if Path(manifest).exists():
            named |= {local_path(entry["data_file"]["file_path"]) for entry in AvroFile.read(manifest).records}
    return named


def _live(snapshot: Mapping[str, Any]) -> set[str]:
    return {
        local_path(entry["data_file"]["file_path"])
        for manifest in _manifests(snapshot)
        for entry in AvroFile.read(manifest).records
        if entry["status"] != _DELETED
    }


def _manifests(snapshot: Mapping[str, Any]) -> list[str]:
    path = local_path(snapshot["manifest-list"])
    return [local_path(one["manifest_path"]) for one in AvroFile.read(path).records] if Path(path).exists() else []


def deletion_vector_violations(files: list[Mapping[str, Any]]) -> Iterator[str]:
    """Of the live files of one snapshot (spec: Deletion Vectors; Puffin, deletion-vector-v1)."""
    data = {file["file_path"]: file for file in files if file.get("content", 0) == 0}
    vectors = [file for file in files if file.get("content_offset") is not None]
    for path, count in Counter(vector["referenced_data_file"] for vector in vectors).items():
        if count > 1:
            yield f"{path} has {count} deletion vectors"
    for vector in vectors:
        about = f"the deletion vector of {vector['referenced_data_file']}"
        file = data.get(vector["referenced_data_file"])
        if file is None:
            yield f"{about} is of no live data file"
            continue
        # writers differ in how they spell the fields' names
        if [*file["partition"].values()] != [*vector["partition"].values()]:
            yield f"{about} is in partition {vector['partition']}, its data file in {file['partition']}"
        yield from (f"{about} {what}" for what in _vector(vector, file["record_count"]))


def _vector(file: Mapping[str, Any], rows: int) -> Iterator[str]:
    whole = Path(local_path(file["file_path"])).read_bytes()
    blob = whole[file["content_offset"] :][: file["content_size_in_bytes"]]
    (length,) = struct.unpack(">I", blob[:4])
    if length != len(blob) - 8 or blob[4:8] != _VECTOR_MAGIC:
        yield f"has the length {length} and the magic {blob[4:8]!r} in a blob of {len(blob)} bytes"
    if zlib.crc32(blob[4:-4]) != int.from_bytes(blob[-4:], "big"):
        yield "has another checksum"
        return
    positions = BitMap64.deserialize(blob[8:-4])
    if len(positions) != file["record_count"]:
        yield f"has {len(positions)} positions where {file['record_count']} are recorded"
    if positions and positions.max() >= rows:
        yield f"deletes position {positions.max()} of {rows} rows"
    (size,) = struct.unpack("<I", whole[-12:-8])
    footer = json.loads(whole[-12 - size : -12])
    (said,) = [one for one in footer["blobs"] if one["offset"] == file["content_offset"]]
    properties = said["properties"]
    if properties["referenced-data-file"] != file["referenced_data_file"]:
        yield f"is of {properties['referenced-data-file']} in its Puffin footer"
    if int(properties["cardinality"]) != file["record_count"] or said["length"] != file["content_size_in_bytes"]:
        yield f"is another in its Puffin footer: {said}"
