"""Statements that another one overtakes between their query and their commit: what lands, what is refused, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from session.commits.racing_process import race
from sessions import planned
from sqlext.command import environment
from sqlext.command.change import rerun

LANDS = None
NEW_ROWS, SAME_ROWS = "CONCURRENT_CHANGE", "WRITE_CONFLICT"

UPDATE_5 = "UPDATE {t} SET v = v + 100 WHERE id = 5 AND part = 'a'"
UPDATE_6 = "UPDATE {t} SET v = v + 1000 WHERE id = 6 AND part = 'a'"
DELETE_5 = "DELETE FROM {t} WHERE id = 5 AND part = 'a'"
DELETE_PART = "DELETE FROM {t} WHERE part = 'a' AND v < 3"
DELETE_BY_OTHERS = "DELETE FROM {t} WHERE part = 'b' AND v IN (SELECT v FROM {t} WHERE part = 'a')"
APPEND_A = "INSERT INTO {t} VALUES ('a', 20, 2)"
APPEND_B = "INSERT INTO {t} VALUES ('b', 20, 2)"
OVERWRITE_A = "INSERT OVERWRITE {t} PARTITION (part = 'a') VALUES (5, 5)"


def _merge(keys: str, clauses: str, extra: str = "") -> str:
    source = f"(SELECT 'a' AS part, id, 7 AS v FROM VALUES {keys} AS s(id){extra}) AS s"
    return f"MERGE INTO {{t}} AS t USING {source} ON t.part = s.part AND t.id = s.id {clauses}"


ADD = "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *"
PUT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
ADD_5_21, ADD_6_22, ADD_23_21 = (_merge(keys, ADD) for keys in ("5, 21", "6, 22", "23, 21"))
PUT_5_21, PUT_6_22, PUT_23_21 = (_merge(keys, PUT) for keys in ("5, 21", "6, 22", "23, 21"))
PUT_ALL = f"MERGE INTO {{t}} AS t USING (SELECT part, id, v FROM {{t}}) AS s ON t.part = s.part AND t.id = s.id {PUT}"
NEW_21, NEW_22 = (_merge(keys, "WHEN NOT MATCHED THEN INSERT *") for keys in ("21", "22"))
CHANGE_5 = _merge("5, 30", "WHEN MATCHED AND t.v > 1000 THEN DELETE WHEN NOT MATCHED THEN INSERT *")
UPSERT_5_21 = "UPSERT INTO {t} VALUES ('a', 5, 70), ('a', 21, 70)"
UPSERT_23_21 = "UPSERT INTO {t} VALUES ('a', 23, 80), ('a', 21, 80)"
ROWS_OF_5 = "SELECT part, id, v + 1 AS v FROM {t} WHERE id = 5 AND part = 'a'"
UPSERT_OF_ROWS = f"UPSERT INTO {{t}} {ROWS_OF_5}"
ADD_ON_CONFLICT = (
    "INSERT INTO {t} AS t VALUES ('a', 5, 7), ('a', 21, 7) ON CONFLICT (part, id) DO UPDATE SET v = t.v + excluded.v"
)

# The statement, the one that overtakes it, what becomes of it when serializable, and under snapshot isolation.
CASES = [
    (UPDATE_5, UPDATE_6, LANDS, LANDS),
    (UPDATE_5, UPDATE_5, SAME_ROWS, SAME_ROWS),
    (UPDATE_5, DELETE_5, SAME_ROWS, SAME_ROWS),
    (UPDATE_5, APPEND_B, LANDS, LANDS),
    (DELETE_5, UPDATE_5, SAME_ROWS, SAME_ROWS),
    (DELETE_5, DELETE_5, LANDS, LANDS),
    (DELETE_PART, APPEND_A, NEW_ROWS, LANDS),
    (DELETE_PART, APPEND_B, LANDS, LANDS),
    (DELETE_BY_OTHERS, DELETE_5, NEW_ROWS, LANDS),
    (DELETE_5, OVERWRITE_A, NEW_ROWS, NEW_ROWS),
    (ADD_5_21, ADD_6_22, LANDS, LANDS),
    (ADD_5_21, ADD_5_21, SAME_ROWS, SAME_ROWS),
    (ADD_5_21, ADD_23_21, SAME_ROWS, SAME_ROWS),
    (ADD_5_21, APPEND_A, LANDS, LANDS),
    (PUT_5_21, PUT_6_22, LANDS, LANDS),
    (PUT_5_21, UPDATE_6, LANDS, LANDS),
    (PUT_5_21, UPDATE_5, SAME_ROWS, SAME_ROWS),
    (PUT_5_21, PUT_23_21, SAME_ROWS, SAME_ROWS),
    (PUT_ALL, APPEND_B, NEW_ROWS, LANDS),
    (NEW_21, NEW_22, LANDS, LANDS),
    (NEW_21, NEW_21, SAME_ROWS, SAME_ROWS),
    (CHANGE_5, UPDATE_5, NEW_ROWS, LANDS),
]


@pytest.fixture
def overtaken(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], str | None]:
    """Runs a statement that another one overtakes; its error condition."""
    commit = environment.commit

    def run(statement: str | Callable[[], None], other: str) -> str | None:
        def commit_behind(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(environment, "commit", commit)
            spark.sql(other)
            return commit(*arguments, **options)

        monkeypatch.setattr(environment, "commit", commit_behind)
        try:
            if isinstance(statement, str):
                spark.sql(statement)
            else:
                statement()
        except PySparkException as failure:
            return failure.getCondition()
        return LANDS

    return run


def _filled(spark: SparkSession, name: str, *, level: str = "serializable", version: int = 3, reruns: int = 0) -> None:
    verbs = "".join(f", 'write.{verb}.isolation-level'='{level}'" for verb in ("delete", "update", "merge"))
    verbs += f", 'write.conflict.max-reruns'='{reruns}'"
    spark.sql(
        f"CREATE TABLE {name} (part STRING, id INT, v INT, PRIMARY KEY (part, id)) PARTITIONED BY (part)"
        f" TBLPROPERTIES ('format-version'='{version}'{verbs})"
    )
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ part, id, id FROM range(10), VALUES 'a', 'b' AS p(part)")


def _rows(spark: SparkSession, name: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.sql(f"SELECT part, id, v FROM {name}").collect()))


@pytest.mark.turns(3)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_statement_that_another_overtakes(
    spark: SparkSession, table_name: str, overtaken: Callable[[str, str], str | None], number: int
) -> None:
    """What lands under serializable isolation has the rows of the two one after the other."""
    statement, other, serializable, snapshot = CASES[number]
    levels = {"serializable": serializable, "snapshot": snapshot}
    for level, expected in levels.items() if serializable != snapshot else [("serializable", serializable)]:
        name = f"{table_name}_{level}"
        _filled(spark, name, level=level, version=2 + number % 2)
        assert overtaken(statement.format(t=name), other.format(t=name)) == expected, level
        found = _rows(spark, name)
        if level == "serializable":
            spark.sql(f"CALL lake.system.rollback_to_snapshot('{name.removeprefix('lake.')}', {_first(spark, name)})")
            spark.sql(other.format(t=name))
            if expected is LANDS:
                spark.sql(statement.format(t=name))
            assert found == _rows(spark, name)


OVERTAKEN = [
    (DELETE_PART, APPEND_A, "merge-on-read"),
    (CHANGE_5, UPDATE_5, "merge-on-read"),
    (PUT_ALL, APPEND_B, "merge-on-read"),
    (PUT_5_21, OVERWRITE_A, "merge-on-read"),
    (UPSERT_5_21, UPDATE_5, "merge-on-read"),
    (UPSERT_5_21, DELETE_5, "merge-on-read"),
    (UPSERT_5_21, UPSERT_23_21, "merge-on-read"),
    (UPSERT_5_21, UPSERT_23_21, "copy-on-write"),
    (ADD_ON_CONFLICT, UPSERT_5_21, "merge-on-read"),
    (ADD_ON_CONFLICT, ADD_ON_CONFLICT, "merge-on-read"),
    (UPSERT_OF_ROWS, UPSERT_5_21, "merge-on-read"),
    (UPDATE_5.replace("id = 5", "id IN (5, 6)"), UPDATE_6, "copy-on-write"),
]


@pytest.mark.parametrize("number", range(len(OVERTAKEN)))
def test_a_statement_whose_reads_others_changed_runs_again(
    spark: SparkSession, table_name: str, overtaken: Callable[[str, str], str | None], number: int
) -> None:
    """On the table as it is then."""
    statement, other, mode = OVERTAKEN[number]
    names = [f"{table_name}_{order}" for order in ("overtaken", "in_order")]
    for name in names:
        _filled(spark, name, version=2 + number % 2, reruns=1)
        modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("update", "merge", "delete"))
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({modes})")
    assert overtaken(statement.format(t=names[0]), other.format(t=names[0])) is LANDS
    spark.sql(other.format(t=names[1]))
    spark.sql(statement.format(t=names[1]))
    assert _rows(spark, names[0]) == _rows(spark, names[1])


def test_a_source_that_keeps_to_an_older_version_is_not_run_again(
    spark: SparkSession, table_name: str, overtaken: Callable[[Any, str], str | None]
) -> None:
    """As that of a DataFrame, which has the version that the table had when it was made."""
    _filled(spark, table_name, reruns=1)
    own = table_name.rpartition(".")[2]
    same_key = F.expr(f"{own}.part = s.part AND {own}.id = s.id")

    def merge(rows: DataFrame) -> None:
        source = rows.alias("s").mergeInto(table_name, same_key)
        source.whenMatched().updateAll().whenNotMatched().insertAll().merge()

    assert overtaken(lambda: merge(spark.table(table_name)), APPEND_B.format(t=table_name)) == NEW_ROWS
    assert overtaken(lambda: merge(spark.table(table_name).cache()), APPEND_A.format(t=table_name)) == NEW_ROWS
    travelling = PUT_ALL.replace("FROM {t}", f"FROM {{t}} VERSION AS OF {_first(spark, table_name)}")
    assert overtaken(travelling.format(t=table_name), APPEND_A.format(t=table_name)) == NEW_ROWS
    assert len(_rows(spark, table_name)) == 23


def test_a_cache_of_another_table_is_nobodys_concern(
    spark: SparkSession, table_name: str, overtaken: Callable[[Any, str], str | None]
) -> None:
    """And what a checkpoint of the target holds are values."""
    for number, held in enumerate(("cache", "localCheckpoint")):
        name = f"{table_name}_{number}"
        _filled(spark, name)
        source = spark.range(3).selectExpr("'a' AS part", "CAST(id AS INT) AS id", "7 AS v")
        if held == "localCheckpoint":
            source = spark.table(name).where("id < 3")
        getattr(source, held)().createOrReplaceTempView("held_source")
        put = PUT_ALL.replace("FROM {t}", "FROM held_source")
        assert overtaken(put.format(t=name), UPDATE_5.format(t=name)) is LANDS


SELF_READING = {
    "look-up": "",
    "copies": "'write.merge.mode'='copy-on-write'",
    "equality": "'write.upsert.mode'='equality'",
    "changelog": "'changelog-producer'='input'",
    "changelog and equality": "'changelog-producer'='input', 'write.upsert.mode'='equality'",
    "merge engine": "'merge-engine'='partial-update'",
    "merge engine and changelog": "'merge-engine'='partial-update', 'changelog-producer'='input'",
}


@pytest.mark.parametrize("force", ["", "tasks"])
@pytest.mark.parametrize("kind", SELF_READING)
def test_an_upsert_of_rows_of_its_table_loses_no_change_of_others(
    spark: SparkSession,
    table_name: str,
    overtaken: Callable[[Any, str], str | None],
    kind: str,
    force: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A statement reads them again. A DataFrame may keep to the version at which it was made, and is refused then; a
    snapshot is none that changes, so that it is not tried again for half a minute."""
    _filled(spark, table_name, reruns=1)
    if SELF_READING[kind]:
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({SELF_READING[kind]})")
    other = UPDATE_5.format(t=table_name)
    with planned(spark, **({"force": force} if force else {})):
        assert overtaken(UPSERT_OF_ROWS.format(t=table_name), other) is LANDS
        assert ("a", 5, 106) in _rows(spark, table_name)
        rows = spark.sql(ROWS_OF_5.format(t=table_name))
        write = rows.writeTo(table_name).option("upsert-enabled", "true")
        refused = overtaken(write.append, other)
        assert refused in (NEW_ROWS, SAME_ROWS, LANDS)
        assert ("a", 5, 206 if refused else 207) in _rows(spark, table_name)
        spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('write.conflict.max-reruns')")
        newest = spark.sql(f"SELECT max_by(snapshot_id, committed_at) FROM {table_name}.snapshots").collect()[0][0]
        travelling = UPSERT_OF_ROWS.replace("FROM {t}", f"FROM {{t}} VERSION AS OF {newest}").format(t=table_name)
        reruns: list[object] = []
        begun = rerun._overtaken
        monkeypatch.setattr(rerun, "_overtaken", lambda *known: reruns.append(known) or begun(*known))
        assert overtaken(travelling, other) in (NEW_ROWS, SAME_ROWS)
        assert len(reruns) <= 1
    assert ("a", 5, 306 if refused else 307) in _rows(spark, table_name)


