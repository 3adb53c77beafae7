"""Runs of an array's items, and an array that is found in a JSON text."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from sqlext.spec.metadata.repeated_text import Runs, decode_with_known, encoded_runs, items_of


def objects(count: int) -> list[dict[str, Any]]:
    return [{"n": number, "s": "ü]}"} for number in range(count)]


def runs_of(items: list[dict[str, Any]], known: Runs = ()) -> Runs:
    return encoded_runs(known, items, lambda item: item)


def text(runs: Runs) -> bytes:
    return b"".join(run.text for run in runs)


def test_items_that_come_one_by_one_are_in_few_runs_and_join_longer_ones_seldom() -> None:
    items = objects(1000)
    runs: Runs = ()
    joined = 0
    for count in range(1, len(items) + 1):
        before = {id(run) for run in runs}
        runs = runs_of(items[:count], runs)
        lengths = [len(run.items) for run in runs]
        assert all(one > after for one, after in itertools.pairwise(lengths)), lengths
        joined += sum(len(run.items) for run in runs if id(run) not in before)
    assert len(runs) <= 10
    assert joined <= 1000 * 10
    assert json.loads(b"[" + text(runs) + b"]") == items == list(items_of(runs))


def test_equal_items_that_are_other_objects_are_encoded_again() -> None:
    known = runs_of([{"n": 1}, {"n": 2}])
    other = runs_of([{"n": True}, {"n": 2}], known)
    assert text(other) == b'{"n":true},{"n":2}'


def test_a_change_at_the_end_leaves_the_runs_before_it() -> None:
    items = objects(12)
    runs: Runs = ()
    for count in range(1, 13):
        runs = runs_of(items[:count], runs)
    assert [len(run.items) for run in runs] == [8, 4]
    lost = runs_of([*items, {"n": "lost"}], runs)
    won = runs_of([*items, {"n": "won"}], lost)
    assert won[:2] == lost[:2] == runs
    assert text(won[2:]) == b',{"n":"won"}'
    assert text(runs_of(items[:3], runs)) == text(runs_of(items[:3]))


@pytest.mark.parametrize("indent", [None, 3])
def test_known_items_are_cut_and_others_parsed(indent: int | None) -> None:
    items = objects(5)
    data = json.dumps({"a": 1, "b": items, "c": items[:2], "d": 2}, indent=indent).encode()
    obj, arrays = decode_with_known(data, {"b": (), "c": ()})
    assert obj == {"a": 1, "d": 2}
    assert [list(array.added) for array in arrays.values()] == [items, items[:2]]
    assert not arrays["b"].known
    known = runs_of(items[:3])
    if indent is None:
        data = json.dumps({"b": items}, separators=(",", ":"), ensure_ascii=False).encode()
        obj, arrays = decode_with_known(data, {"b": (runs_of(items[:1]), known, runs_of([*items, {}]))})
        assert (obj, arrays["b"].known, arrays["b"].added) == ({}, known, tuple(items[3:]))


@pytest.mark.parametrize(
    "text",
    [
        '{"x":{"b":[{}]},"b":[{}]}',
        '{"b":[{}],"b":[]}',
        '{"b":[{}],"b":null}',
        '{"b":[{}],"c":Infinity}',
        '["b",{"b":[{}]}]',
    ],
)
def test_an_array_that_is_not_the_objects_own_is_an_error(text: str) -> None:
    json.loads(text)
    with pytest.raises(ValueError, match=r"it is no object|own array"):
        decode_with_known(text.encode(), {"b": ()})


@pytest.mark.parametrize(
    "text", ["{}", '{"b":[]}', '{"b":null}', '{"b":[1]}', '{"b":{}}', '{"b":"[{}]"}', '{"c":["b"]}']
)
def test_an_array_that_does_not_begin_with_an_object_stays_where_it_is(text: str) -> None:
    assert decode_with_known(text.encode(), {"b": ()}) == (json.loads(text), {})
