"""Change feeds: folded over the rows of an older snapshot they give those of a newer one."""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from golden_tables.relocation import unpack
from session.changelogs.change_folding import ADDED, changes_of, require_folds, snapshots_of

GOLDEN = Path(__file__).parents[2] / "golden_tables"


@pytest.mark.parametrize(
    ("version", "properties"),
    [
        pytest.param(
            2, "'write.merge.mode'='copy-on-write', 'write.update.mode'='copy-on-write'", marks=pytest.mark.long
        ),
        (3, "'write.upsert.mode'='equality'"),
    ],
)
def test_changes_of_every_kind(spark: SparkSession, table_name: str, version: int, properties: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        f" ('format-version'='{version}', {properties})"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    spark.sql(f"UPDATE {table_name} SET v = 'B' WHERE id = 2")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (5, 'e')")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN n INT")
    spark.sql(f"UPSERT INTO {table_name} VALUES (5, 'e', 5), (4, 'd', NULL)")
    spark.sql(f"CALL lake.system.convert_equality_deletes('{table_name.removeprefix('lake.')}')")
    spark.sql(f"INSERT OVERWRITE {table_name} VALUES (2, 'B', NULL), (7, 'g', 7)")
    require_folds(spark, table_name)

    snapshots = snapshots_of(spark, table_name)
    of = f"table_changes('{table_name}', {snapshots[0]}, {snapshots[3]})"
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM {of} ORDER BY _change_ordinal, id, v DESC").collect()] == [
        (2, "b", None, "UPDATE_BEFORE", 0, snapshots[1]),
        (2, "B", None, "UPDATE_AFTER", 0, snapshots[1]),
        (3, "c", None, "DELETE", 1, snapshots[2]),
        (1, "a", None, "UPDATE_BEFORE", 2, snapshots[3]),
        (1, "A", None, "UPDATE_AFTER", 2, snapshots[3]),
        (5, "e", None, "INSERT", 2, snapshots[3]),
    ]
    whole = spark.sql(f"SELECT * FROM table_changes('{table_name}')")
    assert changes_of(spark.table(f"{table_name}.changes")) == changes_of(whole)
    assert spark.sql(f"SELECT count(*) AS n FROM {table_name}.changes WHERE id = 7").first()["n"] == 1


def test_places_and_what_is_refused(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    assert spark.sql(f"SELECT * FROM table_changes('{table_name}')").columns == ["id", *ADDED]
    assert spark.table(f"{table_name}.changes").count() == 0
    for id in (1, 2, 3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id})")
    first, second, third = snapshots_of(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG one AS OF VERSION {first}")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side AS OF VERSION {first}")
    spark.sql(f"INSERT INTO {table_name}.branch_side VALUES (9)")
    times = {row.snapshot_id: row.committed_at for row in spark.table(f"{table_name}.snapshots").collect()}

    def ids(*arguments: str) -> list[int]:
        given = ", ".join((f"'{table_name}'", *arguments))
        return sorted(row.id for row in spark.sql(f"SELECT id FROM table_changes({given})").collect())

    assert ids("'one'") == [2, 3]
    assert ids(str(first), str(second)) == [2]
    assert ids(f"TIMESTAMP'{times[second]}'") == [3]
    assert ids("NULL", "'one'") == [1]
    assert ids(str(third), str(third)) == []
    assert ids(str(first), "'side'") == [9]
    assert ids("'side'", "'main'", "'net'") == [2, 3, 9]
    given = f"'{table_name}.branch_side', 'one'"
    assert [row.id for row in spark.sql(f"SELECT id FROM table_changes({given})").collect()] == [9]
    for arguments, condition in (
        ("'side', 'main'", "CHANGES_NOT_BEHIND"),
        ("1, 2, 'some'", "CHANGES_MODE_INVALID"),
        ("7", "SNAPSHOT_NOT_FOUND"),
    ):
        with pytest.raises(AnalysisException, match=condition):
            spark.sql(f"SELECT * FROM table_changes('{table_name}', {arguments})")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(f"{table_name}_none.changes")


