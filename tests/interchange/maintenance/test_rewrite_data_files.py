"""rewrite_data_files and rewrite_position_delete_files beside Iceberg's: two tables of one history, each rewritten by
one of them. `SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError
from judges.judged import Judged
from sessions import planned

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))
COLUMNS = "id BIGINT, kind STRING, v STRING, at TIMESTAMP, x DOUBLE"
FILES = "SELECT spec_id, sort_order_id, file_format FROM {table}.data_files"
SHAPES = {
    "binpack": ("", "", ""),
    "partitioned": ("PARTITIONED BY (kind)", "", ""),
    "sorted": ("", ", sort_order => 'v DESC NULLS LAST, id'", "v, id"),
    "by bucket": ("PARTITIONED BY (kind)", ", strategy => 'sort', sort_order => 'bucket(3, id), x ASC'", "kind, x"),
    "z-order": ("", ", sort_order => 'zorder(id, x)'", "id, x"),
    "z-order of texts": ("PARTITIONED BY (kind)", ", sort_order => 'zorder(v, at, kind)'", "kind, v, at"),
}
"""By name: partitioning, the argument, and columns that have one order by it."""
OPTIONS: dict[str, dict[str, str]] = {
    "as they are": {},
    "two files": {"min-input-files": "2"},
    "all": {"rewrite-all": "true"},
    "small groups": {"rewrite-all": "true", "max-file-group-input-files": "3", "rewrite-job-order": "bytes-desc"},
    "some": {"rewrite-all": "true", "max-files-to-rewrite": "4"},
    "deletes": {"min-input-files": "100", "delete-file-threshold": "1"},
    "in parts": {
        "rewrite-all": "true",
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "2",
        "max-file-group-input-files": "2",
    },
    "new numbers": {"rewrite-all": "true", "use-starting-sequence-number": "false"},
    "without dangling": {"rewrite-all": "true", "remove-dangling-deletes": "true"},
}


class Pair:
    """Two tables, on which sqlext runs each statement, so that their files are alike."""

    def __init__(self, spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, name: str) -> None:
        self.spark, self.iceberg = spark, iceberg
        self.tables = {which: f"{name}_{which}" for which in ("ours", "theirs")}
        self.judges = [Judged(spark, iceberg, warehouse, table) for table in self.tables.values()]

    def run(self, statement: str) -> None:
        for table in self.tables.values():
            self.spark.sql(statement.replace("{table}", table))

    def call(self, procedure: str, arguments: str) -> tuple[list[Any], list[Any]]:
        """The rows of sqlext's procedure and of Iceberg's."""
        text = f"CALL {{catalog}}.system.{procedure}(table => '{{table}}'{arguments})"
        ours = self.spark.sql(text.format(catalog="lake", table=self.tables["ours"]))
        theirs = self.iceberg.sql(text.format(catalog="lake", table=self.tables["theirs"]))
        return canonical_rows(ours), theirs

    def rows(self) -> list[Any]:
        ours, theirs = (canonical_rows(self.spark.table(table)) for table in self.tables.values())
        assert ours == theirs
        return ours

    def files(self, query: str = FILES) -> tuple[list[Any], list[Any]]:
        ours, theirs = (self.iceberg.sql(query.format(table=table)) for table in self.tables.values())
        return ours, theirs


@pytest.fixture
def pair(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str) -> Pair:
    return Pair(spark, iceberg, warehouse, table_name)


def _fill(pair: Pair, random: Random, version: int, layout: str) -> None:
    modes = ", ".join(f"'write.{verb}.mode'='merge-on-read'" for verb in ("delete", "update", "merge"))
    pair.run(
        f"CREATE TABLE {{table}} ({COLUMNS}) {layout} TBLPROPERTIES ('format-version'='{version}',"
        f" 'write.delete.granularity'='file', 'write.distribution-mode'='none', {modes})"
    )
    for step in range(7):
        rows = ", ".join(
            f"({random.randrange(50)}, '{random.choice('ab')}', {_text(random)}, TIMESTAMP'2024-01-0{step + 1}',"
            f" {random.choice(('1.5D', '-2.0D', 'NULL', 'CAST(-0.0 AS DOUBLE)', str(step) + 'e3D'))})"
            for _ in range(random.randint(4, 12))
        )
        pair.run(f"INSERT INTO {{table}} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows} AS t")
        if version > 1 and step % 3 == 1:
            pair.run(f"DELETE FROM {{table}} WHERE id % 5 = {random.randrange(5)}")


def _text(random: Random) -> str:
    return random.choice(("NULL", "''", f"'{random.randrange(99)}'", "'a long text of more than eight bytes'", "'äöü'"))


@pytest.mark.turns(2)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", [2, 3, 1])
def test_the_same_files_become_as_many(pair: Pair, version: int, shape: str, options: str) -> None:
    random = Random(f"{SEED} {version} {shape} {options}")
    layout, order, keys = SHAPES[shape]
    _fill(pair, random, version, layout)
    before = pair.rows()
    lineage = canonical_rows(pair.spark.sql(f"SELECT id, _row_id FROM {pair.tables['ours']}")) if version > 2 else []
    told = ", ".join(f"'{name}', '{value}'" for name, value in OPTIONS[options].items())
    in_tasks = {} if random.random() < 0.5 else {"compacted_bytes": 0}
    with planned(pair.spark, **in_tasks):
        (ours,), (theirs,) = pair.call("rewrite_data_files", f"{order}, options => map({told})" if told else order)
    # Delete files that apply to no row go with the same commit; Iceberg counts some of them.
    assert ours[:2] == theirs[:2], f"seed {SEED}"
    assert ours[3] == theirs[3] == 0
    assert pair.rows() == before
    for judged in pair.judges:
        judged.check()
    ours, theirs = pair.files(FILES)
    assert ours == theirs
    if lineage:
        assert canonical_rows(pair.spark.sql(f"SELECT id, _row_id FROM {pair.tables['ours']}")) == lineage
    if keys and options == "all":
        stored = [
            [tuple(row) for row in pair.spark.sql(f"SELECT {keys} FROM {table} ORDER BY _partition, _pos").collect()]
            for table in pair.tables.values()
        ]
        assert stored[0] == stored[1]


DELETES = "SELECT content, file_format, record_count, spec_id FROM {table}.delete_files"


@pytest.mark.parametrize("granularity", ["partition", "file"])
@pytest.mark.parametrize("upgraded", [False, True])
def test_position_deletes_become_as_many_files_or_vectors(pair: Pair, granularity: str, upgraded: bool) -> None:
    pair.run(
        "CREATE TABLE {table} (id INT, kind STRING) PARTITIONED BY (kind) TBLPROPERTIES ('format-version'='2',"
        f" 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='{granularity}')"
    )
    for first in (0, 100):
        pair.run(f"INSERT INTO {{table}} SELECT id, IF(id % 2 = 0, 'a', 'b') FROM range({first}, {first + 100})")
    for id in (1, 2, 3, 4, 102, 104):
        pair.run(f"DELETE FROM {{table}} WHERE id = {id}")
    if upgraded:
        pair.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    before = pair.rows()
    where = ", where => 'kind = \"a\"'"
    for arguments in (
        where,
        f"{where}, options => map('rewrite-all', 'true')",
        ", options => map('rewrite-all', 'true')",
    ):
        (ours,), (theirs,) = pair.call("rewrite_position_delete_files", arguments)
        # Iceberg rewrites vectors again as long as the table has another delete file.
        assert ours[:2] == theirs[:2] or upgraded
        assert pair.rows() == before
        for judged in pair.judges:
            judged.check()
    ours, theirs = pair.files(DELETES)
    assert ours == theirs
    assert {row[1] for row in ours} == {"PUFFIN" if upgraded else "PARQUET"}


def test_position_deletes_of_data_files_that_are_gone_are_dropped(pair: Pair) -> None:
    pair.run(
        "CREATE TABLE {table} (id INT) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read',"
        " 'write.delete.granularity'='partition')"
    )
    for first in (0, 100, 200):
        pair.run(f"INSERT INTO {{table}} SELECT /*+ COALESCE(1) */ id FROM range({first}, {first + 50})")
    for step in range(3):
        pair.run(f"DELETE FROM {{table}} WHERE id % 100 = {step}")
    pair.run("DELETE FROM {table} WHERE id >= 200")
    before = pair.rows()
    (ours,), (theirs,) = pair.call("rewrite_position_delete_files", ", options => map('rewrite-all', 'true')")
    assert ours[:2] == theirs[:2]
    assert pair.rows() == before
    for judged in pair.judges:
        judged.check()
    assert sum(row[2] for row in pair.files(DELETES)[0]) == 6


def test_what_iceberg_refuses_is_refused(pair: Pair) -> None:
    pair.run("CREATE TABLE {table} (id INT, n DECIMAL(9,2), kind STRING) PARTITIONED BY (kind)")
    pair.run("INSERT INTO {table} VALUES (1, 2, 'a')")
    for arguments in (
        ", strategy => 'hilbert'",
        ", strategy => 'sort'",
        ", strategy => 'binpack', sort_order => 'id'",
        ", sort_order => 'nothing'",
        ", sort_order => 'zorder(id), kind'",
        ", sort_order => 'zorder(kind)'",
        ", sort_order => 'zorder(n)', options => map('rewrite-all', 'true')",
        ", options => map('compression-factor', '1')",
        ", options => map('max-output-size', '1')",
        ", options => map('min-input-files', '0')",
        ", options => map('output-spec-id', '9')",
        ", branch => 'nothing'",
    ):
        with pytest.raises((PySparkException, JudgeError)):
            pair.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{pair.tables['ours']}'{arguments})")
        with pytest.raises(JudgeError):
            pair.iceberg.sql(f"CALL lake.system.rewrite_data_files(table => '{pair.tables['theirs']}'{arguments})")
