"""The JSON types of the fields of table and view metadata (spec: Appendix C, Table Metadata; view spec).

Decoders do not check types: without this check a wrong one would raise some Python error long after decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class _Whole:
    """A signed whole number of at most `bits` bits."""

    bits: int


@dataclass(frozen=True, slots=True)
class _Items:
    """A list whose items have one shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class _Values:
    """An object with any keys, whose values have one shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class _Location:
    """An absolute location of a file."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A column type: the name of a primitive, or the object of a nested type."""


Shape: TypeAlias = "type | _Whole | _Items | _Values | _Location | _Type | Mapping[str, Shape]"
_Part: TypeAlias = "tuple[Any, Shape, str]"
"""A value of the metadata, its expected shape, and its path."""

# Functions over types, their comparison and pickling recurse, with up to four calls for each level.
MAX_TYPES = 100

_INT, _LONG = _Whole(32), _Whole(64)
_TYPE = _Type()
_LOCATION = _Location()
_STRINGS = _Values(str)

_FIELD: Mapping[str, Shape] = {"id": _INT, "name": str, "required": bool, "type": _TYPE, "doc": str}
_NESTED: Mapping[str, Mapping[str, Shape]] = {
    "struct": {"fields": _Items(_FIELD)},
    "list": {"element-id": _INT, "element": _TYPE, "element-required": bool},
    "map": {"key-id": _INT, "key": _TYPE, "value-id": _INT, "value": _TYPE, "value-required": bool},
}
_SCHEMA: Shape = {"schema-id": _INT, "identifier-field-ids": _Items(_INT), "fields": _Items(_FIELD)}
_PARTITION_FIELD: Shape = {
    "source-id": _INT,
    "source-ids": _Items(_INT),
    "field-id": _INT,
    "name": str,
    "transform": str,
}
_SORT_FIELD: Shape = {"source-id": _INT, "transform": str, "direction": str, "null-order": str}
_SNAPSHOT: Shape = {
    "snapshot-id": _LONG,
    "parent-snapshot-id": _LONG,
    "sequence-number": _LONG,
    "timestamp-ms": _LONG,
    "manifest-list": _LOCATION,
    "manifests": _Items(_LOCATION),
    "summary": _STRINGS,
    "schema-id": _INT,
    "first-row-id": _LONG,
    "added-rows": _LONG,
}
_REFERENCE: Shape = {
    "snapshot-id": _LONG,
    "type": str,
    "min-snapshots-to-keep": _INT,
    "max-snapshot-age-ms": _LONG,
    "max-ref-age-ms": _LONG,
}
_STATISTICS: Shape = {"snapshot-id": _LONG, "statistics-path": _LOCATION, "file-size-in-bytes": _LONG}
_TABLE_METADATA: Shape = {
    "format-version": _INT,
    "table-uuid": str,
    "location": _LOCATION,
    "last-sequence-number": _LONG,
    "last-updated-ms": _LONG,
    "last-column-id": _INT,
    "schema": _SCHEMA,
    "schemas": _Items(_SCHEMA),
    "current-schema-id": _INT,
    "partition-spec": _Items(_PARTITION_FIELD),
    "partition-specs": _Items({"spec-id": _INT, "fields": _Items(_PARTITION_FIELD)}),
    "default-spec-id": _INT,
    "last-partition-id": _INT,
    "properties": _STRINGS,
    "current-snapshot-id": _LONG,
    "snapshots": _Items(_SNAPSHOT),
    "snapshot-log": _Items({"timestamp-ms": _LONG, "snapshot-id": _LONG}),
    "metadata-log": _Items({"timestamp-ms": _LONG, "metadata-file": _LOCATION}),
    "sort-orders": _Items({"order-id": _INT, "fields": _Items(_SORT_FIELD)}),
    "default-sort-order-id": _INT,
    "refs": _Values(_REFERENCE),
    "statistics": _Items(_STATISTICS),
    "partition-statistics": _Items(_STATISTICS),
    "next-row-id": _LONG,
    "encryption-keys": _Items({}),
}
_VIEW_METADATA: Shape = {
    "view-uuid": str,
    "format-version": _INT,
    "location": _LOCATION,
    "schemas": _Items(_SCHEMA),
    "current-version-id": _INT,
    "versions": _Items(
        {
            "version-id": _INT,
            "schema-id": _INT,
            "timestamp-ms": _LONG,
            "summary": _STRINGS,
            "representations": _Items({"type": str, "sql": str, "dialect": str}),
            "default-catalog": str,
            "default-namespace": _Items(str),
        }
    ),
    "version-log": _Items({"timestamp-ms": _LONG, "version-id": _INT}),
    "properties": _STRINGS,
}
# Fields that may be null, which means absent, in any format version.
_NULLABLE = frozenset(
    {
        "current-snapshot-id",
        "default-catalog",
        "doc",
        "encryption-keys",
        "first-row-id",
        "added-rows",
        "manifests",
        "max-ref-age-ms",
        "max-snapshot-age-ms",
        "metadata-log",
        "min-snapshots-to-keep",
        "next-row-id",
        "parent-snapshot-id",
        "partition-specs",
        "partition-statistics",
        "properties",
        "refs",
        "schema-id",
        "schemas",
        "snapshot-log",
        "snapshots",
        "source-ids",
        "statistics",
        "summary",
        "table-uuid",
    }
)


