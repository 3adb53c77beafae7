"""One sequence of statements, run by sqlext and by Iceberg's runtime on tables of their own, and by the plain model."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forced_plans import FORCED
from fuzz.random_sequence import Creation, RandomSequence
from fuzz.statements import Alter, Counts, Refused, Statement, Table
from judges.canonical import canonical_rows, canonical_scalar, sort_rows
from judges.iceberg import IcebergJudge, JudgeError
from sessions import planned

STATEMENTS = 6
_SHORTEST_TRIES = 40
# A few rows are sorted and joined sooner than a plan for many is made.
FEW_ROWS = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
PLANS = ("", *FORCED)
"""What `sqlext.plan.force` is for one sequence after another."""
_BY_ROW = {"spark.sql.parquet.enableVectorizedReader": "false"}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@contextmanager
def few_rows(spark: SparkSession, *, compiled: bool, forced: str, by_row: bool) -> Iterator[None]:
    """The session with settings for small tables, and one of `PLANS`. Spark reads by columns only where it may compile
    queries; `by_row`: by another reader of Parquet."""
    given = {**FEW_ROWS, **({} if compiled else _INTERPRETED), **(_BY_ROW if by_row else {})}
    before = {name: spark.conf.get(name) for name in given}
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        with planned(spark, force=forced):
            yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old)


class Difference(AssertionError):
    """sqlext, Iceberg's runtime and the model are not of one mind; the text has the fewest statements that show it."""


class Unfit(Exception):
    """A statement cannot stand where it is, as one before it was left out."""


@dataclass
class Differential:
    """Runs sequences in one warehouse, several at a time if asked to.

    `alone` counts why Iceberg's runtime had no part in some.
    """

    spark: SparkSession
    iceberg: IcebergJudge
    namespace: str = "db"
    alone: Counter[str] = field(default_factory=Counter)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _beside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def run(self, seed: int, count: int = STATEMENTS) -> None:
        sequence = RandomSequence(seed)
        statements = sequence.statements(count)
        found = self._difference(sequence.creation, statements)
        if found is None:
            return
        statements, found = self._shortest(sequence.creation, statements, found)
        texts = [made.sql("lake.db.t", "sqlext") for made in (sequence.creation, *statements)]  # type: ignore[attr-defined]
        listed = "\n".join(f"{text};" for text in texts)
        raise Difference(f"seed {seed}: {found}\n\npython3 tests/fuzz/run.py --count 1 --seed {seed}\n\n{listed}")

    def _shortest(
        self, creation: Creation, statements: Sequence[Statement], found: str
    ) -> tuple[Sequence[Statement], str]:
        """The statements without those that the difference does not need, one left out at a time."""
        tries = 0
        at = len(statements) - 1
        while at >= 0 and tries < _SHORTEST_TRIES:
            fewer = [*statements[:at], *statements[at + 1 :]]
            tries += 1
            try:
                without = self._difference(creation, fewer)
            except Unfit:
                without = None
            if without is not None:
                statements, found = fewer, without
            at -= 1
        return statements, found

    def _difference(self, creation: Creation, statements: Sequence[Statement]) -> str | None:
        """What is different first, or None."""
        name = f"lake.{self.namespace}.fuzz_{next(self._numbers)}"
        twin: str | None = f"{name}_twin"
        model = creation.table()
        self.spark.sql(creation.sql(name, "sqlext"))
        self._asked(creation.sql(f"{name}_twin", "iceberg"))
        for statement in statements:
            before = model
            model, counts, refusal = _applied(statement, before)
            if twin and statement.is_doubled_by_iceberg(before):
                twin = self._leave_twin("it doubles rows that match twice")
            theirs = statement.sql(twin, "iceberg") if twin else None
            if twin and theirs is None and refusal is None:
                twin = self._leave_twin("it cannot say the statement")
            answer = self._beside.submit(self.iceberg.sql, theirs) if theirs else None
            said = self._ours(statement, name, counts, refusal)
            try:
                if answer:
                    answer.result()
                if refusal and answer:
                    twin = self._leave_twin(f"it does what is {refusal} here")
            except JudgeError as error:
                if refusal is None:
                    twin = self._leave_twin(f"{error.condition}: {str(error)[:100]}")
            if said:
                return said
        rows = canonical_rows(self.spark.table(name))
        if rows != _canonical(model):
            return _unlike("sqlext", rows, _canonical(model))
        if twin and (answered := self._asked(f"SELECT * FROM {twin}")) != rows:
            return _unlike("Iceberg", answered, rows)
        if (answered := self._asked(f"SELECT * FROM {name}")) != rows:
            return _unlike("Iceberg on sqlext's table", answered, rows)
        return None

    def _asked(self, text: str) -> list[list[Any]]:
        """Iceberg's rows; it is asked one thing at a time."""
        return self._beside.submit(self.iceberg.sql, text).result()

    def _leave_twin(self, reason: str) -> None:
        self.alone[reason] += 1

    def _ours(self, statement: Statement, name: str, counts: Counts | None, refusal: str | None) -> str | None:
        sql = statement.sql(name, "sqlext")
        assert sql is not None
        try:
            rows = self.spark.sql(sql).collect()
        except PySparkException as error:
            if refusal is not None and error.getCondition() == refusal:
                return None
            return f"sqlext refuses {sql}\n  {str(error)[:1500]}"
        if refusal is not None:
            return f"sqlext does not refuse, as {refusal}, {sql}"
        if counts is not None and not isinstance(statement, Alter):
            said = [rows[0][f"num_{what}_rows"] for what in ("inserted", "updated", "deleted")]
            if any(one not in (None, count) for one, count in zip(said, counts, strict=True)):
                return f"sqlext counts {said} inserted, updated and deleted rows where they are {counts}, of {sql}"
        return None


def _applied(statement: Statement, table: Table) -> tuple[Table, Counts | None, str | None]:
    after = copy.deepcopy(table)
    try:
        counts = statement.apply(after)
    except Refused as refused:
        return table, None, str(refused)
    except KeyError as error:
        raise Unfit from error
    return after, counts, None


def _canonical(table: Table) -> list[list[Any]]:
    return sort_rows([[canonical_scalar(row[name], zoned=False) for name in table.columns] for row in table.rows])


def _unlike(who: str, rows: list[list[Any]], expected: list[list[Any]]) -> str:
    more, fewer = Counter(map(repr, rows)), Counter(map(repr, expected))
    return f"{who} has other rows\n  too many: {[*(more - fewer)][:6]}\n  missing: {[*(fewer - more)][:6]}"
