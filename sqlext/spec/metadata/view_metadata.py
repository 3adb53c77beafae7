"""View metadata as a value and as JSON (view spec: View Metadata, Versions, Representations, Version log)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlext.errors import CorruptionError, UnsupportedError
from sqlext.spec.metadata.metadata_checksum import GZIP_MAGIC, MEMBER, checksum_state, closing
from sqlext.spec.metadata.metadata_shape import require_view_metadata_shape
from sqlext.spec.schema import Schema
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.spec.stored_bytes.decompression import gunzip

COMMIT_ID = "sqlext.commit-id"
"""The key in a version's summary for the id of the commit that made the version."""
VIEW_FORMAT_VERSION = 1
SPARK_DIALECT = "spark"
VERSIONS_KEPT = "version.history.num-entries"
_DEFAULT_VERSIONS_KEPT = 10
# Within so many bytes view metadata has the field `view-uuid`, which table metadata never has: writers put it first.
VIEW_HEADER_BYTES = 512
_MARK = b'"view-uuid"'
_KNOWN = frozenset(
    [
        "view-uuid",
        "format-version",
        "location",
        "schemas",
        "current-version-id",
        "versions",
        "version-log",
        "properties",
        MEMBER,
    ]
)


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """One definition of a view. Representations are JSON objects, so that other dialects survive a rewrite."""

    version_id: int
    schema_id: int
    timestamp_ms: int
    summary: Mapping[str, str]
    representations: tuple[Mapping[str, Any], ...]
    default_namespace: tuple[str, ...]
    default_catalog: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def sql(self, dialect: str) -> str | None:
        """The query in a dialect; None if the version lacks the dialect."""
        for one in self.representations:
            if one.get("type") == "sql" and str(one.get("dialect", "")).lower() == dialect:
                return str(one["sql"])
        return None


@dataclass(frozen=True, slots=True)
class ViewLogEntry:
    """The time in milliseconds since 1970-01-01 at which a version became current."""

    timestamp_ms: int
    version_id: int


@dataclass(frozen=True, slots=True)
class ViewMetadata:
    """The content of one metadata file of a view; `extra` has the fields unknown to sqlext."""

    view_uuid: str
    location: str
    schemas: tuple[Schema, ...]
    current_version_id: int
    versions: tuple[ViewVersion, ...]
    version_log: tuple[ViewLogEntry, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def version(self) -> ViewVersion:
        """The current version."""
        return next(one for one in self.versions if one.version_id == self.current_version_id)

    def schema(self) -> Schema:
        """The schema of the current version."""
        return next(one for one in self.schemas if one.schema_id == self.version().schema_id)

    def is_commit_of(self, updated: ViewMetadata) -> bool:
        """Whether this metadata, read from a catalog, is the result of the commit of `updated`: by the commit id of the
        current version and by the properties. Schema and version ids may differ, since a catalog may assign its own."""
        commit_id = updated.version().summary.get(COMMIT_ID)
        is_same = commit_id is not None and self.version().summary.get(COMMIT_ID) == commit_id
        return is_same and self.properties == updated.properties

    def with_version(self, version: ViewVersion, schema: Schema) -> ViewMetadata:
        """The metadata with a new current version; ids in `version` and `schema` are replaced by new ones.

        The newest `version.history.num-entries` versions remain, with their log entries and schemas.
        """
        known = next((one for one in self.schemas if one.same_columns(schema)), None)
        highest_schema = max((one.schema_id for one in self.schemas), default=-1)
        added = known or replace(schema, schema_id=highest_schema + 1)
        highest_version = max((one.version_id for one in self.versions), default=0)
        current = replace(version, version_id=highest_version + 1, schema_id=added.schema_id)
        kept = (*self.versions, current)[-_versions_kept(self.properties) :]
        schema_ids = {one.schema_id for one in kept}
        version_ids = {one.version_id for one in kept}
        log = (*self.version_log, ViewLogEntry(version.timestamp_ms, current.version_id))
        return replace(
            self,
            schemas=tuple(one for one in (*self.schemas, *(() if known else (added,))) if one.schema_id in schema_ids),
            current_version_id=current.version_id,
            versions=kept,
            version_log=tuple(entry for entry in log if entry.version_id in version_ids),
        )


def new_view_metadata(
    view_uuid: str, location: str, properties: Mapping[str, str], version: ViewVersion, schema: Schema
) -> ViewMetadata:
    """The metadata of a new view with its first version."""
    empty = ViewMetadata(view_uuid, location, (), 0, (), (), dict(properties))
    return empty.with_version(version, schema)


def is_view_metadata(data: bytes) -> bool:
    """Whether the first `VIEW_HEADER_BYTES` bytes of a metadata file are of a view rather than a table."""
    return _MARK in data[:VIEW_HEADER_BYTES]


def decode_view_metadata(data: bytes, location: str) -> ViewMetadata:
    """The metadata in the bytes of the file at `location`, plain or gzipped.

    Raises CorruptionError for bytes that are not view metadata or not those that were written, UnsupportedError for
    another format version.
    """
    try:
        obj = json.loads(gunzip(data) if data.startswith(GZIP_MAGIC) else data)
        if int(obj["format-version"]) != VIEW_FORMAT_VERSION:
            raise UnsupportedError(
                "UNSUPPORTED_FORMAT_VERSION", version=obj["format-version"], name=location, highest=VIEW_FORMAT_VERSION
            )
        require_view_metadata_shape(obj)
        metadata = _from_json(obj)
        _require_consistent(metadata)
        return metadata
    except UnsupportedError as error:
        # A flipped bit of the number makes it another version.
        if checksum_state(data) == ChecksumState.WRONG:
            raise _corrupt(location, str(error)) from error
        raise
    except KeyError as error:
        raise _corrupt(location, f"the field {error} is missing") from error
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError, EOFError, zlib.error) as error:
        raise _corrupt(location, str(error)) from error


