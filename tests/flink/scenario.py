"""One change log through Flink's sink, through sqlext's stream, and through both in turn: tables against the model."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

from flink.cdc_log import COLUMNS, Row, Step, cdc_log, in_order, key_of, net_changes
from flink.flink_session import FlinkJob, FlinkSession
from judges.iceberg import IcebergJudge
from judges.pyiceberg_judge import can_read, latest_metadata
from streaming.json_stream import JsonStream

FLINK_COLUMNS = (
    "`id` INT NOT NULL, `region` STRING NOT NULL, `v` STRING, `amount` DECIMAL(10, 2), `at` TIMESTAMP(3), `day` DATE"
)
SPARK_COLUMNS = "id INT, region STRING, v STRING, amount DECIMAL(10, 2), at TIMESTAMP_NTZ, day DATE"


class Difference(Exception):
    """A table is not what the model says."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How the tables are made. `upsert`: Flink's sink in upsert mode, else it takes the log as it is."""

    version: int
    partitioned: bool
    upsert: bool
    sqlext_mode: str

    @property
    def key(self) -> tuple[str, ...]:
        return ("id", "region") if self.partitioned else ("id",)

    @property
    def name(self) -> str:
        parts = "v", str(self.version), "parts" if self.partitioned else "", "upsert" if self.upsert else "log"
        return "".join(parts) + self.sqlext_mode[0]

    def ddl(self, table: str) -> str:
        """Flink's; sqlext has the same words for a table."""
        properties = {
            "format-version": self.version,
            "write.upsert.enabled": str(self.upsert).lower(),
            "write.upsert.mode": self.sqlext_mode,
        }
        told = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
        partitions = " PARTITIONED BY (`region`)" if self.partitioned else ""
        key = ", ".join(self.key)
        return f"CREATE TABLE {table} ({FLINK_COLUMNS}, PRIMARY KEY ({key}) NOT ENFORCED){partitions} WITH ({told})"


VARIANTS = tuple(
    Variant(version, partitioned, upsert, mode)
    for version, mode in ((2, "equality"), (3, "resolved"))
    for partitioned in (False, True)
    for upsert in (True, False)
)