COPIES = [
    (UPDATE_5, APPEND_B, LANDS),
    (UPDATE_5, UPDATE_6, NEW_ROWS),
    (PUT_5_21, PUT_23_21, SAME_ROWS),
]


@pytest.mark.parametrize("number", range(len(COPIES)))
def test_a_copy_that_another_overtakes(
    spark: SparkSession, table_name: str, overtaken: Callable[[str, str], str | None], number: int
) -> None:
    statement, other, expected = COPIES[number]
    _filled(spark, table_name)
    spark.sql(f"DELETE FROM {table_name} WHERE id = 5")
    spark.sql(f"INSERT INTO {table_name} VALUES ('a', 5, 5)")
    modes = ", ".join(f"'write.{verb}.mode'='copy-on-write'" for verb in ("update", "merge"))
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({modes})")
    if other is UPDATE_6:
        statement = statement.replace("id = 5", "id IN (5, 6)")
    assert overtaken(statement.format(t=table_name), other.format(t=table_name)) == expected
    assert len(_rows(spark, table_name)) == 19 + (expected is LANDS) + 2 * (other is PUT_23_21)


def _first(spark: SparkSession, name: str) -> int:
    first = spark.sql(f"SELECT min_by(snapshot_id, committed_at) FROM {name}.snapshots").first()
    assert first is not None
    return int(first[0])


