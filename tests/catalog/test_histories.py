"""Histories of real transactions have no anomaly that their isolation level forbids, and the checker finds one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from catalog.bank import Opener, open_hasty
from catalog.history import Recorded, anomalies
from catalog.list_append import lists, open_lists, run_lists
from catalog.postgres_server import PostgresServer
from sqlext.catalog.catalog_settings import open_catalog

# A folder has no database that keeps transactions apart: there the history is a long one. The soak has six of these.
LONG, SHORT = 2_000, 200
ASKED_FOR = os.environ.get("SQLEXT_TRANSACTIONS")


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "folder":
        return partial(open_hasty, tmp_path / "w")
    options = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    if request.param == "postgres":
        options |= request.getfixturevalue("postgres").new_database()
    return partial(open_catalog, "lake", options)


@pytest.mark.parametrize("serializable", [False, True])
def test_histories(opener: Opener, tmp_path: Path, serializable: bool, request: pytest.FixtureRequest) -> None:
    is_long = serializable and request.node.callspec.params["opener"] == "folder"
    transactions = int(ASKED_FOR or (LONG if is_long else SHORT))
    open_lists(opener())
    history = run_lists(
        opener, tmp_path, writers=4, transactions=transactions, kills=2, seed=1, serializable=serializable
    )
    found = anomalies(history, lists(opener()))
    # Between tables, snapshots allow write skew.
    assert not [one for one in found if serializable or not one.startswith("G2")], found
    landed = [one for one in history if one.outcome == "landed"]
    assert len(history) >= transactions // 2
    assert len(landed) > len(history) // 10


def _one(name: str, reads: dict[str, list[int]], appends: dict[str, list[int]], outcome: str = "landed") -> Recorded:
    return Recorded(name, reads, appends, outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("anomaly", "history", "final"),
    [
        ("lost", [_one("t", {}, {"a": [1]})], {"a": []}),
        ("doubled", [_one("t", {}, {"a": [1]})], {"a": [1, 1]}),
        ("from nowhere", [], {"a": [1]}),
        ("refused, and there", [_one("t", {}, {"a": [1]}, "refused")], {"a": [1]}),
        ("half", [_one("t", {}, {"a": [1], "b": [2]}, "unknown")], {"a": [1], "b": []}),
        ("G1a", [_one("t", {}, {"a": [1]}, "refused"), _one("u", {"a": [1]}, {})], {"a": []}),
        ("G1b", [_one("t", {}, {"a": [1, 2]}), _one("u", {"a": [1]}, {})], {"a": [1, 2]}),
        ("no prefix", [_one("t", {}, {"a": [1]}), _one("v", {}, {"a": [2]}), _one("u", {"a": [2]}, {})], {"a": [1, 2]}),
        ("G0", [_one("t", {}, {"a": [1], "b": [2]}), _one("u", {}, {"a": [3], "b": [4]})], {"a": [1, 3], "b": [4, 2]}),
        ("G1c", [_one("t", {"b": [2]}, {"a": [1]}), _one("u", {"a": [1]}, {"b": [2]})], {"a": [1], "b": [2]}),
        (
            "lost update",
            [_one("t", {"a": []}, {"a": [1]}), _one("u", {"a": []}, {"a": [2]})],
            {"a": [1, 2]},
        ),
        # write skew
        ("G2", [_one("t", {"b": []}, {"a": [1]}), _one("u", {"a": []}, {"b": [2]})], {"a": [1], "b": [2]}),
        # read skew
        ("G2", [_one("t", {}, {"a": [1], "b": [2]}), _one("u", {"a": [1], "b": []}, {})], {"a": [1], "b": [2]}),
    ],
)
def test_the_checker_finds_it(anomaly: str, history: list[Recorded], final: dict[str, list[int]]) -> None:
    assert any(one.startswith(anomaly) for one in anomalies(history, final)), anomalies(history, final)


def test_the_checker_finds_nothing_where_one_came_after_the_other() -> None:
    history = [
        _one("t", {"a": []}, {"a": [1, 2], "b": [3]}),
        _one("u", {"a": [1, 2], "b": [3]}, {"a": [4]}),
        _one("v", {"a": [1, 2]}, {"b": [5]}, "refused"),
        _one("w", {"b": [3]}, {"b": [6]}, "unknown"),
        _one("x", {"a": [1, 2, 4], "b": [3, 6]}, {}),
    ]
    assert not anomalies(history, {"a": [1, 2, 4], "b": [3, 6]})
