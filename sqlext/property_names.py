"""Which names a table property may have: Iceberg's own, ours, and any of another prefix that looks like no slip.

A property that nobody reads is kept and does nothing, so that a slip in a name would go unnoticed for as long as nobody
looks. Secrets are refused, since table metadata is plain text that every reader of the table is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from sqlext.errors import AnalysisError
from sqlext.properties import ALL, FIELDS_PREFIX, PRIMARY_KEY
from sqlext.spec.constraint import CHECK_PREFIX, is_constraint

# Iceberg 1.12: TableProperties and SparkTableProperties.
_ICEBERG = frozenset(
    {
        "commit.manifest-merge.enabled",
        "commit.manifest.min-count-to-merge",
        "commit.manifest.target-size-bytes",
        "commit.retry.max-wait-ms",
        "commit.retry.min-wait-ms",
        "commit.retry.num-retries",
        "commit.retry.total-timeout-ms",
        "commit.status-check.max-wait-ms",
        "commit.status-check.min-wait-ms",
        "commit.status-check.num-retries",
        "commit.status-check.total-timeout-ms",
        "compatibility.snapshot-id-inheritance.enabled",
        "encryption.data-key-length",
        "encryption.key-id",
        "engine.hive.enabled",
        "engine.hive.lock-enabled",
        "format-version",
        "gc.enabled",
        "history.expire.max-ref-age-ms",
        "history.expire.max-snapshot-age-ms",
        "history.expire.min-snapshots-to-keep",
        "identifier-fields.rely",
        "read.data-planning-mode",
        "read.delete-planning-mode",
        "read.orc.vectorization.batch-size",
        "read.orc.vectorization.enabled",
        "read.parquet.vectorization.batch-size",
        "read.parquet.vectorization.enabled",
        "read.split.adaptive-size.enabled",
        "read.split.metadata-target-size",
        "read.split.open-file-cost",
        "read.split.planning-lookback",
        "read.split.target-size",
        "schema.name-mapping.default",
        "write.avro.compression-codec",
        "write.avro.compression-level",
        "write.data.path",
        "write.delete.avro.compression-codec",
        "write.delete.avro.compression-level",
        "write.delete.distribution-mode",
        "write.delete.format.default",
        "write.delete.granularity",
        "write.delete.isolation-level",
        "write.delete.mode",
        "write.delete.orc.block-size-bytes",
        "write.delete.orc.compression-codec",
        "write.delete.orc.compression-strategy",
        "write.delete.orc.stripe-size-bytes",
        "write.delete.orc.vectorized.batch-size",
        "write.delete.parquet.compression-codec",
        "write.delete.parquet.compression-level",
        "write.delete.parquet.dict-size-bytes",
        "write.delete.parquet.page-row-limit",
        "write.delete.parquet.page-size-bytes",
        "write.delete.parquet.page-version",
        "write.delete.parquet.row-group-check-max-record-count",
        "write.delete.parquet.row-group-check-min-record-count",
        "write.delete.parquet.row-group-size-bytes",
        "write.delete.target-file-size-bytes",
        "write.distribution-mode",
        "write.folder-storage.path",
        "write.format.default",
        "write.location-provider.impl",
        "write.manifest.compression-codec",
        "write.manifest.compression-level",
        "write.merge.distribution-mode",
        "write.merge.isolation-level",
        "write.merge.mode",
        "write.metadata.compression-codec",
        "write.metadata.delete-after-commit.enabled",
        "write.metadata.metrics.default",
        "write.metadata.metrics.max-inferred-column-defaults",
        "write.metadata.path",
        "write.metadata.previous-versions-max",
        "write.object-storage.enabled",
        "write.object-storage.partitioned-paths",
        "write.object-storage.path",
        "write.orc.block-size-bytes",
        "write.orc.bloom.filter.columns",
        "write.orc.bloom.filter.fpp",
        "write.orc.compression-codec",
        "write.orc.compression-strategy",
        "write.orc.stripe-size-bytes",
        "write.orc.vectorized.batch-size",
        "write.parquet.bloom-filter-adaptive-enabled",
        "write.parquet.bloom-filter-max-bytes",
        "write.parquet.compression-codec",
        "write.parquet.compression-level",
        "write.parquet.dict-size-bytes",
        "write.parquet.page-row-limit",
        "write.parquet.page-size-bytes",
        "write.parquet.page-version",
        "write.parquet.row-group-check-max-record-count",
        "write.parquet.row-group-check-min-record-count",
        "write.parquet.row-group-size-bytes",
        "write.parquet.row-group-size-track-uncompressed",
        "write.parquet.shred-variants",
        "write.parquet.variant-inference-buffer-size",
        "write.spark.accept-any-schema",
        "write.spark.advisory-partition-size-bytes",
        "write.spark.auto-schema-evolution.enabled",
        "write.spark.fanout.enabled",
        "write.summary.partition-limit",
        "write.target-file-size-bytes",
        "write.update.distribution-mode",
        "write.update.isolation-level",
        "write.update.mode",
        "write.upsert.enabled",
        "write.wap.enabled",
    }
)
# Of PyIceberg and older Icebergs, which tables in use still have.
_FURTHER = frozenset(
    {
        "write.manifest-lists.enabled",
        "write.py-location-provider.impl",
        "commit.num-retries",
    }
)
# Behind these stands the name of a column, or of a constraint.
_BY_COLUMN = (
    CHECK_PREFIX,
    FIELDS_PREFIX,
    "write.metadata.metrics.column.",
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-ndv.column.",
    "write.parquet.dict-encoding-enabled.column.",
    "write.parquet.stats-enabled.column.",
)
# Only under these is an unknown name an error of its own; anything else may belong to another program.
_CHECKED = ("write.", "read.", "commit.", "history.", "gc.", "sqlext.")
# What the metadata tells, and Iceberg's Spark shows among the properties.
_TOLD: Mapping[str, str] = {
    "cherry-pick-snapshot-id": "a table does not change its snapshot by a property",
    "current-schema": "the metadata tells it",
    "current-snapshot-id": "a table does not change its snapshot by a property",
    "current-snapshot-summary": "the metadata tells it",
    "current-snapshot-timestamp-ms": "the metadata tells it",
    "default-partition-spec": "the metadata tells it",
    "default-sort-order": "the metadata tells it",
    "format": "the metadata tells it",
    "identifier-fields": "the key is part of the schema",
    "snapshot-count": "the metadata tells it",
    "sort-order": "the metadata tells it",
    "uuid": "the metadata tells it",
}
_WAYS_OUT: Mapping[str, str] = {
    "identifier-fields": "PRIMARY KEY in CREATE TABLE",
    "sort-order": "ORDERED BY in CREATE TABLE",
}
# So near to a known name that it can only be meant to be it.
_A_SLIP = 0.88
_SECRET = re.compile(
    r"(?:^|[.\-_])(?:pass(?:word|wd|phrase)|secret|(?:access|session|sas|auth|oauth2?|bearer)?[.\-_]?token"
    r"|credentials?|(?:access|private|account|api)[.\-_]?key)(?:$|[.\-_])"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def require_known(names: Iterable[str]) -> None:
    """AnalysisError UNKNOWN_TABLE_PROPERTY for a name that is none, with the nearest that is one."""
    known = sorted(_ICEBERG | _FURTHER | ALL.keys())
    for name in names:
        if name in known or name.startswith(_BY_COLUMN):
            continue
        cutoff = 0.0 if name.startswith(_CHECKED) else _A_SLIP
        nearest = get_close_matches(name.lower().replace("_", "-"), [*known, *_BY_COLUMN], n=1, cutoff=cutoff)
        if nearest:
            raise AnalysisError("UNKNOWN_TABLE_PROPERTY", name=name, nearest=nearest[0])


def require_not_told(names: Iterable[str]) -> None:
    """AnalysisError RESERVED_TABLE_PROPERTY for the name of what the metadata tells, which no property changes."""
    for name in names:
        if name in _TOLD:
            way_out = _WAYS_OUT.get(name, "the statement without it")
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=_TOLD[name], way_out=way_out)


def require_no_secrets(names: Iterable[str]) -> None:
    """AnalysisError SECRET_TABLE_PROPERTY for a name that tells of a password, a token or an access key."""
    for name in names:
        if _SECRET.search(_HUMP.sub("-", name).lower()):
            raise AnalysisError("SECRET_TABLE_PROPERTY", name=name)


def require_changeable(names: Iterable[str]) -> None:
    """AnalysisError RESERVED_TABLE_PROPERTY for a name that ALTER TABLE may neither set nor remove as a property."""
    for name in names:
        if is_constraint(name):
            reason, way_out = "the table's rows would not be looked at", "ALTER TABLE … ADD or DROP CONSTRAINT"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)
        if name == PRIMARY_KEY.name:
            reason, way_out = "the key is part of the schema", "it in CREATE TABLE"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)


def require_valid_properties(properties: Mapping[str, str]) -> None:
    """Names as above; the values of those that sqlext reads, by their type (INVALID_TABLE_PROPERTY)."""
    require_no_secrets(properties)
    require_not_told(properties)
    require_known(properties)
    for name in properties:
        if name in ALL:
            ALL[name].of(properties)
