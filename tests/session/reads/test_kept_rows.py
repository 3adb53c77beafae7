"""A random history of caches, transactions, savepoints, branches, rollbacks, views and DataFrames made before, in two
sessions, beside a model of rows: each session sees what it has to, whatever is cached.

The number of a failing test is its seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

import sqlext
from judges.iceberg import IcebergJudge

MAIN, BRANCH = "main", "b"
STEPS = 24


@dataclass
class Rows:
    """The ids of a table's rows, by branch; `main_history` has those of main's snapshots."""

    by_branch: dict[str, set[int]] = field(default_factory=lambda: {MAIN: set(), BRANCH: set()})
    main_history: list[tuple[int, set[int]]] = field(default_factory=list)
    version: int = 0


@dataclass
class Transaction:
    began_at: int
    rows: Rows
    changed: bool = False
    savepoints: list[tuple[Rows, bool]] = field(default_factory=list)


class History:
    """`first` may have a transaction, `second` has none. The model changes once the statement has run."""

    def __init__(self, spark: SparkSession, iceberg: IcebergJudge, table: str, seed: int) -> None:
        self.first, self.second = spark, spark.newSession()
        self.iceberg, self.table, self.view = iceberg, table, f"{table}_view"
        self.rng = random.Random(seed)
        self.rows = Rows()
        self.open: Transaction | None = None
        self.ids = 0
        self.made: list[tuple[SparkSession, str, DataFrame]] = []
        self.done: list[str] = []
        spark.sql(f"CREATE TABLE {table} (id INT)")
        spark.sql(f"INSERT INTO {table} VALUES (0)")
        spark.sql(f"ALTER TABLE {table} CREATE BRANCH {BRANCH}")
        spark.sql(f"CREATE VIEW {self.view} AS SELECT id FROM {table}")
        self.rows.by_branch = {MAIN: {0}, BRANCH: {0}}
        self._note_snapshot()

    def names(self) -> dict[str, str]:
        """What can be read, and the branch whose rows it has."""
        return {self.table: MAIN, f"{self.table}.branch_{BRANCH}": BRANCH, self.view: MAIN}

    def seen_by(self, session: SparkSession) -> Rows:
        return self.open.rows if self.open is not None and session is self.first else self.rows

    # steps

    def write(self) -> None:
        session = self.rng.choice([self.first, self.second])
        branch = self.rng.choice([MAIN, MAIN, BRANCH])
        name = self.table if branch == MAIN and self.rng.random() < 0.7 else f"{self.table}.branch_{branch}"
        seen = self.seen_by(session)
        there = seen.by_branch[branch]
        if there and self.rng.random() < 0.3:
            id = self.rng.choice(sorted(there))
            session.sql(f"DELETE FROM {name} WHERE id = {id}")
            seen.by_branch[branch] = there - {id}
        else:
            self.ids += 1
            if self.rng.random() < 0.5:
                session.sql(f"INSERT INTO {name} VALUES ({self.ids})")
            else:
                session.createDataFrame([(self.ids,)], "id INT").writeTo(name).append()
            seen.by_branch[branch] = there | {self.ids}
        if seen is self.rows:
            self.rows.version += 1
            if branch == MAIN:
                self._note_snapshot()
        else:
            assert self.open is not None
            self.open.changed = True

    def write_elsewhere(self) -> None:
        """By another engine in another process."""
        self.ids += 1
        self.iceberg.sql(f"INSERT INTO {self.table} VALUES ({self.ids})")
        self.rows.by_branch[MAIN] = self.rows.by_branch[MAIN] | {self.ids}
        self.rows.version += 1

    def roll_back_table(self) -> None:
        id, rows = self.rng.choice(self.rows.main_history)
        if id == self._head():
            return
        self.second.sql(f"CALL lake.system.set_current_snapshot('{self.table}', {id})")
        self.rows.by_branch[MAIN] = set(rows)
        self.rows.version += 1

    def cache(self) -> None:
        session, name = self.rng.choice([self.first, self.second]), self.rng.choice(sorted(self.names()))
        if self.rng.random() < 0.5:
            with suppress(AnalysisException):
                session.sql(f"UNCACHE TABLE IF EXISTS {name}")
            session.sql(f"CACHE TABLE {name}")
        else:
            made = session.table(name).where("id >= 0")
            # So long after the name was resolved, the query asks for the newest version again.
            time.sleep(0.2)
            made.cache()
            made.count()
            self.made.append((session, name, made))

    def drop_cache(self) -> None:
        if self.made and self.rng.random() < 0.5:
            self.made.pop(self.rng.randrange(len(self.made)))[2].unpersist()
        else:
            self.first.catalog.clearCache()

    def make(self) -> None:
        session, name = self.rng.choice([self.first, self.second]), self.rng.choice(sorted(self.names()))
        self.made.append((session, name, session.table(name)))

    def attach_again(self) -> None:
        assert sqlext.attach(self.first) is self.first
        assert sqlext.configure(SparkSession.builder).getOrCreate().table(self.table).columns == ["id"]

    def begin(self) -> None:
        if self.open is None:
            self.first.sql("BEGIN")
            self.first.table(self.table).count()
            self.open = Transaction(self.rows.version, deepcopy(self.rows))

    def end(self) -> None:
        if self.open is None:
            return
        if self.rng.random() < 0.4:
            self.first.sql("ROLLBACK")
        elif self.open.changed and self.open.began_at != self.rows.version:
            with pytest.raises(PySparkException, match="TRANSACTION_CONFLICT"):
                self.first.sql("COMMIT")
        else:
            self.first.sql("COMMIT")
            if self.open.changed:
                self.rows.by_branch = self.open.rows.by_branch
                self.rows.version += 1
        self.open = None

    def set_savepoint(self) -> None:
        if self.open is not None:
            self.first.sql(f"SAVEPOINT s{len(self.open.savepoints)}")
            self.open.savepoints.append((deepcopy(self.open.rows), self.open.changed))

    def go_back(self) -> None:
        if self.open is not None and self.open.savepoints:
            to = self.rng.randrange(len(self.open.savepoints))
            self.first.sql(f"ROLLBACK TO s{to}")
            rows, self.open.changed = self.open.savepoints[to]
            self.open.rows = deepcopy(rows)
            del self.open.savepoints[to + 1 :]

    def _note_snapshot(self) -> None:
        self.rows.main_history.append((self._head(), set(self.rows.by_branch[MAIN])))

    def _head(self) -> int:
        (head,) = self.second.sql(f"SELECT snapshot_id FROM {self.table}.refs WHERE name = 'main'").collect()
        return int(head.snapshot_id)

    # the run

    def run(self) -> None:
        steps: list[Callable[[], None]] = [
            *[self.write] * 5, self.write_elsewhere, self.roll_back_table, *[self.cache] * 4, self.drop_cache,
            self.make, self.attach_again, *[self.begin] * 2, self.end, self.set_savepoint, self.go_back,
        ]  # fmt: skip
        for _ in range(STEPS):
            step = self.rng.choice(steps)
            self.done.append(step.__name__)
            step()
            self.check()

    def check(self) -> None:
        for session in (self.first, self.second):
            for name, branch in self.names().items():
                found = sorted(row.id for row in session.sql(f"SELECT id FROM {name}").collect())
                assert found == sorted(self.seen_by(session).by_branch[branch]), (
                    self.done,
                    name,
                    session is self.first,
                )
        for session, name, frame in self.made[-3:]:
            expected = sorted(self.seen_by(session).by_branch[self.names()[name]])
            both = frame.select("id").union(session.table(name))
            assert sorted(row.id for row in both.collect()) == sorted(expected * 2), (self.done, name)


@pytest.fixture
def calm(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    with suppress(AnalysisException):
        spark.sql("ROLLBACK")
    spark.catalog.clearCache()


@pytest.mark.turns(1)
@pytest.mark.parametrize("seed", range(3))
def test_a_session_sees_what_it_has_to(calm: SparkSession, iceberg: IcebergJudge, table_name: str, seed: int) -> None:
    History(calm, iceberg, table_name, seed).run()


def test_a_query_has_one_version_of_a_table(calm: SparkSession, table_name: str) -> None:
    """The newest, also of DataFrames that were made before; places of the history that do not move stay."""
    calm.sql(f"CREATE TABLE {table_name} AS SELECT explode(sequence(1, 3)) AS id")
    first = calm.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").first()
    assert first is not None
    before = calm.table(table_name)
    by_format = calm.read.format("sqlext").load(table_name)
    pinned = calm.read.option("snapshot-id", str(first[0])).table(table_name)
    travelling = calm.sql(f"SELECT * FROM {table_name} VERSION AS OF {first[0]}")
    assert before.count() == by_format.count() == pinned.count() == 3
    calm.sql(f"INSERT INTO {table_name} VALUES (4)")
    assert before.crossJoin(calm.table(table_name)).count() == 16
    assert before.crossJoin(before.alias("again")).count() == 16
    assert before.where(f"id = (SELECT max(id) FROM {table_name})").count() == 1
    assert by_format.count() == before.crossJoin(by_format.limit(1)).count() == 4
    assert pinned.count() == travelling.count() == 3
    before.writeTo(table_name).append()
    assert calm.table(table_name).count() == before.count() == 8


def test_columns_that_a_data_frame_has_and_the_table_no_more(calm: SparkSession, table_name: str) -> None:
    calm.sql(f"CREATE TABLE {table_name} AS SELECT 1 AS id, 2 AS v")
    before = calm.table(table_name).cache()
    assert before.count() == 1
    calm.sql(f"ALTER TABLE {table_name} ADD COLUMN w INT")
    calm.sql(f"INSERT INTO {table_name} VALUES (2, 3, 4)")
    assert sorted(map(tuple, before.collect())) == [(1, 2)] or before.count() == 2
    assert sorted(map(tuple, before.select("*").collect())) == [(1, 2), (2, 3)]
    for change in ("RENAME COLUMN v TO u", "DROP COLUMN u", "ADD COLUMN v INT"):
        calm.sql(f"ALTER TABLE {table_name} {change}")
        with pytest.raises(AnalysisException, match="COLUMNS_CHANGED_SINCE"):
            before.select("*").collect()
    before.unpersist()
    assert sorted(map(tuple, calm.table(table_name).select("id").collect())) == [(1,), (2,)]
