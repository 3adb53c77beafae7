"""Places of lowered SQL in the statement, beside a search that looks at every place."""

from __future__ import annotations

import random

import pytest

from sqlext.sql.error_places import ErrorPlace, offset_of, place_in

STATEMENT = "UPDATE t\n  SET a = b + 1,\n      c = b + 1\nWHERE id = 3"


@pytest.mark.parametrize(
    ("lowered", "fragment", "expected"),
    [
        ("SELECT b + 1 AS c, id = 3 FROM t", "id = 3", ErrorPlace(STATEMENT.index("id = 3"), 4, 6)),
        ("SELECT (a = b + 1,\n) FROM t", "b + 1", ErrorPlace(STATEMENT.index("b + 1"), 2, 10)),
        ("SELECT (c = b + 1\n) FROM t", "b + 1", ErrorPlace(STATEMENT.rindex("b + 1"), 3, 10)),
        ("SELECT b + 1 FROM t", "b + 1", None),  # of two places that are as like, none
        ("SELECT __operation FROM t", "__operation", None),  # in no piece of the statement
    ],
)
def test_a_place_is_found_by_what_stands_around_it(lowered: str, fragment: str, expected: ErrorPlace | None) -> None:
    assert place_in(STATEMENT, lowered, lowered.index(fragment), len(fragment)) == expected


def test_an_empty_fragment_is_found_too() -> None:
    lowered = "SELECT * FROM t WHERE id = 3"
    assert place_in(STATEMENT, lowered, len(lowered), 0) == ErrorPlace(len(STATEMENT), 4, 12)


@pytest.mark.parametrize("seed", range(40))
def test_the_likest_place_is_that_of_a_search_of_all(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        statement = "".join(rng.choices("ab\n", k=rng.randint(0, 60)))
        cut = rng.randint(0, len(statement))
        lowered = "".join(rng.choices("abc", k=3)) + statement[cut : cut + rng.randint(0, 50)] + "ca"
        start = rng.randint(0, len(lowered))
        length = rng.randint(0, min(4, len(lowered) - start))
        found = place_in(statement, lowered, start, length)
        assert (None if found is None else found.offset) == _likest(statement, lowered, start, length)


def _likest(statement: str, lowered: str, start: int, length: int) -> int | None:
    places: dict[int, int] = {}
    for at in range(len(statement) - length + 1):
        if statement[at : at + length] == lowered[start : start + length]:
            before = (n for n in range(1, min(at, start) + 1) if statement[at - n] != lowered[start - n])
            ends = (at + length, start + length)
            after = (
                n
                for n in range(min(len(statement) - ends[0], len(lowered) - ends[1]))
                if statement[ends[0] + n] != lowered[ends[1] + n]
            )
            places[at] = next(before, min(at, start) + 1) - 1
            places[at] += next(after, min(len(statement) - ends[0], len(lowered) - ends[1]))
    most = [at for at, alike in places.items() if alike == max(places.values())]
    return most[0] if len(most) == 1 else None


def test_lines_are_counted_from_one_and_positions_from_zero() -> None:
    assert [offset_of("ab\ncd", line, at) for line, at in ((1, 0), (1, 1), (2, 0), (2, 9), (5, 0))] == [0, 1, 3, 5, 5]