def encode_view_metadata(metadata: ViewMetadata) -> bytes:
    """The bytes of a metadata file, with their checksum."""
    obj = {
        "view-uuid": metadata.view_uuid,
        "format-version": VIEW_FORMAT_VERSION,
        "location": metadata.location,
        "properties": dict(metadata.properties),
        "schemas": [schema.to_json() for schema in metadata.schemas],
        "current-version-id": metadata.current_version_id,
        "versions": [_version_to_json(version) for version in metadata.versions],
        "version-log": [
            {"timestamp-ms": entry.timestamp_ms, "version-id": entry.version_id} for entry in metadata.version_log
        ],
        **metadata.extra,
    }
    text = json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode("utf-8").removesuffix(b"}")
    return text + closing([text])


def _versions_kept(properties: Mapping[str, str]) -> int:
    text = properties.get(VERSIONS_KEPT, "")
    return max(int(text), 1) if text.isdigit() and len(text) < 10 else _DEFAULT_VERSIONS_KEPT


def _corrupt(location: str, reason: str) -> CorruptionError:
    return CorruptionError("CORRUPT_FILE", path=location, kind="view metadata", reason=reason)


def _require_consistent(metadata: ViewMetadata) -> None:
    schema_ids = {schema.schema_id for schema in metadata.schemas}
    if metadata.current_version_id not in {version.version_id for version in metadata.versions}:
        raise ValueError(f"current-version-id {metadata.current_version_id} names nothing")
    for version in metadata.versions:
        if version.schema_id not in schema_ids:
            raise ValueError(f"the schema-id {version.schema_id} of a version names nothing")


def _from_json(obj: Mapping[str, Any]) -> ViewMetadata:
    return ViewMetadata(
        view_uuid=obj["view-uuid"],
        location=obj["location"],
        schemas=tuple(Schema.from_json(schema) for schema in obj["schemas"]),
        current_version_id=obj["current-version-id"],
        versions=tuple(_version_from_json(version) for version in obj["versions"]),
        version_log=tuple(ViewLogEntry(entry["timestamp-ms"], entry["version-id"]) for entry in obj["version-log"]),
        properties=obj.get("properties") or {},
        extra={key: value for key, value in obj.items() if key not in _KNOWN},
    )


_VERSION_FIELDS = frozenset(
    [
        "version-id",
        "schema-id",
        "timestamp-ms",
        "summary",
        "representations",
        "default-catalog",
        "default-namespace",
    ]
)


def _version_from_json(obj: Mapping[str, Any]) -> ViewVersion:
    return ViewVersion(
        version_id=obj["version-id"],
        schema_id=obj["schema-id"],
        timestamp_ms=obj["timestamp-ms"],
        summary=obj["summary"],
        representations=tuple(obj["representations"]),
        default_namespace=tuple(obj["default-namespace"]),
        default_catalog=obj.get("default-catalog"),
        extra={key: value for key, value in obj.items() if key not in _VERSION_FIELDS},
    )


def _version_to_json(version: ViewVersion) -> dict[str, Any]:
    obj: dict[str, Any] = {
        "version-id": version.version_id,
        "timestamp-ms": version.timestamp_ms,
        "schema-id": version.schema_id,
        "summary": dict(version.summary),
    }
    if version.default_catalog is not None:
        obj["default-catalog"] = version.default_catalog
    obj["default-namespace"] = list(version.default_namespace)
    obj["representations"] = [dict(one) for one in version.representations]
    return {**obj, **version.extra}
