"""One random table, made by sqlext and by Iceberg's runtime in turns, and read by every engine."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from pyspark.errors import PySparkException, SparkRuntimeException
from pyspark.sql import SparkSession

from crossread.history import History
from crossread.invariants import violations
from crossread.random_table import Engine, RandomTable, Step
from crossread.readers import OTHERS, Rows, Skipped, by_pyiceberg
from judges.canonical import canonical_rows, sort_rows
from judges.iceberg import IcebergJudge, JudgeError

STATEMENTS = 6
_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


class Disagreement(AssertionError):
    """Two engines read different rows, or a file breaks a rule of the format."""


@dataclass
class CrossReading:
    """Makes tables in one warehouse and compares; `skipped` counts what readers did not go along with, and why, `read`
    the tables that each has read, of `tables`."""

    spark: SparkSession
    iceberg: IcebergJudge
    warehouse: Path
    namespace: str = "db"
    skipped: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    _beside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def run(self, seed: int, statements: int = STATEMENTS) -> None:
        """Raises Disagreement, whose text replays the table."""
        self.tables += 1
        table = f"lake.{self.namespace}.crossread_{seed}"
        done: list[str] = []
        self._generate_code(seed % 4 == 0)
        try:
            made = RandomTable(seed)
            for step in made.steps(statements):
                sql = self._resolved(step.sql, table)
                if sql is not None:
                    done.append(f"-- {step.engine}\n{sql};")
                    self._run(step, sql, table)
            self._compare(table, made, random.Random(seed))
        except Exception as error:
            history = "\n".join(done)
            raise Disagreement(
                f"seed {seed}: {type(error).__name__}: {str(error)[:3000]}\n\n"
                f"python3 tests/crossread/run.py --count 1 --seed {seed}\n\n{history}"
            ) from error

    def _generate_code(self, wanted: bool) -> None:
        """Compiling code costs more than reading a few rows does: one table in four is read by compiled code."""
        self.spark.conf.set("spark.sql.codegen.wholeStage", wanted)
        self.spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if wanted else "NO_CODEGEN")

    def _folder(self, table: str) -> Path:
        return self.warehouse.joinpath(*table.split(".")[1:])

    def _resolved(self, sql: str, table: str) -> str | None:
        sql = sql.replace("{t}", table).replace("{name}", table.removeprefix("lake."))
        return sql if sql.startswith("CREATE TABLE") else History.read(self._folder(table)).resolved(sql)

    def _run(self, step: Step, sql: str, table: str) -> None:
        if step.together is not None:
            self._run_together(sql, step.together.replace("{t}", table))
        elif step.dynamic:
            self._run_in(step.engine, f"SET {_OVERWRITE_MODE} = dynamic")
            self._run_in(step.engine, sql)
            self._run_in(step.engine, f"SET {_OVERWRITE_MODE} = static")
        else:
            self._run_in(step.engine, sql)

    def _run_in(self, engine: Engine, sql: str) -> None:
        if engine == "sqlext":
            try:
                self.spark.sql(sql)
            except PySparkException as error:
                if error.getCondition() not in _SQLEXT_REFUSES:
                    raise
                self.skipped[f"sqlext's statement: {error.getCondition()}"] += 1
        else:
            try:
                self.iceberg.sql(sql)
            except JudgeError as error:
                self._skip_if_known(error)

    def _skip_if_known(self, error: JudgeError) -> None:
        known = next((text for text in _ICEBERG_REFUSES if text in str(error)), None)
        if known is None:
            raise error
        self.skipped[f"Iceberg's statement: {known}"] += 1

    def _run_together(self, first: str, second: str) -> None:
        other = self._beside.submit(self.spark.sql, second)
        self.spark.sql(first)
        try:
            other.result()
        except PySparkException as error:
            if error.getCondition() not in ("CONCURRENT_CHANGE", "WRITE_CONFLICT"):
                raise

    def _compare(self, table: str, made: RandomTable, rng: random.Random) -> None:
        history = History.read(self._folder(table))
        rows = self._both(f"SELECT * FROM {table}", "Iceberg")
        for name, reader in OTHERS.items():
            self._compare_with(name, rows, reader(history.location))
        for query, what in _questions(table, history, made, rng):
            self._both(query, f"Iceberg, {what}")
        self._compare_old_snapshot(table, history, rng)
        found = list(violations(history.location))
        if found:
            raise Disagreement("\n".join(found))

    def _compare_old_snapshot(self, table: str, history: History, rng: random.Random) -> None:
        """A snapshot with the columns that it had."""
        old = [one["snapshot-id"] for one in history.snapshots if one["snapshot-id"] != history.head()]
        if old:
            snapshot_id = rng.choice(old)
            rows = self._both(f"SELECT * FROM {table} VERSION AS OF {snapshot_id}", "Iceberg, an old snapshot")
            self._compare_with("PyIceberg, an old snapshot", rows, by_pyiceberg(history.location, snapshot_id))

    def _compare_with(self, name: str, rows: Rows, theirs: Rows | Skipped) -> None:
        if isinstance(theirs, Skipped):
            self.skipped[f"{name}: {theirs.reason}"] += 1
        else:
            self._same(rows, theirs, name)

    def _both(self, query: str, name: str) -> Rows:
        """What sqlext answers, which must be what Iceberg does; both work at the same time."""
        theirs = self._beside.submit(self.iceberg.sql, query)
        try:
            ours = canonical_rows(self.spark.sql(query))
        except SparkRuntimeException as error:
            if error.getCondition() != _OTHER_TYPE or theirs.exception() is None:
                raise
            self.skipped["both: a branch with files of a replaced table, whose columns of one id have other types"] += 1
            return []
        try:
            answer = theirs.result()
        except JudgeError as error:
            self._skip_if_known(error)
            return ours
        if name == "Iceberg, a filter" and _lost_to_nan(ours, answer):
            self.skipped["Iceberg's filter: files where a column is NaN in all rows are left out"] += 1
            answer = self.iceberg.sql(_unpruned(query))
        if name == "Iceberg, a filter" and ours != answer and _A_UUID.search(query):
            self.skipped["Iceberg's filter: uuids in Java's order"] += 1
            answer = self.iceberg.sql(_unpruned(query))
        if name == "Iceberg, aggregates":
            # either of 0.0 and -0.0 is the least where both are there
            self._same(_without_signed_zero(ours), _without_signed_zero(answer), f"{name} ({query})")
        elif query.endswith(".partitions"):
            self._same(*map(_without_forgotten_specs, (ours, answer)), f"{name} ({query})")  # type: ignore[call-arg]
        else:
            self._same(ours, answer, f"{name} ({query})")
        return ours

    def _same(self, ours: Rows, theirs: Rows, name: str) -> None:
        self.read[name.split(" (")[0]] += 1
        if ours != theirs:
            only_ours = [row for row in ours if row not in theirs]
            only_theirs = [row for row in theirs if row not in ours]
            raise Disagreement(
                f"{name} reads other rows ({len(ours)} ours, {len(theirs)} theirs)\n"
                f"  ours only: {only_ours[:5]}\n  theirs only: {only_theirs[:5]}"
            )


def _questions(table: str, history: History, made: RandomTable, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Queries that both engines answer, and what they are about."""
    yield f"SELECT * FROM {table} WHERE {made.condition()}", "a filter"
    yield f"SELECT {made.aggregates()} FROM {table}", "aggregates"
    if history.format_version > 2:
        yield f"SELECT *, _row_id, _last_updated_sequence_number FROM {table}", "row lineage"
    refs = [name for name in history.refs if name != "main"]
    if refs:
        name = rng.choice(refs)
        kind = history.refs[name]["type"]
        yield f"SELECT * FROM {rng.choice([f'{table} VERSION AS OF {name!r}', f'{table}.{kind}_{name}'])}", f"a {kind}"
    if history.log:
        moment = datetime.fromtimestamp(rng.choice(history.log)["timestamp-ms"] / 1000, timezone.utc)
        yield f"SELECT * FROM {table} TIMESTAMP AS OF '{moment:%Y-%m-%d %H:%M:%S.%f}'", "an old time"
    yield rng.choice(_METADATA_QUERIES).replace("{t}", table), "a metadata table"