@pytest.mark.parametrize("version", [2, 3])
def test_a_file_that_loses_its_last_rows_leaves_the_table(
    spark: SparkSession, table_name: str, overtaken: Callable[[str, str], str | None], version: int
) -> None:
    """Also where others have deleted rows of it meanwhile; who changes its rows while it goes runs again."""
    gone, last = "DELETE FROM {t} WHERE part = 'a' AND id + 0 < 9", "UPDATE {t} SET v = v + 1 WHERE part = 'a'"
    for statement, other, files, rows in (
        ("DELETE FROM {t} WHERE part = 'a' AND v + 0 >= 0", gone, 1, []),
        (gone, "DELETE FROM {t} WHERE part = 'a' AND v + 0 >= 0", 1, []),
        (last, "UPDATE {t} SET v = v + 100 WHERE part = 'a'", 2, [id + 101 for id in range(10)]),
        (
            "MERGE INTO {t} AS t USING (SELECT 'a' AS part, explode(sequence(0, 9)) AS id) AS s"
            " ON t.part = s.part AND t.id = s.id WHEN MATCHED THEN DELETE",
            gone,
            1,
            [],
        ),
    ):
        name = f"{table_name}_{version}"
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        _filled(spark, name, version=version, reruns=3)
        assert overtaken(statement.format(t=name), other.format(t=name)) is LANDS, statement
        assert [row[2] for row in _rows(spark, name) if row[0] == "a"] == rows, statement
        assert spark.sql(f"SELECT count(*) FROM {name}.data_files").first()[0] == files, statement


