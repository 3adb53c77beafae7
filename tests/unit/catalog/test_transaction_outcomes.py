"""The outcome of a transaction of several tables stays as long as a table may ask for it, and no longer."""

from __future__ import annotations

import contextlib
import random
import uuid
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from catalog.made_tables import create
from small_tables import Clock
from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.errors import CommitConflict, SqlextError, ValidationConflict
from sqlext.storage.file_io import LocalFileIO

A, B = (TableIdentifier(("db",), name) for name in "ab")
HOUR_S, DAY_MS = 3_600, 86_400_000
# A transaction with such an id looks for outcomes to delete.
LOOKS = 8


class Crash(BaseException):
    """The process ends here."""


class ScriptedIO(LocalFileIO):
    """Has `before` look at each step first, which may raise or do something else."""

    def __init__(self, before: Callable[[str, str], None] = lambda *_: None) -> None:
        self.before = before

    def read(self, location: str) -> bytes:
        self.before("read", location)
        return super().read(location)

    def open_input(self, location: str) -> BinaryIO:
        self.before("read", location)
        return super().open_input(location)

    def create(self, location: str, data: bytes, **given: Any) -> None:
        self.before("create", location)
        super().create(location, data, **given)

    def delete(self, location: str, **given: Any) -> None:
        self.before("delete", location)
        super().delete(location, **given)


class Ids:
    """Random ids, others for each catalog; with `all_look` each of a transaction that looks for outcomes to delete."""

    _seeds = count()

    def __init__(self, *, all_look: bool = True) -> None:
        self._rng = random.Random(next(self._seeds))
        self._all_look = all_look

    def __call__(self) -> uuid.UUID:
        drawn = self._rng.getrandbits(128)
        return uuid.UUID(int=drawn - drawn % LOOKS if self._all_look else drawn)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalog(tmp_path: Path, clock: Clock) -> WarehouseCatalog:
    catalog = opened(tmp_path, clock)
    catalog.create_namespace(("db",), {})
    for identifier in (A, B):
        create(catalog, identifier)
    return catalog


def opened(folder: Path, clock: Clock, io: LocalFileIO | None = None, *, all_look: bool = True) -> WarehouseCatalog:
    given: dict[str, Any] = {"clock": clock, "new_uuid": Ids(all_look=all_look), "undrop_retention_ms": DAY_MS}
    return WarehouseCatalog("lake", str(folder), io or LocalFileIO(), **given)


def changed(base: LoadedTable, clock: Clock, value: str) -> Any:
    return replace(base.metadata, properties={"n": value}, last_updated_ms=clock())


def put(catalog: WarehouseCatalog, clock: Clock, value: str, *identifiers: TableIdentifier) -> None:
    bases = [catalog.load_table(identifier) for identifier in identifiers]
    catalog.commit_tables([TableCommit(one.identifier, one, changed(one, clock, value)) for one in bases])


def values(catalog: WarehouseCatalog) -> list[str]:
    return [catalog.load_table(identifier).metadata.properties.get("n", "") for identifier in (A, B)]


def outcomes(folder: Path) -> set[str]:
    return {path.name for path in (folder / ".transactions").glob("*")}


def first_outcome(folder: Path, catalog: WarehouseCatalog, clock: Clock) -> tuple[str, list[TableIdentifier]]:
    """The outcome of a transaction that changes A and B, the first of all; and two tables for others."""
    put(catalog, clock, "1", A, B)
    (first,) = outcomes(folder)
    others = [TableIdentifier(("db",), name) for name in "cd"]
    for identifier in others:
        create(catalog, identifier)
    return first, others


@pytest.mark.parametrize("all_look", [False, True])
def test_three_hundred_transactions_leave_those_of_the_last_hour_or_so(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock, all_look: bool
) -> None:
    """One a minute, of which every third loses; some processes make no other commit than one."""
    catalog = opened(tmp_path, clock, all_look=all_look)
    most = 0
    for number in range(300):
        clock.sleep(60)
        put(catalog, clock, str(number), A, B)
        if number % 3 == 0:
            stale = catalog.load_table(A)
            put(catalog, clock, str(number), A)
            other = catalog.load_table(B)
            with pytest.raises(CommitConflict):
                catalog.commit_tables(
                    [TableCommit(one.identifier, one, changed(one, clock, "x")) for one in (other, stale)]
                )
        most = max(most, len(outcomes(tmp_path)))
    assert values(catalog) == ["299", "299"]
    assert most < (80 if all_look else 110)


