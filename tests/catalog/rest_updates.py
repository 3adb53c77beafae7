"""What a REST server makes of updates and requirements (REST spec: TableUpdate, TableRequirement), on plain JSON."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

_MAIN = "main"
_LAST_ADDED = -1
_FIRST_PARTITION_ID = 1000


class Refused(Exception):
    """The answer of a server that does not do what it is asked for."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def require(document: Json | None, requirements: Sequence[Json]) -> None:
    """`Refused` 409 for a requirement that does not hold; None: there is no table."""
    for one in requirements:
        if one["type"] == "assert-create":
            if document is not None:
                raise Refused(409, "CommitFailedException", "Requirement failed: table already exists")
            continue
        if document is None:
            raise Refused(404, "NoSuchTableException", "Table does not exist")
        if not _holds(document, one):
            raise Refused(409, "CommitFailedException", f"Requirement failed: {one}")


def _holds(document: Json, one: Json) -> bool:
    match one["type"]:
        case "assert-table-uuid":
            return bool(document["table-uuid"] == one["uuid"])
        case "assert-ref-snapshot-id":
            return bool(document["refs"].get(one["ref"], {}).get("snapshot-id") == one.get("snapshot-id"))
        case "assert-last-assigned-field-id":
            return bool(document["last-column-id"] == one["last-assigned-field-id"])
        case "assert-last-assigned-partition-id":
            return bool(document["last-partition-id"] == one["last-assigned-partition-id"])
        case "assert-current-schema-id" | "assert-default-spec-id" | "assert-default-sort-order-id":
            name = one["type"].removeprefix("assert-")
            return bool(document[name] == one[name])
    raise Refused(400, "BadRequestException", f"Unknown requirement {one['type']}")


def updated(document: Json | None, updates: Sequence[Json], now_ms: int) -> Json:
    """The document of the next version."""
    made = _empty() if document is None else copy.deepcopy(document)
    made["last-updated-ms"] = max(now_ms, made["last-updated-ms"])
    added: dict[str, Any] = {"snapshots": set()}
    for one in updates:
        _apply(made, one, added)
    return made


def _empty() -> Json:
    return {
        "format-version": 1,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": 0,
        "last-partition-id": _FIRST_PARTITION_ID - 1,
        "current-snapshot-id": None,
        "properties": {},
        "refs": {},
        **{name: [] for name in ("schemas", "partition-specs", "sort-orders", "snapshots", "snapshot-log")},
        "metadata-log": [],
    }


def _apply(made: Json, one: Json, added: dict[str, Any]) -> None:
    match one["action"]:
        case "assign-uuid":
            made["table-uuid"] = one["uuid"]
        case "upgrade-format-version":
            made["format-version"] = one["format-version"]
            if one["format-version"] > 2:
                made.setdefault("next-row-id", 0)
        case "set-location":
            made["location"] = one["location"]
        case "add-schema":
            fields = [made["last-column-id"], one.get("last-column-id", 0), *_field_ids(one["schema"])]
            made["last-column-id"] = max(fields)
            added["schema"] = _listed(made["schemas"], one["schema"], "schema-id", 0)
        case "add-spec":
            ids = [field["field-id"] for field in one["spec"]["fields"]]
            made["last-partition-id"] = max([made["last-partition-id"], *ids])
            added["spec"] = _listed(made["partition-specs"], one["spec"], "spec-id", 0)
        case "add-sort-order":
            first = 1 if one["sort-order"]["fields"] else 0
            added["sort-order"] = _listed(made["sort-orders"], one["sort-order"], "order-id", first)
        case "set-current-schema":
            made["current-schema-id"] = _or_last(one["schema-id"], added.get("schema"))
        case "set-default-spec":
            made["default-spec-id"] = _or_last(one["spec-id"], added.get("spec"))
        case "set-default-sort-order":
            made["default-sort-order-id"] = _or_last(one["sort-order-id"], added.get("sort-order"))
        case "set-properties":
            made["properties"] |= one["updates"]
        case "remove-properties":
            made["properties"] = {k: v for k, v in made["properties"].items() if k not in one["removals"]}
        case "add-snapshot":
            _add_snapshot(made, one["snapshot"])
            added["snapshots"].add(one["snapshot"]["snapshot-id"])
        case "set-snapshot-ref":
            _set_ref(made, {k: v for k, v in one.items() if k != "action"}, added["snapshots"])
        case "remove-snapshot-ref":
            made["refs"].pop(one["ref-name"], None)
            if one["ref-name"] == _MAIN:
                made["current-snapshot-id"] = None
        case "remove-snapshots":
            gone = set(one["snapshot-ids"])
            made["snapshots"] = [kept for kept in made["snapshots"] if kept["snapshot-id"] not in gone]
            made["snapshot-log"] = [kept for kept in made["snapshot-log"] if kept["snapshot-id"] not in gone]
        case "remove-partition-specs":
            _remove(made, "partition-specs", "spec-id", one["spec-ids"], made["default-spec-id"])
        case "remove-schemas":
            _remove(made, "schemas", "schema-id", one["schema-ids"], made["current-schema-id"])
        case _:
            raise Refused(400, "BadRequestException", f"Unknown update {one['action']}")


