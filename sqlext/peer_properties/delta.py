"""Delta 4: what its tables have as properties. One that a table is made with by habit is told what does the same."""

from __future__ import annotations

from sqlext.peer_properties.verdict import no_effect, refused

DELTA = (
    *refused("rows are changed and deleted by all who may write", "Leave it out", "delta.appendOnly = false"),
    *refused("rows would not be checked by it", "Write ALTER TABLE … ADD CONSTRAINT … CHECK", "delta.constraints.*"),
    *no_effect("changes are computed from snapshots, and stored by changelog-producer", "delta.enableChangeDataFeed"),
    *no_effect("columns have ids, and are renamed and dropped without it", "delta.columnMapping.*"),
    *no_effect(
        "deletes are positions in delete files, from format version 3 on in deletion vectors",
        "delta.enableDeletionVectors",
    ),
    *no_effect("rows have ids from format version 3 on", "delta.enableRowTracking"),
    *no_effect("types widen without it", "delta.enableTypeWidening"),
    *no_effect("write-only = false says it", "delta.autoOptimize.autoCompact"),
    *no_effect("write.distribution-mode says it", "delta.autoOptimize.optimizeWrite"),
    *no_effect(
        "history.expire.max-snapshot-age-ms says it",
        """
        delta.deletedFileRetentionDuration
        delta.logRetentionDuration
        """,
    ),
    *no_effect("write.delete.isolation-level, and that of update and merge, say it", "delta.isolationLevel"),
    *no_effect("write.target-file-size-bytes says it", "delta.targetFileSize"),
    *no_effect(
        "write.metadata.metrics.* say it",
        """
        delta.dataSkippingNumIndexedCols
        delta.dataSkippingStatsColumns
        """,
    ),
    *no_effect("write.object-storage.enabled says it", "delta.randomizeFilePrefixes"),
    *no_effect("it is of Delta's log, and the table is Iceberg's", "delta.*"),
)
