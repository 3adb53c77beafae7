"""What the format asks of a table's metadata file and of its snapshots together (spec: Table Metadata; Row Lineage)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_CLOCKS_DIFFER_MS = 60_000


def metadata_violations(metadata: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong within a decoded metadata file."""
    yield from _columns(metadata)
    yield from _partitioning(metadata)
    yield from _snapshots(metadata)
    yield from _references(metadata)
    yield from _logs(metadata)
    if metadata["format-version"] > 2:
        yield from _row_ids(metadata)


def _columns(metadata: Mapping[str, Any]) -> Iterator[str]:
    schemas = {schema["schema-id"]: schema for schema in metadata["schemas"]}
    if metadata["current-schema-id"] not in schemas:
        yield f"the current schema {metadata['current-schema-id']} is not there"
    for number, schema in schemas.items():
        fields = list(fields_of(schema))
        yield from _repeated((one["id"] for one in fields), f"schema {number} has the field id")
        yield from _repeated((one["name"] for one in schema["fields"]), f"schema {number} has the column")
        if max((one["id"] for one in fields), default=0) > metadata["last-column-id"]:
            yield f"schema {number} has an id above last-column-id, {metadata['last-column-id']}"
        by_id = {one["id"]: one for one in fields}
        for key in schema.get("identifier-field-ids", ()):
            if key not in by_id or not by_id[key]["required"]:
                yield f"schema {number}: the identifier field {key} is not there, or not required"
    stored = Counter(
        repr(schema["fields"]) + repr(schema.get("identifier-field-ids")) for schema in metadata["schemas"]
    )
    if stored and max(stored.values()) > 1:
        yield "a schema is there twice"


def fields_of(type_: Any) -> Iterator[Mapping[str, Any]]:
    """Every field of a schema with an id, at any depth."""
    if not isinstance(type_, dict):
        return
    for field in type_.get("fields", ()):
        yield field
        yield from fields_of(field["type"])
    for part in ("element", "key", "value"):
        if part in type_:
            required = type_.get(f"{part}-required", True)
            yield {"id": type_[f"{part}-id"], "name": part, "required": required, "type": type_[part]}
            yield from fields_of(type_[part])


def _partitioning(metadata: Mapping[str, Any]) -> Iterator[str]:
    specs = {spec["spec-id"]: spec["fields"] for spec in metadata["partition-specs"]}
    if metadata["default-spec-id"] not in specs:
        yield f"the default partition spec {metadata['default-spec-id']} is not there"
    orders = [order["order-id"] for order in metadata["sort-orders"]]
    if metadata["default-sort-order-id"] not in orders:
        yield f"the default sort order {metadata['default-sort-order-id']} is not there"
    yield from _repeated(orders, "there is the sort order")
    known = {field["id"] for schema in metadata["schemas"] for field in fields_of(schema)}
    meanings: dict[int, tuple[int, str]] = {}
    for number, fields in specs.items():
        yield from _repeated((one["field-id"] for one in fields), f"spec {number} has the field id")
        yield from _repeated((one["name"] for one in fields), f"spec {number} has the field")
        for one in fields:
            if one["field-id"] > metadata["last-partition-id"]:
                yield f"spec {number} has an id above last-partition-id, {metadata['last-partition-id']}"
            if one["source-id"] not in known:
                yield f"spec {number}: no column has the id {one['source-id']}"
            meaning = one["source-id"], one["transform"]
            first = meanings.setdefault(one["field-id"], meaning)
            if "void" not in (meaning[1], first[1]) and meaning != first:
                yield f"the partition field id {one['field-id']} means {first} and {meaning}"