def _golden_tables(archive: str, folder: str) -> list[str]:
    with zipfile.ZipFile(GOLDEN / archive) as file:
        return sorted(json.loads(file.read(f"{folder}/index.json"))["tables"])


def test_changes_that_flink_wrote(spark: SparkSession, warehouse: Path) -> None:
    folder = warehouse / "flink_changes"
    folder.mkdir()
    unpack(GOLDEN / "golden_flink_dev.zip", folder)
    for name in _golden_tables("golden_flink_dev.zip", "flink_dev"):
        require_folds(spark, f"lake.flink_changes.{name}")


def _clause(spark: SparkSession, table: str, **given: object) -> list[tuple[str, int, str]]:
    """Kind, id and value of each change, in the order of commits, as Spark from 4.2 on asks for those of its clause."""
    arguments = {
        "table": table.split("."),
        "from": {},
        "to": {},
        "from_inclusive": True,
        "to_inclusive": True,
        "mode": "dropCarryovers",
        "updates": True,
        "options": {},
        **given,
    }
    jvm = spark._jvm
    assert jvm is not None
    asked = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(arguments)
    bridge = getattr(getattr(jvm.io.sqlext, "Bridge$"), "MODULE$")
    rows = spark.sql(bridge.ask("changes clause", asked).get("sql").asText())
    assert rows.columns == ["id", "v", "_change_type", "_commit_version", "_commit_timestamp"]
    moments = {row.snapshot_id: row.committed_at for row in spark.table(f"{table}.snapshots").collect()}
    found = rows.collect()
    assert all(row._commit_timestamp == moments[row._commit_version] for row in found)
    found.sort(key=lambda row: (row._commit_timestamp, row.id, row._change_type))
    return [(row._change_type, row.id, row.v) for row in found]


