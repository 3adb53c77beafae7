"""PREVIEW and CALL system.undo in a catalog that sqlext and Iceberg share."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from session.changes.undone_changes import applied, compact, head, table_rows, undo


def check_preview_and_undo(spark: SparkSession, iceberg: IcebergJudge, catalog: str) -> None:
    """A preview leaves the table as it is. Commits of either engine are undone, on a branch too, with commits of the
    other on them; one of the other's rows is in the way of a third."""
    for version in (2, 3):
        t = f"{catalog}.db.previewed_{version}"
        spark.sql(
            f"CREATE TABLE {t} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}',"
            " 'write.merge.mode'='merge-on-read', 'write.delete.mode'='merge-on-read', 'write-only'='true')"
        )
        spark.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        before, at = table_rows(spark, t), head(spark, t)
        upsert = f"UPSERT INTO {t} VALUES (2, 'B'), (4, 'd')"
        preview = spark.sql(f"PREVIEW {upsert}").collect()
        assert (table_rows(spark, t), head(spark, t)) == (before, at)
        spark.sql(upsert)
        ours, after = head(spark, t), table_rows(spark, t)
        assert after == applied(before, preview)
        iceberg.sql(f"DELETE FROM {t} WHERE id = 3")
        theirs = head(spark, t)
        iceberg.sql(f"INSERT INTO {t} VALUES (5, 'e')")
        assert undo(spark, t, ours, ", dry_run => true")[1:] == (head(spark, t), 2, 1)
        previous = head(spark, t)
        assert undo(spark, t, ours) == (previous, head(spark, t), 2, 1)
        compact(spark, t)
        assert undo(spark, t, theirs)[2:] == (0, 1)
        assert iceberg.sql(f"SELECT * FROM {t}") == [[1, "a"], [2, "b"], [3, "c"], [5, "e"]]
        spark.sql(f"ALTER TABLE {t} CREATE BRANCH audit")
        spark.sql(f"UPDATE {t}.branch_audit SET v = upper(v)")
        update = head(spark, t, "audit")
        iceberg.sql(f"UPDATE {t}.branch_audit SET v = 'theirs' WHERE id = 1")
        with pytest.raises(AnalysisException, match=r'UNDO_ROWS_CHANGED.*"id": 1'):
            undo(spark, f"{t}.branch_audit", update)
        undo(spark, f"{t}.branch_audit", head(spark, t, "audit"))
        undo(spark, f"{t}.branch_audit", update)
        assert table_rows(spark, f"{t}.branch_audit") == table_rows(spark, t)
