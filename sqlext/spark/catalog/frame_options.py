"""Options of DataFrame reads and writes, with the names of Iceberg's reader and writer.

Options that tune Iceberg's implementation are accepted and have no effect. Options that would change rows or commits,
and are not implemented, are refused, as are unknown names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import (
    DELETE_GRANULARITY,
    DISTRIBUTION_MODE,
    PARQUET_COMPRESSION,
    PARQUET_COMPRESSION_LEVEL,
    TARGET_FILE_SIZE_BYTES,
    TableProperty,
)
from sqlext.spec.field_path import FieldPath, listed_paths, path_text
from sqlext.spec.metadata.idempotent_batch import Batch, application_id, batch_version
from sqlext.spec.name_suggestion import suggestion

T = TypeVar("T")

MERGE_SCHEMA = ("mergeschema", "merge-schema")
_UPSERT = "upsert-enabled"
_OVERWRITE = "overwrite-enabled"
_EQUALITY_COLUMNS = "equality-field-columns"
_PARALLELISM = "write-parallelism"
_SNAPSHOT_PROPERTY = "snapshot-property."
# The second name of each is Delta's.
_APP_ID = ("txn-app-id", "txnappid")
_VERSION = ("txn-version", "txnversion")
BATCH_OPTIONS = frozenset({*_APP_ID, *_VERSION})
"""Names, in lower case, of the options that make a write an idempotent batch."""
_PLACES = frozenset({"branch", "tag", "snapshot-id", "as-of-timestamp", "path", "versionasof", "timestampasof"})
_TUNES_READS = frozenset(
    {
        "aggregate-push-down-enabled",
        "batch-size",
        "executor-cache-locality-enabled",
        "file-open-cost",
        "include-column-stats",
        "locality",
        "lookback",
        "max-allowed-planning-failures",
        "split-file-open-cost",
        "split-lookback",
        "split-size",
        "vectorization-enabled",
    }
)
_OF_CHANGES = "it asks for changes between snapshots, which table_changes reads"
_OF_STREAMS = "it is for streams, which spark.readStream reads"
# Options of Iceberg's readers in Spark and Flink that would change rows, and are not implemented.
_OTHER_READS: Mapping[str, str] = {
    "case-sensitive": "it is a setting of the session: SET spark.sql.caseSensitive",
    "end-snapshot-id": _OF_CHANGES,
    "end-tag": _OF_CHANGES,
    "end-timestamp": _OF_CHANGES,
    "limit": "the number of rows is limited by LIMIT in the query",
    "max-planning-snapshot-count": _OF_STREAMS,
    "monitor-interval": _OF_STREAMS,
    "scan-task-set-id": "sqlext does not stage sets of scan tasks",
    "start-snapshot-id": _OF_CHANGES,
    "start-snapshot-timestamp": _OF_STREAMS,
    "start-tag": _OF_CHANGES,
    "start-timestamp": _OF_CHANGES,
    "starting-strategy": _OF_STREAMS,
    "stream-from-timestamp": _OF_STREAMS,
    "streaming": _OF_STREAMS,
    "streaming-max-files-per-micro-batch": _OF_STREAMS,
    "streaming-max-rows-per-micro-batch": _OF_STREAMS,
    "streaming-skip-delete-snapshots": _OF_STREAMS,
    "streaming-skip-overwrite-snapshots": _OF_STREAMS,
    "watermark-column": _OF_STREAMS,
    "watermark-column-time-unit": _OF_STREAMS,
}
# Options that override a table property for one write.
_SETTINGS: Mapping[str, TableProperty[Any]] = {
    "compression-codec": PARQUET_COMPRESSION,
    "compression-level": PARQUET_COMPRESSION_LEVEL,
    "delete-granularity": DELETE_GRANULARITY,
    "distribution-mode": DISTRIBUTION_MODE,
    "target-file-size-bytes": TARGET_FILE_SIZE_BYTES,
}
_TUNES_WRITES = frozenset(
    {
        "advisory-partition-size",
        "check-ordering",
        "close-file-cost-weight-percentage",
        "fanout-enabled",
        "range-distribution-sort-key-base-weight",
        "range-distribution-statistics-type",
        "uid-suffix",
    }
)
# Options with the only value that is implemented.
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
        "table-refresh-interval",
        "validate-from-snapshot-id",
    }
)
_CHANGES_OPTIONS = frozenset(
    {
        "computeUpdates", "deduplicationMode", "startingVersion", "endingVersion", "startingTimestamp",
        "endingTimestamp", "startingBoundInclusive", "endingBoundInclusive",
    }
)  # fmt: skip
_READS = _PLACES | _TUNES_READS | frozenset(_OTHER_READS)
_WRITES = frozenset(
    {
        "branch",
        *MERGE_SCHEMA,
        _UPSERT,
        _OVERWRITE,
        _EQUALITY_COLUMNS,
        _PARALLELISM,
        _SNAPSHOT_PROPERTY,
        *BATCH_OPTIONS,
        *_SETTINGS,
        *_TUNES_WRITES,
        *_ONLY,
        *_OTHER_WRITES,
    }
)
# Suggestions for an unknown option.
_DONE_READS = _PLACES - {"path", "timestampasof", "versionasof"}
_DONE_WRITES = _WRITES - _TUNES_WRITES - _OTHER_WRITES - frozenset(_ONLY) - {MERGE_SCHEMA[0], _APP_ID[1], _VERSION[1]}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The parsed options of one write.

    `settings` override the table's properties; `summary` is added to the snapshot's. `merge_schema` is None if the
    session decides, `upsert` if the table's properties do, `overwrite` if the statement does. `parallelism` is the
    largest number of tasks that write, `batch` the idempotent batch that the rows are. `equality_columns` are those by
    which an upsert tells rows apart; without them it is the table's key.
    """

    branch: str | None = None
    merge_schema: bool | None = None
    upsert: bool | None = None
    overwrite: bool | None = None
    parallelism: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    summary: tuple[tuple[str, str], ...] = ()
    batch: Batch | None = None
    equality_columns: tuple[FieldPath, ...] = ()


