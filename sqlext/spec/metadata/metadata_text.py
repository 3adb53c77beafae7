"""Metadata files decoded and encoded with what is known of another file of the table.

The metadata and the bytes are those of `decode_table_metadata` and `encode_table_metadata`; gzipped ones have their
checksum outside of the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.spec.metadata.gzip_parts import deflated_part, gzip_of
from sqlext.spec.metadata.metadata_checksum import closing
from sqlext.spec.metadata.repeated_text import (
    CutArray,
    Run,
    Runs,
    decode_with_known,
    encoded_runs,
    extended,
    items_of,
    json_text,
)
from sqlext.spec.metadata.snapshot import SnapshotLogEntry
from sqlext.spec.metadata.table_metadata import (
    DECODING_ERRORS,
    TableMetadata,
    decode_table_metadata,
    require_consistent,
    table_metadata_from_json,
    table_metadata_to_json,
    ungzipped,
)
from sqlext.spec.metadata.unknown_fields import SNAPSHOT_LOG

_SNAPSHOTS, _SNAPSHOT_LOG = "snapshots", "snapshot-log"


@dataclass(frozen=True, slots=True)
class MetadataText:
    """The text of the snapshots and of the snapshot log in a metadata file.

    `encoded_for` is the format version that `encode_with_text` wrote it for; None if it was decoded, since other
    engines, and older versions of sqlext, write other text for the same items.
    """

    snapshots: Runs = ()
    snapshot_log: Runs = ()
    encoded_for: int | None = None

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(len(run.text) for run in chain(self.snapshots, self.snapshot_log))


@dataclass(frozen=True, slots=True)
class EncodedMetadata:
    """A metadata file to be written; `parts` are the text of its object up to the closing brace."""

    parts: Sequence[bytes | Run]
    text: MetadataText

    def plain(self) -> bytes:
        """The bytes of the file without compression."""
        end = closing(part if isinstance(part, bytes) else part.checksum for part in self.parts)
        return b"".join((*(part if isinstance(part, bytes) else part.text for part in self.parts), end))

    def gzipped(self) -> bytes:
        """The bytes of the file with gzip."""
        return gzip_of(
            [
                (part, deflated_part(part)) if isinstance(part, bytes) else (part.checksum, part.deflated)
                for part in (*self.parts, b"}")
            ]
        )


def decode_with_text(data: bytes, location: str, known: Sequence[MetadataText]) -> tuple[TableMetadata, MetadataText]:
    """The metadata in the bytes of a file, and its text; items whose text is `known` are not decoded again.

    Raises as `decode_table_metadata`.
    """
    try:
        return _decoded(ungzipped(data), location, known)
    except (*DECODING_ERRORS, UnsupportedError):
        # No table metadata, or of a later version, or JSON that no engine writes. What was decoded is let go of before.
        pass
    return decode_table_metadata(data, location), MetadataText()


def decode_answer_with_text(
    data: bytes, table: str, known: Sequence[MetadataText]
) -> tuple[dict[str, Any], TableMetadata, MetadataText] | None:
    """The JSON object of a REST catalog's response (REST spec: LoadTableResult) without the history in its `metadata`,
    the metadata, and their text.

    None if it is no such response, and if its JSON is one that no server writes. `table` names it in errors. Raises
    UnsupportedError for a later format version.
    """
    try:
        answer, arrays = decode_with_known(data, _candidates(known), within="metadata")
        location = str(answer.get("metadata-location") or table)
        return answer, *_from_parts(answer["metadata"], arrays, location)
    except DECODING_ERRORS:
        return None


def encode_with_text(metadata: TableMetadata, known: MetadataText) -> EncodedMetadata:
    """The metadata file; items at the beginning that are the same objects as those of `known` are not encoded again."""
    version = metadata.format_version
    if known.encoded_for != version:
        known = MetadataText()
    snapshots = encoded_runs(known.snapshots, metadata.snapshots, lambda one: one.to_json(version))
    runs = {_SNAPSHOTS: snapshots}
    rest = replace(metadata, snapshots=())
    if not _has_unknown_in_log(metadata):
        runs[_SNAPSHOT_LOG] = encoded_runs(known.snapshot_log, metadata.snapshot_log, SnapshotLogEntry.to_json)
        rest = replace(rest, snapshot_log=())
    text = MetadataText(snapshots, runs.get(_SNAPSHOT_LOG, ()), version)
    return EncodedMetadata(_parts(table_metadata_to_json(rest), runs), text)


def _decoded(data: bytes, location: str, known: Sequence[MetadataText]) -> tuple[TableMetadata, MetadataText]:
    obj, arrays = decode_with_known(data, _candidates(known))
    return _from_parts(obj, arrays, location)


def _candidates(known: Sequence[MetadataText]) -> Mapping[str, Sequence[Runs]]:
    return {_SNAPSHOTS: [one.snapshots for one in known], _SNAPSHOT_LOG: [one.snapshot_log for one in known]}


def _from_parts(
    obj: Mapping[str, Any], arrays: Mapping[str, CutArray], location: str
) -> tuple[TableMetadata, MetadataText]:
    # The known items have been checked when they were decoded.
    rest = table_metadata_from_json({**obj, **{name: list(array.added) for name, array in arrays.items()}}, location)
    snapshots, snapshot_runs = _joined(arrays.get(_SNAPSHOTS), rest.snapshots)
    log, log_runs = _joined(arrays.get(_SNAPSHOT_LOG), rest.snapshot_log)
    metadata = replace(rest, snapshots=snapshots, snapshot_log=log)
    require_consistent(metadata)
    return metadata, MetadataText(snapshot_runs, () if _has_unknown_in_log(metadata) else log_runs)


def _joined(array: CutArray | None, added: tuple[Any, ...]) -> tuple[tuple[Any, ...], Runs]:
    """All items of an array and their runs, of which `added` were decoded; no runs without the array's text."""
    if array is None:
        return added, ()
    return (*items_of(array.known), *added), extended(array.known, added, array.added_text)


def _has_unknown_in_log(metadata: TableMetadata) -> bool:
    """Whether the text of the snapshot log has fields that its items lack."""
    return any(place[0] == SNAPSHOT_LOG for place in metadata.unknown)


def _parts(obj: Mapping[str, Any], runs: Mapping[str, Runs]) -> Sequence[bytes | Run]:
    """The text of the object up to the closing brace, with these runs as the arrays of their names."""
    parts: list[bytes | Run] = []
    text = b"{"
    for number, (name, value) in enumerate(obj.items()):
        text += (b"," if number else b"") + json_text(name) + b":"
        if name in runs:
            parts += [text + b"[", *runs[name]]
            text = b"]"
        else:
            text += json_text(value)
    return [*parts, text]
