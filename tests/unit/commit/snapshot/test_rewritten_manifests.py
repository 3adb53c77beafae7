"""How entries are divided among the manifests of a rewrite.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from random import Random

import pytest

from sqlext.commit.snapshot.rewritten_manifests import divided
from sqlext.spec.manifests.encoded_entry import EncodedEntry
from sqlext.spec.manifests.manifest import EntryStatus

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261126"))


def entry(partition: int, size: int = 100) -> EncodedEntry:
    return EncodedEntry(EntryStatus.EXISTING, 1, 1, 1, ("f", None), (partition,), 1, None, bytes(size))


def parts_of(entries: Sequence[EncodedEntry], number: int) -> list[Sequence[EncodedEntry]]:
    return list(divided(entries, [one.partition for one in entries], number))


def test_without_entries_there_is_no_part() -> None:
    assert parts_of([], 1) == []
    assert parts_of([], 5) == []


def test_one_part_holds_all() -> None:
    entries = [entry(partition) for partition in range(10)]
    assert parts_of(entries, 1) == [entries]


@pytest.mark.parametrize("number", [2, 4, 5])
def test_equal_partitions_are_not_divided(number: int) -> None:
    entries = [entry(partition) for partition in range(20) for _ in range(7)]
    parts = parts_of(entries, number)
    assert [len(part) for part in parts] == [140 // number] * number


def test_a_partition_that_is_too_large_is_divided() -> None:
    parts = parts_of([entry(0) for _ in range(100)], 4)
    assert [len(part) for part in parts] == [25] * 4


def test_a_part_ends_with_the_key_that_is_nearest() -> None:
    parts = parts_of([entry(0 if at < 48 else 1 if at < 51 else 2) for at in range(100)], 2)
    assert [len(part) for part in parts] == [51, 49]
    parts = parts_of([entry(int(at >= 46)) for at in range(100)], 2)
    assert [len(part) for part in parts] == [46, 54]
    parts = parts_of([entry(int(at >= 44)) for at in range(100)], 2)
    assert [len(part) for part in parts] == [50, 50]


def test_there_are_no_more_parts_than_entries() -> None:
    assert [len(part) for part in parts_of([entry(0), entry(1)], 5)] == [1, 1]


def test_parts_are_about_equal_and_no_more_than_asked_for() -> None:
    for turn in range(200):
        random = Random(f"{SEED}-{turn}")
        entries = sorted(
            (entry(random.randrange(random.choice((1, 3, 50))), random.choice((50, 60, 400))) for _ in range(300)),
            key=lambda one: one.partition,
        )
        number = random.randint(1, 12)
        parts = parts_of(entries, number)
        told = f"SQLEXT_TEST_SEED={SEED} turn {turn}"
        assert list(chain.from_iterable(parts)) == entries, told
        assert len(parts) == number, told
        size = sum(len(one.data_file) for one in entries) / number
        assert all(sum(len(one.data_file) for one in part) <= 1.2 * size + 400 for part in parts), told
