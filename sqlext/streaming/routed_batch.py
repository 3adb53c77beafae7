"""A micro-batch whose rows go to several tables, by the values of a column (`route-by`), in one atomic commit.

The tables are in the namespace of the query's own target, which keeps the query's progress. One transaction commits the
progress and the rows of all tables, so each table gets the batch exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.change.rerun_limit import has_reruns_left
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.dml.row_write import write_rows_to
from sqlext.command.dml.write_mode import WriteMode, is_upsert, with_options
from sqlext.command.environment import Environment
from sqlext.command.plan.planner import plan_insert
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.equality_columns import told_apart_by
from sqlext.command.upsert.upsert import require_upsertable, upsert
from sqlext.commit.action import Action
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.spark.query.store_assignment import align
from sqlext.spark.session.session_settings import session_id
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.row_kind import ROW_KIND
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.streaming.batch_figures import BatchCommit
from sqlext.streaming.sink_options import SinkOptions, require_no_other_mode

# The names of Iceberg's own sink, so that either sink can continue a stream of the other.
QUERY_ID = "spark.sql.streaming.queryId"
BATCH_ID = "spark.sql.streaming.epochId"

_NAMED_TABLES = 5
# Conditions of a transaction's conflict with another writer.
_OVERTAKEN = ("TRANSACTION_CONFLICT", "TRANSACTION_READ_CONFLICT")


@dataclass(frozen=True, slots=True)
class RoutedWrite:
    """`targets` are the tables with new rows, at their versions before the commit. `commit` is None without rows."""

    rows: int
    commit: BatchCommit | None
    targets: Sequence[Target]


@dataclass(frozen=True, slots=True)
class RoutedBatch:
    """The rows of a batch. `target` keeps the query's progress, which the action `advance` commits.

    With `updates` the rows are upserted into each table.
    """

    target: Target
    rows: DataFrame
    options: SinkOptions
    updates: bool
    advance: Action

    def write(self, environment: Environment, spark: SparkSession) -> RoutedWrite:
        """Writes and commits the rows; does not commit if there are none.

        Raises as an INSERT does; AnalysisError STREAM_ROUTE_UNKNOWN, STREAM_ROUTE_COLUMNS or INVALID_STREAM_OPTION;
        ValidationConflict STREAM_FENCED; and TRANSACTION_CONFLICT or TRANSACTION_READ_CONFLICT if no reruns are
        left.
        """
        # Several queries read the rows: a checkpoint has them see equal ones.
        count, parts = self._parts(environment, self.rows.localCheckpoint())
        if not parts:
            return RoutedWrite(0, None, ())
        reruns, first_ms = 0, 0
        while True:
            try:
                commit, targets = self._commit(environment, spark, parts)
                return RoutedWrite(count, commit, targets)
            except ValidationConflict as conflict:
                first_ms = first_ms or environment.clock()
                since_ms = environment.clock() - first_ms
                properties = self.target.table.metadata.properties
                if conflict.condition not in _OVERTAKEN or not has_reruns_left(properties, reruns, since_ms):
                    raise
                reruns += 1

    def _commit(
        self, environment: Environment, spark: SparkSession, parts: Mapping[TableName, DataFrame]
    ) -> tuple[BatchCommit, Sequence[Target]]:
        """Writes and commits the rows of each table in a transaction of the session that Spark made for the query."""
        session, transactions = session_id(spark), environment.transactions
        transactions.begin(session)
        try:
            within = environment.within(session)
            own = self.target.table.identifier
            keeper_parts = (self.target.name.catalog, *own.namespace, own.name)
            within.catalogs.begin_reading([*(name.parts for name in parts), keeper_parts])
            written = [self._write_part(within, spark, name, part) for name, part in parts.items()]
            targets = [target for target in written if target is not None]
            # The progress is last: a server that commits table by table must not commit it before the rows.
            keeper = load_target(within, spark, self.target.name)
            commit_change(within, keeper, self.advance)
            snapshots = _new_snapshots(within, targets)
        except BaseException:
            transactions.roll_back(session)
            raise
        began_ms = environment.clock()
        transactions.commit(session)
        return BatchCommit(began_ms, environment.clock(), snapshots, of_tables=True), targets

    def _write_part(
        self, environment: Environment, spark: SparkSession, name: TableName, rows: DataFrame
    ) -> Target | None:
        """Writes the rows to a table. None if it has the batch already, after a commit that a server made in part."""
        target = with_options(load_target(environment, spark, name), self.options.write)
        if self._is_in(target.table.metadata):
            return None
        target = replace(target, destination=replace(target.destination, summary=self.target.destination.summary))
        target = told_apart_by(target, self.options.write.equality_columns)
        if self.updates:
            require_no_other_mode(self.options.write)
            require_upsertable(target)
        if self.updates or is_upsert(target, self.options.write, overwrites=False):
            kind = row_kind_column(target, rows.columns)
            upsert(environment, spark, target, align_changes(spark, rows, target, by_name=True, kind=kind))
        else:
            aligned = align(spark, rows, name.parts, target.table.metadata.schema(), by_name=True)
            write_rows_to(environment, target, aligned, WriteMode("append"), plan_insert(environment.planning).writer)
        return target

    def _is_in(self, metadata: TableMetadata) -> bool:
        batch = {(key, value) for key, value in self.target.destination.summary if key in (QUERY_ID, BATCH_ID)}
        return len(batch) == 2 and any(batch <= snapshot.summary.items() for snapshot in metadata.snapshots)

    # the rows of each table

    def _parts(self, environment: Environment, rows: DataFrame) -> tuple[int, Mapping[TableName, DataFrame]]:
        """The number of rows, and the rows of each table in the table's columns. Raises AnalysisError as `write`."""
        column = next((name for name in rows.columns if name.lower() == str(self.options.route_by).lower()), None)
        if column is None:
            reason = f"the rows have only the columns {', '.join(rows.columns)}"
            value = self.options.route_by
            raise AnalysisError("INVALID_STREAM_OPTION", kind="write", name="route-by", value=value, reason=reason)
        route = F.col(quote_identifier(column)).cast("string")
        used = [F.max(F.col(quote_identifier(name)).isNotNull()).alias(f"{n}") for n, name in enumerate(rows.columns)]
        found = rows.groupBy(route.alias("route")).agg(F.count("*").alias("rows"), *used).collect()
        by_table: dict[TableName, list[tuple[str | None, list[str]]]] = {}
        unknown: list[str] = []
        for row in found:
            name = self._table(environment, row["route"])
            if name is None:
                unknown.append("null" if row["route"] is None else str(row["route"]))
                continue
            values = [one for n, one in enumerate(rows.columns) if row[f"{n}"] and one != column]
            by_table.setdefault(name, []).append((row["route"], values))
        if unknown:
            named = ", ".join(sorted(unknown)[:_NAMED_TABLES])
            raise AnalysisError("STREAM_ROUTE_UNKNOWN", name=self.target.name, tables=named)
        parts = {name: self._part(environment, rows, column, name, routes) for name, routes in by_table.items()}
        return sum(row["rows"] for row in found), parts

    def _part(
        self,
        environment: Environment,
        rows: DataFrame,
        column: str,
        name: TableName,
        routes: Sequence[tuple[str | None, list[str]]],
    ) -> DataFrame:
        schema = environment.catalogs.load(name.parts).metadata.schema()
        own = {field.name.lower() for field in schema.fields}
        taken = [one for one in rows.columns if one.lower() in own or one.lower() == ROW_KIND.name]
        lost = sorted({one for _, values in routes for one in values} - set(taken))
        if lost:
            raise AnalysisError("STREAM_ROUTE_COLUMNS", name=name, columns=", ".join(lost))
        route, test = F.col(quote_identifier(column)).cast("string"), F.lit(False)
        for value, _ in routes:
            test = test | route.eqNullSafe(F.lit(value))
        return rows.where(test).select(*map(quote_identifier, taken))

    def _table(self, environment: Environment, value: str | None) -> TableName | None:
        """The existing table named `value`, else that of `route-unknown`; None if neither exists."""
        here = self.target.name
        for name in (value, self.options.route_unknown):
            if name is None:
                continue
            catalog = environment.catalogs.catalog(here.catalog)
            try:
                if catalog.table_exists(TableIdentifier(self.target.table.identifier.namespace, name)):
                    return TableName((here.catalog, *self.target.table.identifier.namespace, name))
            except AnalysisError:
                continue
        return None


def _new_snapshots(environment: Environment, targets: Sequence[Target]) -> Mapping[str, Snapshot]:
    """The snapshots that the transaction has added to the targets, by name of table."""
    found = {}
    for target in targets:
        snapshot = environment.catalogs.load(target.name.parts).metadata.current_snapshot()
        if snapshot is not None and snapshot != target.version.snapshot:
            found[target.table.identifier.name] = snapshot
    return found