def test_the_clause_of_newer_sparks(spark: SparkSession, table_name: str) -> None:
    """Its bounds are versions or moments, each with what is at it or without."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    assert _clause(spark, table_name) == []
    for statement in (
        f"INSERT INTO {table_name} VALUES (1, 'a')",
        f"INSERT INTO {table_name} VALUES (2, 'b')",
        f"UPDATE {table_name} SET v = 'B' WHERE id = 2",
        f"DELETE FROM {table_name} WHERE id = 1",
    ):
        time.sleep(0.01)
        spark.sql(statement)
    one, two, three, _ = snapshots_of(spark, table_name)
    came, brought = [("insert", 1, "a")], [("insert", 2, "b")]
    updated, gone = [("update_postimage", 2, "B"), ("update_preimage", 2, "b")], [("delete", 1, "a")]

    def version(snapshot: int) -> dict[str, str]:
        return {"version": str(snapshot)}

    assert _clause(spark, table_name) == came + brought + updated + gone
    assert _clause(spark, table_name, **{"from": version(two)}) == brought + updated + gone
    assert _clause(spark, table_name, **{"from": version(two)}, from_inclusive=False) == updated + gone
    assert _clause(spark, table_name, **{"from": version(one)}, to=version(two)) == came + brought
    assert _clause(spark, table_name, **{"from": version(one)}, to=version(two), to_inclusive=False) == came
    assert _clause(spark, table_name, **{"from": version(two)}, to=version(three), updates=False) == [
        *brought,
        ("delete", 2, "b"),
        ("insert", 2, "B"),
    ]
    net = _clause(spark, table_name, mode="netChanges")
    assert net == [("insert", 2, "B")]

    moments = spark.sql(f"SELECT unix_micros(committed_at) AS at FROM {table_name}.snapshots ORDER BY 1").collect()
    at = [{"timestamp": row.at} for row in moments]
    assert _clause(spark, table_name, **{"from": at[1]}, to=at[2]) == brought + updated
    assert _clause(spark, table_name, **{"from": at[1]}, to=at[2], from_inclusive=False) == updated
    assert _clause(spark, table_name, **{"from": at[1]}, to=at[2], to_inclusive=False) == brought
    assert _clause(spark, table_name, **{"from": {"timestamp": at[0]["timestamp"] - 1}}, to=at[0]) == came
    assert _clause(spark, table_name, to={"timestamp": at[0]["timestamp"] - 1}) == []
    assert _clause(spark, table_name, **{"from": {"timestamp": at[3]["timestamp"] + 1}}) == []


def test_a_view_of_changes_reads_the_table_of_its_own_namespace(spark: SparkSession) -> None:
    for namespace, rows in (("views_a", 1), ("views_b", 2)):
        spark.sql(f"CREATE NAMESPACE lake.{namespace}")
        spark.sql(f"USE lake.{namespace}")
        spark.sql("CREATE TABLE changing (id BIGINT)")
        spark.sql(f"INSERT INTO changing SELECT id FROM range({rows})")
        spark.sql(f"CREATE TEMPORARY VIEW {namespace}_changes AS SELECT * FROM table_changes('changing')")
        spark.sql(f"CREATE VIEW kept_changes AS SELECT * FROM {namespace}.changing.changes")
    try:
        for current in ("lake.views_a", "lake.views_b", "spark_catalog.default"):
            spark.sql(f"USE {current}")
            names = ("views_a_changes", "views_b_changes", "lake.views_a.kept_changes", "lake.views_b.kept_changes")
            assert [spark.table(name).count() for name in names] == [1, 2, 1, 2]
    finally:
        spark.sql("USE spark_catalog.default")


def test_the_changes_clause_takes_no_other_option_and_no_bound(spark: SparkSession, table_name: str) -> None:
    if spark.version < "4.2":
        pytest.skip("Spark has no CHANGES before 4.2")
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    assert spark.read.changes(table_name).count() == 2
    with pytest.raises(AnalysisException, match="UNKNOWN_OPTION"):
        spark.read.option("branch", "b").changes(table_name).collect()
    with pytest.raises(AnalysisException, match="UNKNOWN_OPTION"):
        spark.sql(f"SELECT * FROM {table_name} CHANGES FROM VERSION 1 WITH ('branch' = 'b')")


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_rows_with_maps_that_were_only_moved(spark: SparkSession, table_name: str, producer: str) -> None:
    """They are no changes, stored or not: copy-on-write and compactions move them."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, m MAP<STRING, ARRAY<INT>>, PRIMARY KEY (id)) TBLPROPERTIES"
        f" ('changelog-producer'='{producer}', 'write.update.mode'='copy-on-write',"
        " 'write.delete.mode'='copy-on-write', 'write.merge.mode'='copy-on-write')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT CAST(id AS INT), map('a', array(1), 'b', NULL) FROM range(5)")
    spark.sql(f"UPDATE {table_name} SET m = map('b', NULL, 'a', array(IF(id = 0, 2, 1))) WHERE id < 2")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 4")
    spark.sql(f"UPSERT INTO {table_name} VALUES (0, map('a', array(1), 'b', NULL)), (7, NULL)")
    spark.sql(f"CALL lake.system.compact('{table_name.removeprefix('lake.')}', full => true)")
    require_folds(spark, table_name)
    snapshots = snapshots_of(spark, table_name)
    of_each = spark.sql(
        f"SELECT id, _change_type FROM table_changes('{table_name}', {snapshots[0]}, NULL) ORDER BY ALL"
    )
    assert [tuple(row) for row in of_each.collect()] == [
        (0, "UPDATE_AFTER"),
        (0, "UPDATE_AFTER"),
        (0, "UPDATE_BEFORE"),
        (0, "UPDATE_BEFORE"),
        (4, "DELETE"),
        (7, "INSERT"),
    ]
    net = spark.sql(f"SELECT id, _change_type FROM table_changes('{table_name}', {snapshots[0]}, NULL, 'net')")
    assert sorted(map(tuple, net.collect())) == [(4, "DELETE"), (7, "INSERT")]
    options = f"map('start-snapshot-id', '{snapshots[0]}')"
    name = table_name.removeprefix("lake.")
    spark.sql(
        f"CALL lake.system.create_changelog_view(table => '{name}', options => {options}, net_changes => true,"
        " changelog_view => 'maps_changes')"
    )
    assert sorted((row.id, row._change_type) for row in spark.table("maps_changes").collect()) == [
        (4, "DELETE"),
        (7, "INSERT"),
    ]
