"""Table properties that sqlext reads: name, type and default, one row each.

Names and meanings are Iceberg's where Iceberg has the property, and Paimon's for merge engines, buckets and
changelogs. docs/sql.md lists those that are sqlext's own, such as the value `auto` of `write.*.mode`. A property that
admits only its default stands for a feature that sqlext lacks: other values may not be set, and `require_writable`
refuses those that another engine has set. Other properties are kept in the metadata without effect; `property_names`
says which may be set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from sqlext.errors import AnalysisError

T = TypeVar("T")

DEDUPLICATE, PARTIAL_UPDATE, AGGREGATION, FIRST_ROW = "deduplicate", "partial-update", "aggregation", "first-row"
MERGE_ENGINES = (DEDUPLICATE, PARTIAL_UPDATE, AGGREGATION, FIRST_ROW)

Distribution: TypeAlias = Literal["none", "hash", "range"]


@dataclass(frozen=True)
class TableProperty(Generic[T]):
    """A property that sqlext reads; `also` are its other names."""

    name: str
    default: T
    parse: Callable[[str], T]
    also: tuple[str, ...] = ()

    def of(self, properties: Mapping[str, str]) -> T:
        """The value in a table's `properties`, else the default.

        Raises AnalysisError INVALID_TABLE_PROPERTY for text that does not parse, or different texts under two names.
        """
        said = [(name, properties[name]) for name in (self.name, *self.also) if name in properties]
        if not said:
            return self.default
        name, text = said[0]
        for other, value in said[1:]:
            if text.strip() != value.strip():
                reason = f"{other}, which is another name of it, is {value}"
                raise AnalysisError(
                    "INVALID_TABLE_PROPERTY", name=name, value=text, reason=reason, default=self.default or "none"
                )
        try:
            return self.parse(text.strip())
        except ValueError as error:
            default = "none" if self.default in (None, ()) else self.default
            raise AnalysisError(
                "INVALID_TABLE_PROPERTY", name=name, value=text, reason=error, default=default
            ) from None


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("it must be true or false")
    return lowered == "true"


def _integer(minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("it must be a whole number") from None
        if value < minimum:
            raise ValueError(f"it must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise ValueError(f"it must be at most {maximum}")
        return value

    return parse


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError("it must be a number from 0 to 1")
    return value


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return text.lower()

    return parse


def _only(default: str, reason: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() != default:
            raise ValueError(reason)
        return default

    return parse


def _none(reason: str) -> Callable[[str], None]:
    def parse(text: str) -> None:
        raise ValueError(reason)

    return parse


def _bucket_count(text: str) -> int:
    if text.strip() == "-2":
        raise ValueError(
            "rows would be unseen until a compaction puts them into buckets, and Iceberg's readers see every data file;"
            " -1 begins with one bucket and doubles their number, and CALL rescale gives buckets to a table without any"
        )
    count = _integer(-1)(text)
    if count == 0:
        raise ValueError("it must be a number of buckets, or -1 for as many as the rows need")
    return count


def _optional_integer(text: str) -> int | None:
    return _integer(-1)(text)


_UNITS_MS = {"ms": 1, "s": 1_000, "sec": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONG_UNITS = {"second": "s", "minute": "min", "hour": "h", "day": "d"}


def _duration_ms(text: str) -> int | None:
    return _known_duration_ms(text)


def _known_duration_ms(text: str) -> int:
    number, _, unit = re.sub(r"(\d)\s*(?=[a-z])", r"\1 ", text.lower()).partition(" ")
    unit = _LONG_UNITS.get(unit.removesuffix("s"), unit)
    if not number.isdigit() or unit not in _UNITS_MS:
        raise ValueError(f"it must be a number with a unit, {', '.join(_UNITS_MS)}, such as 7 d")
    return int(number) * _UNITS_MS[unit]


_UNITS_BYTES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}


def _memory_size(text: str) -> int:
    size = re.fullmatch(r"(\d+)\s*([a-z]*)", text.lower())
    if size is None or size[2] not in _UNITS_BYTES or int(size[1]) == 0:
        raise ValueError("it must be a number of bytes, or one with a unit, kb, mb or gb, such as 256 mb")
    return int(size[1]) * _UNITS_BYTES[size[2]]


def _column_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip().strip("`") for name in text.split(","))
    if not all(names):
        raise ValueError("it must be columns, separated by commas")
    return names


def _column_name(text: str) -> str:
    name = text.strip("`")
    if not name:
        raise ValueError("it must be a column")
    return name


# the table
FORMAT_VERSION = TableProperty("format-version", 2, _integer(1))

# commit
COMMIT_RETRY_MIN_WAIT_MS = TableProperty("commit.retry.min-wait-ms", 100, _integer(0))
COMMIT_RETRY_MAX_WAIT_MS = TableProperty("commit.retry.max-wait-ms", 60_000, _integer(0))
COMMIT_RETRY_TOTAL_TIMEOUT_MS = TableProperty("commit.retry.total-timeout-ms", 30 * 60_000, _integer(0))
COMMIT_STATUS_CHECK_RETRIES = TableProperty("commit.status-check.num-retries", 3, _integer(0))
COMMIT_STATUS_CHECK_MIN_WAIT_MS = TableProperty("commit.status-check.min-wait-ms", 1_000, _integer(0))
COMMIT_STATUS_CHECK_MAX_WAIT_MS = TableProperty("commit.status-check.max-wait-ms", 60_000, _integer(0))
# Milliseconds of each second in which a busy process does not commit, so that writers of other engines can.
COMMIT_PEER_GAP_MS = TableProperty("commit.peer-gap-ms", 500, _integer(0, 900))
MANIFEST_MERGE_ENABLED = TableProperty("commit.manifest-merge.enabled", True, _boolean)
MANIFEST_MIN_COUNT_TO_MERGE = TableProperty("commit.manifest.min-count-to-merge", 100, _integer(1))
MANIFEST_TARGET_SIZE_BYTES = TableProperty("commit.manifest.target-size-bytes", 8 * 1024 * 1024, _integer(1))

# metadata files
METADATA_COMPRESSION = TableProperty("write.metadata.compression-codec", "none", _one_of("none", "gzip"))
METADATA_DELETE_AFTER_COMMIT = TableProperty("write.metadata.delete-after-commit.enabled", False, _boolean)
METADATA_PREVIOUS_VERSIONS_MAX = TableProperty("write.metadata.previous-versions-max", 100, _integer(1))
METADATA_METRICS_DEFAULT = TableProperty("write.metadata.metrics.default", "truncate(16)", str)
METADATA_METRICS_MAX_INFERRED = TableProperty("write.metadata.metrics.max-inferred-column-defaults", 100, _integer(0))
METADATA_METRICS_COLUMN_PREFIX = "write.metadata.metrics.column."

BLOOM_FILTER_COLUMN_PREFIX = "write.parquet.bloom-filter-enabled.column."
BLOOM_FILTER_FPP_PREFIX = "write.parquet.bloom-filter-fpp.column."
BLOOM_FILTER_NDV_PREFIX = "write.parquet.bloom-filter-ndv.column."
DICTIONARY_COLUMN_PREFIX = "write.parquet.dict-encoding-enabled.column."
STATISTICS_COLUMN_PREFIX = "write.parquet.stats-enabled.column."

# Keys that end in a column's name, and are renamed with the column.
COLUMN_PROPERTY_PREFIXES = (
    METADATA_METRICS_COLUMN_PREFIX,
    BLOOM_FILTER_COLUMN_PREFIX,
    BLOOM_FILTER_FPP_PREFIX,
    BLOOM_FILTER_NDV_PREFIX,
    DICTIONARY_COLUMN_PREFIX,
    STATISTICS_COLUMN_PREFIX,
)

# locations
DATA_PATH: TableProperty[str | None] = TableProperty("write.data.path", None, str)
METADATA_PATH: TableProperty[str | None] = TableProperty("write.metadata.path", None, str)
OBJECT_STORAGE_ENABLED = TableProperty("write.object-storage.enabled", False, _boolean)
OBJECT_STORAGE_PARTITIONED_PATHS = TableProperty("write.object-storage.partitioned-paths", True, _boolean)
_DATA_PATH_INSTEAD = _none(f"it is an old name that Iceberg has given up; use {DATA_PATH.name}")
OBJECT_STORAGE_PATH = TableProperty("write.object-storage.path", None, _DATA_PATH_INSTEAD)
FOLDER_STORAGE_PATH = TableProperty("write.folder-storage.path", None, _DATA_PATH_INSTEAD)
LOCATION_PROVIDER = TableProperty(
    "write.location-provider.impl", None, _none(f"a Java class cannot be asked; use {OBJECT_STORAGE_ENABLED.name}")
)

# the primary key; PRIMARY_KEY is an option of CREATE TABLE and not stored
PRIMARY_KEY: TableProperty[str | None] = TableProperty("primary-key", None, str)
KEY_RELY = "identifier-fields.rely"
KEY_ENFORCED = TableProperty("write.key.enforced", False, _boolean)

# data files
FILE_FORMAT = TableProperty("write.format.default", "parquet", _only("parquet", "data files are written as Parquet"))
DELETE_FILE_FORMAT = TableProperty(
    "write.delete.format.default", "parquet", _only("parquet", "delete files are written as Parquet")
)
ENCRYPTION_KEY = TableProperty("encryption.key-id", None, _none("files are not written encrypted"))
TARGET_FILE_SIZE_BYTES = TableProperty("write.target-file-size-bytes", 512 * 1024 * 1024, _integer(1))
PARQUET_COMPRESSION = TableProperty(
    "write.parquet.compression-codec",
    "zstd",
    # Not brotli: Spark has no decoder for it, so no session could read the files.
    _one_of("zstd", "snappy", "gzip", "lz4", "uncompressed"),
)
PARQUET_COMPRESSION_LEVEL: TableProperty[int | None] = TableProperty(
    "write.parquet.compression-level", None, _optional_integer
)
BLOOM_FILTER_MAX_BYTES = TableProperty("write.parquet.bloom-filter-max-bytes", 1024 * 1024, _integer(1))
PARQUET_ROW_GROUP_SIZE_BYTES = TableProperty("write.parquet.row-group-size-bytes", 128 * 1024 * 1024, _integer(1))
PARQUET_ROW_GROUP_ROWS: TableProperty[int | None] = TableProperty("write.parquet.row-group-limit", None, _integer(1))
PARQUET_ROW_GROUP_UNCOMPRESSED = TableProperty("write.parquet.row-group-size-track-uncompressed", False, _boolean)
PARQUET_PAGE_BYTES = TableProperty("write.parquet.page-size-bytes", 1024 * 1024, _integer(1, 2**31 - 1))
PARQUET_PAGE_ROWS = TableProperty("write.parquet.page-row-limit", 20_000, _integer(1, 2**31 - 1))
PARQUET_PAGE_VERSION = TableProperty("write.parquet.page-version", "v1", _one_of("v1", "v2"))
# Half of Iceberg's default.
PARQUET_DICTIONARY_BYTES = TableProperty("write.parquet.dict-size-bytes", 1024 * 1024, _integer(1, 2**31 - 1))

DISTRIBUTION_MODE = TableProperty("write.distribution-mode", "hash", _one_of("none", "hash", "range"))

GC_ENABLED = TableProperty("gc.enabled", True, _boolean)

# expiry of snapshots, branches and tags
MAX_SNAPSHOT_AGE_MS = TableProperty("history.expire.max-snapshot-age-ms", 5 * 86_400_000, _integer(0))
MIN_SNAPSHOTS_TO_KEEP = TableProperty("history.expire.min-snapshots-to-keep", 1, _integer(1))
MAX_REF_AGE_MS: TableProperty[int | None] = TableProperty("history.expire.max-ref-age-ms", None, _integer(0))

# row-level changes
AUTO = "auto"
_ROW_LEVEL_MODE = _one_of("copy-on-write", "merge-on-read", AUTO)
DELETE_MODE = TableProperty("write.delete.mode", "merge-on-read", _ROW_LEVEL_MODE)
UPDATE_MODE = TableProperty("write.update.mode", "merge-on-read", _ROW_LEVEL_MODE)
MERGE_MODE = TableProperty("write.merge.mode", "merge-on-read", _ROW_LEVEL_MODE)
# Iceberg's runtime refuses to change a table whose mode it does not know, so `auto` has names of its own.
DELETE_AUTO: TableProperty[str | None] = TableProperty("sqlext.write.delete.mode", None, _one_of(AUTO))
UPDATE_AUTO: TableProperty[str | None] = TableProperty("sqlext.write.update.mode", None, _one_of(AUTO))
MERGE_AUTO: TableProperty[str | None] = TableProperty("sqlext.write.merge.mode", None, _one_of(AUTO))
DELETE_GRANULARITY = TableProperty("write.delete.granularity", "partition", _one_of("partition", "file"))
_ISOLATION = _one_of("serializable", "snapshot")
DELETE_ISOLATION_LEVEL = TableProperty("write.delete.isolation-level", "serializable", _ISOLATION)
UPDATE_ISOLATION_LEVEL = TableProperty("write.update.isolation-level", "serializable", _ISOLATION)
MERGE_ISOLATION_LEVEL = TableProperty("write.merge.isolation-level", "serializable", _ISOLATION)
# The source rows of which only one may match a target row: all, or those to which a clause applies.
MERGE_CARDINALITY = TableProperty("write.merge.cardinality-check", "matches", _one_of("matches", "changes"))
MAX_RERUNS: TableProperty[int | None] = TableProperty("write.conflict.max-reruns", None, _integer(0))
UPSERT_ENABLED = TableProperty("write.upsert.enabled", False, _boolean)
UPSERT_MODE = TableProperty("write.upsert.mode", "resolved", _one_of("resolved", "equality"))
UPSERT_SEQUENCE_FIELD: TableProperty[tuple[str, ...]] = TableProperty(
    "write.upsert.sequence-field", (), _column_names, ("sequence.field",)
)
ASCENDING, DESCENDING = "ascending", "descending"
SEQUENCE_SORT_ORDER = TableProperty("sequence.field.sort-order", ASCENDING, _one_of(ASCENDING, DESCENDING))
ROWKIND_FIELD: TableProperty[str | None] = TableProperty("rowkind.field", None, _column_name)

# a task's write buffer, by Paimon's names
WRITE_BUFFER_SIZE = TableProperty("write-buffer-size", 256 * 2**20, _memory_size)
WRITE_BUFFER_SPILLABLE = TableProperty("write-buffer-spillable", True, _boolean)

# buckets and compaction, by Paimon's names; BUCKET_KEY is an option of CREATE TABLE and not stored
BUCKET: TableProperty[int | None] = TableProperty("bucket", None, _bucket_count)
BUCKET_KEY: TableProperty[str | None] = TableProperty("bucket-key", None, str)
BUCKET_TARGET_ROWS = TableProperty("dynamic-bucket.target-row-num", 2_000_000, _integer(1))
WRITE_ONLY: TableProperty[bool | None] = TableProperty("write-only", None, _boolean, ("write.compaction-skip",))
COMPACTION_TRIGGER = TableProperty("num-sorted-run.compaction-trigger", 5, _integer(2))
COMPACTION_SIZE_RATIO = TableProperty("compaction.size-ratio", 1, _integer(0))
COMPACTION_SIZE_AMPLIFICATION = TableProperty("compaction.max-size-amplification-percent", 200, _integer(1))
COMPACTION_DELETE_FILES = TableProperty("compaction.delete-file-threshold", 20, _integer(1))
COMPACTION_DELETE_RATIO = TableProperty("compaction.delete-ratio-threshold", 0.2, _ratio)
COMPACTION_MIN_FILES = TableProperty("compaction.min.file-num", 5, _integer(2))

# merge engines, by Paimon's names; settings of a column are `fields.<column>.<setting>`
MERGE_ENGINE = TableProperty("merge-engine", DEDUPLICATE, _one_of(*MERGE_ENGINES))
IGNORE_DELETE = TableProperty(
    "ignore-delete",
    False,
    _boolean,
    ("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = TableProperty("ignore-update-before", False, _boolean)
PARTIAL_UPDATE_REMOVES = TableProperty("partial-update.remove-record-on-delete", False, _boolean)
AGGREGATION_REMOVES = TableProperty("aggregation.remove-record-on-delete", False, _boolean)
FIELDS_PREFIX = "fields."

# changelogs and streaming reads, by Paimon's names
CHANGELOG_PRODUCER = TableProperty(
    "changelog-producer",
    "none",
    _one_of("none", "input", "lookup", "full-compaction"),
)
FULL_COMPACTION_COMMITS: TableProperty[int | None] = TableProperty("full-compaction.delta-commits", None, _integer(1))
FULL_COMPACTION_INTERVAL: TableProperty[int | None] = TableProperty(
    "changelog-producer.compaction-interval", None, _duration_ms
)
CHANGELOG_LOOKUP_WAIT = TableProperty(
    "changelog-producer.lookup-wait",
    "true",
    _only("true", "a commit has its changes, or its readers find them anew"),
    ("lookup-wait",),
)
CONSUMER_EXPIRATION: TableProperty[int | None] = TableProperty("consumer.expiration-time", None, _duration_ms)

# how long rows and partitions are kept, by Paimon's names
RECORD_EXPIRE_TIME: TableProperty[int | None] = TableProperty("record-level.expire-time", None, _duration_ms)
RECORD_TIME_FIELD: TableProperty[str | None] = TableProperty("record-level.time-field", None, _column_name)
PARTITION_EXPIRATION_TIME: TableProperty[int | None] = TableProperty("partition.expiration-time", None, _duration_ms)
PARTITION_EXPIRATION_INTERVAL = TableProperty("partition.expiration-check-interval", 3_600_000, _known_duration_ms)
PARTITION_EXPIRATION_MAX = TableProperty("partition.expiration-max-num", 100, _integer(1))
VALUES_TIME, UPDATE_TIME = "values-time", "update-time"
PARTITION_EXPIRATION_STRATEGY = TableProperty(
    "partition.expiration-strategy", VALUES_TIME, _one_of(VALUES_TIME, UPDATE_TIME)
)
PARTITION_TIMESTAMP_FORMATTER: TableProperty[str | None] = TableProperty("partition.timestamp-formatter", None, str)
PARTITION_TIMESTAMP_PATTERN: TableProperty[str | None] = TableProperty("partition.timestamp-pattern", None, str)

WAP_ENABLED = TableProperty("write.wap.enabled", False, _boolean)


def looks_after_itself(properties: Mapping[str, str]) -> bool:
    """Whether sqlext expires the table's snapshots and removes its old metadata files without being asked each time:
    only where `write-only` is set to false, so that no table of another engine loses its history unasked."""
    return WRITE_ONLY.of(properties) is False


def column_flags(properties: Mapping[str, str], prefix: str) -> Mapping[str, bool]:
    """The flags of properties that begin with `prefix` and end in the name of a column, by that name.

    Raises AnalysisError INVALID_TABLE_PROPERTY for a value that is neither true nor false.
    """
    return {
        name.removeprefix(prefix): TableProperty(name, False, _boolean).of(properties)
        for name in properties
        if name.startswith(prefix)
    }


ALL: Mapping[str, TableProperty[Any]] = {
    name: known
    for known in tuple(globals().values())
    if isinstance(known, TableProperty)
    for name in (known.name, *known.also)
}

_AUTO_OF = {DELETE_MODE.name: DELETE_AUTO, UPDATE_MODE.name: UPDATE_AUTO, MERGE_MODE.name: MERGE_AUTO}

_UNSUPPORTED = (
    FILE_FORMAT,
    DELETE_FILE_FORMAT,
    ENCRYPTION_KEY,
    LOCATION_PROVIDER,
    OBJECT_STORAGE_PATH,
    FOLDER_STORAGE_PATH,
)


_OF_KEYS = frozenset({KEY_ENFORCED.name, KEY_RELY, UPSERT_ENABLED.name, UPSERT_MODE.name, UPSERT_SEQUENCE_FIELD.name})
_OF_WRITES = ("write.", "commit.", "gc.")
_OF_BATCHES = "sqlext.txn."
_OF_CLONES = "sqlext.clone."
_OF_IDENTITIES = ("sqlext.identity-mark.", "sqlext.identity-floor.", "sqlext.identity-reserved.")


def kept_by_replace(name: str) -> bool:
    """Whether REPLACE TABLE keeps the property `name` of the old table.

    Kept are properties that sqlext does not read, those of writes and commits, the last batches of applications, so
    that an older one is not written into the new table, how far identity columns have counted, and what makes the table
    a shallow clone, as its old snapshots stay. Dropped are those of keys, merge engines, constraints and the progress
    of streams.
    """
    if name in _OF_KEYS or name.startswith(FIELDS_PREFIX):
        return False
    if name.startswith("sqlext."):
        return name in ALL or name.startswith((_OF_BATCHES, _OF_CLONES, *_OF_IDENTITIES))
    return name not in ALL or name.startswith(_OF_WRITES)


def require_writable(properties: Mapping[str, str]) -> None:
    """Raises AnalysisError INVALID_TABLE_PROPERTY for a property that asks writes for a feature that sqlext lacks."""
    for known in _UNSUPPORTED:
        known.of(properties)


def row_level_mode(mode: TableProperty[str], properties: Mapping[str, str]) -> str:
    """A table's value of `mode`, one of `write.*.mode`: copy-on-write, merge-on-read or auto."""
    return _AUTO_OF[mode.name].of(properties) or mode.of(properties)


def as_stored(
    changed: Mapping[str, str], removed: AbstractSet[str] = frozenset()
) -> tuple[dict[str, str], frozenset[str]]:
    """The properties to set and to remove in the metadata if a user sets `changed` and removes `removed`.

    `auto` is stored under sqlext's own name, and the mode of other engines stays. Setting another mode, or removing the
    mode, removes `auto`.
    """
    stored, gone = dict(changed), set(removed)
    for name, ours in _AUTO_OF.items():
        if stored.get(name, "").strip().lower() == AUTO:
            del stored[name]
            stored[ours.name] = AUTO
        elif (name in stored or name in gone) and ours.name not in stored:
            gone.add(ours.name)
    return stored, frozenset(gone)