def test_merges_of_different_keys_all_land(spark: SparkSession, table_name: str) -> None:
    _filled(spark, table_name)
    merges = [_merge(f"{n % 5}, {50 + n}", ADD).format(t=table_name) for n in range(5)]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(spark.sql, merges))
    rows = {(part, id): v for part, id, v in _rows(spark, table_name)}
    assert len(rows) == 25
    assert sum(rows.values()) == 90 + 10 * 7


KEYS, ROUNDS = 10, 4
"""Keys of a thread that races others, and statements that change all of them."""
MATCHED = "WHEN MATCHED THEN UPDATE SET n = t.n + 1"
INTO_RANGE = f"MERGE INTO {{t}} AS t USING (SELECT id FROM range({{low}}, {{high}})) AS s ON t.id = s.id {MATCHED}"
INSERTING = f"{INTO_RANGE} WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 0)"
OF_VIEW = INTO_RANGE.replace("FROM range({low}, {high})", "FROM race_source WHERE id >= {low} AND id < {high}")
OF_TABLE = OF_VIEW.replace("race_source", "{t}_source")
UPDATE = "UPDATE {t} SET n = n + 1 WHERE id >= {low} AND id < {high}"
UPDATE_IN = "UPDATE {t} SET n = n + 1 WHERE id IN (SELECT id FROM range({low}, {high}))"
DELETE = f"DELETE FROM {{t}} WHERE id >= {{low}} AND id < {{high}} AND id % {ROUNDS} = {{round}}"
KEY, BY_PART, COPY, VERSION_3 = "key", "partitions", "copy-on-write", "version 3"
RACES: list[tuple[str, int, set[str]]] = [
    (INTO_RANGE, 8, set()),
    (INTO_RANGE, 16, {VERSION_3}),
    (INTO_RANGE, 8, {KEY}),
    (INTO_RANGE, 8, {COPY}),
    (INTO_RANGE, 8, {BY_PART, VERSION_3}),
    (INTO_RANGE, 8, {BY_PART, COPY}),
    (INTO_RANGE, 8, {COPY, KEY, VERSION_3}),
    (INSERTING, 8, set()),
    (INSERTING, 16, {KEY, VERSION_3}),
    (OF_VIEW, 8, {KEY}),
    (OF_TABLE, 8, {VERSION_3}),
    (UPDATE, 16, {VERSION_3}),
    (UPDATE, 8, {COPY}),
    (UPDATE_IN, 8, {KEY}),
    (DELETE, 16, set()),
    (DELETE, 8, {COPY, BY_PART}),
]


