"""Paimon's properties of rows that come in by key, against a fold in plain Python: every engine, mode and way in.

They are `rowkind.field`, `sequence.field.sort-order`, `ignore-delete` by all of its names, and `ignore-update-before`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.merge_model import DeduplicatedTable, Event, MergedTable
from streaming.json_stream import JsonStream

_TYPES = {"k": "INT", "at": "INT", "s": "INT", "ln": "STRING", "op": "STRING"}
_FUNCTIONS = {
    "partial-update": dict.fromkeys(("at", "s", "ln", "op"), "last_non_null_value"),
    "aggregation": {"at": "last_non_null_value", "s": "sum", "ln": "last_non_null_value", "op": "last_non_null_value"},
    "first-row": dict.fromkeys(("at", "s", "ln", "op"), "first_value"),
}
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
_MODES: tuple[dict[str, str], ...] = (
    {"format-version": "2"},
    {"format-version": "3", "write.merge.mode": "copy-on-write"},
    {"format-version": "2", "write.merge.mode": "auto"},
    {"format-version": "3", "write.upsert.mode": "equality"},
    {"format-version": "2", "write.upsert.mode": "equality", "bucket": "2", "num-sorted-run.compaction-trigger": "2"},
    {"format-version": "3", "bucket": "1", "num-sorted-run.compaction-trigger": "2"},
)


@dataclass(frozen=True)
class _Scenario:
    """What one table is like. `kinds` is the column that has them, `order` the direction of the column `at`."""

    engine: str | None
    mode: dict[str, str]
    kinds: str | None
    order: str | None
    ignored: dict[str, str]
    removes: bool
    way: str

    def properties(self) -> dict[str, str]:
        said = {**self.mode, **self.ignored}
        if self.order is not None:
            said |= {"sequence.field": "at"} | (
                {} if self.order == "unsaid" else {"sequence.field.sort-order": self.order}
            )
        if self.kinds == "op":
            said["rowkind.field"] = "OP"
        if self.engine is not None:
            said["merge-engine"] = self.engine
        elif self.way in ("insert", "stream"):
            said["write.upsert.enabled"] = "true"
        if self.engine == "aggregation":
            said["fields.s.aggregate-function"] = "sum"
        if self.removes:
            said[f"{self.engine}.remove-record-on-delete"] = "true"
        return said

    def passes_over(self, kind: str) -> bool:
        if any(name in self.ignored for name in _IGNORE_DELETE):
            return kind in ("-U", "-D")
        return kind == "-U" and (bool(self.ignored) or self.removes)

    def model(self) -> DeduplicatedTable | MergedTable:
        descending, order = self.order == "DESCENDING", None if self.order is None else "at"
        if self.engine not in _FUNCTIONS:
            return DeduplicatedTable(order, descending, keeps_later=self.mode.get("write.upsert.mode") != "equality")
        functions = dict(_FUNCTIONS[self.engine])
        if order is not None:
            functions["at"] = "last_value"
        orders = dict.fromkeys(functions, order)
        return MergedTable(functions, orders, removes="at" if self.removes else None, descending=descending)


def _scenario(rng: random.Random) -> _Scenario:
    engine = rng.choice([None, None, "deduplicate", "partial-update", "aggregation", "first-row"])
    modes = [mode for mode in _MODES if engine in (None, "deduplicate") or "write.upsert.mode" not in mode]
    kinds = rng.choice(["op", "op", "_row_kind", None])
    order = None if engine == "first-row" else rng.choice(["DESCENDING", "descending", "ascending", "unsaid", None])
    ignored = rng.choice([{}, {rng.choice(_IGNORE_DELETE): "true"}, {"ignore-update-before": "true"}])
    removes = False
    if (
        kinds is not None
        and engine in ("partial-update", "first-row")
        and not any(n in ignored for n in _IGNORE_DELETE)
    ):
        removes = engine == "partial-update" and order is not None
        ignored = ignored if removes else {rng.choice(_IGNORE_DELETE): "true"}
    ways = ["upsert", "insert", "frame", "stream"] + (["merge", "merge"] if engine is None else [])
    # A batch has no order of its own but as a list of literals, or a file of a stream.
    way = rng.choice(["upsert", "insert", "stream"] if engine is not None and order is None else ways)
    return _Scenario(
        engine, rng.choice(modes), kinds, order and order.replace("descending", "DESCENDING"), ignored, removes, way
    )


def _batch(rng: random.Random, scenario: _Scenario) -> list[Event]:
    """Rows of which no two of a key have one place: only then is it told which is the last."""
    kinds = ["+I", "+U", "-U", "-D"] if scenario.kinds is not None else ["+I"]
    batch: list[Event] = []
    for key in rng.sample(range(6), rng.randint(1, 5)):
        most = 1 if scenario.order is None and scenario.engine not in _FUNCTIONS else 3
        moments = rng.sample(range(30), rng.randint(1, most))
        if rng.random() < 0.2:
            moments[0] = None
        given = [rng.choice(kinds) for _ in moments]
        if most == 1 and scenario.kinds is not None and rng.random() < 0.4:
            moments, given = moments * 2, ["-U", "+U"]
        for at, kind in zip(moments, given, strict=True):
            text, number = rng.choice(["a", "b", None]), rng.choice([None, *range(9)])
            op = kind if scenario.kinds == "op" else rng.choice(["x", "-D"])
            batch.append({"k": key, "at": at, "s": number, "ln": text, "op": op, "_row_kind": kind})
    if scenario.way != "stream":
        # The file of a stream has an order, in which a pair is one of `-U` and `+U`.
        rng.shuffle(batch)
    return batch


def _literal(value: Any, type: str) -> str:
    return f"CAST({'NULL' if value is None else repr(value)} AS {type})"


class _Writer:
    def __init__(self, spark: SparkSession, table: str, scenario: _Scenario, folder: Path) -> None:
        self._spark, self._table, self._scenario = spark, table, scenario
        self._types = dict(_TYPES) | ({"_row_kind": "STRING"} if scenario.kinds == "_row_kind" else {})
        self._stream = JsonStream(spark, folder, ", ".join(f"{name} {type}" for name, type in self._types.items()))

    def write(self, batch: list[Event]) -> None:
        spark, table, names = self._spark, self._table, ", ".join(self._types)
        rows = [", ".join(_literal(event[name], type) for name, type in self._types.items()) for event in batch]
        values = "VALUES " + ", ".join(f"({row})" for row in rows)
        match self._scenario.way:
            case "upsert":
                spark.sql(f"UPSERT INTO {table} ({names}) {values}")
            case "insert":
                spark.sql(f"INSERT INTO {table} ({names}) {values}")
            case "merge":
                spark.sql(
                    f"MERGE INTO {table} AS t USING ({values}) AS s({names}) ON t.k = s.k"
                    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                )
            case "frame":
                spark.sql(f"SELECT * FROM {values} AS v({names})").writeTo(table).option(
                    "upsert-enabled", "true"
                ).append()
            case "stream":
                self._stream.put(*({name: event[name] for name in self._types} for event in batch))
                self._stream.run(table)


def _stored(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


def _told(model: DeduplicatedTable | MergedTable) -> list[tuple[Any, ...]]:
    names = [name for name in _TYPES if name != "k"]
    return sorted(((key, *(row[name] for name in names)) for key, row in model.rows.items()), key=repr)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_what_a_fold_makes_of_the_changes(
    spark: SparkSession, table_name: str, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    for number in range(2):
        scenario = _scenario(rng)
        table, model = f"{table_name}_{number}", scenario.model()
        said = ", ".join(f"'{name}'='{value}'" for name, value in scenario.properties().items())
        columns = ", ".join(f"{name} {type}" for name, type in _TYPES.items())
        spark.sql(f"CREATE TABLE {table} ({columns}, PRIMARY KEY (k)) TBLPROPERTIES ({said})")
        writer = _Writer(spark, table, scenario, tmp_path / str(number))
        for batch in [_batch(rng, scenario) for _ in range(2)]:
            model.write([event for event in batch if not scenario.passes_over(event["_row_kind"])])
            writer.write(batch)
            assert _stored(spark, table) == _told(model), (seed, scenario, batch)


@pytest.mark.parametrize("said", ["'ignore-delete'='true'", "'ignore-update-before'='true'", "'comment'=''"])
def test_a_changelog_has_the_rows_that_count(spark: SparkSession, table_name: str, said: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, v STRING, op STRING, PRIMARY KEY (k)) TBLPROPERTIES"
        f" ('changelog-producer'='input', 'rowkind.field'='op', {said})"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', '+I'), (2, 'b', '+I'), (3, 'c', '+I')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', '-D'), (2, 'b', '-U'), (2, 'B', '+U'), (3, 'c', '-U')")
    left = {"'ignore-delete'='true'": {1, 2, 3}, "'ignore-update-before'='true'": {2, 3}, "'comment'=''": {2}}[said]
    assert {row.k for row in spark.table(table_name).collect()} == left
    feed = spark.sql(f"SELECT * FROM table_changes('{table_name}')").collect()
    kept: dict[int, int] = {}
    for row in feed:
        kept[row.k] = kept.get(row.k, 0) + (1 if row._change_type in ("INSERT", "UPDATE_AFTER") else -1)
    if said == "'comment'=''":
        assert kept == {1: 0, 2: 1, 3: 0}
    else:
        assert all(("DELETE" in row._change_type) <= (row.k not in left) for row in feed)


def test_what_would_pass_by_the_kinds_is_refused(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (k INT, op STRING, PRIMARY KEY (k)) TBLPROPERTIES ('rowkind.field'='op')")
    rows = spark.createDataFrame([(1, "+I"), (2, "-D")], "k INT, op STRING")
    for write in (
        lambda: rows.writeTo(table_name).option("upsert-enabled", "false").append(),
        lambda: rows.write.insertInto(table_name, overwrite=True),
        lambda: spark.sql(f"INSERT OVERWRITE {table_name} VALUES (1, '-D')"),
        lambda: spark.sql(
            f"CREATE TABLE {table_name}_as (PRIMARY KEY (k)) TBLPROPERTIES ('rowkind.field'='op')"
            f" AS SELECT * FROM {table_name}"
        ),
    ):
        with pytest.raises(PySparkException, match="ROW_KINDS_BYPASSED"):
            write()
    with pytest.raises(PySparkException, match="ROW_KIND_TWICE"):
        spark.sql(f"UPSERT INTO {table_name} SELECT 1 AS k, '+I' AS op, '-D' AS _row_kind")
    for kind in ("NULL", "'+i'", "'D'"):
        with pytest.raises(PySparkException, match="INVALID_ROW_KIND"):
            spark.sql(f"INSERT INTO {table_name} VALUES (3, {kind})")
    rows.writeTo(table_name).append()
    assert [tuple(row) for row in spark.table(table_name).collect()] == [(1, "+I")]


@pytest.mark.parametrize("name", ["k", "none", "n", "_row_kind"])
def test_a_column_that_cannot_tell_the_kinds_is_refused(spark: SparkSession, table_name: str, name: str) -> None:
    columns = "k STRING, n INT, op STRING, PRIMARY KEY (k)"
    with pytest.raises(PySparkException, match="INVALID_ROWKIND_FIELD"):
        spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('rowkind.field'='{name}')")
    spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('rowkind.field'='op')")
    with pytest.raises(PySparkException, match="INVALID_ROWKIND_FIELD"):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('rowkind.field'='{name}')")
    with pytest.raises(PySparkException, match="INVALID_ROWKIND_FIELD"):
        spark.sql(f"ALTER TABLE {table_name} DROP COLUMN op")