def require_read_options(options: Iterable[str]) -> None:
    """Raises AnalysisError UNKNOWN_OPTION with the nearest name, UnsupportedError for an option that would change
    rows."""
    for name in options:
        if name.lower() in _OTHER_READS:
            raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="read", name=name, reason=_OTHER_READS[name.lower()])
        if name.lower() not in _READS:
            raise _unknown("read", name, _DONE_READS)


def require_changes_options(options: Iterable[str]) -> None:
    """Raises AnalysisError UNKNOWN_OPTION for one that a CHANGES clause, or `spark.read.changes`, does not have."""
    for name in options:
        if name.lower() not in {known.lower() for known in _CHANGES_OPTIONS}:
            raise _unknown("changes", name, _CHANGES_OPTIONS)


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The parsed options of a write. Raises as `require_read_options`, and AnalysisError for invalid values."""
    settings: dict[str, str] = {}
    summary: list[tuple[str, str]] = []
    merge_schema: bool | None = None
    upsert: bool | None = None
    overwrite: bool | None = None
    parallelism: int | None = None
    equality_columns: tuple[FieldPath, ...] = ()
    for name, value in options.items():
        lower = name.lower()
        if lower in _SETTINGS:
            _parsed(name, value, _SETTINGS[lower])
            settings[_SETTINGS[lower].name] = value
        elif lower.startswith(_SNAPSHOT_PROPERTY):
            summary.append((name[len(_SNAPSHOT_PROPERTY) :], value))
        elif lower in MERGE_SCHEMA:
            merge_schema = _boolean(name, value)
        elif lower == _UPSERT:
            upsert = _boolean(name, value)
        elif lower == _OVERWRITE:
            overwrite = _boolean(name, value)
        elif lower == _EQUALITY_COLUMNS:
            equality_columns = _paths(name, value)
        elif lower == _PARALLELISM:
            parallelism = _positive(name, value)
        elif lower in BATCH_OPTIONS:
            continue
        elif lower in _OTHER_WRITES or value.lower() != _ONLY.get(lower, value.lower()):
            reason = f"the write does {_ONLY[lower]} only" if lower in _ONLY else "what it asks for is not done here"
            raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name=name, reason=reason)
        elif lower not in _WRITES:
            raise _unknown("write", name, _DONE_WRITES)
    branch = next((value for name, value in options.items() if name.lower() == "branch"), None)
    if branch is not None and not branch.strip():
        raise AnalysisError("INVALID_WRITE_OPTION", option="branch", value=branch, reason="it must be a name")
    return WriteOptions(
        branch,
        merge_schema,
        upsert,
        overwrite,
        parallelism,
        settings,
        tuple(sorted(summary)),
        _batch(options),
        equality_columns,
    )


def require_not_contradicted(options: WriteOptions, by_key: str, way_out: str, *, upserts: bool = True) -> None:
    """Raises AnalysisError UPSERT_CONTRADICTED if an option contradicts `by_key`, what makes the write one by key.

    `upserts`: each row replaces the one with its key.
    """
    columns = ",".join(map(path_text, options.equality_columns))
    refused = {
        _UPSERT: options.upsert not in (None, upserts or None),
        _OVERWRITE: bool(options.overwrite),
        _EQUALITY_COLUMNS: bool(columns) and not upserts,
    }
    given = {_UPSERT: options.upsert, _OVERWRITE: options.overwrite, _EQUALITY_COLUMNS: columns}
    for option in (name for name in refused if refused[name]):
        value = str(given[option]).lower()
        raise AnalysisError("UPSERT_CONTRADICTED", option=option, value=value, by_key=by_key, way_out=way_out)


def known_write_options() -> frozenset[str]:
    """Names of options that `write_options` knows, including those that it refuses, without
    `snapshot-property.<name>`."""
    return _WRITES - {_SNAPSHOT_PROPERTY}


def _batch(options: Mapping[str, str]) -> Batch | None:
    """The idempotent batch that the options name. Raises AnalysisError BATCH_NOT_IDENTIFIED if only one of the two is
    there, and INVALID_WRITE_OPTION."""
    app_id, version = (
        next((one for one in options.items() if one[0].lower() in names), None) for names in (_APP_ID, _VERSION)
    )
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        given, missing = (version, _APP_ID[0]) if app_id is None else (app_id, _VERSION[0])
        assert given is not None
        raise AnalysisError("BATCH_NOT_IDENTIFIED", given=f"the option {given[0]}", missing=f"the option {missing}")
    return Batch(_of_batch(*app_id, application_id), _of_batch(*version, batch_version))


def _of_batch(name: str, value: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(value)
    except ValueError as allowed:
        raise AnalysisError("INVALID_WRITE_OPTION", option=name, value=value, reason=f"it must be {allowed}") from None


def _parsed(name: str, value: str, setting: TableProperty[Any]) -> None:
    try:
        setting.parse(value.strip())
    except ValueError as error:
        raise AnalysisError("INVALID_WRITE_OPTION", option=name, value=value, reason=error) from None


def _boolean(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise AnalysisError("INVALID_WRITE_OPTION", option=name, value=value, reason="it must be true or false")
    return value.lower() == "true"


def _paths(name: str, value: str) -> tuple[FieldPath, ...]:
    paths = listed_paths(value)
    if paths is None:
        reason = "it must be columns, separated by commas"
        raise AnalysisError("INVALID_WRITE_OPTION", option=name, value=value, reason=reason)
    return paths


def _positive(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value)):
        raise AnalysisError(
            "INVALID_WRITE_OPTION", option=name, value=value, reason="it must be a whole number above 0"
        )
    return int(value)


def _unknown(kind: str, name: str, known: frozenset[str]) -> AnalysisError:
    listed = f"Supported are {', '.join(sorted(known))}."
    return AnalysisError("UNKNOWN_OPTION", kind=kind, name=name, way_out=suggestion(name, known, listed))