def _remove(made: Json, name: str, id: str, gone: list[int], used: int) -> None:
    if used in gone:
        raise Refused(400, "BadRequestException", f"Cannot remove {id} {used}, which is in use")
    made[name] = [kept for kept in made[name] if kept[id] not in gone]


def _field_ids(type: Any) -> list[int]:
    """The ids of the fields of a type, at any depth."""
    if isinstance(type, list):
        return [id for one in type for id in _field_ids(one)]
    if not isinstance(type, dict):
        return []
    own = [type[name] for name in ("id", "element-id", "key-id", "value-id") if name in type]
    return own + [id for name in ("fields", "type", "element", "key", "value") for id in _field_ids(type.get(name))]


def _listed(known: list[Json], new: Json, name: str, first: int) -> int:
    """The id of what is the same and there already, or the next one."""
    content = {key: value for key, value in new.items() if key != name}
    for one in known:
        if {key: value for key, value in one.items() if key != name} == content:
            return int(one[name])
    id: int = max([one[name] + 1 for one in known] + [first])
    known.append({**content, name: id})
    return id


def _or_last(id: int, last: int | None) -> int | None:
    return last if id == _LAST_ADDED else id


def _add_snapshot(made: Json, snapshot: Json) -> None:
    number = snapshot.get("sequence-number", 0)
    if made["format-version"] > 1 and number <= made["last-sequence-number"] and "parent-snapshot-id" in snapshot:
        raise Refused(400, "ValidationException", f"Cannot add snapshot with sequence number {number}")
    if any(one["snapshot-id"] == snapshot["snapshot-id"] for one in made["snapshots"]):
        raise Refused(400, "ValidationException", "Snapshot already exists")
    if made["format-version"] > 2:
        if snapshot["first-row-id"] < made["next-row-id"]:
            raise Refused(400, "ValidationException", "Cannot add a snapshot, first-row-id is behind next-row-id")
        made["next-row-id"] = snapshot["first-row-id"] + snapshot["added-rows"]
    made["last-sequence-number"] = max(number, made["last-sequence-number"])
    made["last-updated-ms"] = snapshot["timestamp-ms"]
    made["snapshots"].append(snapshot)


def _set_ref(made: Json, reference: Json, added: set[int]) -> None:
    name, id = reference.pop("ref-name"), reference["snapshot-id"]
    snapshot = next((one for one in made["snapshots"] if one["snapshot-id"] == id), None)
    if snapshot is None:
        raise Refused(400, "ValidationException", f"Cannot set {name} to unknown snapshot: {id}")
    if made["refs"].get(name) == reference:
        return
    made["refs"][name] = reference
    if name == _MAIN:
        made["current-snapshot-id"] = id
        time = snapshot["timestamp-ms"] if id in added else made["last-updated-ms"]
        made["snapshot-log"].append({"timestamp-ms": time, "snapshot-id": id})


def view_updated(document: Mapping[str, Any], updates: Sequence[Json]) -> Json:
    """The document of a view's next version."""
    made = copy.deepcopy(dict(document))
    last_schema = last_version = None
    for one in updates:
        match one["action"]:
            case "add-schema":
                last_schema = _listed(made["schemas"], one["schema"], "schema-id", 0)
            case "add-view-version":
                version = dict(one["view-version"])
                version["schema-id"] = _or_last(version["schema-id"], last_schema)
                last_version = _listed(made["versions"], version, "version-id", 1)
            case "set-current-view-version":
                made["current-version-id"] = _or_last(one["view-version-id"], last_version)
                current = next(v for v in made["versions"] if v["version-id"] == made["current-version-id"])
                entry = {"timestamp-ms": current["timestamp-ms"], "version-id": current["version-id"]}
                made["version-log"].append(entry)
            case "set-properties":
                made["properties"] |= one["updates"]
            case "remove-properties":
                made["properties"] = {k: v for k, v in made["properties"].items() if k not in one["removals"]}
            case _:
                raise Refused(400, "BadRequestException", f"Unknown update {one['action']}")
    return made
