"""Upserts of literals: what their text and the table say without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlext.command.dml.literal_upsert import literal_source, merged_literals, plan_of_given, takes_whole_rows
from sqlext.command.plan.change_plan import Way
from sqlext.sql.bound_merge import bind_merge
from sqlext.sql.lowering.key_upsert import key_upsert
from unit.command.lake import Lake, read

KEYED = "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='{}')"
MERGE = (
    "MERGE INTO t USING (VALUES (1, 'a'), (2, NULL)) AS s {} ON t.id = s.{}"
    " WHEN MATCHED THEN UPDATE SET {} WHEN NOT MATCHED THEN INSERT {}"
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize(
    ("properties", "whole"),
    [
        ("'comment'=''", True),
        ("'merge-engine'='partial-update'", False),
        ("'changelog-producer'='input'", False),
        ("'changelog-producer'='lookup'", True),
        ("'sequence.field'='s'", False),
        ("'rowkind.field'='s'", False),
    ],
)
def test_rows_of_which_nothing_else_is_to_be_known(lake: Lake, properties: str, whole: bool) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    assert takes_whole_rows(lake.target()) is whole


@pytest.mark.parametrize(
    ("properties", "way"),
    [
        ("equality", Way.EQUALITY),
        ("resolved", Way.LOOK_UP),
        ("resolved', 'write.merge.mode'='copy-on-write", None),
        ("resolved', 'write.merge.mode'='auto", None),
        ("resolved', 'format-version'='1", None),
    ],
)
def test_the_driver_takes_literals_whose_keys_it_can_look_up(lake: Lake, properties: str, way: Way | None) -> None:
    lake.create(KEYED.format(properties))
    plan = plan_of_given(lake.environment, lake.target())
    assert (None if plan is None else plan.way) is way


@pytest.mark.parametrize(
    ("columns", "names"),
    [("", ("col1", "col2")), ("(id, s)", ("id", "s")), ("(id)", None), ("(id, ID)", None)],
)
def test_a_source_of_literals_goes_by_the_names_of_its_alias(columns: str, names: tuple[str, ...] | None) -> None:
    literals = literal_source(read(MERGE.format(columns, "id", "*", "*")))
    assert (None if literals is None else literals.names) == names


@pytest.mark.parametrize("source", ["lake.db.s", "(SELECT 1 AS id FROM s)", "(VALUES (1 + 1)) AS s (id)"])
def test_other_sources_are_sparks(source: str) -> None:
    merge = read(f"MERGE INTO t USING {source} ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert literal_source(merge) is None
    within = read(
        "WITH s AS (SELECT 1) MERGE INTO t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN DELETE"
    )
    assert literal_source(within) is None


def _merged(lake: Lake, text: str) -> list[tuple[Any, ...]] | None:
    merge = read(text)
    literals = literal_source(merge)
    assert literals is not None
    upsert = key_upsert(bind_merge(merge, lake.load().metadata.schema(), literals.names))
    assert upsert is not None
    found = merged_literals(lake.target(), upsert, literals)
    return None if found is None else [tuple(row.values()) for row in found.to_pylist()]


def test_each_column_gets_the_literal_that_it_is_assigned(lake: Lake) -> None:
    lake.create(KEYED.format("equality"))
    assert _merged(lake, MERGE.format("(id, s)", "id", "*", "*")) == [(1, "a"), (2, None)]
    assigned = MERGE.format("(k, v)", "k", "s = s.v, id = s.k", "(s, id) VALUES (s.v, s.k)")
    assert _merged(lake, assigned) == [(1, "a"), (2, None)]
    computed = MERGE.format("(k, v)", "k", "id = s.k, s = upper(s.v)", "(id, s) VALUES (s.k, upper(s.v))")
    assert _merged(lake, computed) is None


@pytest.mark.parametrize(
    ("type", "literal", "compared"),
    [
        ("BIGINT", "1", True),
        ("INT", "1", True),
        ("STRING", "'1'", True),
        ("DATE", "DATE'2024-01-01'", True),
        # A condition would cast one of the two: keys may be equal in it that are not in the table.
        ("DECIMAL(9,0)", "1", False),
        ("STRING", "1", False),
        ("BIGINT", "1.0", False),
        ("DATE", "'2024-01-01'", False),
        ("BIGINT", "NULL", False),
    ],
)
def test_a_key_is_compared_as_it_is_stored(lake: Lake, type: str, literal: str, compared: bool) -> None:
    lake.create(f"CREATE TABLE t (id {type}, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality')")
    text = (
        f"MERGE INTO t USING (VALUES ({literal})) AS s (id) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert (_merged(lake, text) is not None) is compared