def _race_table(spark: SparkSession, name: str, keys: int, traits: set[str]) -> None:
    mode = COPY if COPY in traits else "merge-on-read"
    modes = "".join(f", 'write.{verb}.mode'='{mode}'" for verb in ("update", "merge", "delete"))
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL, n INT, part BIGINT{', PRIMARY KEY (id)' if KEY in traits else ''})"
        f"{' PARTITIONED BY (part)' if BY_PART in traits else ''}"
        f" TBLPROPERTIES ('format-version'='{3 if VERSION_3 in traits else 2}'{modes})"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, 0, id % 3 FROM range({keys})")


@pytest.mark.turns(1, pool="changes of own keys")
@pytest.mark.parametrize("number", range(len(RACES)))
def test_all_changes_of_keys_that_no_other_thread_changes_land(
    spark: SparkSession, table_name: str, number: int
) -> None:
    """Though all threads write to the same files, and each reads what the others change."""
    statement, threads, traits = RACES[number]
    _race_table(spark, table_name, threads * KEYS, traits)
    spark.range(threads * KEYS).createOrReplaceTempView("race_source")
    spark.sql(f"CREATE TABLE {table_name}_source AS SELECT id FROM race_source")

    race(spark, statement.replace("{t}", table_name), range(threads), KEYS, ROUNDS)
    rows = sorted(tuple(row) for row in spark.sql(f"SELECT id, n FROM {table_name}").collect())
    assert rows == ([] if statement is DELETE else [(id, ROUNDS) for id in range(threads * KEYS)])


