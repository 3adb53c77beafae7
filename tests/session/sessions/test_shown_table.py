"""`sqlext.table`: a table as a notebook shows it, its facts as DataFrames and as pictures."""

from __future__ import annotations

import json
import re
import sys

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from sqlext.description.table_facts import Description
from sqlext.errors import AnalysisError, NotFoundError
from unit.description.renders import keep_page, path_of


@pytest.fixture
def shown(spark: SparkSession, table_name: str) -> str:
    """A table with a key, whose rows were added, changed and deleted."""
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT NOT NULL COMMENT '<b>key</b>', v STRING DEFAULT 'none', day DATE,"
        " PRIMARY KEY (id)) PARTITIONED BY (day) TBLPROPERTIES ('format-version'='3', 'write-only'='false')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'a', DATE '2026-01-01' FROM range(100)")
    spark.sql(f"UPDATE {table_name} SET v = 'b' WHERE id < 10")
    spark.sql(f"DELETE FROM {table_name} WHERE id >= 90")
    return table_name


def test_a_notebook_shows_all_of_it(spark: SparkSession, shown: str) -> None:
    table = sqlext.table(spark, shown)
    page = table._repr_html_()
    keep_page("session", page)
    for said in (shown, "&lt;b&gt;key&lt;/b&gt;", "NOT NULL", "`day`", "it looks after"):
        assert said in page
    assert repr(table).splitlines()[0].startswith(f"{shown}: ")
    assert "id BIGINT NOT NULL (key)" in repr(table)


def test_one_of_a_kind_is_told_in_the_singular(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    table = sqlext.table(spark, table_name)
    assert re.match(rf"{table_name}: 1 row, 1 data file, .*, 1 snapshot\n", repr(table))
    assert [one.words for one in table.describe().care if re.search(r"\b1 files", one.words or "")] == []
    assert f"{table_name}: 1 data file, " in table.plot.files().axes[0].get_title(loc="left")


def test_facts_are_dataframes(spark: SparkSession, shown: str) -> None:
    table = sqlext.table(spark, shown)
    history = table.history().orderBy("committed_at").collect()
    assert (history[0].operation, history[0].rows_in) == ("append", 100)
    assert history[-1].refs == ["main"]
    assert {row.content for row in table.files().collect()} >= {0}
    measures = {row.measure: row.value for row in table.health().collect()}
    assert measures["snapshots"] == len(history)
    first, last = history[0].snapshot_id, history[-1].snapshot_id
    kinds = [row._change_type for row in table.changes(first).collect()]
    assert (kinds.count("UPDATE_AFTER"), kinds.count("DELETE")) == (10, 10)
    assert table.changes(first, "main").count() == table.diff(first, last).count() == 30
    assert table.changes().count() == 130


def test_facts_are_pictures(spark: SparkSession, shown: str) -> None:
    plot = sqlext.table(spark, shown).plot
    first = sqlext.table(spark, shown).history().orderBy("committed_at").first()
    assert first is not None
    for name, figure in {
        "session_history": plot.history(),
        "session_files": plot.files(),
        "session_health": plot.health(),
        "session_changes": plot.changes(),
        "session_diff": plot.diff(first.snapshot_id),
    }.items():
        figure.savefig(path_of(name))
        assert figure.axes


def test_it_is_read_anew_whenever_it_is_shown(spark: SparkSession, shown: str) -> None:
    table = sqlext.table(spark, shown)
    before = table.describe().commit_count
    spark.sql(f"INSERT INTO {shown} VALUES (1000, 'x', NULL)")
    assert table.describe().commit_count > before
    assert table.describe(commits=0).commit_count == len(table.describe(commits=0).commits)


def test_a_name_is_completed_as_in_sql(spark: SparkSession, shown: str) -> None:
    catalog, namespace, name = shown.split(".")
    current = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    try:
        spark.sql(f"USE {catalog}.{namespace}")
        for text in (name, f"{namespace}.{name}", f"`{catalog}`.{namespace}.`{name}`"):
            assert sqlext.table(spark, text).parts == (catalog, namespace, name)
    finally:
        spark.catalog.setCurrentCatalog(current[0])
        spark.catalog.setCurrentDatabase(current[1])
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sqlext.table(spark, f"{catalog}.{namespace}.nope")
    with pytest.raises(AnalysisError, match="INVALID_NAME"):
        sqlext.table(spark, "a..b")


def test_names_with_dots_quotes_and_branches(spark: SparkSession, shown: str) -> None:
    namespace = shown.rpartition(".")[0]
    odd = f"{namespace}.`a.b'c`"
    spark.sql(f"CREATE TABLE {odd} (id BIGINT)")
    spark.sql(f"INSERT INTO {odd} VALUES (1)")
    spark.sql(f"ALTER TABLE {odd} CREATE BRANCH side")
    spark.sql(f"INSERT INTO {odd}.branch_side VALUES (2)")
    try:
        table = sqlext.table(spark, odd)
        assert repr(table).startswith(f"{odd}: 1 row, ")
        for plot in (table.plot.files, table.plot.changes):
            assert plot().axes[0].get_title(loc="left").startswith(f"{odd}: ")
        assert table.changes().count() == 1
        assert table.describe().contents.stored_rows == 1
        assert sqlext.table(spark, f"{odd}.branch_side").describe().contents.stored_rows == 2
    finally:
        spark.sql(f"DROP TABLE {odd}")


def test_a_name_in_no_catalog_of_sqlext_tells_the_catalog(spark: SparkSession, shown: str) -> None:
    current = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    asked = (
        sqlext.table,
        lambda spark, name: sqlext.lookup(spark, name, [1]),
        sqlext.procedures.health,
        lambda spark, name: sqlext.procedures.optimize_all(spark, catalog=name.partition(".")[0]),
    )
    try:
        spark.catalog.setCurrentCatalog("spark_catalog")
        for ask in asked:
            with pytest.raises(NotFoundError) as refused:
                ask(spark, "nowhere.db.t")
            assert (refused.value.condition, refused.value.parameters["name"]) == ("CATALOG_NOT_FOUND", "nowhere")
        with pytest.raises(NotFoundError, match="No sqlext catalog spark_catalog is open"):
            sqlext.table(spark, "db.t")
    finally:
        spark.catalog.setCurrentCatalog(current[0])
        spark.catalog.setCurrentDatabase(current[1])


def test_a_transaction_shows_its_own_version(spark: SparkSession, shown: str) -> None:
    before = sqlext.table(spark, shown).describe().contents.stored_rows
    with sqlext.transaction(spark):
        spark.sql(f"INSERT INTO {shown} VALUES (2000, 'y', NULL)")
        assert sqlext.table(spark, shown).describe().contents.stored_rows == before + 1


def test_the_document_is_the_terminals(spark: SparkSession, shown: str) -> None:
    (row,) = spark.sql(f"CALL lake.system.describe_table('{shown}', 0)").collect()
    assert Description.from_json(json.loads(row.description)).name == shown
    with pytest.raises(PySparkException, match="at least 0"):
        spark.sql(f"CALL lake.system.describe_table('{shown}', commits => -1)")


def test_pictures_are_refused_without_matplotlib(
    spark: SparkSession, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.delitem(sys.modules, "sqlext.description.pictures", raising=False)
    with pytest.raises(sqlext.SqlextError, match="PICTURES_NEED_PACKAGE"):
        sqlext.table(spark, shown).plot.history()
