"""Options of DataFrame reads and writes: which are known, and what those of a write ask for.

The names are those of Iceberg's reader and writer. What tunes Iceberg's own way of working is accepted and has no
effect; what would change rows or commits, and is not done here, is refused; so is a name that is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import (
    DELETE_GRANULARITY,
    DISTRIBUTION_MODE,
    PARQUET_COMPRESSION,
    PARQUET_COMPRESSION_LEVEL,
    TARGET_FILE_SIZE_BYTES,
    UPSERT_ENABLED,
    TableProperty,
)

MERGE_SCHEMA = ("mergeschema", "merge-schema")
_UPSERT = "upsert-enabled"
_SNAPSHOT_PROPERTY = "snapshot-property."
_PLACES = frozenset({"branch", "tag", "snapshot-id", "as-of-timestamp", "path", "versionasof", "timestampasof"})
_TUNES_READS = frozenset(
    {
        "aggregate-push-down-enabled",
        "batch-size",
        "executor-cache-locality-enabled",
        "file-open-cost",
        "locality",
        "lookback",
        "split-size",
        "vectorization-enabled",
    }
)
_OTHER_READS = frozenset(
    {
        "end-snapshot-id",
        "end-timestamp",
        "scan-task-set-id",
        "start-snapshot-id",
        "start-timestamp",
        "stream-from-timestamp",
        "streaming-max-files-per-micro-batch",
        "streaming-max-rows-per-micro-batch",
        "streaming-skip-delete-snapshots",
        "streaming-skip-overwrite-snapshots",
    }
)
# By these a write does for once what the table's property says of all.
_SETTINGS: Mapping[str, TableProperty[Any]] = {
    "compression-codec": PARQUET_COMPRESSION,
    "compression-level": PARQUET_COMPRESSION_LEVEL,
    "delete-granularity": DELETE_GRANULARITY,
    "distribution-mode": DISTRIBUTION_MODE,
    "target-file-size-bytes": TARGET_FILE_SIZE_BYTES,
}
_TUNES_WRITES = frozenset({"advisory-partition-size", "check-ordering", "fanout-enabled"})
# Options whose one value is what is done anyway.
_ONLY = {
    "check-nullability": "true",
    "delete-format": "parquet",
    "use-table-distribution-and-ordering": "true",
    "write-format": "parquet",
}
_OTHER_WRITES = frozenset(
    {
        "compression-strategy",
        "isolation-level",
        "output-spec-id",
        "overwrite-mode",
        "rewritten-file-scan-task-set-id",
        "validate-from-snapshot-id",
    }
)
_READS = _PLACES | _TUNES_READS | _OTHER_READS
_WRITES = frozenset(
    {"branch", *MERGE_SCHEMA, _UPSERT, _SNAPSHOT_PROPERTY, *_SETTINGS, *_TUNES_WRITES, *_ONLY, *_OTHER_WRITES}
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What the options of one write ask for.

    `settings` stand in for the table's properties; `summary` goes into the snapshot's. `merge_schema` is None where the
    session says it, `upsert` where the table's properties do.
    """

    branch: str | None = None
    merge_schema: bool | None = None
    upsert: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    summary: tuple[tuple[str, str], ...] = ()


def require_read_options(options: Iterable[str]) -> None:
    """AnalysisError UNKNOWN_OPTION with the nearest name, UnsupportedError for one that would read other rows."""
    for name in options:
        if name.lower() in _OTHER_READS:
            reason = "it would read the rows that came between two snapshots, or a stream"
            raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="read", name=name, reason=reason)
        if name.lower() not in _READS:
            raise _unknown("read", name, _READS)


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The options of a write. Errors as for reads, and for values that do not parse."""
    settings: dict[str, str] = {}
    summary: list[tuple[str, str]] = []
    merge_schema: bool | None = None
    upsert: bool | None = None
    for name, value in options.items():
        lower = name.lower()
        if lower in _SETTINGS:
            setting = _SETTINGS[lower]
            setting.of({setting.name: value})
            settings[setting.name] = value
        elif lower.startswith(_SNAPSHOT_PROPERTY):
            summary.append((name[len(_SNAPSHOT_PROPERTY) :], value))
        elif lower in MERGE_SCHEMA:
            merge_schema = value.lower() == "true"
        elif lower == _UPSERT:
            upsert = UPSERT_ENABLED.of({UPSERT_ENABLED.name: value})
        elif lower in _OTHER_WRITES or value.lower() != _ONLY.get(lower, value.lower()):
            reason = f"the write does {_ONLY[lower]} only" if lower in _ONLY else "what it asks for is not done here"
            raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name=name, reason=reason)
        elif lower not in _WRITES:
            raise _unknown("write", name, _WRITES)
    branch = next((value for name, value in options.items() if name.lower() == "branch"), None)
    return WriteOptions(branch, merge_schema, upsert, settings, tuple(sorted(summary)))


def known_write_options() -> frozenset[str]:
    """Names that `write_options` takes, beside those that go on behind `snapshot-property.`; some it then refuses."""
    return _WRITES - {_SNAPSHOT_PROPERTY}


def _unknown(kind: str, name: str, known: Iterable[str]) -> AnalysisError:
    nearest = get_close_matches(name.lower().replace("_", "-"), sorted(known), n=1, cutoff=0.0)[0]
    return AnalysisError("UNKNOWN_OPTION", kind=kind, name=name, nearest=nearest)
