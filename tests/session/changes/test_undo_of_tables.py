"""PREVIEW and CALL system.undo in tables of every kind, by every kind of commit, with others on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from session.changes.undone_changes import applied, compact, head, last_change, table_rows, undo

_KEYED = "(id INT, v STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)"
_PLAIN = "(id INT, v STRING, n INT)"
_BY_KIND = "(id INT, v STRING, n INT, PRIMARY KEY (id, v) NOT ENFORCED) PARTITIONED BY (v)"
_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


@dataclass(frozen=True)
class Kind:
    """The columns of a table, and its properties."""

    columns: str
    properties: Mapping[str, str]

    def create(self, spark: SparkSession, table: str) -> None:
        said = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties.items())
        spark.sql(f"CREATE TABLE {table} {self.columns} TBLPROPERTIES ({said})")

    @property
    def is_keyed(self) -> bool:
        return "PRIMARY KEY" in self.columns


def _kind(columns: str, version: int, mode: str = "merge-on-read", **properties: str) -> Kind:
    named = {name.replace("_", "-"): value for name, value in properties.items()}
    return Kind(columns, {"format-version": str(version), **dict.fromkeys(_MODES, mode), **named})


_EQUALITY = {"write.upsert.mode": "equality"}
KINDS = {
    "version 1": _kind(_PLAIN, 1, "copy-on-write"),
    "version 1 with a key, in partitions": _kind(_BY_KIND, 1, "copy-on-write"),
    "equality deletes 2": _kind(_KEYED, 2, **_EQUALITY),
    "equality deletes 3": _kind(_KEYED, 3, **_EQUALITY),
    "partitions 2": _kind(f"{_PLAIN} PARTITIONED BY (v)", 2),
    "partitions 3": _kind(f"{_PLAIN} PARTITIONED BY (bucket(2, id))", 3, "copy-on-write"),
    "partitions 3 with a key": _kind(_BY_KIND, 3),
    "buckets 2": _kind(_KEYED, 2, bucket="2"),
    "buckets 3": _kind(_KEYED, 3, bucket="2", **_EQUALITY),
    "buckets of equality deletes 2": _kind(_KEYED, 2, bucket="2", **_EQUALITY),
    "partial-update": _kind(_KEYED, 2, merge_engine="partial-update"),
    "aggregation": _kind(
        _KEYED, 3, merge_engine="aggregation", **{"fields.n.aggregate-function": "sum", "bucket": "2"}
    ),
    "first-row": _kind(_KEYED, 3, merge_engine="first-row"),
    "sequence field": _kind(_KEYED, 2, **{"sequence.field": "n"}),
    "stored changelog": _kind(_KEYED, 2, changelog_producer="lookup"),
    "auto": _kind(_PLAIN, 3, "auto"),
}
KEYLESS = [
    "INSERT INTO {t} VALUES (20, 'a', 1), (21, NULL, 2), (20, 'a', 1)",
    "INSERT OVERWRITE {t} VALUES (1, 'a', 10), (30, 'z', 1)",
]
STATEMENTS = [
    "UPDATE {t} SET n = coalesce(n, 0) + 1 WHERE id IN (1, 4)",
    "DELETE FROM {t} WHERE v = 'b' OR id = 1",
    "DELETE FROM {t} WHERE v = 'a'",
    "MERGE INTO {t} t USING (VALUES (2, 'b'), (3, 'a'), (40, 'm')) s (id, v) ON t.id = s.id WHEN MATCHED AND s.id = 2"
    " THEN DELETE WHEN MATCHED THEN UPDATE SET n = 77 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    "DELETE FROM {t}",
]
KEYED = ["UPSERT INTO {t} VALUES (1, 'b', 11), (4, 'a', NULL), (5, 'b', 12), (50, 'c', 1)"]
LATER = ["INSERT INTO {t} VALUES (60, 'a', 6), (61, 'b', NULL)", "DELETE FROM {t} WHERE id = 9"]


def statements(name: str) -> Sequence[str]:
    if not KINDS[name].is_keyed:
        return [*STATEMENTS, *KEYLESS]
    merges = "merge-engine" in KINDS[name].properties
    return [*STATEMENTS, *KEYED, *([] if merges else [KEYLESS[1]])]


@pytest.mark.turns(1, pool="undo of tables")
@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_table(spark: SparkSession, iceberg: IcebergJudge, table_name: str, name: str) -> None:
    """Each statement does what its preview shows, and is undone where it is the newest commit and where others stand on
    it; its undo is undone as well."""
    kind = KINDS[name]
    kind.create(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'a', NULL), (4, 'a', 4), (9, 'b', 9)")
    if kind.is_keyed:
        spark.sql(f"UPSERT INTO {table_name} VALUES (4, 'a', 5), (5, 'b', 5)")
    beginning, first = table_rows(spark, table_name), head(spark, table_name)
    for statement in statements(name):
        text = statement.format(t=table_name)
        preview = spark.sql(f"PREVIEW {text}").collect()
        assert table_rows(spark, table_name) == beginning
        spark.sql(text)
        snapshot, after = last_change(spark, table_name), table_rows(spark, table_name)
        assert after == applied(beginning, preview), text
        assert after != beginning, text
        undo(spark, table_name, snapshot)
        assert table_rows(spark, table_name) == beginning, text
        undo(spark, table_name, last_change(spark, table_name))
        assert table_rows(spark, table_name) == after, text
        undo(spark, table_name, last_change(spark, table_name))
        undo(spark, table_name, last_change(spark, table_name))
        for later in LATER:
            spark.sql(later.format(t=table_name))
        compact(spark, table_name)
        expected = table_rows(spark, table_name) - (after - beginning) + (beginning - after)
        undo(spark, table_name, snapshot)
        assert table_rows(spark, table_name) == expected, text
        assert iceberg.sql(f"SELECT count(*) FROM {table_name}") == [[expected.total()]]
        spark.sql(f"CALL lake.system.rollback_to_snapshot('{table_name.removeprefix('lake.')}', {first})")


@pytest.mark.parametrize("engine", ["aggregation", "partial-update", "first-row"])
def test_what_was_merged_on_is_in_the_way(spark: SparkSession, table_name: str, engine: str) -> None:
    """The undo never takes a value back that a later one was merged with: that commit goes first."""
    of_sum = {"fields.n.aggregate-function": "sum"} if engine == "aggregation" else {}
    _kind(_KEYED, 2, merge_engine=engine, **of_sum).create(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    states, snapshots = [table_rows(spark, table_name)], []
    for upsert in ("(1, NULL, 10), (2, NULL, NULL), (3, 'c', 3)", "(1, 'x', 100), (3, 'y', NULL), (4, 'z', 4)"):
        spark.sql(f"UPSERT INTO {table_name} VALUES {upsert}")
        states.append(table_rows(spark, table_name))
        snapshots.append(head(spark, table_name))
    if engine == "first-row":
        undo(spark, table_name, snapshots[0])
        assert table_rows(spark, table_name) == states[2] - (states[1] - states[0])
        return
    with pytest.raises(AnalysisException, match=r'UNDO_ROWS_CHANGED.*"id": 1.*"id": 3'):
        undo(spark, table_name, snapshots[0])
    for snapshot, state in zip(reversed(snapshots), states[1::-1], strict=True):
        undo(spark, table_name, snapshot)
        assert table_rows(spark, table_name) == state


@pytest.mark.parametrize(("version", "columns"), [(1, _PLAIN), (2, _PLAIN), (2, _KEYED), (3, _PLAIN), (3, _KEYED)])
def test_columns_and_partitions_that_changed_since(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, version: int, columns: str
) -> None:
    _kind(f"{columns} PARTITIONED BY (truncate(1, v))", version, "copy-on-write").create(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'aa', 1), (2, 'ab', 2), (3, 'b', 3), (4, 'b', 4)")
    snapshots = []
    for text in (
        "UPDATE {t} SET n = n * 2 WHERE id < 3",
        "DELETE FROM {t} WHERE v = 'b'",
        "INSERT INTO {t} VALUES (7, 'q', 7)",
    ):
        spark.sql(text.format(t=table_name))
        snapshots.append(head(spark, table_name))
    for change in (
        "ADD PARTITION FIELD bucket(2, id)",
        "DROP PARTITION FIELD truncate(1, v)",
        "ALTER COLUMN n TYPE BIGINT",
        "RENAME COLUMN v TO `the.v`",
        "ADD COLUMN more INT",
        "ALTER COLUMN more FIRST",
        "WRITE ORDERED BY id",
    ):
        spark.sql(f"ALTER TABLE {table_name} {change}")
    spark.sql(f"INSERT INTO {table_name} (id, `the.v`, n, more) VALUES (8, 'aa', 8, 8)")
    for snapshot in snapshots:
        undo(spark, table_name, snapshot)
    expected = [(1, "aa", 1, None), (2, "ab", 2, None), (3, "b", 3, None), (4, "b", 4, None), (8, "aa", 8, 8)]
    assert table_rows(spark, f"(SELECT id, `the.v`, n, more FROM {table_name})") == dict.fromkeys(expected, 1)
    assert iceberg.sql(f"SELECT count(*), sum(n) FROM {table_name}") == [[5, 18]]


def test_a_branch_with_a_history_of_its_own(spark: SparkSession, table_name: str) -> None:
    _kind(f"{_KEYED} PARTITIONED BY (bucket(2, id))", 2).create(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    spark.sql(f"UPDATE {table_name} SET v = 'main'")
    branch = f"{table_name}.branch_b"
    spark.sql(f"UPDATE {branch} SET v = 'branch' WHERE id = 1")
    snapshot = head(spark, table_name, "b")
    spark.sql(f"UPSERT INTO {branch} VALUES (3, 'c', 3)")
    main = table_rows(spark, table_name)
    previous = head(spark, table_name, "b")
    assert undo(spark, branch, snapshot) == (previous, head(spark, table_name, "b"), 1, 1)
    assert table_rows(spark, branch) == dict.fromkeys([(1, "a", 1), (2, "b", 2), (3, "c", 3)], 1)
    assert table_rows(spark, table_name) == main
    spark.conf.set("spark.wap.branch", "audit")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    try:
        undo(spark, table_name, head(spark, table_name))
    finally:
        spark.conf.unset("spark.wap.branch")
    assert table_rows(spark, table_name) == main
    assert table_rows(spark, f"{table_name}.branch_audit") == dict.fromkeys([(1, "a", 1), (2, "b", 2)], 1)


def test_files_of_version_1_tell_not_whose_they_are(spark: SparkSession, table_name: str) -> None:
    _kind(_PLAIN, 1, "copy-on-write").create(spark, table_name)
    for id in range(3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id}, 'a', 1)")
    spark.sql(
        f"CALL lake.system.expire_snapshots('{table_name.removeprefix('lake.')}', older_than => TIMESTAMP '2999-01-01',"
        " retain_last => 1)"
    )
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*expired"):
        undo(spark, table_name, head(spark, table_name))
    assert table_rows(spark, table_name).total() == 3


@pytest.mark.parametrize("version", [2, 3])
def test_a_key_within_a_struct(spark: SparkSession, table_name: str, version: int) -> None:
    _kind("(s STRUCT<`a.id`: INT NOT NULL> NOT NULL, v STRING)", version).create(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} SET IDENTIFIER FIELDS s.`a.id`")
    spark.sql(f"INSERT INTO {table_name} SELECT named_struct('a.id', CAST(id AS INT)), 'a' FROM range(4)")
    beginning = table_rows(spark, table_name)
    spark.sql(f"UPDATE {table_name} SET v = 'b' WHERE s.`a.id` < 2")
    update = head(spark, table_name)
    spark.sql(f"DELETE FROM {table_name} WHERE s.`a.id` = 3")
    delete = head(spark, table_name)
    spark.sql(f"INSERT INTO {table_name} VALUES (named_struct('a.id', 3), 'again')")
    with pytest.raises(AnalysisException, match=r'UNDO_ROWS_CHANGED.*"s.a.id": 3'):
        undo(spark, table_name, delete)
    undo(spark, table_name, head(spark, table_name))
    for snapshot in (update, delete):
        undo(spark, table_name, snapshot)
    assert table_rows(spark, table_name) == beginning


@pytest.mark.turns(1, pool="undo of tables")
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"])
def test_maps_and_void_columns(spark: SparkSession, table_name: str, key: str, version: int, mode: str) -> None:
    """Maps are equal whatever the order of their entries, so that only rows are shown and undone that differ."""
    void = "" if version == 2 else ", nothing VOID"
    columns = (
        f"(id INT, m MAP<STRING, STRUCT<a: INT, `b.c`: MAP<INT, STRING>>>, l ARRAY<MAP<STRING, DOUBLE>>{void}{key})"
    )
    _kind(columns, version, mode).create(spark, table_name)
    m = "map('x', named_struct('a', {0}, 'b.c', map(1, 'p', 2, 'q')), 'y', NULL)"
    turned = "map('y', NULL, 'x', named_struct('a', id, 'b.c', map(2, 'q', 1, 'p')))"
    several, more = "array(map('z', {0} / 2), NULL)", "" if version == 2 else ", NULL"
    spark.sql(
        f"INSERT INTO {table_name} SELECT CAST(id AS INT), {m.format('CAST(id AS INT)')}, {several.format('id')}{more}"
        f" FROM range(6) UNION ALL SELECT 6, NULL, NULL{more}"
    )
    beginning, changes = table_rows(spark, table_name), []
    none = "map_filter(m, (k, v) -> false)"
    other = f"CASE WHEN id = 1 THEN {none} WHEN id = 2 THEN NULL ELSE {turned} END"
    for text in (
        f"UPDATE {table_name} SET m = {other} WHERE id < 5",
        f"DELETE FROM {table_name} WHERE id IN (3, 6)",
        f"INSERT INTO {table_name} SELECT 9, {m.format(9)}, {several.format(9)}{more}",
        f"UPDATE {table_name} SET l = array(map('n', 0.5D)) WHERE id = 5",
    ):
        before = table_rows(spark, table_name)
        preview = spark.sql(f"PREVIEW {text}").collect()
        assert {row.id for row in preview} <= {1, 2, 3, 5, 6, 9}, text
        spark.sql(text)
        assert table_rows(spark, table_name) == applied(before, preview), text
        assert len(preview) == (4 if "id < 5" in text else 2 if "UPDATE" in text or "DELETE" in text else 1)
        changes.append(head(spark, table_name))
    compact(spark, table_name)
    for snapshot in changes:
        undo(spark, table_name, snapshot)
    assert table_rows(spark, table_name) == beginning
    spark.sql(f"UPDATE {table_name} SET m = map_filter(m, (k, v) -> k = 'x') WHERE id = 0")
    snapshot = head(spark, table_name)
    spark.sql(f"UPDATE {table_name} SET m = {none} WHERE id = 0")
    with pytest.raises(AnalysisException, match="UNDO_ROWS_CHANGED"):
        undo(spark, table_name, snapshot)


@pytest.mark.skipif(pyspark.__version__.startswith("4.0"), reason="Spark 4.0 reads no variants")
@pytest.mark.turns(1, pool="undo of tables")
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"])
def test_variants(spark: SparkSession, table_name: str, key: str, mode: str) -> None:
    _kind(f"(id INT, v VARIANT, m MAP<STRING, VARIANT>{key})", 3, mode).create(spark, table_name)
    texts = ('\'{"b": 1, "a": [1, 2.5]}\'', "'\"2026-01-01\"'", "'null'", "NULL", "'{}'")
    values = ", ".join(f"({id}, {text})" for id, text in enumerate(texts, 1))
    spark.sql(
        f"INSERT INTO {table_name} SELECT id, parse_json(v), map('k', parse_json(v)) FROM VALUES {values} AS s (id, v)"
    )
    beginning = table_rows(spark, table_name)
    changes = []
    for text, changed in (
        (f"UPDATE {table_name} SET v = to_variant_object(named_struct('a', 1)) WHERE id = 1", 2),
        (f"UPDATE {table_name} SET v = CAST(DATE '2026-01-01' AS VARIANT) WHERE id = 2", 2),
        (f"DELETE FROM {table_name} WHERE id IN (3, 4)", 2),
        (f"UPDATE {table_name} SET v = parse_json('{{}}') WHERE id = 5", 0),
    ):
        before = table_rows(spark, table_name)
        preview = spark.sql(f"PREVIEW {text}").collect()
        assert len(preview) == changed, text
        spark.sql(text)
        assert table_rows(spark, table_name) == applied(before, preview), text
        changes.append(head(spark, table_name))
    compact(spark, table_name)
    for snapshot in changes[:3]:
        undo(spark, table_name, snapshot)
    assert table_rows(spark, table_name) == beginning
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*no row"):
        undo(spark, table_name, changes[3])
