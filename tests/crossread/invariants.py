"""What the format asks of a table's files, checked with other readers than sqlext's own.

Each check yields sentences that name what is wrong. (spec: Manifests; Manifest Lists; Snapshots; Appendix A, Avro.)
"""

from __future__ import annotations

import datetime
import json
import math
import os
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.types import NestedField, PrimitiveType

from crossread.file_invariants import AvroFile, deletion_vector_violations, local_path, lost_and_orphaned_files
from crossread.history import History
from crossread.metadata_invariants import fields_of, metadata_violations, row_id_violations

_FIELD_ID = b"PARQUET:field_id"
_DATA, _POSITION_DELETES, _EQUALITY_DELETES = 0, 1, 2
_EXISTING, _ADDED, _DELETED = 0, 1, 2


def violations(metadata_location: str) -> Iterator[str]:
    """What is wrong with the current snapshot of a table and what it reaches, as far as sqlext wrote it."""
    history = History.of(metadata_location)
    yield from metadata_violations(history.metadata)
    yield from lost_and_orphaned_files(history)
    snapshot = history.snapshot(history.head())
    if snapshot is None:
        return
    manifest_list = AvroFile.read(snapshot["manifest-list"])
    yield from _manifest_list_header(manifest_list, snapshot)
    live = []
    for listed in manifest_list.records:
        manifest = AvroFile.read(listed["manifest_path"])
        yield from _manifest(manifest, listed, history)
        live += [(entry, listed) for entry in manifest.records if entry["status"] != _DELETED]
    yield from _newest_first(live, history)
    for entry, listed in live:
        yield from _content_file(entry, listed, history)
    yield from _summary_totals(snapshot, [entry["data_file"] for entry, _ in live])
    yield from _repeated_files([entry["data_file"] for entry, _ in live])
    yield from deletion_vector_violations([entry["data_file"] for entry, _ in live])
    if history.format_version > 2:
        yield from row_id_violations(_row_id_ranges(live), history.metadata)


