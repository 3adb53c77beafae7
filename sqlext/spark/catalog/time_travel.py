"""The version of a table that a name, a `VERSION AS OF` clause or a read option selects.

A name may continue after the table's: `t.files` is a metadata table, `t.ro` the read-optimized view, `t.branch_b`,
`t.tag_v1`, `t.snapshot_id_<id>` and `t.at_timestamp_<milliseconds>` are versions of `t`. A table with that full name
has precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlext.catalog.identifier import version_in_name
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.spark.catalog.frame_options import require_read_options
from sqlext.spark.catalog.table_handle import READ_OPTIMIZED, TableHandle
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.syntax.options_hint import options_in_version

_PLACES = {"branch": "branch", "tag": "tag", "snapshot-id": "snapshot_id", "as-of-timestamp": "at_timestamp"}
_OPTIONS = {**_PLACES, "versionasof": "version"}
_PIN = re.compile(
    r"@(?:/(?P<snapshot>\d+)/(?P<changelog>changelog/)?(?P<of_snapshot>[^/]+)|(?P<file>[^/]+)(?:/(?P<branch>.*))?)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A table's name, and the metadata table (or view of its rows) or version that follows it, or both."""

    parts: tuple[str, ...]
    metadata_table: str | None = None
    at: Mapping[str, str] = field(default_factory=dict)
    read_optimized: bool = False

    @property
    def is_head(self) -> bool:
        """Whether it is the head of main or of a branch, with all of its rows."""
        return self.metadata_table is None and not self.read_optimized and not self.at.keys() - {"branch"}

    def seen_by(self, handle: TableHandle) -> TableHandle:
        """The handle with the metadata table or the view that is named."""
        return replace(handle, metadata_table=self.metadata_table, read_optimized=self.read_optimized)

    @property
    def part(self) -> str:
        """The metadata table or version in words, for messages."""
        if self.read_optimized:
            return "the read-optimized view"
        if self.metadata_table is not None:
            return f"the metadata table {self.metadata_table}"
        kind, value = next(iter(self.at.items()))
        return f"the {kind} {value}" if kind in ("branch", "tag") else f"a snapshot ({kind} {value})"


def readings(parts: tuple[str, ...]) -> Iterator[NamedPlace]:
    """The possible meanings of a name of catalog, namespace and table, in order of precedence."""
    yield NamedPlace(parts)
    last = parts[-1].lower() if len(parts) > 3 else ""
    metadata_table = last if last in METADATA_TABLES else None
    read_optimized = last == READ_OPTIMIZED
    if metadata_table is not None or read_optimized:
        parts = parts[:-1]
        yield NamedPlace(parts, metadata_table, read_optimized=read_optimized)
    selected = version_in_name(parts[-1]) if len(parts) > 3 else None
    if selected is not None:
        yield NamedPlace(parts[:-1], metadata_table, dict([selected]), read_optimized)


def without_hint(at: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The place `at` of table `name`, with the place of an OPTIONS hint instead of the version that encodes the hint.

    Raises AnalysisError UNKNOWN_OPTION and UnsupportedError OPTION_NOT_SUPPORTED for invalid options, AnalysisError
    TIME_TRAVEL_TWICE for two places.
    """
    options = options_in_version(str(at.get("version", "")))
    if options is None:
        return at
    require_read_options(options)
    if any(key.lower() == "path" for key in options):
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="read", name="path", reason="the table is named already")
    named, place = {key: value for key, value in at.items() if key != "version"}, place_in_options(options)
    if named and place:
        raise AnalysisError("TIME_TRAVEL_TWICE", name=name)
    return {**named, **place}


def names_place(options: Iterable[str]) -> bool:
    """Whether one of Iceberg's read options selects a version of the table."""
    return any(name.lower() in _PLACES for name in options)


def place_in_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """The place that read options of Iceberg or Spark select.

    Raises AnalysisError for two of them, UnsupportedError for `timestampAsOf`.
    """
    if any(key.lower() == "timestampasof" for key in options):
        reason = "the time is told otherwise here: by as-of-timestamp, in milliseconds since 1970"
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="read", name="timestampAsOf", reason=reason)
    given = {key: value for key, value in options.items() if key.lower() in _OPTIONS}
    if len(given) > 1:
        raise AnalysisError("TIME_TRAVEL_TWICE", name=f"A table with the options {' and '.join(sorted(given))}")
    return {_OPTIONS[key.lower()]: value for key, value in given.items()}


