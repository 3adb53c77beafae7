"""A read hint in every place where a statement can read a table gives the rows that the table had there.

Each statement runs twice: with hints behind one table that has a history, and with plain tables that hold the rows
which a model has for the places that the hints name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows

QUERIES = [
    "SELECT id, v FROM {0}",
    "SELECT * FROM {0}",
    "SELECT x.id FROM {0} AS x WHERE x.id > 0",
    "SELECT a.id, a.v, b.id, b.v FROM {0} a JOIN {1} b ON a.id = b.id",
    "SELECT id, a.v, b.v FROM {0} a LEFT JOIN {1} b USING (id)",
    "SELECT a.id, b.id FROM {0} a, {1} b",
    "SELECT a.id, b.id, c.id FROM {0} a, {1} b, {2} AS c",
    "SELECT a.id, b.v FROM ({0} a CROSS JOIN {1} b)",
    "SELECT id FROM {0} UNION ALL SELECT id FROM {1}",
    "SELECT id FROM {0} EXCEPT SELECT id FROM {1}",
    "WITH w AS (SELECT * FROM {0}) SELECT w.id, y.v FROM w JOIN {1} y ON w.id = y.id",
    "WITH w AS (SELECT id FROM {0}), u AS (SELECT id FROM w JOIN {1} USING (id)) SELECT * FROM u, {2} z",
    "SELECT id FROM {0} WHERE id IN (SELECT id FROM {1})",
    "SELECT x.id FROM {0} x WHERE NOT EXISTS (SELECT 1 FROM {1} y WHERE y.id = x.id)",
    "SELECT id, (SELECT max(v) FROM {1}) AS m FROM {0}",
    "SELECT x.id, y.n FROM {0} x, LATERAL (SELECT count(*) AS n FROM {1} z WHERE z.id <= x.id) y",
    "FROM {0} SELECT id",
    "SELECT /*+ BROADCAST(a) */ a.id, b.v FROM {0} a JOIN {1} b ON a.id = b.id",
    "SELECT max(v) OVER (PARTITION BY id) AS m FROM (SELECT * FROM {0}) q",
    "SELECT count(*) FROM {0} TABLESAMPLE (100 PERCENT) s",
    "SELECT count(*), max(id) FROM {0}",
    "FROM {0} |> WHERE id > 1 |> SELECT v",
    "SELECT a.id FROM {0} a LEFT ANTI JOIN {1} b ON a.id = b.id",
    "SELECT * FROM {0} UNION SELECT * FROM {0}",
    "SELECT '/*+ OPTIONS(1) */' AS no_hint, id FROM {0} /* no /+ OPTIONS(1) */ -- /*+ nor this",
]
DERIVED = [
    "CREATE OR REPLACE TEMPORARY VIEW made AS {query}",
    "CREATE OR REPLACE VIEW lake.db.made_view AS {query}",
    "CACHE TABLE made_cache AS {query}",
    "CREATE OR REPLACE TABLE lake.db.made_table AS {query}",
]
CHANGES = [
    "INSERT INTO {t} SELECT id + 100, v FROM {0}",
    "INSERT INTO {t} WITH w AS (SELECT * FROM {0}) SELECT w.id + 100, y.v FROM w JOIN {1} y ON w.id = y.id",
    "WITH w AS (SELECT id + 100 AS id, v FROM {0}) INSERT INTO {t} (v, id) SELECT v, id FROM w",
    "INSERT OVERWRITE {t} SELECT id, v FROM {0}",
    "INSERT INTO {t} REPLACE WHERE id < 3 SELECT id - 100, v FROM {0} WHERE id < 100",
    "INSERT INTO {t} BY NAME SELECT v, id + 100 AS id FROM {0} ORDER BY id",
    "UPSERT INTO {t} SELECT id, v FROM {0}",
    "INSERT INTO {t} SELECT id, v FROM {0} ON CONFLICT (id) DO UPDATE SET v = excluded.v || 'x'",
    "INSERT INTO {t} SELECT id, v FROM {0} ON CONFLICT DO NOTHING",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM {0})",
    "DELETE FROM {t} AS x WHERE NOT EXISTS (SELECT 1 FROM {0} y WHERE y.id = x.id)",
    "WITH w AS (SELECT id FROM {0}) DELETE FROM {t} WHERE id IN (SELECT id FROM w) OR id IN (SELECT id + 1 FROM {1})",
    "UPDATE {t} SET v = (SELECT max(v) FROM {0}) WHERE id IN (SELECT id FROM {1})",
    "UPDATE {t} x SET v = v || (SELECT count(*) FROM {0} y WHERE y.id <= x.id)",
    "MERGE INTO {t} x USING {0} s ON x.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = s.v || '+' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    "MERGE INTO {t} x USING {0} AS s ON x.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "MERGE INTO {t} x USING (SELECT id, v FROM {0}) s ON x.id = s.id"
    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} x USING (SELECT a.id, b.v FROM {0} a JOIN {1} b ON a.id = b.id) s"
    " ON x.id = s.id AND s.id IN (SELECT id FROM {2}) WHEN MATCHED AND EXISTS (SELECT 1 FROM {1}) THEN"
    " UPDATE SET v = (SELECT max(v) FROM {0})",
    "WITH w AS (SELECT id, v FROM {0}) MERGE INTO {t} x USING w s ON x.id = s.id"
    " WHEN NOT MATCHED AND s.id IN (SELECT id FROM {1}) THEN INSERT *",
]


@dataclass(frozen=True)
class History:
    """`table` and, for each read hint, the plain table with the rows that the model has there; "" is the newest."""

    table: str
    places: Mapping[str, str]


@pytest.fixture(scope="module")
def history(spark: SparkSession) -> History:
    table = "lake.db.with_history"
    rows: list[tuple[int, str]] = [(1, "a"), (2, "b")]
    models: dict[str, list[tuple[int, str]]] = {}

    def values(some: list[tuple[int, str]]) -> str:
        return ", ".join(f"({number}, '{text}')" for number, text in some)

    def snapshot() -> tuple[int, int]:
        text = (
            f"SELECT snapshot_id, unix_millis(committed_at) FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1"
        )
        return tuple(spark.sql(text).collect()[0])  # type: ignore[return-value]

    spark.sql(f"CREATE TABLE {table} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.wap.enabled'='true')")
    spark.sql(f"INSERT INTO {table} VALUES {values(rows)}")
    first, moment = snapshot()
    models[f"'snapshot-id'='{first}'"] = models[f"'as-of-timestamp'='{moment}'"] = list(rows)
    models["'tag'='rel-1.0'"] = models["tag = 'rel-1.0', 'split-size' = 1000"] = list(rows)
    spark.sql(f"ALTER TABLE {table} CREATE TAG `rel-1.0`")
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH `br-2`")
    spark.sql(f"INSERT INTO {table}.`branch_br-2` VALUES (3, 'of the branch')")
    models['"Branch"="br-2"'] = [*rows, (3, "of the branch")]
    spark.sql(f"UPSERT INTO {table} VALUES (2, 'B'), (4, 'd')")
    models["'branch'='main'"] = models["'lookback'='3'"] = [(1, "a"), (2, "B"), (4, "d")]
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    models["'branch'='main'"] = models["'lookback'='3'"] = models[""] = [(2, "B"), (4, "d")]
    places: dict[str, str] = {}
    for number, (hint, held) in enumerate(models.items()):
        plain = f"lake.db.at_place_{number}"
        spark.sql(f"CREATE TABLE {plain} (id INT, v STRING)")
        spark.sql(f"INSERT INTO {plain} VALUES {values(held)}")
        places[hint] = plain
    return History(table, places)


@dataclass(frozen=True)
class Reads:
    """What stands in the places of a statement: hinted reads of the one table, and plain tables with the same rows."""

    hinted: tuple[str, ...]
    plain: tuple[str, ...]


def reads(history: History, seed: str) -> Reads:
    rng = random.Random(seed)
    hints = [rng.choice(list(history.places)) for _ in range(3)]
    space, inner = rng.choice(["", " ", "\n", " /* c */ ", " -- c\n"]), rng.choice(["", " "])
    spelled = [f"{history.table}{space}/*+{inner}OPTIONS({hint}){inner}*/" if hint else history.table for hint in hints]
    return Reads(tuple(spelled), tuple(history.places[hint] for hint in hints))


def rows_of(spark: SparkSession, text: str) -> object:
    return canonical_rows(spark.sql(text))


@pytest.mark.turns(5)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_queries(spark: SparkSession, history: History, query: str, seed: int) -> None:
    places = reads(history, f"{query} {seed}")
    hinted = query.format(*places.hinted)
    assert rows_of(spark, hinted) == rows_of(spark, query.format(*places.plain)), hinted


@pytest.mark.parametrize("made", DERIVED)
def test_what_is_made_of_a_query(spark: SparkSession, history: History, made: str) -> None:
    rng = random.Random(made)
    name = re.search(r"\bmade\w*", made)[0]  # type: ignore[index]
    name = name if "lake" not in made else f"lake.db.{name}"
    for number in range(2):
        query = rng.choice([text for text in QUERIES[:17] if text.startswith("SELECT id") and "b.v" not in text])
        places = reads(history, f"{made} {number}")
        statement = made.format(query=query.format(*places.hinted))
        spark.sql(statement)
        assert rows_of(spark, f"SELECT * FROM {name}") == rows_of(spark, query.format(*places.plain)), statement
        if "CACHE" in made:
            spark.sql(f"UNCACHE TABLE {name}")
            spark.catalog.dropTempView(name)


@pytest.mark.parametrize("statement", CHANGES, ids=range(len(CHANGES)))
def test_changes(spark: SparkSession, history: History, table_name: str, statement: str) -> None:
    places = reads(history, statement)
    results = []
    for side, relations in (("hinted", places.hinted), ("plain", places.plain)):
        target = f"{table_name}_{side}"
        spark.sql(f"CREATE TABLE {target} (id INT, v STRING, PRIMARY KEY (id))")
        spark.sql(f"INSERT INTO {target} VALUES (1, 'one'), (2, 'two'), (5, 'five')")
        counts = rows_of(spark, statement.format(*relations, t=target))
        results.append((counts, rows_of(spark, f"SELECT id, v FROM {target}")))
    assert results[0] == results[1], statement.format(*places.hinted, t="t")


def test_data_frames_and_sparks_own_clause(spark: SparkSession, history: History) -> None:
    """Spark gives all reads of a table in one query the options of the first; here each has its own."""
    table, tag = history.table, "tag = 'rel-1.0'"
    plain, newest = history.places["'tag'='rel-1.0'"], history.places[""]
    for first, second in ((f"{table} WITH ({tag})", table), (table, f"{table} WITH ({tag})")):
        found = rows_of(spark, f"SELECT a.id, b.id FROM {first} a, {second} b")
        sides = (plain, newest) if "WITH" in first else (newest, plain)
        assert found == rows_of(spark, f"SELECT a.id, b.id FROM {sides[0]} a, {sides[1]} b")
    joined = spark.read.option("tag", "rel-1.0").table(table).crossJoin(spark.table(table))
    assert joined.count() == 4
    where = f"id IN (SELECT id FROM {table} /*+ OPTIONS('tag'='rel-1.0') */)"
    assert sorted(row.id for row in spark.table(table).where(where).collect()) == [2]
    assert spark.sql(f"SELECT id FROM {table} /*+ OPTIONS({tag}) */ WHERE id < :n", args={"n": 2}).collect() == [(1,)]


def test_a_source_without_alias_goes_by_its_name(spark: SparkSession, history: History, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    source = f"{history.table} /*+ OPTIONS('tag'='rel-1.0') */"
    spark.sql(
        f"MERGE INTO {table_name} t USING {source} ON t.id = with_history.id"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (with_history.id, with_history.v)"
    )
    assert rows_of(spark, f"SELECT * FROM {table_name}") == rows_of(spark, f"SELECT * FROM {source}")


def test_a_hint_comes_before_the_branch_of_the_session(spark: SparkSession, history: History) -> None:
    spark.conf.set("spark.wap.branch", "br-2")
    try:
        assert spark.sql(f"SELECT count(*) FROM {history.table}").collect() == [(3,)]
        assert spark.sql(f"SELECT count(*) FROM {history.table} /*+ OPTIONS('lookback'='1') */").collect() == [(3,)]
        assert spark.sql(f"SELECT count(*) FROM {history.table} /*+ OPTIONS('branch'='main') */").collect() == [(2,)]
        assert spark.read.option("branch", "main").table(history.table).count() == 2
    finally:
        spark.conf.unset("spark.wap.branch")


@pytest.mark.parametrize(
    ("relation", "condition"),
    [
        ("{t}.branch_main #", "TIME_TRAVEL_TWICE"),
        ("{t} VERSION AS OF 1 #", "TIME_TRAVEL_TWICE"),
        ("{t} x #", "HINT_MISPLACED"),
        ("(SELECT * FROM {t}) #", "HINT_MISPLACED"),
        ("range(3) #", "HINT_MISPLACED"),
        ("w #", "TIME_TRAVEL"),
        ("some_temporary_view #", "TIME_TRAVEL"),
        ("lake.db.some_view #", "EXPECT_TABLE_NOT_VIEW"),
        ("{t}.changes #", "TABLE_OR_VIEW_NOT_FOUND"),
        ("spark_catalog.default.some_files #", "TIME_TRAVEL"),
        ("{t} /*+ OPTIONS('branch'='main', 'tag'='rel-1.0') */", "TIME_TRAVEL_TWICE"),
        ("{t} /*+ OPTIONS('versionAsOf'='1', 'tag'='rel-1.0') */", "TIME_TRAVEL_TWICE"),
        ("{t} /*+ OPTIONS('streaming'='true') */", "OPTION_NOT_SUPPORTED"),
        ("{t} /*+ OPTIONS('path'='/x') */", "OPTION_NOT_SUPPORTED"),
        ("{t} /*+ OPTIONS('timestampAsOf'='2024-01-01') */", "OPTION_NOT_SUPPORTED"),
        ("{t} /*+ OPTIONS('snapshot_id'='1') */", "UNKNOWN_OPTION"),
        ("{t} /*+ OPTIONS('snapshot-id'='1') */", "SNAPSHOT_NOT_FOUND"),
        ("{t} /*+ OPTIONS('as-of-timestamp'='noon') */", "INVALID_READ_OPTION"),
    ],
)
def test_a_hint_that_no_table_takes_is_an_error(
    spark: SparkSession, history: History, table_name: str, relation: str, condition: str
) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW some_temporary_view AS SELECT * FROM {history.table}")
    spark.sql(f"CREATE OR REPLACE VIEW lake.db.some_view AS SELECT * FROM {history.table}")
    spark.sql("CREATE TABLE IF NOT EXISTS spark_catalog.default.some_files (id INT, v STRING) USING parquet")
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    read = relation.format(t=history.table).replace("#", "/*+ OPTIONS('tag'='rel-1.0') */")
    ctes = f"WITH w AS (SELECT * FROM {history.table}) "
    for statement in (
        f"SELECT * FROM {read}",
        f"INSERT INTO {table_name} SELECT * FROM {read}",
        f"DELETE FROM {table_name} WHERE id IN (SELECT id FROM {read})",
        f"MERGE INTO {table_name} t USING (SELECT * FROM {read}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    ):
        with pytest.raises(PySparkException) as refused:
            spark.sql(ctes + statement).collect()
        assert condition in (refused.value.getCondition() or str(refused.value)), statement
    assert spark.table(table_name).count() == 0