@pytest.mark.parametrize("traits", [{COPY}, {KEY}, {VERSION_3}, {KEY, VERSION_3}], ids=" ".join)
def test_merges_that_insert_the_same_keys_leave_one_row_of_each(
    spark: SparkSession, table_name: str, traits: set[str]
) -> None:
    """A statement either sees the rows of those before it, or fails."""
    _race_table(spark, table_name, 0, traits)
    threads = 6
    statement = INSERTING.format(t=table_name, low=0, high=KEYS)

    def change(_: int) -> bool:
        try:
            spark.sql(statement)
        except PySparkException as failure:
            if failure.getCondition() != SAME_ROWS:
                raise
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        landed = sum(pool.map(change, range(threads)))
    assert landed >= 1
    rows = sorted(tuple(row) for row in spark.sql(f"SELECT id, n FROM {table_name}").collect())
    assert rows == [(id, landed - 1) for id in range(KEYS)]


@pytest.mark.turns(1, pool="changes of own keys")
def test_all_changes_of_keys_that_no_other_process_changes_land(
    spark: SparkSession, warehouse: Path, table_name: str
) -> None:
    """The processes do not wait for one another."""
    threads = 4
    _race_table(spark, table_name, 2 * threads * KEYS, {VERSION_3})
    script = Path(__file__).with_name("racing_process.py")
    command = [sys.executable, str(script), str(warehouse), INTO_RANGE.replace("{t}", table_name)]
    command += [str(number) for number in (threads, KEYS, ROUNDS)]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=path) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        other.stdin.write("go\n")
        other.stdin.flush()
        race(spark, INTO_RANGE.replace("{t}", table_name), range(threads, 2 * threads), KEYS, ROUNDS)
        assert other.wait(timeout=300) == 0
    rows = sorted(tuple(row) for row in spark.sql(f"SELECT id, n FROM {table_name}").collect())
    assert rows == [(id, ROUNDS) for id in range(2 * threads * KEYS)]


def test_files_that_equality_deletes_touch_and_others_are_one_place_that_is_read(
    spark: SparkSession, table_name: str, overtaken: Callable[[str, str], str | None]
) -> None:
    """Where a table is read twice, the rows that go matter too."""
    spark.sql(
        f"CREATE TABLE {table_name} (id DECIMAL(9, 0), v INT, PRIMARY KEY (id))"
        " TBLPROPERTIES ('write.upsert.mode'='equality')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ id, id FROM range(10)")
    spark.sql(f"UPSERT INTO {table_name} VALUES (3, 3)")
    plan = spark.sql(f"EXPLAIN SELECT * FROM {table_name}").first()
    assert plan is not None
    assert "Union" in plan[0]
    assert overtaken(f"UPDATE {table_name} SET v = 20 WHERE v >= 8", f"DELETE FROM {table_name} WHERE id = 2") is LANDS
    assert spark.sql(f"SELECT count(*), sum(v) FROM {table_name}").first() == (9, 66)