def test_an_outcome_stays_while_a_newest_file_has_its_mark(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    first, others = first_outcome(tmp_path, catalog, clock)
    put(catalog, clock, "2", A)
    for _ in range(3):
        clock.sleep(2 * HOUR_S)
        put(catalog, clock, "3", *others)
    assert first in outcomes(tmp_path)
    assert values(opened(tmp_path, clock)) == ["2", "1"]
    put(catalog, clock, "2", B)
    put(catalog, clock, "3", *others)
    assert first in outcomes(tmp_path)  # a transaction may read the version that has the mark
    clock.sleep(2 * HOUR_S)
    put(catalog, clock, "3", *others)
    assert first not in outcomes(tmp_path)
    assert values(opened(tmp_path, clock)) == ["2", "2"]


def test_a_transaction_reads_a_marked_version_of_the_last_hour(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    put(catalog, clock, "1", A, B)
    clock.sleep(5 * HOUR_S)
    inside = OpenTransaction("t", lambda *_: None, clock=clock).catalog(catalog)
    inside.load_table(A)
    for value in "2345":
        put(catalog, clock, value, A, B)
    assert inside.load_table(B).metadata.properties["n"] == "1"
    inside = OpenTransaction("u", lambda *_: None, clock=clock).catalog(catalog)
    inside.load_table(A)
    put(catalog, clock, "6", A, B)
    clock.sleep(5 * HOUR_S)
    put(catalog, clock, "7", A, B)
    with pytest.raises(ValidationConflict, match="outcome of a transaction"):
        inside.load_table(B)


def test_a_dropped_table_comes_back_with_what_a_transaction_has_committed(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    first, others = first_outcome(tmp_path, catalog, clock)
    catalog.drop_table(B, purge=False)
    create(catalog, B)
    for _ in range(5):
        put(catalog, clock, "another table", B)
    put(catalog, clock, "2", A)
    for _ in range(3):
        clock.sleep(HOUR_S + 60)
        put(catalog, clock, "3", *others)
    catalog.drop_table(B, purge=True)
    for _ in range(3):
        clock.sleep(HOUR_S + 60)
        put(catalog, clock, "3", *others)
    assert first in outcomes(tmp_path)
    catalog.undrop_table(B)
    assert values(opened(tmp_path, clock)) == ["2", "1"]


@pytest.mark.parametrize("is_older", [False, True])
def test_a_table_that_another_program_has_written_keeps_the_outcome(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock, is_older: bool
) -> None:
    """One that copies the mark into the version after it; and one that puts back a copy of the folder from before."""
    metadata = tmp_path / "db/b/metadata"
    copied = {path.name: path.read_bytes() for path in metadata.iterdir()}
    put(catalog, clock, "1", A, B)
    (first,) = outcomes(tmp_path)
    marked = (metadata / "v2.metadata.json").read_bytes()
    if is_older:
        for path in metadata.iterdir():
            path.unlink()
        for name, data in copied.items():
            (metadata / name).write_bytes(data)
    else:
        (metadata / "v3.metadata.json").write_bytes(marked)
    put(catalog, clock, "2", A)
    others = [TableIdentifier(("db",), name) for name in "cd"]
    for identifier in others:
        create(catalog, identifier)
    for _ in range(3):
        clock.sleep(2 * HOUR_S)
        put(catalog, clock, "3", *others)
    assert first in outcomes(tmp_path)
    assert values(opened(tmp_path, clock)) == ["2", "" if is_older else "1"]


@pytest.mark.parametrize("content", [b"committed", b"aborted", b"committed\n{", b'committed\n{"tables": 1}'])
def test_what_does_not_say_its_tables_stays(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock, content: bytes
) -> None:
    put(catalog, clock, "1", A, B)
    (first,) = outcomes(tmp_path)
    (tmp_path / ".transactions" / first).write_bytes(content)
    assert values(opened(tmp_path, clock)) == ["", ""] if content == b"aborted" else ["1", "1"]
    if content != b"aborted":
        for _ in range(3):
            clock.sleep(2 * HOUR_S)
            put(catalog, clock, "2", A, B)
        assert first in outcomes(tmp_path)


def test_a_reader_that_hangs_for_longer_does_not_see_what_was_before(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    """Between the marked file and its outcome; the outcome is gone when it goes on."""
    put(catalog, clock, "1", A, B)
    (first,) = outcomes(tmp_path)
    seen = []

    def hang(operation: str, location: str) -> None:
        if first in location and not seen:
            seen.append(first)
            put(catalog, clock, "2", A, B)
            for value in "345":
                clock.sleep(2 * HOUR_S)
                put(catalog, clock, value, A, B)
            assert first not in outcomes(tmp_path)

    slow = opened(tmp_path, clock, ScriptedIO(hang))
    assert slow.load_table(A).metadata.properties["n"] == "5"
    assert seen


@pytest.mark.parametrize("steps", range(1, 11))
def test_a_writer_that_hangs_for_hours_has_landed_if_and_only_if_it_is_told_so(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock, steps: int
) -> None:
    """Before any of its steps; the others go on with both tables, and delete what outcomes they may."""
    left, seen = [steps], []

    def hang(operation: str, location: str) -> None:
        left[0] -= 1
        if left[0]:
            return
        for value in range(40):
            seen.append(values(opened(tmp_path, clock)))
            clock.sleep(HOUR_S / 2)
            with contextlib.suppress(CommitConflict):
                put(catalog, clock, f"other {value}", A, B)

    slow = opened(tmp_path, clock, ScriptedIO(hang))
    bases = [catalog.load_table(identifier) for identifier in (A, B)]
    changes = [TableCommit(one.identifier, one, changed(one, clock, "slow")) for one in bases]
    try:
        slow.commit_tables(changes)
        is_told = True
    except CommitConflict:
        is_told = False
    assert seen
    seen.append(values(opened(tmp_path, clock)))
    assert all(one[0] == one[1] for one in seen)
    assert (["slow", "slow"] in seen) == is_told
    put(catalog, clock, "end", A, B)
    assert values(opened(tmp_path, clock)) == ["end", "end"]


@pytest.mark.parametrize("step", range(1, 40))
def test_a_crash_while_outcomes_are_deleted_leaves_all_tables_as_they_are(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock, step: int
) -> None:
    """At each step that follows the outcome; some outcomes are needed still."""
    for number in range(3):
        put(catalog, clock, str(number), A, B)
        clock.sleep(2 * HOUR_S)
    left = [step]
    landed = []

    def crash(operation: str, location: str) -> None:
        if operation == "create" and ".transactions" in location:
            landed.append(location)
        elif landed:
            left[0] -= 1
            if not left[0]:
                raise Crash

    torn = opened(tmp_path, clock, ScriptedIO(crash))
    with contextlib.suppress(Crash):
        put(torn, clock, "last", A, B)
    assert landed
    assert values(opened(tmp_path, clock)) == ["last", "last"]
    put(catalog, clock, "end", A, B)
    assert values(opened(tmp_path, clock)) == ["end", "end"]


def test_the_outcome_of_a_lost_race_does_not_stay(tmp_path: Path, catalog: WarehouseCatalog, clock: Clock) -> None:
    bases = [catalog.load_table(identifier) for identifier in (A, B)]
    put(catalog, clock, "first", B)
    with pytest.raises(CommitConflict):
        catalog.commit_tables([TableCommit(one.identifier, one, changed(one, clock, "lost")) for one in bases])
    assert not outcomes(tmp_path)
    assert values(opened(tmp_path, clock)) == ["", "first"]


def test_the_outcome_of_an_abort_that_is_not_taken_back_stays(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    bases = [catalog.load_table(identifier) for identifier in (A, B)]
    put(catalog, clock, "first", B)

    def full(operation: str, location: str) -> None:
        if operation == "create" and location.endswith("/a/metadata/v3.metadata.json"):
            raise OSError("the disk is full")

    torn = opened(tmp_path, clock, ScriptedIO(full))
    with pytest.raises(SqlextError):
        torn.commit_tables([TableCommit(one.identifier, one, changed(one, clock, "lost")) for one in bases])
    assert len(outcomes(tmp_path)) == 1
    assert values(opened(tmp_path, clock)) == ["", "first"]


def test_a_table_made_of_a_marked_file_is_there_for_itself(
    tmp_path: Path, catalog: WarehouseCatalog, clock: Clock
) -> None:
    put(catalog, clock, "1", A, B)
    marked = catalog.load_version(catalog.load_table(A), catalog.current_metadata_location(A))
    raw = LocalFileIO().read(marked.metadata_location)
    assert b"sqlext-transaction" in raw
    other = TableIdentifier(("db",), "other")
    from_file = replace(
        marked.metadata,
        location=catalog.default_table_location(other),
        extra={"sqlext-transaction": {"id": str(uuid.uuid4()), "base": "v1.metadata.json", "begun-ms": 1}},
    )
    catalog.commit(other, None, from_file)
    assert opened(tmp_path, clock).load_table(other).metadata.properties == {"n": "1"}
