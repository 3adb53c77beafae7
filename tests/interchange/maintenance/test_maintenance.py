"""Expiry and orphan files beside Iceberg's procedures: two tables with one history, each cared for by its engine."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from judges.judged import Judged

_CREATE = (
    "CREATE TABLE {table} (id BIGINT, kind STRING, v STRING) {using} PARTITIONED BY (kind) TBLPROPERTIES"
    " ('format-version'='{version}', 'write.metadata.previous-versions-max'='4', 'write.delete.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read', 'commit.manifest.min-count-to-merge'='3')"
)
# Each makes one snapshot, or none, in both: what is deleted is there.
_STEPS = (
    ("INSERT INTO {table} VALUES ({a}, 'x', 'new'), ({b}, 'y', 'new')",),
    ("INSERT INTO {table} VALUES ({a}, 'x', 'one')", "DELETE FROM {table} WHERE id = {a} AND kind = 'x'"),
    ("INSERT INTO {table} VALUES ({a}, 'x', 'one')", "DELETE FROM {table} WHERE kind = 'x'"),
    ("INSERT INTO {table} VALUES ({a}, 'y', 'one')", "UPDATE {table} SET v = 'updated' WHERE id = {a} AND kind = 'y'"),
    ("INSERT OVERWRITE {table} VALUES ({a}, 'z', 'over')",),
    ("ALTER TABLE {table} CREATE OR REPLACE TAG tag{c}",),
    ("ALTER TABLE {table} CREATE OR REPLACE TAG kept{c} RETAIN 1 DAYS",),
    ("ALTER TABLE {table} CREATE BRANCH IF NOT EXISTS branch{c} WITH SNAPSHOT RETENTION {c} SNAPSHOTS",),
    ("ALTER TABLE {table} SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep'='{c}')",),
)


class _Pair:
    """A table that sqlext writes and cares for, and one that Iceberg does."""

    def __init__(self, judged: Judged, seed: int) -> None:
        self.judged, self.spark, self.iceberg = judged, judged.spark, judged.iceberg
        self.rng = random.Random(f"maintenance {seed}")
        self.ours, self.theirs = judged.table, f"{judged.table}_theirs"
        version = self.rng.choice((2, 3))
        self.spark.sql(_CREATE.format(table=self.ours, using="", version=version))
        self.iceberg.sql(_CREATE.format(table=self.theirs, using="USING iceberg", version=version))
        self.both("INSERT INTO {table} VALUES (1, 'x', 'first')")

    def both(self, statement: str) -> None:
        self.spark.sql(statement.replace("{table}", self.ours))
        self.iceberg.sql(statement.replace("{table}", self.theirs))

    def step(self) -> None:
        a, b = self.rng.sample(range(8), 2)
        c = self.rng.randint(1, 3)
        for text in self.rng.choice(_STEPS):
            self.both(text.replace("{a}", str(a)).replace("{b}", str(b)).replace("{c}", str(c)))

    def call(self, procedure: str, arguments: str) -> tuple[list[list[Any]], list[list[Any]]]:
        """The rows of one procedure in both."""
        text = f"CALL lake.system.{procedure}(table => '{{table}}'{arguments})"
        ours = canonical_rows(self.spark.sql(text.replace("{table}", self.ours)))
        return ours, self.iceberg.sql(text.replace("{table}", self.theirs))

    def folder(self, table: str) -> Path:
        return self.judged.warehouse.joinpath(*table.split(".")[1:])

    def state(self, table: str) -> list[Any]:
        """The number of snapshots, and the references, as Iceberg reads them."""
        snapshots = self.iceberg.sql(f"SELECT count(*) FROM {table}.snapshots")
        return [snapshots, self.iceberg.sql(f"SELECT name, type FROM {table}.refs")]


@pytest.mark.turns(1)
@pytest.mark.parametrize("seed", range(12))
def test_equal_histories_expire_alike(judged: Judged, seed: int) -> None:
    pair = _Pair(judged, seed)
    for _ in range(3):
        for _ in range(5):
            pair.step()
        arguments = pair.rng.choice(
            (
                ", older_than => TIMESTAMP '2100-01-01'",
                f", older_than => TIMESTAMP '2100-01-01', retain_last => {pair.rng.randint(1, 4)}",
                ", older_than => TIMESTAMP '2000-01-01'",
                "",
            )
        )
        ours, theirs = pair.call("expire_snapshots", arguments)
        assert pair.state(pair.ours) == pair.state(pair.theirs), f"seed {seed}"
        # Manifest lists and statistics: a DELETE of all rows of a file removes the file here, and there adds deletes.
        assert ours[0][4:] == theirs[0][4:], f"seed {seed}"
        judged.check()
        for (ref,) in judged.iceberg.sql(f"SELECT name FROM {pair.ours}.refs"):
            at = f"{pair.ours} VERSION AS OF '{ref}'"
            assert canonical_rows(judged.spark.sql(f"SELECT * FROM {at}")) == judged.iceberg.sql(f"SELECT * FROM {at}")


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(6))
def test_orphans_are_those_that_iceberg_finds(
    spark: SparkSession, iceberg: IcebergJudge, judged: Judged, seed: int
) -> None:
    """In one table, which both look through: three days ago all of it was old."""
    pair = _Pair(judged, seed)
    for _ in range(9):
        pair.step()
    folder = pair.folder(pair.ours)
    for name in ("data/o.parquet", "data/kind=x/o.parquet", "metadata/o.avro", "o", "_hidden/o", "data/.o", "d/_o/o"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    if pair.rng.random() < 0.5:
        # Files of expired snapshots that nobody has deleted.
        saved = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        spark.sql(f"CALL lake.system.expire_snapshots('{pair.ours}', TIMESTAMP '2100-01-01', 1)")
        for path, data in saved.items():
            if not path.exists():
                path.write_bytes(data)
    young = folder / "data" / "young.parquet"
    young.write_bytes(b"x")
    old = time.time() - 4 * 86_400
    for path in folder.rglob("*"):
        if path != young and path.is_file():
            os.utime(path, (old, old))
    theirs = iceberg.sql(f"CALL lake.system.remove_orphan_files(table => '{pair.ours}', dry_run => true)")
    found = spark.sql(f"CALL lake.system.remove_orphan_files('{pair.ours}')").collect()
    ours = [row.orphan_file_location for row in found]
    assert sorted(map(_path, ours)) == sorted(_path(row[0]) for row in theirs), f"seed {seed}"
    assert {"o", "o.avro", "o.parquet"} <= {path.rpartition("/")[2] for path in ours}
    spark.sql(f"CALL lake.system.remove_orphan_files(table => '{pair.ours}', dry_run => false)")
    assert not any(Path(_path(path)).exists() for path in ours)
    assert young.exists()
    assert (folder / "_hidden" / "o").exists()
    assert iceberg.sql(f"CALL lake.system.remove_orphan_files(table => '{pair.ours}', dry_run => true)") == []
    judged.check()


def _path(location: str) -> str:
    return "/" + location.removeprefix("file:").lstrip("/")
