"""The types of what was decoded from manifests and manifest lists (spec: Manifests; Manifest Lists).

An Avro file says itself of which types its values are, and a decoder takes its word. Damage in the file's schema so
gives values of other types, at which any comparison would fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, FieldSummary, ManifestContent, ManifestEntry, ManifestFile

_Type: TypeAlias = "type | tuple[type, type]"
_NOTHING = type(None)
_OPTIONAL_INT, _OPTIONAL_BYTES = (int, _NOTHING), (bytes, _NOTHING)

_ENTRY: Mapping[str, _Type] = {
    "status": EntryStatus,
    "snapshot_id": _OPTIONAL_INT,
    "sequence_number": _OPTIONAL_INT,
    "file_sequence_number": _OPTIONAL_INT,
}
_FILE: Mapping[str, _Type] = {
    "content": Content,
    "file_path": str,
    "file_format": str,
    "record_count": int,
    "file_size_in_bytes": int,
    "key_metadata": _OPTIONAL_BYTES,
    "sort_order_id": _OPTIONAL_INT,
    "first_row_id": _OPTIONAL_INT,
    "referenced_data_file": (str, _NOTHING),
    "content_offset": _OPTIONAL_INT,
    "content_size_in_bytes": _OPTIONAL_INT,
}
_BY_COLUMN: Mapping[str, type] = {
    "column_sizes": int,
    "value_counts": int,
    "null_value_counts": int,
    "nan_value_counts": int,
    "lower_bounds": bytes,
    "upper_bounds": bytes,
}
_LISTS = ("split_offsets", "equality_ids")
_MANIFEST: Mapping[str, _Type] = {
    "path": str,
    "length": int,
    "spec_id": int,
    "content": ManifestContent,
    "sequence_number": int,
    "min_sequence_number": int,
    "added_snapshot_id": int,
    "added_files_count": _OPTIONAL_INT,
    "existing_files_count": _OPTIONAL_INT,
    "deleted_files_count": _OPTIONAL_INT,
    "added_rows_count": _OPTIONAL_INT,
    "existing_rows_count": _OPTIONAL_INT,
    "deleted_rows_count": _OPTIONAL_INT,
    "key_metadata": _OPTIONAL_BYTES,
    "first_row_id": _OPTIONAL_INT,
}
_SUMMARY: Mapping[str, _Type] = {
    "contains_null": bool,
    "contains_nan": (bool, _NOTHING),
    "lower_bound": _OPTIONAL_BYTES,
    "upper_bound": _OPTIONAL_BYTES,
}


def require_entry_shape(entry: ManifestEntry) -> None:
    """Raises ValueError for a value of a wrong type; those of the partition, whose types are the table's, are not
    looked at."""
    _require(entry, _ENTRY)
    _require(entry.file, _FILE)
    for name, type in _BY_COLUMN.items():
        for id, value in (getattr(entry.file, name) or {}).items():
            _require_type(f"{name} of a column", id, int)
            _require_type(f"{name} of column {id}", value, type)
    for name in _LISTS:
        for value in getattr(entry.file, name) or ():
            _require_type(name, value, int)


def require_list_shape(manifest: ManifestFile) -> None:
    """Raises ValueError for a value of a wrong type in an entry of a manifest list."""
    _require(manifest, _MANIFEST)
    for summary in manifest.partitions or ():
        _require(summary, _SUMMARY)


def _require(value: ManifestEntry | ContentFile | ManifestFile | FieldSummary, shape: Mapping[str, _Type]) -> None:
    for name, type in shape.items():
        _require_type(name, getattr(value, name), type)


def _require_type(name: str, value: Any, expected: _Type) -> None:
    # Not isinstance: a truth value is no number.
    of = type(value)
    if of is not expected and not (isinstance(expected, tuple) and of in expected):
        raise ValueError(f"its {name} is of type {of.__name__}")
