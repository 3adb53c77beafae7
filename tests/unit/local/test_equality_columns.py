"""Upserts without Spark into tables without a key, by the columns that the call names."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sqlext.spec.manifests.content_file import Content
from unit.local.local_lake import created, open_lake, refused


@pytest.mark.parametrize(("version", "mode"), [(2, "resolved"), (2, "equality"), (3, "resolved"), (3, "equality")])
def test_rows_replace_those_of_equal_columns(tmp_path: Path, version: int, mode: str) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    table = created(
        open_lake(tmp_path),
        "region STRING, `a.b` INT, v INT",
        {"format-version": str(version), "write.upsert.mode": mode},
        "PARTITIONED BY (region)",
    )
    model: list[dict[str, Any]] = []
    for number in range(8):
        rows = [{"region": region, "a.b": n, "v": number} for region in "xy" for n in rng.sample([None, 0, 1, 2], 2)]
        if number % 3 == 0:
            table.append(rows)
            model += rows
            continue
        rows = [row for row in rows if row["a.b"] is not None]
        gone = [row for row in rows if rng.random() < 0.2]
        given = [{**row, "_row_kind": "-D" if row in gone else "+U"} for row in rows]
        table.upsert(given, equality_field_columns=["A.B", "region"])
        keys = [(row["region"], row["a.b"]) for row in rows]
        model = [row for row in model if (row["region"], row["a.b"]) not in keys]
        model += [row for row in rows if row not in gone]
        assert sorted(table.to_arrow().to_pylist(), key=str) == sorted(model, key=str), given
    assert table.key == ()


def test_the_table_gets_no_key_and_its_deletes_have_the_columns(tmp_path: Path) -> None:
    table = created(open_lake(tmp_path), "a INT, b INT, v STRING", {"write.upsert.mode": "equality"})
    table.append([{"a": 1, "b": 1, "v": "old"}, {"a": 1, "b": 2, "v": "other"}])
    table.upsert([{"a": 1, "b": 1, "v": "new"}], equality_field_columns=["b", "a"])
    deletes = [file for file in table.metadata("all_files").to_pylist() if file["content"] == Content.EQUALITY_DELETES]
    assert [sorted(file["equality_ids"]) for file in deletes] == [[1, 2]]
    with refused("UPSERT_WITHOUT_KEY", "equality-field-columns"):
        table.upsert([{"a": 1, "b": 1, "v": "new"}])


def test_refused(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    table = created(lake, "a INT, f DOUBLE, s STRUCT<x: INT>, v STRING")
    for columns, reason in ((["b"], "there is no column b"), (["f"], "has type double"), (["s"], "has type struct")):
        with refused("INVALID_EQUALITY_COLUMNS", reason):
            table.upsert([{"a": 1}], equality_field_columns=columns)
    with refused("NULL_IN_REQUIRED_COLUMN", "column a"):
        table.upsert([{"a": None, "v": "x"}], equality_field_columns=["a"])
    with refused("DUPLICATE_KEY"):
        table.upsert([{"a": 1, "v": "x"}, {"a": 1, "v": "y"}], equality_field_columns=["a"])
    keyed = created(lake, "k INT, v STRING, PRIMARY KEY (k)", name="db.keyed")
    keyed.upsert([{"k": 1, "v": "x"}], equality_field_columns=["K"])
    with refused("INVALID_EQUALITY_COLUMNS", "the key of the table is k"):
        keyed.upsert([{"k": 1, "v": "x"}], equality_field_columns=["v"])
    assert keyed.to_arrow().to_pylist() == [{"k": 1, "v": "x"}]
