"""Histories of real transactions have no anomaly that their isolation level forbids, and the checker finds one."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from catalog.bank import Opener, open_hasty
from catalog.history import Recorded, anomalies
from catalog.list_append import LISTS, Run, append, lists, open_lists, run_lists, values
from catalog.rest_model_server import RestModelServer
from small_tables import Clock
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.open_transaction import OpenTransaction

# A folder has no database that keeps transactions apart: there the history is a long one. The soak has six of these.
LONG, SHORT = 2_000, 200
_LEAST_SHARE_OF_READERS = 0.1
ASKED_FOR = os.environ.get("SQLEXT_TRANSACTIONS")


@pytest.fixture(params=["folder", "sqlite", "postgres", "server"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    if request.param == "server":
        server = RestModelServer(tmp_path)
        yield partial(open_catalog, "lake", server.settings())
        server.stop()
        return
    if request.param == "folder":
        yield partial(open_hasty, tmp_path / "w")
        return
    options = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    if request.param == "postgres":
        options |= request.getfixturevalue("postgres").new_database()
    yield partial(open_catalog, "lake", options)


@pytest.mark.parametrize("serializable", [False, True])
def test_histories(opener: Opener, tmp_path: Path, serializable: bool, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["opener"]
    transactions = int(ASKED_FOR or (LONG if serializable and kind == "folder" else SHORT))
    open_lists(opener())
    run = Run(4, transactions, kills=2, seed=1, serializable=serializable, in_snapshots=kind == "server")
    history = run_lists(opener, tmp_path, run)
    found = anomalies(history, lists(opener()))
    # Between tables, snapshots allow write skew, and no read skew (G-single).
    assert not [one for one in found if serializable or not one.startswith("G2")], found
    landed = [one for one in history if one.outcome == "landed"]
    assert len(history) >= transactions // 2
    assert len(landed) > len(history) // 10
    if not serializable:
        readers = [one for one in landed if len(one.reads) > 2 and not one.appends]
        assert len(readers) > _LEAST_SHARE_OF_READERS * len(history)


# Requests to a server take longer than looks at a folder or a database.
_SCHEDULES = {"folder": 40, "sqlite": 40, "postgres": 40, "server": 12}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_reader_sees_one_state_whatever_is_committed_between_its_reads(
    opener: Opener, seed: int, request: pytest.FixtureRequest
) -> None:
    """Readers of three to six tables; between their reads others commit to one table or several, some of what they have
    read. With a clock that goes on at each look nobody is refused."""
    kind = request.node.callspec.params["opener"]
    schedules, in_snapshots = _SCHEDULES[kind], kind == "server"
    catalog, chance, numbers = opener(), random.Random(seed), count(1)
    open_lists(catalog)
    # A server has stamped the tables with its own time.
    clock = Clock(time.time_ns() // 1_000_000 + 1)
    states = [lists(catalog)]
    moved = 0

    def write() -> None:
        opened = OpenTransaction(f"w{next(numbers)}", lambda *_: None, clock=clock)
        # Some write in no transaction, and to one table alone.
        names = chance.sample(LISTS, chance.randint(1, 3))
        target = catalog if len(names) == 1 and chance.random() < 0.5 else opened.catalog(catalog)
        for name in chance.sample(LISTS, chance.randint(0, 2)):
            values(target, name)
        written = {name: [*states[-1][name], next(numbers)] for name in names}
        for name in names:
            append(target, name, written[name], clock, in_snapshot=in_snapshots)
        opened.commit()
        states.append(states[-1] | written)

    for schedule in range(schedules):
        opened = OpenTransaction(f"r{schedule}", lambda *_: None, clock=clock)
        inside, begun = opened.catalog(catalog), len(states) - 1
        read: dict[str, list[int]] = {}
        for name in chance.sample(LISTS, chance.randint(3, len(LISTS))):
            read[name] = values(inside, name)
            for _ in range(chance.choice((0, 0, 1, 2, 4))):
                write()
        opened.commit()
        seen = [all(state[name] == read[name] for name in read) for state in states]
        assert any(seen[begun:]), (seed, schedule, read)
        moved += not seen[-1]
    assert moved > schedules // 2
    assert lists(catalog) == states[-1]


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
        # read skew, of a transaction that only reads, and of one that writes
        ("G-single", [_one("t", {}, {"a": [1], "b": [2]}), _one("u", {"a": [1], "b": []}, {})], {"a": [1], "b": [2]}),
        (
            "G-single",
            [
                _one("t", {}, {"a": [1]}),
                _one("u", {"a": [1]}, {"b": [2]}),
                _one("v", {"a": [], "b": [2]}, {"c": [3]}),
            ],
            {"a": [1], "b": [2], "c": [3]},
        ),
    ],
)
def test_the_checker_finds_it(anomaly: str, history: list[Recorded], final: dict[str, list[int]]) -> None:
    assert any(one.startswith(anomaly) for one in anomalies(history, final)), anomalies(history, final)


def test_write_skew_is_no_read_skew() -> None:
    history = [_one("t", {"b": []}, {"a": [1]}), _one("u", {"a": []}, {"b": [2]})]
    assert [one[:2] for one in anomalies(history, {"a": [1], "b": [2]})] == ["G2"]


def test_the_checker_finds_nothing_where_one_came_after_the_other() -> None:
    history = [
        _one("t", {"a": []}, {"a": [1, 2], "b": [3]}),
        _one("u", {"a": [1, 2], "b": [3]}, {"a": [4]}),
        _one("v", {"a": [1, 2]}, {"b": [5]}, "refused"),
        _one("w", {"b": [3]}, {"b": [6]}, "unknown"),
        _one("x", {"a": [1, 2, 4], "b": [3, 6]}, {}),
    ]
    assert not anomalies(history, {"a": [1, 2, 4], "b": [3, 6]})
