"""Origins of rows beside a map of each row."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError
from sqlext.spec.manifests.row_origins import OriginRuns, RowOrigins, head_of, row_origins
from sqlext.storage.file_io import LocalFileIO

Row = tuple[int, int]
"""A number of a file, and a position in it."""


def _packed(rows: list[Row], rng: random.Random) -> bytes:
    runs, start = OriginRuns(), 0
    while start < len(rows):
        end = start + rng.randint(1, 40)
        numbers, positions = zip(*rows[start:end], strict=True)
        runs.add(np.array(numbers, np.int64), np.array(positions, np.int64))
        start = end
    return runs.packed()


def _rows(rng: random.Random) -> list[Row]:
    """Rows of some files without some, in their order, sorted anew, or in long pieces."""
    far = rng.choice((0, 0, 2**33))
    numbers = rng.sample(range(-5, 5), rng.randint(1, 4))
    rows = [(number, far + at) for number in numbers for at in range(rng.randint(1, 60)) if rng.random() < 0.8]
    match rng.choice(("as they were", "shuffled", "in pieces")):
        case "shuffled":
            rng.shuffle(rows)
        case "in pieces":
            cut = rng.randint(0, len(rows))
            rows = rows[cut:] + rows[:cut]
    return rows


@pytest.mark.parametrize("seed", range(60))
def test_deleted_rows_are_found_where_they_have_gone(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = _rows(rng)
    paths = {number: f"file:///{number}" for number in range(-5, 5)}
    packed = _packed(rows, rng)
    if rng.random() < 0.5:
        stored = tmp_path / "origins"
        stored.write_bytes(packed)
        origins = row_origins(head_of(packed), paths, stored.as_uri())
    else:
        origins = row_origins(packed, paths)
    assert set(origins.sources) == {paths[number] for number, _ in rows}
    some = [(number, rng.choice((0, 2**33)) + rng.randint(0, 70)) for number in paths for _ in range(10)]
    gone = {*some, *rng.sample(rows, len(rows) // 3)}
    deleted = {path: BitMap64(at for of, at in gone if of == number) for number, path in paths.items()}
    assert list(origins.moved(LocalFileIO().read, deleted)) == [at for at, row in enumerate(rows) if row in gone]


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_were_dead_before_are_not_counted(seed: int) -> None:
    """Beside the origins of the same rows by position."""
    rng = random.Random(seed)
    rows = _rows(rng)
    paths = {number: f"file:///{number}" for number in range(-5, 5)}
    ordinals, dead = {}, {}
    for number, path in paths.items():
        live = sorted(at for of, at in rows if of == number)
        first = min(live, default=0)
        # Rows before the first one are live too, and not in this file.
        ordinals.update({(number, at): first + place for place, at in enumerate(live)})
        dead[path] = (BitMap64(range(first, max(live, default=0) + 9)) - BitMap64(live)).serialize()
    counted = row_origins(_packed([(row[0], ordinals[row]) for row in rows], rng), paths, dead=dead)
    by_position = row_origins(_packed(rows, rng), paths)
    some = [(number, rng.choice((0, 2**33)) + rng.randint(0, 59)) for number in paths for _ in range(10)]
    gone = {row for row in some if row in rows} | set(rng.sample(rows, len(rows) // 3))
    deleted = {
        path: BitMap64(at for of, at in gone if of == number) | BitMap64.deserialize(dead[path])
        for number, path in paths.items()
    }
    read = LocalFileIO().read
    assert counted.moved(read, deleted) == by_position.moved(read, deleted)


def test_rows_that_stay_together_take_no_space() -> None:
    runs = OriginRuns()
    for start in range(0, 1_000_000, 1000):
        runs.add(np.full(1000, 3, np.int64), np.arange(start, start + 1000))
    assert len(runs.packed()) < 8_000


def test_a_file_without_rows_has_no_source() -> None:
    origins = row_origins(OriginRuns().packed(), {})
    assert origins == RowOrigins((), origins.packed)
    assert not origins.moved(LocalFileIO().read, {"file:///a": BitMap64([1])})


def test_a_damaged_file_of_origins_is_named(tmp_path: Path) -> None:
    runs = OriginRuns()
    runs.add(np.zeros(3, np.int64), np.arange(3))
    packed = runs.packed()
    stored = tmp_path / "origins"
    origins = row_origins(packed, {0: "a"}, stored.as_uri())
    for damaged in (packed[:-4], packed[:5], packed[:25] + b"\0" * 20):
        stored.write_bytes(damaged)
        with pytest.raises(CorruptionError, match="origins"):
            origins.moved(LocalFileIO().read, {"a": BitMap64([1])})
    stored.unlink()
    with pytest.raises(CorruptionError, match="origins"):
        origins.moved(LocalFileIO().read, {"a": BitMap64([1])})
