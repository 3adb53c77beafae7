"""rewrite_table_path beside Iceberg's: the files of the list are copied, and both engines read the copy alone.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))


class Moved:
    """A table, and the folder in the same warehouse that it is copied to."""

    def __init__(self, spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, name: str, scratch: Path) -> None:
        self.spark, self.iceberg, self.name, self.scratch = spark, iceberg, name, scratch
        self.source = warehouse.joinpath(*name.split(".")[1:])
        self.copy = f"{name}_copy"
        self.target = warehouse.joinpath(*self.copy.split(".")[1:])

    def run(self, statement: str, engine: str) -> None:
        text = statement.replace("{t}", self.name)
        self.spark.sql(text) if engine == "sqlext" else self.iceberg.sql(text)

    @property
    def prefix(self) -> str:
        """That of the locations that Iceberg writes; sqlext writes locations with a scheme."""
        return str(self.source)

    @property
    def newest(self) -> Path:
        return max((self.source / "metadata").glob("v*.metadata.json"), key=_number)

    def arguments(self, engine: str, more: str = "") -> str:
        prefix = self.prefix
        target = prefix.replace(str(self.source), str(self.target))
        staging = self.scratch / f"{engine}{len(list(self.scratch.iterdir()))}"
        return (
            f"CALL lake.system.rewrite_table_path(table => '{self.name}', source_prefix => '{prefix}',"
            f" target_prefix => '{target}', staging_location => '{staging}'{more})"
        )

    def rewrite(self, more: str = "", *, judged: bool = True) -> tuple[list[Any], dict[str, str]]:
        """The row but the list's location, and the list by target. If `judged`, those of Iceberg are equal, but for
        Iceberg's own staging folder: in a table of which sqlext has written nothing, as it takes one scheme only."""
        ours = canonical_rows(self.spark.sql(self.arguments("sqlext", more)))[0]
        found = _list(ours[1])
        if judged:
            theirs = self.iceberg.sql(self.arguments("iceberg", more))[0]
            assert [ours[0], *ours[2:]] == [theirs[0], *theirs[2:]]
            other = _list(theirs[1])
            assert found.keys() == other.keys()
            for target, path in found.items():
                assert _place(path, ours[1]) == _place(other[target], theirs[1])
        return [ours[0], *ours[2:]], found

    def follow(self, files: dict[str, str]) -> None:
        for target, path in files.items():
            to = Path(target.removeprefix("file://").removeprefix("file:"))
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path.removeprefix("file://").removeprefix("file:"), to)

    def check(self, *, pyiceberg: bool = True) -> None:
        """The copy has the rows and the history, by both engines and PyIceberg, with the source out of the way."""
        refs = [ref for (ref,) in self.iceberg.sql(f"SELECT name FROM {self.name}.refs")]
        snapshots = [id for (id,) in self.iceberg.sql(f"SELECT snapshot_id FROM {self.name}.snapshots")]
        places = ["", *(f" VERSION AS OF '{ref}'" for ref in refs), *(f" VERSION AS OF {id}" for id in snapshots)]
        expected = {place: self.iceberg.sql(f"SELECT * FROM {self.name}{place}") for place in places}
        away = self.source.with_name(f"{self.source.name}_away")
        self.source.rename(away)
        try:
            for place, rows in expected.items():
                assert canonical_rows(self.spark.sql(f"SELECT * FROM {self.copy}{place}")) == rows
                self.iceberg.sql(f"REFRESH TABLE {self.copy}")
                assert self.iceberg.sql(f"SELECT * FROM {self.copy}{place}") == rows
            newest = max((self.target / "metadata").glob("v*.metadata.json"), key=_number)
            if pyiceberg:
                assert StaticTable.from_metadata(str(newest)).scan().to_arrow().num_rows == len(expected[""])
            for path, size in self.spark.sql(f"SELECT file_path, file_size_in_bytes FROM {self.copy}.files").collect():
                assert os.path.getsize(path.removeprefix("file://").removeprefix("file:")) == size
            for path, size in self.spark.sql(f"SELECT path, length FROM {self.copy}.manifests").collect():
                assert os.path.getsize(path.removeprefix("file://").removeprefix("file:")) == size
        finally:
            away.rename(self.source)


def _number(file: Path) -> int:
    return int(file.name[1:].partition(".")[0])


def _list(location: str) -> dict[str, str]:
    with open(location.removeprefix("file://").removeprefix("file:"), newline="") as file:
        return {target: source for source, target in csv.reader(file)}


def _place(path: str, file_list: str) -> str:
    """The location, that of the staging folder left out."""
    return path.removeprefix(file_list.removesuffix("file-list"))


@pytest.fixture
def moved(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str, tmp_path: Path) -> Moved:
    return Moved(spark, iceberg, warehouse, table_name, tmp_path)


