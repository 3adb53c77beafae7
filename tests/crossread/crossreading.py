"""One random table, made by sqlext and by Iceberg's runtime in turns, and read by every engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from crossread.invariants import violations
from crossread.random_table import Engine, RandomTable
from crossread.readers import OTHERS, Rows, Skipped
from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError
from judges.pyiceberg_judge import latest_metadata

STATEMENTS = 5


class Disagreement(AssertionError):
    """Two engines read different rows, or a file breaks a rule of the format."""


@dataclass
class CrossReading:
    """Makes tables in one warehouse and compares; `skipped` counts what readers did not go along with, and why."""

    spark: SparkSession
    iceberg: IcebergJudge
    warehouse: Path
    namespace: str = "db"
    skipped: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)

    def run(self, seed: int, statements: int = STATEMENTS) -> None:
        """Raises Disagreement, whose text replays the table."""
        table = f"lake.{self.namespace}.crossread_{seed}"
        done: list[str] = []
        try:
            for step in RandomTable(seed).steps(statements):
                done.append(f"-- {step.engine}\n{step.sql.replace('{t}', table)};")
                self._run(step.engine, step.sql.replace("{t}", table))
            self._compare(table)
        except Exception as error:
            history = "\n".join(done)
            raise Disagreement(
                f"seed {seed}: {type(error).__name__}: {str(error)[:3000]}\n\n"
                f"python3 tests/crossread/run.py --count 1 --seed {seed}\n\n{history}"
            ) from error

    def _run(self, engine: Engine, sql: str) -> None:
        if engine == "sqlext":
            self.spark.sql(sql)
            return
        try:
            self.iceberg.sql(sql)
        except JudgeError as error:
            known = next((text for text in _ICEBERG_REFUSES if text in str(error)), None)
            if known is None:
                raise
            self.skipped[f"Iceberg's statement: {known}"] += 1

    def _compare(self, table: str) -> None:
        rows = self._ours(f"SELECT * FROM {table}")
        self._same(rows, self.iceberg.sql(f"SELECT * FROM {table}"), "Iceberg")
        self._compare_old_snapshot(table)
        metadata = latest_metadata(self.warehouse.joinpath(*table.split(".")[1:]))
        for name, reader in OTHERS.items():
            theirs = reader(metadata)
            if isinstance(theirs, Skipped):
                self.skipped[f"{name}: {theirs.reason}"] += 1
            else:
                self._same(rows, theirs, name)
        found = list(violations(metadata))
        if found:
            raise Disagreement("\n".join(found))

    def _compare_old_snapshot(self, table: str) -> None:
        """The snapshot before the last, with its own schema."""
        snapshots = self.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()
        if len(snapshots) > 1:
            query = f"SELECT * FROM {table} VERSION AS OF {snapshots[-2][0]}"
            self._same(self._ours(query), self.iceberg.sql(query), "Iceberg, one snapshot ago")

    def _ours(self, query: str) -> Rows:
        return canonical_rows(self.spark.sql(query))

    def _same(self, ours: Rows, theirs: Rows, name: str) -> None:
        self.read[name] += 1
        if ours != theirs:
            only_ours = [row for row in ours if row not in theirs]
            only_theirs = [row for row in theirs if row not in ours]
            raise Disagreement(
                f"{name} reads other rows ({len(ours)} ours, {len(theirs)} theirs)\n"
                f"  ours only: {only_ours[:5]}\n  theirs only: {only_theirs[:5]}"
            )


# What Iceberg 1.12 itself does not do with a sound table, by what its error says.
_ICEBERG_REFUSES: tuple[str, ...] = ()
