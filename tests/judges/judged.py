"""A table that every engine is asked about after each statement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from judges.pyiceberg_judge import latest_metadata, read_rows


@dataclass(frozen=True, slots=True)
class Judged:
    """A table of one warehouse, asked through every engine."""

    spark: SparkSession
    iceberg: IcebergJudge
    warehouse: Path
    table: str

    def run(self, statement: str) -> None:
        """Runs a statement in sqlext, and checks that all readers agree on the rows after it."""
        self.spark.sql(statement.replace("{table}", self.table))
        self.check()

    def run_in_iceberg(self, statement: str) -> None:
        """Runs a statement in Iceberg's runtime, and checks that all readers agree on the rows after it."""
        self.iceberg.sql(statement.replace("{table}", self.table))
        self.check()

    def check(self) -> None:
        rows = canonical_rows(self.spark.table(self.table))
        assert rows == self.iceberg.sql(f"SELECT * FROM {self.table}")
        by_pyiceberg = read_rows(latest_metadata(self.warehouse.joinpath(*self.table.split(".")[1:])))
        assert by_pyiceberg is None or by_pyiceberg == rows

    def count(self) -> int:
        return int(self.spark.table(self.table).count())
