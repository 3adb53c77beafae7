"""Fields of table metadata below the top level that sqlext does not know, preserved when it rewrites the file.

An object of the metadata file is identified by a place that does not change when others are added: its id, its name, or
the content of a log entry. Unknown fields of snapshots are in `Snapshot.extra`; statistics stay JSON objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

SNAPSHOT_LOG = "snapshot log"
"""The first part of the place of an entry of the snapshot log."""

Place: TypeAlias = tuple[Any, ...]
UnknownFields: TypeAlias = Mapping[Place, Mapping[str, Any]]

_SCHEMA = frozenset({"type", "schema-id", "identifier-field-ids", "fields"})
_FIELD = frozenset({"id", "name", "required", "type", "doc", "initial-default", "write-default"})
_TYPES = {
    "struct": frozenset({"type", "fields"}),
    "list": frozenset({"type", "element-id", "element", "element-required"}),
    "map": frozenset({"type", "key-id", "key", "value-id", "value", "value-required"}),
}
_SPEC = frozenset({"spec-id", "fields"})
_SPEC_FIELD = frozenset({"name", "transform", "source-id", "source-ids", "field-id"})
_ORDER = frozenset({"order-id", "fields"})
_ORDER_FIELD = frozenset({"transform", "source-id", "source-ids", "direction", "null-order"})
_REFERENCE = frozenset({"snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"})
_SNAPSHOT_LOG_ENTRY = frozenset({"timestamp-ms", "snapshot-id"})
# The place of unknown fields of the current schema, which a new schema inherits.
_NEW_SCHEMA = "new schema"
_METADATA_LOG = frozenset({"timestamp-ms", "metadata-file"})

_Found: TypeAlias = Iterator[tuple[Place, dict[str, Any], frozenset[str]]]


def unknown_fields(metadata: Mapping[str, Any]) -> UnknownFields:
    """The unknown fields of a decoded metadata file by place; empty if there are none."""
    found: dict[Place, dict[str, Any]] = {}
    for place, obj, known in _objects(metadata):
        if obj.keys() - known:
            found[place] = {name: value for name, value in obj.items() if name not in known}
    if not found:
        return {}
    schema_ids = [place[1] for place, _, _ in _objects(metadata) if place[0] == "schema" and len(place) == 2]
    current = metadata.get("current-schema-id", schema_ids[-1])
    successors = {
        (_NEW_SCHEMA, *place[2:]): fields for place, fields in found.items() if place[:2] == ("schema", current)
    }
    return {**{("schema", schema_id): {} for schema_id in schema_ids}, **found, **successors}


def restore_unknown_fields(metadata: dict[str, Any], unknown: UnknownFields) -> None:
    """Adds the unknown fields to `metadata`, in place. A schema added since decoding gets those of the schema that was
    current."""
    if not unknown:
        return
    for place, obj, _ in list(_objects(metadata)):
        is_new = place[0] == "schema" and place[:2] not in unknown
        for name, value in unknown.get((_NEW_SCHEMA, *place[2:]) if is_new else place, {}).items():
            obj.setdefault(name, value)


def _objects(metadata: Mapping[str, Any]) -> _Found:
    """Each object of the metadata with its place and the names of its known fields."""
    schemas = [*(metadata.get("schemas") or ()), *filter(None, [metadata.get("schema")])]
    for schema in schemas:
        place = ("schema", schema.get("schema-id", 0))
        yield place, schema, _SCHEMA
        yield from _fields(place, schema["fields"])
    for spec in (*(metadata.get("partition-specs") or ()), *_version_1_spec(metadata)):
        place = ("spec", spec["spec-id"])
        yield place, spec, _SPEC
        for number, field in enumerate(spec["fields"]):
            yield (*place, field.get("field-id", number)), field, _SPEC_FIELD
    for order in metadata.get("sort-orders") or ():
        place = ("order", order["order-id"])
        yield place, order, _ORDER
        for number, field in enumerate(order["fields"]):
            yield (*place, number), field, _ORDER_FIELD
    for name, reference in (metadata.get("refs") or {}).items():
        yield ("ref", name), reference, _REFERENCE
    for entry in metadata.get("snapshot-log") or ():
        yield (SNAPSHOT_LOG, entry["timestamp-ms"], entry["snapshot-id"]), entry, _SNAPSHOT_LOG_ENTRY
    for entry in metadata.get("metadata-log") or ():
        yield ("metadata log", entry["metadata-file"]), entry, _METADATA_LOG


def _version_1_spec(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields = metadata.get("partition-spec")
    return [] if fields is None else [{"spec-id": metadata.get("default-spec-id", 0), "fields": fields}]


def _fields(place: Place, fields: list[dict[str, Any]]) -> _Found:
    for field in fields:
        yield (*place[:2], "field", field["id"]), field, _FIELD
        yield from _nested((*place[:2], "type", field["id"]), field["type"])


def _nested(place: Place, type: Any) -> _Found:
    """The nested types inside `type`, with the id of the field of each as its place."""
    if not isinstance(type, dict):
        return
    yield place, type, _TYPES[type["type"]]
    if type["type"] == "struct":
        yield from _fields(place, type["fields"])
    for part in ("element", "key", "value"):
        if part in type:
            yield from _nested((*place[:2], "type", type[f"{part}-id"]), type[part])