def require_metadata_shape(obj: Any) -> None:
    """Raises ValueError naming the field if a known field of table metadata has a wrong type. It may be absent."""
    _require(obj, _TABLE_METADATA)


def require_view_metadata_shape(obj: Any) -> None:
    """Raises ValueError naming the field if a known field of view metadata has a wrong type. It may be absent."""
    _require(obj, _VIEW_METADATA)


def _require(metadata: Any, whole: Shape) -> None:
    left: list[tuple[_Part, int]] = [((metadata, whole, "it"), 0)]
    while left:
        part, types = left.pop()
        _, shape, at = part
        types += shape is _TYPE
        if types > MAX_TYPES + 1:
            raise ValueError(f"{at} is nested more than {MAX_TYPES} types deep")
        left += [(one, types) for one in reversed(_parts(*part))]


def _parts(value: Any, shape: Shape, at: str) -> list[_Part]:
    """The parts of `value` that are still to be checked. Raises ValueError if `value` itself is not of `shape`."""
    match shape:
        case _Whole(bits=bits):
            # JSON's true is an int to Python.
            if type(value) is not int or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
                raise ValueError(f"{at} is no whole number of {bits} bits")
        case _Items(shape=items):
            return [(item, items, f"{at}[{index}]") for index, item in enumerate(_required_kind(value, list, at))]
        case _Values(shape=values):
            named = _required_kind(value, dict, at)
            return [(item, values, f"{at}[{_required_kind(name, str, at)!r}]") for name, item in named.items()]
        case _Location():
            if not _required_kind(value, str, at).startswith("/") and ":" not in value:
                raise ValueError(f"{at} is no absolute location")
        case _Type():
            return _type_parts(value, at)
        case type():
            _required_kind(value, shape, at)
        case _:
            return _fields(value, shape, at)
    return []


def _fields(value: Any, shape: Mapping[str, Shape], at: str) -> list[_Part]:
    return [
        (item, shape[name], name if at == "it" else f"{at}.{name}")
        for name, item in _required_kind(value, dict, at).items()
        if name in shape and not (item is None and name in _NULLABLE)
    ]


def _type_parts(value: Any, at: str) -> list[_Part]:
    if isinstance(value, str):
        _required_kind(value, str, at)
        return []
    kind = _required_kind(value, dict, at).get("type")
    nested = _NESTED.get(kind) if isinstance(kind, str) else None
    if nested is None:
        raise ValueError(f"{at} is no type of the format")
    return _fields(value, nested, at)


def _required_kind(value: Any, kind: type, at: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{at} is no {_JSON_NAMES[kind]}")
    if isinstance(value, str) and not value.isascii():
        # Raises ValueError for a lone surrogate, which JSON can escape but UTF-8 cannot encode.
        value.encode()
    return value


_JSON_NAMES = {str: "string", bool: "truth value", list: "list", dict: "object"}
