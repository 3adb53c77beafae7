"""Sketches and bitmaps that are merged without Spark, counted by their libraries."""

from __future__ import annotations

import builtins
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from judges.serialized_sets import COLUMNS, FUNCTIONS, MADE, is_about
from sqlext.errors import DataError, UnsupportedError
from sqlext.local import LocalTable
from sqlext.spec.merge_engine import SKETCH_FUNCTIONS
from unit.local.local_lake import created, open_lake


@pytest.fixture
def table(tmp_path: Path) -> LocalTable:
    return created(
        open_lake(tmp_path), f"k INT, {COLUMNS}, PRIMARY KEY (k)", {"merge-engine": "aggregation", **FUNCTIONS}
    )


def test_sets_are_united(table: LocalTable) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, model = random.Random(seed), defaultdict[tuple[int, str], set[int]](set)
    for _ in range(6):
        batch = []
        for _ in range(4):
            row: dict[str, Any] = {"k": rng.randrange(3)}
            for name in SKETCH_FUNCTIONS:
                numbers = rng.sample(range(40_000), rng.choice([0, 3, 500, 6000]))
                row[name] = rng.choice([None, MADE[name](numbers)])
                if row[name] is not None:
                    model[row["k"], name] |= set(numbers)
            batch.append(row)
        table.upsert(batch)
    for row in table.to_arrow().to_pylist():
        for name in SKETCH_FUNCTIONS:
            if (row["k"], name) in model:
                assert is_about(name, row[name], model[row["k"], name]), (row["k"], name)
            else:
                assert row[name] is None


@pytest.mark.parametrize("name", SKETCH_FUNCTIONS)
def test_other_bytes_are_refused(table: LocalTable, name: str) -> None:
    for value in (b"", b"abc", b"\1" * 60):
        with pytest.raises(DataError, match="INVALID_COLUMN_VALUE") as caught:
            table.upsert([{"k": 1, name: value}])
        assert name in str(caught.value)
    assert table.to_arrow().num_rows == 0


def test_sketches_need_their_package(table: LocalTable, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "datasketches":
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    table.upsert([{"k": 1, "rbm32": MADE["rbm32"]([1])}])
    with pytest.raises(UnsupportedError, match="datasketches") as caught:
        table.upsert([{"k": 1, "hll_sketch": MADE["hll_sketch"]([1])}])
    assert caught.value.condition == "PACKAGE_REQUIRED"
