"""Merge engines without Spark, against a model in plain Python."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from judges.merge_model import MergedTable
from judges.merged_events import COLUMNS, FUNCTIONS, NESTED, OPTIONS, RETRACTING, random_batch
from sqlext.local import LocalTable
from unit.local.local_lake import created, open_lake


def _rows(table: LocalTable) -> dict[int, dict[str, Any]]:
    return {row.pop("k"): row for row in table.to_arrow().to_pylist()}


def _shown(rows: Mapping[int, Mapping[str, Any]], unordered: tuple[str, ...] = ()) -> dict[int, dict[str, Any]]:
    """The rows with their maps as dicts, and with the arrays in `unordered` columns sorted."""

    def value(name: str, of: Any) -> Any:
        if of is None or not (name in unordered or name in ("mm", "mt")):
            return of
        return sorted(of) if name in unordered else dict(of)

    return {key: {name: value(name, of) for name, of in row.items()} for key, row in rows.items()}


def _functions(functions: Mapping[str, str]) -> dict[str, str]:
    return {f"fields.{name}.aggregate-function": one for name, one in functions.items() if name != "at"}


@pytest.mark.parametrize(("version", "mode"), [("2", "merge-on-read"), ("3", "copy-on-write"), ("3", "auto")])
def test_aggregation(tmp_path: Path, seed: int, version: str, mode: str) -> None:
    properties = {"merge-engine": "aggregation", "sequence.field": "at", "format-version": version}
    table = created(
        open_lake(tmp_path), COLUMNS, {**properties, "write.merge.mode": mode, **_functions(FUNCTIONS), **OPTIONS}
    )
    rng, columns = random.Random(seed), list(FUNCTIONS)
    model = MergedTable(FUNCTIONS, dict.fromkeys(columns, "at"), options=OPTIONS)
    for _ in range(12):
        batch = random_batch(rng, columns, ["+I", "+U"], 10)
        model.write(batch)
        table.upsert(batch)
        assert _shown(_rows(table)) == _shown(model.rows), batch


def test_values_are_taken_back(tmp_path: Path, seed: int) -> None:
    functions = {name: FUNCTIONS[name] for name in RETRACTING} | {"hi": "max"}
    options = {name: value for name, value in OPTIONS.items() if name.split(".")[1] in functions}
    table = created(
        open_lake(tmp_path),
        "k INT, at INT, s INT, c BIGINT, lv STRING, ln STRING, co ARRAY<STRING>, hi INT, "
        + ", ".join(f"{name} {NESTED[name]}" for name in NESTED if name in RETRACTING)
        + ", PRIMARY KEY (k)",
        {
            "merge-engine": "aggregation",
            "sequence.field": "at",
            "fields.hi.ignore-retract": "true",
            **_functions(functions),
            **options,
        },
    )
    rng, columns = random.Random(seed), list(functions)
    model = MergedTable(functions, dict.fromkeys(columns, "at"), ignoring=frozenset({"hi"}), options=OPTIONS)
    for number in range(8):
        batch = [
            {**event, "at": 100 * number + n - 150}
            for n, event in enumerate(random_batch(rng, columns, ["+I", "-D", "-U"], 8))
        ]
        model.write(batch)
        table.upsert(batch)
        assert _shown(_rows(table), unordered=("co",)) == _shown(model.rows, unordered=("co",)), batch


@pytest.mark.parametrize("removes", [True, False])
def test_partial_update(tmp_path: Path, seed: int, removes: bool) -> None:
    name = "partial-update.remove-record-on-delete" if removes else "ignore-delete"
    table = created(
        open_lake(tmp_path),
        "k INT, at INT, a INT, b INT, lv STRING, PRIMARY KEY (k)",
        {"merge-engine": "partial-update", "sequence.field": "at", name: "true"},
    )
    columns = ["at", "a", "b", "lv"]
    functions = {"at": "last_value", **dict.fromkeys(columns[1:], "last_non_null_value")}
    model = MergedTable(functions, dict.fromkeys(columns, "at"), removes="at" if removes else None)
    rng = random.Random(seed)
    for _ in range(12):
        batch = random_batch(rng, columns, ["+I", "+U", "-D"], 8)
        table.append(batch)
        model.write(batch if removes else [event for event in batch if event["_row_kind"] != "-D"])
        assert _rows(table) == model.rows, batch


def test_sequence_groups(tmp_path: Path, seed: int) -> None:
    table = created(
        open_lake(tmp_path),
        "k INT, a INT, lv STRING, g INT, s INT, b INT, at INT, PRIMARY KEY (k)",
        {
            "merge-engine": "partial-update",
            "fields.g.sequence-group": "a,lv",
            "fields.at.sequence-group": "s,b",
            "fields.s.aggregate-function": "sum",
        },
    )
    columns = ["a", "lv", "g", "s", "b", "at"]
    functions = {**dict.fromkeys(columns, "last_value"), "s": "sum"}
    orders: dict[str, str | None] = {"a": "g", "lv": "g", "g": "g", "s": "at", "b": "at", "at": "at"}
    model = MergedTable(functions, orders, grouped=frozenset(columns))
    rng = random.Random(seed)
    for _ in range(10):
        batch = random_batch(rng, columns, ["+I"], 6)
        model.write(batch)
        table.upsert(batch)
        assert _rows(table) == model.rows, batch


def test_the_first_row_stays(tmp_path: Path) -> None:
    table = created(open_lake(tmp_path), "k INT, v STRING, PRIMARY KEY (k)", {"merge-engine": "first-row"})
    table.append([{"k": 1, "v": "a"}, {"k": 1, "v": "b"}, {"k": 2, "v": "c"}])
    counts = table.upsert([{"k": 1, "v": "d"}, {"k": 3, "v": "e"}])
    assert (counts.inserted, counts.updated) == (1, 0)
    assert {key: row["v"] for key, row in _rows(table).items()} == {1: "a", 2: "c", 3: "e"}
