"""One system's session with the work it is to do, and what a suite gives for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.measure import Cost, measured
from benchmarks.systems import System


@dataclass(frozen=True, slots=True)
class Bench:
    """One system's session and the size of the work. Suites that choose have of the modes those whose names hold one of
    `modes`, or all where it has none."""

    system: System
    spark: SparkSession
    data: Path
    scale: float
    repeats: int
    rounds: int
    modes: Sequence[str] = ()

    def chosen(self, modes: Mapping[str, Mapping[str, str]]) -> Mapping[str, Mapping[str, str]]:
        """Those of a suite that are asked for."""
        asked = self.modes or [""]
        return {name: told for name, told in modes.items() if any(one in name for one in asked)}

    def table(self, name: str) -> str:
        return f"{self.system.namespace}.{name}"

    def columns(self, parquet: Path) -> str:
        fields = self.spark.read.parquet(str(parquet)).schema.fields
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)

    def answer(self, query: str) -> list[list[str]]:
        return [[str(value) for value in row] for row in self.spark.sql(query).collect()]

    def recreate(self, name: str, columns: str, mode: str, *, key: str = "", partition: str = "") -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.table(name)}")
        properties = {**self.system.merge_modes, **self.system.change_modes}.get(mode, {})
        self.spark.sql(self.system.create_table(name, columns, properties, key=key, partition=partition))

    def cost(self, statement: str) -> Cost:
        return measured(lambda: self.spark.sql(statement).collect())

    def view(self, parquet: Path, name: str) -> None:
        self.spark.read.parquet(str(parquet)).createOrReplaceTempView(name)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the output. `check` must be equal for all systems of a case; some have an `amount` of `unit` as their
    figure."""

    suite: str
    case: str
    system: str
    mode: str
    cost: Cost
    check: object
    amount: float | None = None
    unit: str = "MB"
