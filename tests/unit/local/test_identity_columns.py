"""Random histories of a table with an identity column, beside a plain model: no value is ever given twice.

Writers race: a commit of another one lands while the rows of the first are read, which is after its table was loaded.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

import sqlext.local
from small_tables import Writer, warehouse_catalog
from sqlext.commit.actions.branch_move import MoveBranch, SetCurrentSnapshot
from sqlext.commit.state.identity_change import SyncIdentity
from sqlext.errors import SqlextError
from sqlext.local import LocalTable
from sqlext.spec.identity_column import IdentityColumn
from unit.local.local_lake import created, open_lake, refused

SEED = int(os.environ.get("SQLEXT_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
STEPS = int(os.environ.get("SQLEXT_IDENTITY_STEPS", "25"))


class RacingRows:
    """Rows of which the first reading has another writer commit first."""

    def __init__(self, rows: pa.Table, race: Callable[[], None]) -> None:
        self._rows, self._race, self._read = rows, race, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self._read += 1
        if self._read == 1:
            self._race()
        return self._rows.__arrow_c_stream__(requested_schema)


@dataclass
class History:
    """The table `db.orders`, and what became of it: values that sqlext `generated`, and those that others `added`, also
    those that are on no branch any more."""

    folder: Path
    rng: random.Random
    column: IdentityColumn
    version: int
    log: list[str] = field(default_factory=list)
    generated: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    appends: int = 0

    def __post_init__(self) -> None:
        clause = self.column.clause()
        columns = f"id BIGINT NOT NULL {clause}, region STRING"
        properties = {"format-version": str(self.version)}
        self._create: LocalTable = created(open_lake(self.folder), columns, properties, name="db.orders")
        self.foreign = Writer(warehouse_catalog(self.folder / "warehouse"), seed=self.rng.randrange(2**32))

    def table(self) -> LocalTable:
        """The table as one more process opens it."""
        return sqlext.local.open(self.folder / "warehouse", {"care": "none"}).table("db.orders")

    def ids(self) -> list[int]:
        return sorted(self._create.to_arrow().column("id").to_pylist())

    def furthest(self) -> int:
        known = self.column.furthest([*self.generated, *self.added])
        return self.column.start if known is None else known

    # what happens

    def append(self, race: Callable[[], None] = lambda: None) -> None:
        count = self.rng.randrange(1, 4)
        self.appends += 1
        name = f"a{self.appends}"
        self.table().append(RacingRows(pa.table({"region": [name] * count}), race))
        found = self._create.to_arrow(where=f"region = '{name}'").column("id").to_pylist()
        self.log.append(f"append {found}")
        assert len({*found}) == len(found) == count
        for id in found:
            assert id not in self.generated, "it was given before"
            assert id not in self.added, "another writer has it"
            assert (id - self.column.start) % self.column.step == 0
            assert not self.column.is_further(self.column.start, id)
        self.generated |= {*found}

    def append_beside_an_append(self) -> None:
        self.append(race=self.append)

    def append_beside_a_foreign_one(self) -> None:
        self.append(race=self.add)

    def append_beside_a_rollback(self) -> None:
        self.append(race=self.roll_back)

    def add(self) -> None:
        """Another engine adds a value, mostly behind all others."""
        id = self.furthest() + self.rng.randrange(-3, 9) * (1 if self.column.step > 0 else -1)
        if id in self.generated:
            return
        self.foreign.append(id, region="foreign")
        self.added.add(id)
        self.log.append(f"foreign {id}")

    def give(self) -> None:
        id = self.furthest() + self.rng.randrange(1, 9) * (1 if self.column.step > 0 else -1)
        rows = [{"id": id, "region": "given"}, {"id": id, "region": "given"}]
        if self.column.always:
            with refused("IDENTITY_VALUE_GIVEN"):
                self.table().append(rows)
            return
        self.table().append(rows)
        self.added.add(id)
        self.log.append(f"given {id}")

    def roll_back(self) -> None:
        table = self.foreign.load()
        snapshots = [one.snapshot_id for one in table.metadata.snapshots]
        if snapshots:
            chosen = self.rng.choice(snapshots)
            self.foreign.commit(MoveBranch(SetCurrentSnapshot(chosen)), base=table)
            self.log.append(f"back to {chosen}")

    def delete(self) -> None:
        ids = self.ids()
        if ids and self.version > 1:
            gone = self.rng.choice(ids)
            self.table().delete(where=f"id = {gone}")
            self.log.append(f"delete {gone}")

    def synchronize(self) -> None:
        ids = self.ids()
        if ids:
            table = self.foreign.load()
            furthest = self.column.furthest(ids)
            assert furthest is not None
            self.foreign.commit(SyncIdentity(1, furthest), base=table)
            self.log.append(f"sync {furthest}")

    def step(self) -> None:
        ways: Sequence[tuple[Callable[[], None], int]] = (
            (self.append, 5),
            (self.append_beside_an_append, 3),
            (self.append_beside_a_foreign_one, 2),
            (self.append_beside_a_rollback, 1),
            (self.add, 2),
            (self.give, 1),
            (self.roll_back, 1),
            (self.delete, 2),
            (self.synchronize, 1),
        )
        self.rng.choices([way for way, _ in ways], [weight for _, weight in ways])[0]()


@pytest.mark.parametrize(
    ("column", "version"),
    [(IdentityColumn(False, -3, -2), 1), (IdentityColumn(True), 2), (IdentityColumn(False, 10, 5), 3)],
    ids=str,
)
def test_no_value_is_given_twice(tmp_path: Path, column: IdentityColumn, version: int) -> None:
    history = History(tmp_path, random.Random(SEED), column, version)
    try:
        for _ in range(STEPS):
            history.step()
    except (AssertionError, SqlextError) as error:
        told = "\n".join(history.log)
        raise AssertionError(f"SQLEXT_SEED={SEED}\n{told}\n{error!r}") from error
    assert len(history.generated) > 5


@pytest.mark.parametrize(
    "options", [{"group-commit": "process"}, {"group-commit": "process", "group-commit.min-file-size-bytes": "1000000"}]
)
def test_group_commits_do_not_merge_statements_of_one_value(tmp_path: Path, options: dict[str, str]) -> None:
    lake = open_lake(tmp_path, **options)
    table = created(lake, "id BIGINT GENERATED ALWAYS AS IDENTITY, name STRING, PRIMARY KEY (name)")

    def write(writer: int) -> None:
        for number in range(6):
            rows = [{"name": f"{writer} {number} {row}"} for row in range(writer % 3 + 1)]
            (table.upsert if number == 3 else table.append)(rows)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    ids = table.to_arrow().column("id").to_pylist()
    assert len({*ids}) == len(ids) == 72