@pytest.mark.turns(2, pool="random histories")
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("writers", [["iceberg"], ["sqlext", "iceberg"]], ids=["iceberg", "both"])
def test_a_random_history(moved: Moved, version: int, writers: list[str]) -> None:
    random = Random(f"{SEED}-{version}-{len(writers)}")
    judged = len(writers) == 1
    mode = "copy-on-write" if version == 1 else "merge-on-read"
    moved.run(
        "CREATE TABLE {t} (id INT, region STRING, d DATE) USING iceberg PARTITIONED BY (region) TBLPROPERTIES"
        f" ('format-version'='{version}', 'write.delete.mode'='{mode}', 'commit.manifest.min-count-to-merge'='3',"
        f" 'write.delete.granularity'='{random.choice(('file', 'partition'))}')",
        writers[0],
    )
    middle = ""
    for step in range(8):
        engine = random.choice(writers)
        regions = random.choices(("'eu'", "'us, \"ü\"'", "NULL"), k=3)
        rows = (f"({10 * step + n}, {region}, DATE'2026-01-0{n + 1}')" for n, region in enumerate(regions))
        values = ", ".join(rows)
        moved.run(f"INSERT INTO {{t}} VALUES {values}", engine)
        if step % 2:
            moved.run(f"DELETE FROM {{t}} WHERE id = {10 * step + 1}", engine if version > 1 else "iceberg")
        if step == 2:
            moved.run("ALTER TABLE {t} ADD PARTITION FIELD days(d)", "iceberg")
            moved.run("ALTER TABLE {t} CREATE TAG first", writers[0])
        if step == 3:
            moved.run(f"CALL lake.system.compute_table_stats('{moved.name}')", writers[0])
            moved.run(f"CALL lake.system.compute_partition_stats('{moved.name}')", writers[0])
            _, files = moved.rewrite(judged=judged)
            moved.follow(files)
            moved.check()
            middle = moved.newest.name
    # What came after a copy, on top of it.
    _, files = moved.rewrite(f", start_version => '{middle}'", judged=judged)
    assert not any(target.endswith(f"/{middle}") for target in files)
    moved.follow(files)
    moved.check()
    row, _ = moved.rewrite(f", end_version => '{middle}', create_file_list => true", judged=judged)
    assert row[0] == middle


def test_equality_deletes(moved: Moved) -> None:
    moved.spark.sql(
        f"CREATE TABLE {moved.name} (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality')"
    )
    for number in range(3):
        moved.spark.sql(f"UPSERT INTO {moved.name} VALUES (1, {number}), ({number + 5}, 0)")
    _, files = moved.rewrite(judged=False)
    moved.follow(files)
    moved.check(pyiceberg=False)
    moved.spark.sql(f"UPSERT INTO {moved.copy} VALUES (1, 9)")
    assert moved.iceberg.sql(f"SELECT v FROM {moved.copy} WHERE id = 1") == [[9]]


def test_files_whose_snapshot_has_expired_are_copied(moved: Moved) -> None:
    """Iceberg's list lacks them, so that its copy cannot be read."""
    moved.run(
        "CREATE TABLE {t} (id INT) USING iceberg TBLPROPERTIES ('write.metadata.previous-versions-max'='1')", "iceberg"
    )
    for number in range(3):
        moved.run(f"INSERT INTO {{t}} VALUES ({number})", "iceberg")
    moved.iceberg.sql(f"CALL lake.system.expire_snapshots('{moved.name}', TIMESTAMP'2100-01-01', 1)")
    for value in "bc":
        moved.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('a'='{value}')", "iceberg")
    ((_, location, manifests, deletes),) = moved.spark.sql(moved.arguments("sqlext")).collect()
    moved.follow(_list(location))
    moved.check()
    assert (manifests, deletes) == (3, 0)
    assert sum("/data/" in target for target in _list(location)) == 3
    ((_, location, *_),) = moved.iceberg.sql(moved.arguments("iceberg"))
    assert sum("/data/" in target for target in _list(location)) == 1


def test_an_empty_table_and_compressed_metadata(moved: Moved) -> None:
    moved.run(
        "CREATE TABLE {t} (id INT) USING iceberg TBLPROPERTIES ('write.metadata.compression-codec'='gzip')", "sqlext"
    )
    ((newest,),) = moved.spark.sql(f"SELECT max(file) FROM {moved.name}.metadata_log_entries").collect()
    folder = str(moved.source / "metadata")
    prefix = newest[: newest.index("/metadata/")]
    ((version, location, manifests, deletes),) = moved.spark.sql(
        f"CALL lake.system.rewrite_table_path('{moved.name}', '{prefix}/', '{prefix}_copy')"
    ).collect()
    assert (version, manifests, deletes) == (newest.rpartition("/")[2], 0, 0)
    assert f"{folder}/copy-table-staging-" in location
    moved.follow(_list(location))
    assert moved.spark.table(moved.copy).columns == ["id"]


@pytest.mark.parametrize(
    "arguments",
    [
        "source_prefix => '', target_prefix => '/b'",
        "source_prefix => '{prefix}', target_prefix => '{prefix}'",
        "source_prefix => '/nowhere', target_prefix => '/b'",
        "source_prefix => '{prefix}', target_prefix => '/b', start_version => 'v99.metadata.json'",
        "source_prefix => '{prefix}', target_prefix => '/b', end_version => 'v99.metadata.json'",
        "source_prefix => '{prefix}', target_prefix => '/b', staging_location => ''",
        "source_prefix => '{prefix}/data', target_prefix => '/b'",
    ],
)
def test_both_refuse_the_same_arguments(moved: Moved, arguments: str) -> None:
    moved.run("CREATE TABLE {t} (id INT) USING iceberg", "iceberg")
    moved.run("INSERT INTO {t} VALUES (1)", "iceberg")
    text = f"CALL lake.system.rewrite_table_path(table => '{moved.name}', {arguments.format(prefix=moved.prefix)})"
    with pytest.raises(PySparkException):
        moved.spark.sql(text)
    with pytest.raises(JudgeError):
        moved.iceberg.sql(text)
