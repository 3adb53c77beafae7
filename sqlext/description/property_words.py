"""Table properties in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlext.description.table_facts import bytes_told
from sqlext.errors import AnalysisError
from sqlext.properties import (
    ALL,
    BUCKET,
    BUCKET_TARGET_ROWS,
    CHANGELOG_PRODUCER,
    COMPACTION_TRIGGER,
    CONSUMER_EXPIRATION,
    DELETE_AUTO,
    DELETE_ISOLATION_LEVEL,
    DELETE_MODE,
    DISTRIBUTION_MODE,
    FILE_FORMAT,
    FORMAT_VERSION,
    GC_ENABLED,
    IGNORE_DELETE,
    KEY_ENFORCED,
    KEY_RELY,
    MAX_SNAPSHOT_AGE_MS,
    MERGE_AUTO,
    MERGE_ENGINE,
    MERGE_ISOLATION_LEVEL,
    MERGE_MODE,
    METADATA_COMPRESSION,
    METADATA_DELETE_AFTER_COMMIT,
    METADATA_METRICS_COLUMN_PREFIX,
    METADATA_METRICS_DEFAULT,
    METADATA_PREVIOUS_VERSIONS_MAX,
    MIN_SNAPSHOTS_TO_KEEP,
    OBJECT_STORAGE_ENABLED,
    PARQUET_COMPRESSION,
    PARTITION_EXPIRATION_TIME,
    RECORD_EXPIRE_TIME,
    RECORD_TIME_FIELD,
    ROWKIND_FIELD,
    TARGET_FILE_SIZE_BYTES,
    UPDATE_AUTO,
    UPDATE_ISOLATION_LEVEL,
    UPDATE_MODE,
    UPSERT_ENABLED,
    UPSERT_MODE,
    UPSERT_SEQUENCE_FIELD,
    WAP_ENABLED,
    WRITE_ONLY,
    TableProperty,
)

_Words = Callable[[Any], str]

_UNITS_MS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"), (1, "millisecond"))


def duration_told(milliseconds: int) -> str:
    """A duration in the largest unit that it is a whole number of, such as `5 days`."""
    for unit, name in _UNITS_MS:
        if milliseconds and milliseconds % unit == 0:
            count = milliseconds // unit
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return "0 seconds"


def _changed(rows: str) -> _Words:
    ways = {
        "merge-on-read": f"{rows} mark the old rows as deleted and leave their files as they are",
        "copy-on-write": f"{rows} write the files that they touch anew",
        "auto": f"{rows} choose what costs less: marks, or new files",
    }
    return lambda mode: ways[mode]


def _isolated(rows: str) -> _Words:
    levels = {
        "serializable": f"{rows} fail if others added rows meanwhile that they would have changed",
        "snapshot": f"{rows} fail only if others changed the same rows meanwhile",
    }
    return lambda level: levels[level]


def _either(yes: str, no: str) -> _Words:
    return lambda value: yes if value else no


def _buckets(count: int) -> str:
    if count == -1:
        return "the number of buckets grows with the rows"
    return f"rows are kept in {count} buckets by their key, each sorted and compacted on its own"


_ENGINES = {
    "deduplicate": "the last row of a key replaces those before it",
    "partial-update": "the columns of a new row that are not null replace those of the row with its key",
    "aggregation": "the columns of the rows of a key are aggregated",
    "first-row": "the first row of a key stays, later ones are ignored",
}
_PRODUCERS = {
    "none": "changes are computed when they are read",
    "input": "the changes that writers give are stored with the commit",
    "lookup": "the changes of each commit are looked up and stored with it",
    "full-compaction": "changes are stored by full compactions",
}
_DISTRIBUTIONS = {
    "none": "tasks write rows as they come",
    "hash": "rows of a partition are brought together before they are written",
    "range": "rows are sorted across tasks before they are written",
}

_WORDS: Mapping[TableProperty[Any], _Words] = {
    FORMAT_VERSION: lambda version: f"format version {version} of Iceberg",
    KEY_ENFORCED: _either("writes that would make a key twice are refused", "nobody checks that keys are unique"),
    UPSERT_ENABLED: _either("plain appends replace the rows with their keys", "appends add rows"),
    UPSERT_MODE: lambda mode: {
        "resolved": "upserts look up the rows that they replace",
        "equality": "upserts delete by key without reading, and readers pay for it",
    }[mode],
    UPSERT_SEQUENCE_FIELD: lambda columns: f"of the rows of a key the one with the largest {', '.join(columns)} wins",
    ROWKIND_FIELD: lambda column: f"{column} tells of each row whether it inserts, updates or deletes",
    MERGE_ENGINE: lambda engine: _ENGINES[engine],
    IGNORE_DELETE: _either("deletes that arrive are ignored", "deletes that arrive delete"),
    DELETE_MODE: _changed("deletes"),
    UPDATE_MODE: _changed("updates"),
    MERGE_MODE: _changed("merges"),
    DELETE_AUTO: _changed("deletes"),
    UPDATE_AUTO: _changed("updates"),
    MERGE_AUTO: _changed("merges"),
    DELETE_ISOLATION_LEVEL: _isolated("deletes"),
    UPDATE_ISOLATION_LEVEL: _isolated("updates"),
    MERGE_ISOLATION_LEVEL: _isolated("merges"),
    BUCKET: _buckets,
    BUCKET_TARGET_ROWS: lambda rows: f"a bucket is to have about {rows:,} rows",
    WRITE_ONLY: _either(
        "writers do not compact it, someone else must", "it looks after itself: compaction, expiry, old metadata files"
    ),
    COMPACTION_TRIGGER: lambda runs: f"a bucket is compacted once it has {runs} sorted runs",
    CHANGELOG_PRODUCER: lambda producer: _PRODUCERS[producer],
    CONSUMER_EXPIRATION: lambda ms: f"a consumer that reads nothing is forgotten after {duration_told(ms)}",
    RECORD_EXPIRE_TIME: lambda ms: f"rows are deleted once they are {duration_told(ms)} old",
    RECORD_TIME_FIELD: lambda column: f"the age of a row is told by {column}",
    PARTITION_EXPIRATION_TIME: lambda ms: f"partitions are deleted once they are {duration_told(ms)} old",
    MAX_SNAPSHOT_AGE_MS: lambda ms: f"snapshots expire once they are {duration_told(ms)} old",
    MIN_SNAPSHOTS_TO_KEEP: lambda count: f"the newest {count} snapshots of a branch stay, however old they are",
    GC_ENABLED: _either("its files are its own to delete", "its files may be others' too: none is deleted"),
    METADATA_DELETE_AFTER_COMMIT: _either("old metadata files are deleted by commits", "old metadata files stay"),
    METADATA_PREVIOUS_VERSIONS_MAX: lambda count: f"{count} earlier metadata files are remembered",
    METADATA_COMPRESSION: lambda codec: f"metadata files are compressed by {codec}",
    METADATA_METRICS_DEFAULT: lambda mode: f"statistics of columns are kept as {mode}",
    TARGET_FILE_SIZE_BYTES: lambda size: f"data files are to have about {bytes_told(size)}",
    FILE_FORMAT: lambda kind: f"data files are {kind}",
    PARQUET_COMPRESSION: lambda codec: f"data files are compressed by {codec}",
    DISTRIBUTION_MODE: lambda mode: _DISTRIBUTIONS[mode],
    OBJECT_STORAGE_ENABLED: _either("files are spread over many prefixes of an object store", "files go to one folder"),
    WAP_ENABLED: _either("writes may be staged and audited before they are published", "writes are visible at once"),
}
_OF_NAMES: Mapping[str, str] = {
    KEY_RELY: "optimisers may take the key to be unique",
    "owner": "who made it",
    "created-at": "when it was made",
}


def property_words(name: str, properties: Mapping[str, str]) -> str | None:
    """What the table's property `name` does; None where sqlext does not know. A value that is none of the property's,
    as of another engine, is said to be one."""
    known = ALL.get(name)
    words = None if known is None else _WORDS.get(known)
    if known is None or words is None:
        if name.startswith(METADATA_METRICS_COLUMN_PREFIX):
            column = name.removeprefix(METADATA_METRICS_COLUMN_PREFIX)
            return f"statistics of {column} are kept as {properties[name]}"
        return _OF_NAMES.get(name)
    try:
        return words(known.of(properties))
    except AnalysisError as error:
        return f"not understood: {error.parameters['reason']}"