def _lost_to_nan(ours: Rows, theirs: Rows) -> bool:
    """Spark orders NaN above all numbers; to Iceberg no comparison holds for it."""
    lost = [row for row in ours if row not in theirs]
    return bool(lost) and all("nan" in row for row in lost)


def _unpruned(query: str) -> str:
    """The same filter, behind a limit that it is not pushed through."""
    table, condition = query.removeprefix("SELECT * FROM ").split(" WHERE ", 1)
    return f"SELECT * FROM (SELECT * FROM {table} LIMIT 1000000) WHERE {condition}"


def _without_signed_zero(rows: Rows) -> Rows:
    return [["0.0" if value == "-0.0" else value for value in row] for row in rows]


def _without_forgotten_specs(rows: Rows) -> Rows:
    """Rows of `partitions`; where the last change has expired, Iceberg takes the spec to be number 0."""
    return sort_rows([row[0], None, *row[2:]] if isinstance(row[0], dict) and row[-1] is None else row for row in rows)


_METADATA_QUERIES = (
    "SELECT content, file_path, spec_id, record_count, file_size_in_bytes, equality_ids, sort_order_id FROM {t}.files",
    "SELECT content, readable_metrics FROM {t}.data_files",
    "SELECT * FROM {t}.partitions",
    "SELECT status, snapshot_id, sequence_number, file_sequence_number, data_file.file_path FROM {t}.all_entries",
    "SELECT path, length, content, added_snapshot_id, added_data_files_count FROM {t}.manifests",
    "SELECT * FROM {t}.history",
    "SELECT * FROM {t}.refs",
    "SELECT * FROM {t}.snapshots",
    "SELECT file_path, pos, spec_id, delete_file_path FROM {t}.position_deletes",
)

_A_UUID = re.compile(r"'[0-9a-f]{8}-[0-9a-f]{4}-")
_OTHER_TYPE = "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"

# What sqlext refuses of random statements on a table of the equality way.
_SQLEXT_REFUSES = ("UPSERT_PARTITION_NOT_IN_KEY",)

# What Iceberg 1.12 itself does not do with a sound table, by what its error says.
_ICEBERG_REFUSES: tuple[str, ...] = (
    "Cannot create expression literal from NaN",
    # an overwrite of a partition where files of an older partitioning hold other rows too
    "Cannot delete file where some, but not all, rows match filter",
    # variants within lists and maps
    "Only non-nested columns are supported for vectorized reads",
    # a variant added since the snapshot, whose statistics it looks for in the snapshot's schema
    'NestedField.fieldId()" because the return value of "org.apache.iceberg.Schema.findField(String)" is null',
    # defaults of some types in files of ORC
    "ORC cannot read default value",
    # readable metrics of uuids
    "Cannot cast java.util.UUID to java.lang.CharSequence",
    # a replaced table's column of the same name has the old one's id: BINARY in place of FIXED
    "class org.apache.iceberg.types.Types$BinaryType cannot be cast to class org.apache.iceberg.types.Types$FixedType",
)
