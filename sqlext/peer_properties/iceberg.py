"""Iceberg 1.12: `TableProperties` and `SparkTableProperties`; and what tables of PyIceberg and older Icebergs have."""

from __future__ import annotations

from sqlext.peer_properties.verdict import done, no_effect, refused

ICEBERG = (
    *done("""
        comment
        commit.manifest-merge.enabled
        commit.manifest.min-count-to-merge
        commit.manifest.target-size-bytes
        commit.retry.max-wait-ms
        commit.retry.min-wait-ms
        commit.retry.total-timeout-ms
        commit.status-check.max-wait-ms
        commit.status-check.min-wait-ms
        commit.status-check.num-retries
        format-version
        gc.enabled
        history.expire.max-ref-age-ms
        history.expire.max-snapshot-age-ms
        history.expire.min-snapshots-to-keep
        identifier-fields.rely
        schema.name-mapping.default
        write.data.path
        write.delete.granularity
        write.delete.isolation-level
        write.delete.mode
        write.distribution-mode
        write.merge.isolation-level
        write.merge.mode
        write.metadata.compression-codec
        write.metadata.delete-after-commit.enabled
        write.metadata.metrics.column.*
        write.metadata.metrics.default
        write.metadata.metrics.max-inferred-column-defaults
        write.metadata.path
        write.metadata.previous-versions-max
        write.object-storage.enabled
        write.object-storage.partitioned-paths
        write.parquet.bloom-filter-enabled.column.*
        write.parquet.bloom-filter-fpp.column.*
        write.parquet.bloom-filter-max-bytes
        write.parquet.bloom-filter-ndv.column.*
        write.parquet.compression-codec
        write.parquet.compression-level
        write.parquet.dict-encoding-enabled.column.*
        write.parquet.dict-size-bytes
        write.parquet.page-row-limit
        write.parquet.page-size-bytes
        write.parquet.page-version
        write.parquet.row-group-limit
        write.parquet.row-group-size-bytes
        write.parquet.row-group-size-track-uncompressed
        write.parquet.stats-enabled.column.*
        write.target-file-size-bytes
        write.update.isolation-level
        write.update.mode
        write.upsert.enabled
        write.wap.enabled
    """),
    *refused(
        "files are written as Parquet",
        "Other formats are read; write the table with Parquet, or with the engine that is to write them",
        """
        write.delete.format.default = parquet
        write.format.default = parquet
        """,
    ),
    *refused("files are not written encrypted", "Encrypt the storage", "encryption.key-id"),
    *refused(
        "a Java class cannot be asked where files go",
        "Use write.object-storage.enabled or write.data.path",
        "write.location-provider.impl",
    ),
    *refused(
        "it is an old name that Iceberg has given up",
        "Use write.data.path",
        """
        write.folder-storage.path
        write.object-storage.path
        """,
    ),
    *refused(
        "the table's metadata tells it",
        "Change it by the statement that is for it",
        """
        current-schema
        current-snapshot-id
        current-snapshot-summary
        current-snapshot-timestamp-ms
        default-partition-spec
        default-sort-order
        snapshot-count
        uuid
        """,
    ),
    *no_effect(
        "a commit is tried until commit.retry.total-timeout-ms is up",
        """
        commit.num-retries
        commit.retry.num-retries
        """,
    ),
    *no_effect(
        "the outcome of a commit is looked for commit.status-check.num-retries times",
        "commit.status-check.total-timeout-ms",
    ),
    *no_effect("manifests are written as format version 2 has them", "compatibility.snapshot-id-inheritance.enabled"),
    *no_effect("manifest lists are always written", "write.manifest-lists.enabled = true"),
    *no_effect("files are not written encrypted", "encryption.data-key-length"),
    *no_effect(
        "no catalog is in Hive's metastore",
        """
        engine.hive.enabled
        engine.hive.lock-enabled
        """,
    ),
    *no_effect(
        "Spark's own readers are used, with Spark's settings",
        """
        read.orc.vectorization.batch-size
        read.orc.vectorization.enabled
        read.parquet.vectorization.batch-size
        read.parquet.vectorization.enabled
        """,
    ),
    *no_effect(
        "files are spread over tasks by Spark's settings, and planned by their number",
        """
        read.data-planning-mode
        read.delete-planning-mode
        read.split.adaptive-size.enabled
        read.split.metadata-target-size
        read.split.open-file-cost
        read.split.planning-lookback
        read.split.target-size
        """,
    ),
    *no_effect(
        "files are written as Parquet",
        """
        write.avro.compression-codec
        write.avro.compression-level
        write.delete.avro.compression-codec
        write.delete.avro.compression-level
        write.delete.orc.block-size-bytes
        write.delete.orc.compression-codec
        write.delete.orc.compression-strategy
        write.delete.orc.stripe-size-bytes
        write.delete.orc.vectorized.batch-size
        write.orc.block-size-bytes
        write.orc.bloom.filter.columns
        write.orc.bloom.filter.fpp
        write.orc.compression-codec
        write.orc.compression-strategy
        write.orc.stripe-size-bytes
        write.orc.vectorized.batch-size
        """,
    ),
    *no_effect(
        "delete files are written with what is said of data files, as many as a commit needs",
        """
        write.delete.parquet.compression-codec
        write.delete.parquet.compression-level
        write.delete.parquet.dict-size-bytes
        write.delete.parquet.page-row-limit
        write.delete.parquet.page-size-bytes
        write.delete.parquet.page-version
        write.delete.parquet.row-group-check-max-record-count
        write.delete.parquet.row-group-check-min-record-count
        write.delete.parquet.row-group-size-bytes
        write.delete.target-file-size-bytes
        """,
    ),
    *no_effect(
        "rows are brought together as write.distribution-mode says, whatever statement writes them",
        """
        write.delete.distribution-mode
        write.merge.distribution-mode
        write.update.distribution-mode
        """,
    ),
    *no_effect(
        "manifests are written with one codec",
        """
        write.manifest.compression-codec
        write.manifest.compression-level
        """,
    ),
    *no_effect(
        "the size of a row group is estimated with each batch of rows, before it is written",
        """
        write.parquet.row-group-check-max-record-count
        write.parquet.row-group-check-min-record-count
        """,
    ),
    *no_effect(
        "a Bloom filter is as large as the rows of its file need",
        "write.parquet.bloom-filter-adaptive-enabled",
    ),
    *no_effect(
        "variants are written whole",
        """
        write.parquet.shred-variants = false
        write.parquet.variant-inference-buffer-size
        """,
    ),
    *no_effect(
        "a statement says it: WITH SCHEMA EVOLUTION, or the option mergeSchema",
        """
        write.spark.accept-any-schema = false
        write.spark.auto-schema-evolution.enabled
        """,
    ),
    *no_effect(
        "a task has a bound of open files and memory, see write-buffer-size",
        """
        write.spark.advisory-partition-size-bytes
        write.spark.fanout.enabled
        """,
    ),
    *no_effect("summaries tell of whole snapshots", "write.summary.partition-limit"),
    *no_effect("PyIceberg alone can ask a class of its own", "write.py-location-provider.impl"),
)