def travel(handle: TableHandle, metadata: TableMetadata, at: Mapping[str, Any]) -> TableHandle:
    """The handle at a version of the table.

    `at` may have `branch`, `tag`, `snapshot_id`, `at_timestamp` in milliseconds, `timestamp` in microseconds, or
    `version`. That is a snapshot id, branch or tag, or a pin: `@<metadata file>`, `@<metadata file>/<branch>`, or
    `@/<snapshot id>/<metadata file>` for a snapshot read by the table's current schema, with `changelog/` before the
    file for its stored changelog. Raises AnalysisError TIME_TRAVEL_TWICE, or NotFoundError for a version that does not
    exist.
    """
    pin = pin_of(at)
    if pin is not None:
        return _pinned(handle, pin, at.get("branch"))
    given = [key for key in ("branch", "tag", "snapshot_id", "at_timestamp", "timestamp", "version") if key in at]
    if len(given) > 1:
        raise AnalysisError("TIME_TRAVEL_TWICE", name=handle.full_name)
    return _travelled(handle, metadata, given[0], str(at[given[0]])) if given else handle


@dataclass(frozen=True, slots=True)
class Pin:
    """A metadata file by name, and its head of a branch, or a snapshot of it or its stored changelog."""

    metadata_file: str
    branch: str | None = None
    snapshot_id: int | None = None
    changelog: bool = False

    @property
    def version(self) -> str:
        """The version that stands for it in SQL, see `travel`; a branch may have any name."""
        if self.snapshot_id is not None:
            return f"@/{self.snapshot_id}/{'changelog/' if self.changelog else ''}{self.metadata_file}"
        return f"@{self.metadata_file}" if self.branch is None else f"@{self.metadata_file}/{self.branch}"


def pin_of(at: Mapping[str, Any]) -> Pin | None:
    """The pin in the place's `version`, if it is one; see `travel`."""
    pin = _PIN.fullmatch(str(at.get("version", "")))
    if pin is None:
        return None
    if pin["snapshot"] is not None:
        return Pin(pin["of_snapshot"], None, int(pin["snapshot"]), changelog=pin["changelog"] is not None)
    return Pin(pin["file"], pin["branch"] or None)


def pinned_snapshot(handle: TableHandle, snapshot_id: int) -> TableHandle:
    """The handle of a snapshot that is read by the table's current schema."""
    return replace(handle, snapshot_id=snapshot_id, branch=None, as_current=True)


def _pinned(handle: TableHandle, pin: Pin, branch: str | None) -> TableHandle:
    folder = handle.metadata_location.rpartition("/")[0]
    pinned = replace(handle, metadata_location=f"{folder}/{pin.metadata_file}")
    if pin.snapshot_id is not None:
        return replace(pinned_snapshot(pinned, pin.snapshot_id), changelog=pin.changelog)
    return replace(pinned, branch=pin.branch or branch)


def _travelled(handle: TableHandle, metadata: TableMetadata, kind: str, value: str) -> TableHandle:
    if kind in ("timestamp", "at_timestamp"):
        return _as_of(
            handle, metadata, int(value) // 1000 if kind == "timestamp" else _number(value, "as-of-timestamp")
        )
    if kind in ("branch", "tag"):
        return _at_reference(handle, metadata, value, kind)
    if kind == "version" and value in metadata.refs:
        return _at_reference(handle, metadata, value, metadata.refs[value].type)
    if value.isascii() and value.isdigit() and metadata.snapshot_or_none(int(value)) is not None:
        return replace(handle, snapshot_id=int(value))
    raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=value, name=handle.full_name)


def _as_of(handle: TableHandle, metadata: TableMetadata, milliseconds: int) -> TableHandle:
    try:
        return replace(handle, snapshot_id=metadata.snapshot_as_of(milliseconds).snapshot_id)
    except NotFoundError as missing:
        named = missing.parameters["snapshot"]
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=named, name=handle.full_name) from None


def _at_reference(handle: TableHandle, metadata: TableMetadata, name: str, kind: str) -> TableHandle:
    """A branch is read by the table's schema and may be written; a tag is a snapshot, read by its own schema."""
    reference = metadata.refs.get(name)
    if reference is None:
        raise NotFoundError("REFERENCE_NOT_FOUND", type=kind, ref=name, name=handle.full_name)
    if reference.type != kind:
        raise AnalysisError("WRONG_REFERENCE_TYPE", ref=name, name=handle.full_name, type=reference.type, wanted=kind)
    return replace(handle, branch=name) if kind == "branch" else replace(handle, snapshot_id=reference.snapshot_id)


def _number(value: str, option: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", value):
        raise AnalysisError("INVALID_READ_OPTION", option=option, value=value, wanted="milliseconds since 1970")
    return int(value)