def _row_id_ranges(live: list[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[tuple[int, int]]:
    """First row id and number of rows of each data file; one without takes it from the manifest (Row Lineage)."""
    next_ids: dict[str, int] = {}
    for entry, listed in live:
        file = entry["data_file"]
        first = file.get("first_row_id")
        if file.get("content", _DATA) != _DATA:
            continue
        if first is None and listed.get("first_row_id") is not None:
            first = next_ids.get(listed["manifest_path"], listed["first_row_id"])
            next_ids[listed["manifest_path"]] = first + file["record_count"]
        if first is not None:
            yield first, file["record_count"]


def _newest_first(live: list[tuple[Mapping[str, Any], Mapping[str, Any]]], history: History) -> Iterator[str]:
    """The files of one content and spec come from the newest data to the oldest, through all manifests in their order.

    Readers may rely on no order, but those two writers keep it until a snapshot rewrites files or manifests.
    """
    by_id = {one["snapshot-id"]: one for one in history.snapshots}
    ancestors = [by_id[snapshot_id] for snapshot_id in history.behind(history.head())]
    if any(one["summary"]["operation"] == "replace" for one in ancestors) or _is_cut(ancestors):
        return
    last: dict[tuple[int, int], int] = {}
    for entry, listed in live:
        kind = listed.get("content", _DATA), listed["partition_spec_id"]
        number = _sequence_number(entry, listed)
        if number > last.get(kind, number):
            yield f"{listed['manifest_path']}: data of sequence number {number} comes after that of {last[kind]}"
        last[kind] = number


def _is_cut(ancestors: list[Mapping[str, Any]]) -> bool:
    """Whether snapshots have expired: what they did is not known."""
    return bool(ancestors) and ancestors[-1].get("parent-snapshot-id") is not None


def _sequence_number(entry: Mapping[str, Any], listed: Mapping[str, Any]) -> int:
    """Of an entry's data; one that was added without takes the manifest's, and all of version 1 have 0."""
    number = entry.get("sequence_number")
    return int(listed.get("sequence_number", 0) if number is None else number)


def _manifest_list_header(file: AvroFile, snapshot: Mapping[str, Any]) -> Iterator[str]:
    parent = snapshot.get("parent-snapshot-id")
    expected = {
        "snapshot-id": str(snapshot["snapshot-id"]),
        "parent-snapshot-id": "null" if parent is None else str(parent),
    }
    version = int(file.header.get("format-version", 1))
    if version > 1:
        expected["sequence-number"] = str(snapshot["sequence-number"])
    yield from _header(file, expected)
    yield from _field_ids(file, "manifest_file")
    numbers = [record["sequence_number"] for record in file.records if "sequence_number" in record]
    if any(number > snapshot.get("sequence-number", 0) for number in numbers):
        yield f"{file.path}: a manifest is newer than its snapshot: {numbers}"


def _manifest(file: AvroFile, listed: Mapping[str, Any], history: History) -> Iterator[str]:
    if os.path.getsize(file.path) != listed["manifest_length"]:
        yield f"{file.path}: its length is not {listed['manifest_length']}"
    spec = history.specs[listed["partition_spec_id"]]
    version = int(file.header.get("format-version", 1))
    expected = {"partition-spec-id": str(spec["spec-id"]), "format-version": str(version)}
    if version > 1:
        expected["content"] = "data" if listed["content"] == _DATA else "deletes"
    yield from _header(file, expected)
    yield from _field_ids(file, "manifest_entry")
    fields = [(one["name"], one["transform"], one["field-id"]) for one in json.loads(file.header["partition-spec"])]
    if fields != [(one["name"], one["transform"], one["field-id"]) for one in spec["fields"]]:
        yield f"{file.path}: its header's partition spec is {fields}"
    if "fields" not in json.loads(file.header["schema"]):
        yield f"{file.path}: its header's schema is none"
    yield from _manifest_counts(file, listed)
    yield from _manifest_numbers(file, listed, version)
    yield from _partition_summaries(file, listed, spec)


def _manifest_counts(file: AvroFile, listed: Mapping[str, Any]) -> Iterator[str]:
    files: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    for entry in file.records:
        files[entry["status"]] += 1
        rows[entry["status"]] += entry["data_file"]["record_count"]
    for status, name in ((_EXISTING, "existing"), (_ADDED, "added"), (_DELETED, "deleted")):
        found = files[status], rows[status]
        said = listed[f"{name}_files_count"], listed[f"{name}_rows_count"]
        if found != said:
            yield f"{file.path}: {name} files and rows are {found}, the manifest list says {said}"


def _manifest_numbers(file: AvroFile, listed: Mapping[str, Any], version: int) -> Iterator[str]:
    if version == 1:
        return
    numbers = []
    for entry in file.records:
        path = entry["data_file"]["file_path"]
        if entry["sequence_number"] is None and entry["status"] != _ADDED:
            yield f"{file.path}: the entry of {path}, not added there, has no sequence number"
        if entry["status"] == _ADDED and entry["snapshot_id"] not in (None, listed["added_snapshot_id"]):
            yield f"{file.path}: {path} was added by another snapshot than the manifest"
        if entry["status"] != _DELETED:
            numbers.append(_sequence_number(entry, listed))
    if numbers and min(numbers) != listed["min_sequence_number"]:
        yield f"{file.path}: min_sequence_number is {listed['min_sequence_number']} where {min(numbers)} is least"


def _partition_summaries(file: AvroFile, listed: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    if listed["partitions"] is None and '"uuid"' in file.header["avro.schema"]:
        return  # engines differ in the order of uuids
    summaries = listed["partitions"] or []
    if len(summaries) != len(spec["fields"]):
        yield f"{file.path}: {len(summaries)} partition summaries for {len(spec['fields'])} fields"
        return
    for position, (field, summary) in enumerate(zip(spec["fields"], summaries, strict=True)):
        values = [list(entry["data_file"]["partition"].values())[position] for entry in file.records]
        if (None in values) != summary["contains_null"]:
            yield f"{file.path}: contains_null of {field['name']} is {summary['contains_null']}"


def _content_file(entry: Mapping[str, Any], listed: Mapping[str, Any], history: History) -> Iterator[str]:
    file = entry["data_file"]
    path = local_path(file["file_path"])
    if not os.path.exists(path):
        yield f"{path}: there is no such file"
        return
    if file.get("content_offset") is None and os.path.getsize(path) != file["file_size_in_bytes"]:
        yield f"{path}: its size is not {file['file_size_in_bytes']}"
    if file.get("content", _DATA) != listed.get("content", _DATA) and file.get("content", _DATA) == _DATA:
        yield f"{path}: a data file in a manifest of deletes"
    if file["file_format"].upper() != "PARQUET":
        return
    with pq.ParquetFile(path) as source:
        table = source.read()
        groups = [source.metadata.row_group(number) for number in range(source.num_row_groups)]
    if table.num_rows != file["record_count"]:
        yield f"{path}: {table.num_rows} rows where {file['record_count']} are recorded"
    starts = [min(_starts(group)) for group in groups]
    said = file.get("split_offsets")
    if said is not None and list(said) != starts:
        yield f"{path}: its split offsets are {said}, its row groups start at {starts}"
    metrics = {name: _pairs(file.get(name)) for name in _METRICS}
    for field, column in zip(table.schema, table.columns, strict=True):
        yield from _column(path, field, column, metrics, history)


def _starts(group: Any) -> Iterator[int]:
    for number in range(group.num_columns):
        column = group.column(number)
        yield column.dictionary_page_offset or column.data_page_offset


_METRICS = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")


def _column(
    path: str, field: pa.Field, column: pa.ChunkedArray, metrics: Mapping[str, dict[int, Any]], history: History
) -> Iterator[str]:
    """Counts and bounds of a top-level column of one value a row, against the values of the file."""
    field_id = int((field.metadata or {}).get(_FIELD_ID, -1))
    type_ = _field_type(field_id, history)
    if field_id < 0:
        yield f"{path}: column {field.name} has no field id"
    if type_ is None or pa.types.is_nested(field.type):
        return
    values = column.to_pylist()
    present = [value for value in values if value is not None]
    numbers = [value for value in present if not (isinstance(value, float) and math.isnan(value))]
    for name, found in (
        ("value_counts", len(values)),
        ("null_value_counts", len(values) - len(present)),
        ("nan_value_counts", len(present) - len(numbers)),
    ):
        said = metrics[name].get(field_id)
        if said is not None and said != found:
            yield f"{path}: {name} of {field.name} is {said}, and should be {found}"
    lower, upper = metrics["lower_bounds"].get(field_id), metrics["upper_bounds"].get(field_id)
    if not numbers:
        if lower is not None or upper is not None:
            yield f"{path}: {field.name} has bounds and no values"
        return
    stored = [_comparable(value) for value in numbers]
    if lower is not None and _order(_bound(type_, lower)) > min(map(_order, stored)):
        yield f"{path}: the lower bound of {field.name} is above {min(map(_order, stored))!r}"
    if upper is not None and _order(_bound(type_, upper)) < max(map(_order, stored)):
        yield f"{path}: the upper bound of {field.name} is below {max(map(_order, stored))!r}"


def _summary_totals(snapshot: Mapping[str, Any], files: list[Mapping[str, Any]]) -> Iterator[str]:
    def of(*contents: int) -> list[Mapping[str, Any]]:
        return [file for file in files if file.get("content", _DATA) in contents]

    deletes = of(_POSITION_DELETES, _EQUALITY_DELETES)
    found = {
        "total-data-files": len(of(_DATA)),
        "total-delete-files": len(deletes),
        "total-records": sum(file["record_count"] for file in of(_DATA)),
        "total-position-deletes": sum(file["record_count"] for file in of(_POSITION_DELETES)),
        "total-equality-deletes": sum(file["record_count"] for file in of(_EQUALITY_DELETES)),
        "total-files-size": sum(file.get("content_size_in_bytes") or file["file_size_in_bytes"] for file in files),
    }
    for name, count in found.items():
        said = snapshot["summary"].get(name)
        if said is not None and int(said) != count:
            yield f"summary of snapshot {snapshot['snapshot-id']}: {name} is {said}, and should be {count}"


def _repeated_files(files: list[Mapping[str, Any]]) -> Iterator[str]:
    paths = Counter((file["file_path"], file.get("content_offset")) for file in files)
    for (path, _), count in paths.items():
        if count > 1:
            yield f"{path} is in the snapshot {count} times"


def _header(file: AvroFile, expected: Mapping[str, str]) -> Iterator[str]:
    for name, value in expected.items():
        if file.header.get(name) != value:
            yield f"{file.path}: its header's {name} is {file.header.get(name)!r}, and should be {value!r}"


def _field_ids(file: AvroFile, name: str) -> Iterator[str]:
    schema = json.loads(file.header["avro.schema"])
    if schema["name"] != name:
        yield f"{file.path}: its records are called {schema['name']}"
    yield from (f"{file.path}: the Avro field {field} has no field-id" for field in _without_ids(schema))


def _without_ids(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for branch in schema:
            yield from _without_ids(branch)
    elif isinstance(schema, dict):
        for field in schema.get("fields", ()):
            if "field-id" not in field:
                yield field["name"]
            yield from _without_ids(field["type"])
        if schema.get("type") == "array":
            if schema.get("logicalType") != "map" and "element-id" not in schema:
                yield "array"
            yield from _without_ids(schema["items"])
        elif isinstance(schema.get("type"), dict | list):
            yield from _without_ids(schema["type"])


def _field_type(field_id: int, history: History) -> PrimitiveType | None:
    """Of the newest schema that has the field."""
    for _, schema in sorted(history.schemas.items(), reverse=True):
        found = next((one["type"] for one in fields_of(schema) if one["id"] == field_id), None)
        if found is not None:
            return _primitive_type(found) if isinstance(found, str) and found != "variant" else None
    return None


@cache
def _primitive_type(name: str) -> PrimitiveType:
    field = NestedField.model_validate({"id": 1, "name": "value", "required": False, "type": name})
    assert isinstance(field.field_type, PrimitiveType)
    return field.field_type


def _bound(type_: PrimitiveType, data: bytes) -> Any:
    """A bound of a column that was widened since is in the narrow form."""
    if str(type_) == "long" and len(data) == 4:
        return int.from_bytes(data, "little", signed=True)
    if str(type_) == "double" and len(data) == 4:
        return struct.unpack("<f", data)[0]
    if str(type_) in ("string", "binary"):
        return data.decode() if str(type_) == "string" else data
    return _comparable(from_bytes(type_, data))


def _comparable(value: Any) -> Any:
    """A value as PyIceberg's bounds hold it: days and microseconds since 1970."""
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - epoch) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, UUID):
        return value.bytes
    return value


def _order(value: Any) -> Any:
    # -0.0 comes before 0.0 in bounds.
    return (value, math.copysign(1.0, value)) if isinstance(value, float) else value


def _pairs(pairs: list[Mapping[str, Any]] | None) -> dict[int, Any]:
    return {pair["key"]: pair["value"] for pair in pairs or ()}