def _snapshots(metadata: Mapping[str, Any]) -> Iterator[str]:
    snapshots = {one["snapshot-id"]: one for one in metadata.get("snapshots") or ()}
    schemas = {schema["schema-id"] for schema in metadata["schemas"]}
    for number, one in snapshots.items():
        if one.get("schema-id", metadata["current-schema-id"]) not in schemas:
            yield f"snapshot {number} has the schema {one['schema-id']}, which is not there"
        if one["timestamp-ms"] > metadata["last-updated-ms"] + _CLOCKS_DIFFER_MS:
            yield f"snapshot {number} is newer than the metadata"
    if metadata["format-version"] > 1:
        numbers = {number: one.get("sequence-number", 0) for number, one in snapshots.items()}
        if max(numbers.values(), default=0) > metadata["last-sequence-number"]:
            yield f"a snapshot has a sequence number above the last, {metadata['last-sequence-number']}"
        yield from _repeated((one for one in numbers.values() if one), "there are snapshots with the sequence number")
        for number, one in snapshots.items():
            parent = one.get("parent-snapshot-id")
            if parent in numbers and numbers[number] and numbers[parent] >= numbers[number]:
                yield f"snapshot {number} has no greater sequence number than its parent"


def _references(metadata: Mapping[str, Any]) -> Iterator[str]:
    snapshots = {one["snapshot-id"] for one in metadata.get("snapshots") or ()}
    current = metadata.get("current-snapshot-id")
    current = None if current == -1 else current
    refs = metadata.get("refs") or {}
    for name, ref in refs.items():
        if ref["snapshot-id"] not in snapshots:
            yield f"the {ref['type']} {name} is at {ref['snapshot-id']}, which is not there"
    if refs.get("main", {}).get("snapshot-id") != current:
        yield f"main is at {refs.get('main')}, the current snapshot is {current}"
    for files in (metadata.get("statistics") or (), metadata.get("partition-statistics") or ()):
        yield from (f"statistics of no snapshot: {one}" for one in files if one["snapshot-id"] not in snapshots)


def _logs(metadata: Mapping[str, Any]) -> Iterator[str]:
    snapshots = {one["snapshot-id"] for one in metadata.get("snapshots") or ()}
    log = metadata.get("snapshot-log") or []
    yield from (f"the snapshot log names {one['snapshot-id']}" for one in log if one["snapshot-id"] not in snapshots)
    current = metadata.get("current-snapshot-id")
    if current not in (None, -1) and (not log or log[-1]["snapshot-id"] != current):
        yield f"the snapshot log does not end with the current snapshot {current}"
    for name in ("snapshot-log", "metadata-log"):
        times = [one["timestamp-ms"] for one in metadata.get(name) or ()]
        if any(later < earlier - _CLOCKS_DIFFER_MS for earlier, later in itertools.pairwise(times)):
            yield f"the {name} goes back in time: {times}"
        if times and metadata["last-updated-ms"] < times[-1] - _CLOCKS_DIFFER_MS:
            yield f"the {name} is newer than the metadata"
    files = [one["metadata-file"] for one in metadata.get("metadata-log") or ()]
    yield from _repeated(files, "the metadata log has the file")
    if int((metadata.get("properties") or {}).get("write.metadata.previous-versions-max", 100)) < len(files):
        yield f"the metadata log has {len(files)} files"
    lost = [file for file in files if not Path(file.removeprefix("file://").removeprefix("file:")).exists()]
    if lost and (metadata.get("properties") or {}).get("write.metadata.delete-after-commit.enabled") != "true":
        yield f"the metadata log names files that are gone: {lost}"


def _row_ids(metadata: Mapping[str, Any]) -> Iterator[str]:
    ranges = sorted(
        (one["first-row-id"], one["first-row-id"] + one["added-rows"])
        for one in metadata.get("snapshots") or ()
        if one.get("first-row-id") is not None
    )
    yield from _overlapping(ranges, metadata["next-row-id"], "snapshots")


def _overlapping(ranges: Iterable[tuple[int, int]], end: int, what: str) -> Iterator[str]:
    done = 0
    for first, after in sorted(ranges):
        if first < done and after > first:
            yield f"two {what} have row ids in {first} to {min(done, after)}"
        done = max(done, after)
    if done > end:
        yield f"{what} have row ids up to {done}, next-row-id is {end}"


def row_id_violations(files: Iterable[tuple[int, int]], metadata: Mapping[str, Any]) -> Iterator[str]:
    """Of the data files of one snapshot, as first row id and number of rows."""
    yield from _overlapping(((first, first + rows) for first, rows in files), metadata["next-row-id"], "data files")


def _repeated(values: Iterable[Any], what: str) -> Iterator[str]:
    yield from (f"{what} {value!r} twice" for value, count in Counter(values).items() if count > 1)
