"""How entries are divided among the manifests of a rewrite.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from itertools import chain
from random import Random

import pytest

from sqlext.commit.snapshot.rewritten_manifests import divided
from sqlext.spec.manifests.encoded_entry import EncodedEntry
from sqlext.spec.manifests.manifest import EntryStatus

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))


def entry(partition: int, size: int = 100) -> EncodedEntry:
    return EncodedEntry(EntryStatus.EXISTING, 1, 1, 1, ("f", None), (partition,), 1, None, bytes(size))


def test_without_entries_there_is_no_part() -> None:
    assert list(divided([], 1)) == []
    assert list(divided([], 5)) == []


def test_one_part_holds_all() -> None:
    entries = [entry(partition) for partition in range(10)]
    assert list(divided(entries, 1)) == [entries]


@pytest.mark.parametrize("number", [2, 4, 5])
def test_equal_partitions_are_not_divided(number: int) -> None:
    entries = [entry(partition) for partition in range(20) for _ in range(7)]
    parts = list(divided(entries, number))
    assert [len(part) for part in parts] == [140 // number] * number


def test_a_partition_that_is_too_large_is_divided() -> None:
    parts = list(divided([entry(0) for _ in range(100)], 4))
    assert [len(part) for part in parts] == [30, 25, 25, 20]


def test_parts_are_about_equal_and_no_more_than_asked_for() -> None:
    for turn in range(200):
        random = Random(f"{SEED}-{turn}")
        entries = sorted(
            (entry(random.randrange(random.choice((1, 3, 50))), random.choice((50, 60, 400))) for _ in range(300)),
            key=lambda one: one.partition,
        )
        number = random.randint(1, 12)
        parts = list(divided(entries, number))
        told = f"SQLEXT_TEST_SEED={SEED} turn {turn}"
        assert list(chain.from_iterable(parts)) == entries, told
        assert len(parts) == number, told
        size = sum(len(one.data_file) for one in entries) / number
        assert all(sum(len(one.data_file) for one in part) <= 1.2 * size + 400 for part in parts), told
