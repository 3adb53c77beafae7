"""Paimon 2.1: its `CoreOptions`, and what Flink's and Spark's connectors read of its tables."""

from __future__ import annotations

from sqlext.peer_properties.paimon_tuning import PAIMON_TUNING
from sqlext.peer_properties.verdict import done, no_effect, refused

PAIMON = (
    *done("""
        aggregation.remove-record-on-delete
        bucket
        bucket-key
        changelog-producer
        changelog-producer.compaction-interval
        compaction.delete-ratio-threshold
        compaction.max-size-amplification-percent
        compaction.min.file-num
        compaction.size-ratio
        consumer.expiration-time
        deduplicate.ignore-delete
        dynamic-bucket.target-row-num
        fields.*.aggregate-function
        fields.*.count-limit
        fields.*.distinct
        fields.*.ignore-retract
        fields.*.list-agg-delimiter
        fields.*.nested-key
        fields.*.nested-key-null-strategy
        fields.*.nested-sequence-field
        fields.*.sequence-group
        fields.*.ts-field
        fields.default-aggregate-function
        first-row.ignore-delete
        full-compaction.delta-commits
        ignore-delete
        ignore-update-before
        merge-engine
        num-sorted-run.compaction-trigger
        partial-update.ignore-delete
        partial-update.remove-record-on-delete
        partition.expiration-check-interval
        partition.expiration-max-num
        partition.expiration-strategy
        partition.expiration-time
        partition.timestamp-formatter
        partition.timestamp-pattern
        primary-key
        record-level.expire-time
        record-level.time-field
        rowkind.field
        sequence.field
        sequence.field.sort-order
        write-buffer-size
        write-buffer-spillable
        write-only
        write.compaction-skip
    """),
    *refused(
        "partitions expire after commits, in the background",
        "Call expire_partitions where they should expire at a certain time",
        """
        compaction.skip-expired-partitions = false
        end-input.check-partition-expire = false
        """,
    ),
    *refused("writes do not read times of partitions", "Add a CHECK", "partition.timestamp-format.strict = false"),
    *refused(
        "snapshots expire by Iceberg's properties, and stored changelogs with them",
        "Set history.expire.max-snapshot-age-ms and history.expire.min-snapshots-to-keep",
        """
        changelog.num-retained.max
        changelog.num-retained.min
        changelog.time-retained
        snapshot.num-retained.max
        snapshot.num-retained.min
        snapshot.time-retained
        """,
    ),
    *refused(
        "tags are not made, named or expired by themselves",
        "Use ALTER TABLE … CREATE TAG … RETAIN",
        """
        scan.plan-auto-tag-for-read.time-retained
        sink.savepoint.auto-tag = false
        tag.automatic-completion = false
        tag.automatic-creation = none
        tag.batch.customized-name
        tag.create-success-file = false
        tag.creation-delay
        tag.creation-period
        tag.creation-period-duration
        tag.default-time-retained
        tag.num-retained-max
        tag.period-formatter
        tag.time-expire-enabled = true
        """,
    ),
    *refused(
        "the last of several rows is told by columns",
        "Set sequence.field",
        "sequence.snapshot-ordering = false",
    ),
    *refused(
        "a delete takes the values of a sequence group back, or none",
        "Use partial-update.remove-record-on-delete, or DELETE",
        "partial-update.remove-record-on-sequence-group",
    ),
    *refused(
        "what takes a row and brings it with the same values is told as no change",
        "Leave it out, or compare the columns in the query that reads the changes",
        """
        changelog-producer.row-deduplicate = true
        changelog-producer.row-deduplicate-ignore-fields
        """,
    ),
    *refused(
        "it is of one read, and a table is read whole by those that do not say it",
        "Say it in the query: VERSION AS OF, TIMESTAMP AS OF, table_changes, WHERE or an option of the stream",
        """
        batch-scan-mode = none
        consumer-id
        consumer.changelog-only = false
        consumer.ignore-progress = false
        consumer.mode = exactly-once
        incremental-between
        incremental-between-scan-mode = auto
        incremental-between-tag-to-snapshot = false
        incremental-between-timestamp
        incremental-to-auto-tag
        key-value.sequence_number.enabled = false
        log.scan = default
        log.scan.timestamp-millis
        log.scan.remove-normalize = false
        lookup.dynamic-partition
        read.changelog = false
        scan.bounded
        scan.bounded.watermark
        scan.bucket
        scan.creation-time-millis
        scan.file-creation-time-millis
        scan.mode = default|latest-full
        scan.partitions
        scan.remove-normalize = false
        scan.snapshot-id
        scan.tag-name
        scan.timestamp
        scan.timestamp-millis
        scan.version
        scan.watermark
        stream-scan-mode = none
        streaming-read-append-overwrite = false
        streaming-read-overwrite = false
        table-read.sequence-number.enabled = false
        """,
    ),
    *refused(
        "a table has the rows of one branch",
        "Name the branch where it is read: catalog.namespace.table.branch_name",
        """
        chain-table.chain-partition-keys
        chain-table.enabled = false
        chain-table.split.key-range-enabled
        chain-table.streaming.merge-snapshot = false
        scan.fallback-branch
        scan.fallback-branch.read-fail-fast
        scan.fallback-delta-branch
        scan.fallback-snapshot-branch
        scan.primary-branch
        """,
    ),
    *refused(
        "a file that is lost or damaged is an error",
        "Take it out of the table with the procedures of Iceberg",
        """
        scan.ignore-corrupt-files = false
        scan.ignore-lost-files = false
        """,
    ),
    *refused(
        "a commit has its changes, or its readers find them anew",
        "Leave it out",
        """
        changelog-producer.lookup-wait = true
        lookup-wait = true
        """,
    ),
    *refused("a query may always read a whole table", "Leave it out", "read.allow.fullScan = true"),
    *refused(
        "whoever can read the files reads all rows",
        "Grant rights in the catalog or in the storage",
        "query-auth.enabled = false",
    ),
    *refused(
        "the session says it",
        "Set spark.sql.sources.partitionOverwriteMode",
        "dynamic-partition-overwrite",
    ),
    *refused(
        "TIMESTAMP is with a time zone, and TIMESTAMP_NTZ without",
        "Say the type in CREATE TABLE",
        "legacy-timestamp-mapping.enabled = false",
    ),
    *refused("a key has no nulls", "Put a value in the place of null", "primary-key.nullable = false"),
    *refused("partitions are said in SQL", "Write PARTITIONED BY", "partition"),
    *refused("the place of a table is said in SQL", "Write LOCATION", "path"),
    *refused("a table is created by CREATE TABLE", "Create it first", "auto-create = false"),
    *refused(
        "a table of a sqlext catalog is Iceberg's",
        "Use a catalog of Paimon for tables of other types",
        """
        materialized-table.definition-query
        materialized-table.interval-freshness
        materialized-table.interval-freshness.time-unit
        materialized-table.logical-refresh-mode
        materialized-table.refresh-handler-bytes
        materialized-table.refresh-handler-description
        materialized-table.refresh-mode
        materialized-table.refresh-status
        type = table
        """,
    ),
    *refused(
        "columns have the types of Iceberg",
        "Use BINARY or ARRAY<FLOAT>",
        """
        blob-as-descriptor = false
        blob-descriptor-field
        blob-descriptor.*
        blob-field
        blob-view-field
        blob-view.resolve.enabled = true
        blob-write-null-on-fetch-failure = false
        blob-write-null-on-missing-file = false
        blob.stored-descriptor-fields
        lookup.blob-as-descriptor = false
        vector-field
        vector.file.format
        """,
    ),
    *refused(
        "files are written as Parquet",
        "Leave it out",
        """
        changelog-file.format = parquet
        file.format = parquet
        file.format.per.level
        """,
    ),
    *refused(
        "a Java class cannot be called",
        "Watch the table's snapshots",
        """
        commit.callback.#.param
        commit.callbacks
        commit.custom-listeners
        tag.callback.#.param
        tag.callbacks
        """,
    ),
    *refused(
        "no partition is marked as done",
        "Write the mark where the partition is known to be whole",
        """
        partition.end-input-to-done = false
        partition.idle-time-to-done
        partition.mark-done-action
        partition.mark-done-action.custom.class
        partition.mark-done-action.http.params
        partition.mark-done-action.http.url
        partition.mark-done-action.mode
        partition.mark-done.recover-from-state
        partition.time-interval
        """,
    ),
    *refused(
        "no catalog is in Hive's metastore",
        "Leave it out",
        """
        metastore.partitioned-table = false
        metastore.tag-to-partition
        metastore.tag-to-partition.preview = none
        """,
    ),
    *refused(
        "new columns stand behind the others, and a column never becomes NOT NULL",
        "Say a column's place: ADD COLUMN … AFTER",
        """
        add-column-before-partition = false
        alter-column-null-to-not-null.disabled = true
        disable-explicit-type-casting
        """,
    ),
    *refused(
        "a statement or the session says it",
        "Use WITH SCHEMA EVOLUTION, or the option mergeSchema",
        """
        write.merge-schema = false
        write.merge-schema.explicit-cast = false
        write.merge-schema.type-widening = false
        """,
    ),
    *refused(
        "a positional INSERT takes the order of the columns",
        "Name the columns",
        "write.hive-style-dynamic-partition.enabled = false",
    ),
    *refused(
        "the number of buckets follows the rows, or is fixed",
        "Set bucket to a number",
        "dynamic-bucket.max-buckets = -1",
    ),
    *refused(
        "conflicts are told by what others wrote",
        "Set write.merge.isolation-level and the like",
        """
        commit.discard-duplicate-files = false
        commit.strict-mode.last-safe-snapshot
        """,
    ),
    *refused(
        "data files lie where one path says",
        "Use write.data.path",
        """
        data-file.external-paths
        data-file.external-paths.specific-fs
        data-file.external-paths.strategy = none
        data-file.external-paths.weights
        data-file.path-directory
        """,
    ),
    *no_effect(
        "deletes are positions in delete files, from format version 3 on in deletion vectors, and hold at once",
        """
        deletion-vector.index-file.target-size
        deletion-vectors.bitmap64
        deletion-vectors.enabled = false
        deletion-vectors.merge-on-read
        deletion-vectors.modifiable
        """,
    ),
    *no_effect(
        "rows have ids from format version 3 on, and UPDATE and MERGE work on any table",
        """
        data-evolution.enabled = false
        data-evolution.compaction.rewrite-row-ids = false
        row-tracking.enabled = false
        row-tracking.partition-group-on-commit
        """,
    ),
    *no_effect("partitions expire in one commit, which reads no data file", "partition.expiration-batch-size"),
    *no_effect("a changelog tells of deletes as of other changes", "delete.force-produce-changelog = false"),
    *no_effect(
        "write.target-file-size-bytes says it",
        """
        blob.target-file-size
        target-file-row-num
        target-file-size
        vector.target-file-size
        """,
    ),
    *no_effect(
        "write.parquet.compression-codec and write.parquet.compression-level say it",
        """
        changelog-file.compression
        file.compression
        file.compression.per.level
        file.compression.zstd-level
        format-table.file.compression
        """,
    ),
    *no_effect(
        "write.metadata.metrics.* say it",
        """
        changelog-file.stats-mode
        fields.*.stats-mode
        metadata.stats-dense-store
        metadata.stats-keep-first-n-columns
        metadata.stats-mode
        metadata.stats-mode.per.level
        """,
    ),
    *no_effect(
        "commit.retry.* and commit.manifest.* say it",
        """
        commit.max-retries
        commit.max-retry-wait
        commit.min-retry-wait
        commit.timeout
        manifest-sort.enabled
        manifest-sort.max-rewrite-size
        manifest-sort.partition-field
        manifest.compression
        manifest.delete-file-drop-stats
        manifest.full-compaction-threshold-size
        manifest.merge-min-count
        manifest.merge-optimize.enabled
        manifest.target-file-size
        """,
    ),
    *no_effect(
        "WRITE ORDERED BY and DISTRIBUTED BY say how rows are put in order",
        """
        clustering.columns
        clustering.history-partition.idle-to-full-sort
        clustering.history-partition.limit
        clustering.incremental
        clustering.incremental.mode
        clustering.incremental.optimize-write
        clustering.strategy
        pk-clustering-override
        sink.clustering.by-columns
        sink.clustering.sample-factor
        sink.clustering.sort-in-cluster
        sink.clustering.strategy
        sort-compaction.local-sample.magnification
        sort-compaction.range-strategy
        zorder.var-length-contribution
        """,
    ),
    *PAIMON_TUNING,
)