class Scenario:
    """One variant with one seed. `heads` is the snapshot of a table after each step."""

    def __init__(
        self, spark: SparkSession, flink: FlinkSession, iceberg: IcebergJudge, folder: Path, variant: Variant, seed: int
    ) -> None:
        self._spark, self._flink, self._iceberg, self._folder = spark, flink, iceberg, folder
        self._variant = variant
        self._name = f"{variant.name}_{seed}"
        self._seed = seed
        self.told: list[str] = []

    def run(self, steps: int) -> None:
        """Errors: Difference, with the table and what differs."""
        log = cdc_log(self._seed, steps, self._variant.key, exact=not self._variant.upsert)
        heads = {
            "flink": self._created_by_flink("flink", log),
            "sqlext": self._created_by_sqlext("sqlext", log),
            "both": self._taken_over("both", log),
        }
        for table, of_table in heads.items():
            self._check_steps(table, of_table, log)
            self._check_readers(table, log[-1])
        for table, of_table in heads.items():
            self._check_changes(table, of_table, log)
        self._check_copy("flink", log[-1])
        self._check_converted("flink", log[-1])

    def _created_by_flink(self, table: str, log: Sequence[Step]) -> list[int]:
        self._flink.sql(self._variant.ddl(f"ice.db.{self._table(table)}"))
        return self._by_flink(table, log, "all")

    def _created_by_sqlext(self, table: str, log: Sequence[Step]) -> list[int]:
        self._spark.sql(self._variant.ddl(f"lake.db.{self._table(table)}").replace("TIMESTAMP(3)", "TIMESTAMP_NTZ"))
        return self._by_sqlext(table, log)

    def _taken_over(self, table: str, log: Sequence[Step]) -> list[int]:
        """A third each: Flink makes the table, sqlext goes on, and Flink again."""
        self._flink.sql(self._variant.ddl(f"ice.db.{self._table(table)}"))
        third = len(log) // 3
        heads = self._by_flink(table, log[:third], "first")
        heads += self._by_sqlext(table, log[third : 2 * third])
        return heads + self._by_flink(table, log[2 * third :], "last")

    def _by_flink(self, table: str, log: Sequence[Step], part: str) -> list[int]:
        name = self._table(table)
        job = FlinkJob(self._flink, f"db.{name}", FLINK_COLUMNS, self._folder / f"{name}_{part}")
        try:
            return [
                job.put(
                    [change.debezium() for change in step.changes],
                    sum(change.after is not None for change in step.changes),
                )
                for step in log
            ]
        finally:
            job.stop()

    def _by_sqlext(self, table: str, log: Sequence[Step]) -> list[int]:
        name = self._table(table)
        stream = JsonStream(self._spark, self._folder / f"{name}_sqlext", f"{SPARK_COLUMNS}, _row_kind STRING")
        heads = []
        for step in log:
            stream.put(*(row for change in step.changes for row in change.row_kinds()))
            stream.run(f"lake.db.{name}", "update")
            heads.append(int(self._flink.metadata(f"db.{name}")["current-snapshot-id"]))
        return heads

    # What is checked

    def _check_steps(self, table: str, heads: Sequence[int], log: Sequence[Step]) -> None:
        """sqlext, after every step."""
        for number, (head, step) in enumerate(zip(heads, log, strict=True)):
            found = self._sqlext_rows(f"{self._whole(table)} VERSION AS OF {head}")
            self._compare(f"{table} after step {number}, read by sqlext", found, step.rows.values())

    def _check_readers(self, table: str, last: Step) -> None:
        """The others, at the end."""
        name = self._table(table)
        expected = last.rows.values()
        self._compare(f"{table}, read by Flink", self._flink.rows(f"db.{name}", COLUMNS), expected)
        columns = ", ".join(f"CAST({one} AS STRING)" if one in ("amount", "day") else one for one in COLUMNS)
        found = self._iceberg.sql(f"SELECT {columns} FROM lake.db.{name}")
        told = ([*row[:4], _milliseconds(row[4]), row[5]] for row in found)
        self._compare(f"{table}, read by Iceberg's Spark runtime", told, expected)
        pyiceberg = StaticTable.from_metadata(latest_metadata(self._folder.parent / "warehouse" / "db" / name))
        if can_read(pyiceberg):
            rows = (tuple(map(_plain, row.values())) for row in pyiceberg.scan().to_arrow().to_pylist())
            self._compare(f"{table}, read by PyIceberg", rows, expected)
        else:
            self.told.append(f"PyIceberg does not read {table}: it has equality deletes")

    def _check_changes(self, table: str, heads: Sequence[int], log: Sequence[Step]) -> None:
        """The changes between any two steps."""
        states: list[tuple[int | None, Mapping[Any, Row]]] = [(None, {})]
        states += [(head, step.rows) for head, step in zip(heads, log, strict=True)]
        for number, (start, before) in enumerate(states):
            for end, after in states[number + 1 :]:
                what = f"{table}, changes from {start} to {end}"
                expected = net_changes(before, after)
                self._compare(f"{what} at once", self._changes(table, start, end, "net"), expected)
                each = self._changes(table, start, end, "each")
                folded = dict(before)
                for kind, row in each:
                    if kind in ("DELETE", "UPDATE_BEFORE"):
                        if folded.pop(key_of(row, self._variant.key), None) != row:
                            raise Difference(f"{what}: {row} goes and was not there")
                    elif folded.setdefault(key_of(row, self._variant.key), row) is not row:
                        raise Difference(f"{what}: {row} comes and its key is there")
                self._compare(f"{what}, one after the other", folded.values(), after.values())

    def _changes(self, table: str, start: int | None, end: int | None, mode: str) -> list[tuple[str, Row]]:
        """In order: of a snapshot, what goes before what comes."""
        bounds = ", ".join("NULL" if bound is None else str(bound) for bound in (start, end))
        names = ", ".join(("_change_type", *COLUMNS))
        rows = self._spark.sql(
            f"SELECT {names} FROM table_changes('{self._whole(table)}', {bounds}, '{mode}')"
            " ORDER BY _change_ordinal, _change_type IN ('INSERT', 'UPDATE_AFTER')"
        ).collect()
        return [(row[0], tuple(map(_plain, row[1:]))) for row in rows]

    def _check_copy(self, table: str, last: Step) -> None:
        """A stream of the table's changes keeps a copy of it."""
        copy = f"{self._whole(table)}_copy"
        self._spark.sql(self._variant.ddl(copy).replace("TIMESTAMP(3)", "TIMESTAMP_NTZ"))
        for _ in range(2):
            rows = self._spark.readStream.option("row-kinds", "true").table(self._whole(table))
            writer = rows.writeStream.outputMode("update").trigger(availableNow=True)
            checkpoint = str(self._folder / f"{self._name}_copy")
            writer.option("checkpointLocation", checkpoint).toTable(copy).awaitTermination()
        self._compare(f"a copy of {table}", self._sqlext_rows(copy), last.rows.values())

    def _check_converted(self, table: str, last: Step) -> None:
        """Without equality deletes PyIceberg reads it too."""
        self._spark.sql(f"CALL lake.system.convert_equality_deletes('db.{self._table(table)}')")
        self._compare(f"{table}, converted", self._sqlext_rows(self._whole(table)), last.rows.values())
        self.told.append("once its equality deletes are converted:")
        self._iceberg.sql(f"REFRESH TABLE lake.db.{self._table(table)}")
        self._check_readers(table, last)

    def _sqlext_rows(self, source: str) -> Iterator[Row]:
        for row in self._spark.sql(f"SELECT {', '.join(COLUMNS)} FROM {source}").collect():
            yield tuple(map(_plain, row))

    def _compare(self, what: str, found: Any, expected: Any) -> None:
        left, right = (in_order(tuple(row) for row in rows) for rows in (found, expected))
        if left != right:
            extra, lacking = [row for row in left if row not in right], [row for row in right if row not in left]
            raise Difference(f"{self._name}: {what}: {extra} should not be there, {lacking} should; {len(left)} rows")

    def _table(self, table: str) -> str:
        return f"{table}_{self._name}"

    def _whole(self, table: str) -> str:
        return f"lake.db.{self._table(table)}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return str(value) if isinstance(value, (datetime.date, decimal.Decimal)) else value


def _milliseconds(canonical: str) -> str:
    """A timestamp of the judge's canonical form."""
    return datetime.datetime.fromisoformat(canonical).isoformat(sep=" ", timespec="milliseconds")
