"""How often a statement runs again."""

from __future__ import annotations

import pytest

from sqlext.command.change.rerun_limit import has_reruns_left, told_limit

_SET = {"write.conflict.max-reruns": "2"}


@pytest.mark.parametrize(
    ("properties", "reruns", "since_ms", "expected"),
    [
        ({}, 0, 0, True),
        ({}, 9, 600_000, True),
        ({}, 10, 600_000, False),
        ({}, 10, 29_999, True),
        ({}, 500, 29_999, True),
        ({}, 500, 30_000, False),
        (_SET, 1, 600_000, True),
        (_SET, 2, 0, False),
        ({"write.conflict.max-reruns": "0"}, 0, 0, False),
    ],
)
def test_reruns_are_left(properties: dict[str, str], reruns: int, since_ms: int, expected: bool) -> None:
    assert has_reruns_left(properties, reruns, since_ms) is expected


def test_it_is_told() -> None:
    assert told_limit({}) == "10 times, and further until 30 s after the first conflict (write.conflict.max-reruns)"
    assert told_limit(_SET) == "at most 2 times (write.conflict.max-reruns)"
    assert told_limit({"write.conflict.max-reruns": "0"}) is None
