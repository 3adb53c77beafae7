"""Flink's connector of Iceberg 1.12: what its tables, reads and writes have as options, said of a table."""

from __future__ import annotations

from sqlext.peer_properties.verdict import no_effect, refused

FLINK = (
    *refused("a table of a sqlext catalog is Iceberg's", "Leave it out", "connector = iceberg"),
    *refused(
        "the statement names the table itself",
        "Write CREATE TABLE catalog.namespace.table",
        """
        catalog-database
        catalog-table
        """,
    ),
    *no_effect(
        "the statement names the catalog, and the session has its settings",
        """
        catalog-name
        src-catalog
        """,
    ),
    *refused(
        "a stream says which tables its rows go to",
        "Use the option route-by of a stream",
        """
        dynamic-record-generator-impl
        use-dynamic-iceberg-sink = false
        """,
    ),
    *refused(
        "it is of one read, and a table is read whole by those that do not say it",
        "Say it in the query: VERSION AS OF, TIMESTAMP AS OF, table_changes, LIMIT or an option of the stream",
        """
        as-of-timestamp
        end-snapshot-id
        end-tag
        limit = -1
        snapshot-id
        start-snapshot-id
        start-snapshot-timestamp
        start-tag
        starting-strategy
        streaming = false
        tag
        """,
    ),
    *refused(
        "a branch is named where the table is",
        "Write catalog.namespace.table.branch_name, or use the option branch",
        "branch = main",
    ),
    *refused(
        "it is an option of one write",
        "Say it in the write, or as the table property that Iceberg has for it (write.upsert.enabled,"
        " write.distribution-mode, write.target-file-size-bytes, write.parquet.compression-codec)",
        """
        compression-codec
        compression-level
        distribution-mode
        overwrite-enabled = false
        target-file-size-bytes
        upsert-enabled
        """,
    ),
    *refused("data files are written as Parquet", "Leave it out", "write-format = parquet"),
    *no_effect("names are compared as spark.sql.caseSensitive says", "case-sensitive"),
    *no_effect(
        "it tunes the jobs of Flink",
        """
        compression-strategy
        dynamic-sink.cache-max-size
        dynamic-sink.cache-refresh-ms
        dynamic-sink.case-sensitive
        dynamic-sink.drop-unused-columns
        dynamic-sink.generator-slot-sharing-group
        dynamic-sink.immediate-table-update
        dynamic-sink.input-schemas-per-table-cache-max-size
        dynamic-sink.shuffle-sink-slot-sharing-group
        include-column-stats
        max-allowed-planning-failures
        max-planning-snapshot-count
        monitor-interval
        range-distribution-sort-key-base-weight
        range-distribution-statistics-type
        shred-variants
        split-file-open-cost
        split-lookback
        split-size
        table-refresh-interval
        table.exec.iceberg.*
        uid-suffix
        variant-inference-buffer-size
        watermark-column
        watermark-column-time-unit
        write-parallelism
        """,
    ),
)
