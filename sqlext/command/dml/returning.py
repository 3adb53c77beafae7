"""RETURNING: a statement that changes rows, and gives them.

The statement runs in a transaction of its own, in which the list is evaluated before the commit. So an error in the
list leaves the table as it was, as in PostgreSQL. After a conflict with another commit it runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from sqlext.command.change.own_transaction import in_own_transaction
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.dml.merge import keys_compare_as_stored
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_for
from sqlext.command.outcome import Counts, Outcome
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.query.kept_rows import keep_rows
from sqlext.spark.query.lowered_sql import lowered_query, lowered_text
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.field_path import FieldPath
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.metadata.snapshot import Snapshot, share_row_ids
from sqlext.spec.schema import Schema
from sqlext.sql.bound_merge import bind_merge
from sqlext.sql.lowering.merge import source_select
from sqlext.sql.lowering.merge_scope import keeps_keys as merge_keeps_keys
from sqlext.sql.lowering.returned_rows import (
    ChangedImages,
    ReturnedList,
    changed_images,
    count_actions,
    no_rows,
    one_image,
    paired_images,
    repeated_keys,
    union,
)
from sqlext.sql.lowering.update import keeps_keys as update_keeps_keys
from sqlext.sql.row_rules import generated_names
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.statement import Delete, Insert, Merge, Update

Run = Callable[[Environment], Outcome]


def returned_columns(environment: Environment, statement: Returning) -> str:
    """A query without rows that has the columns of the result. Raises as `Catalogs.locate`, `ReturnedList.select`."""
    _, loaded = environment.catalogs.locate(statement.table.parts)
    schema = loaded.metadata.schema()
    listed = ReturnedList(statement, schema)
    return lowered_text(listed.select(no_rows(statement.table.parts, schema)))


def returning(
    environment: Environment, spark: SparkSession, statement: Returning, run: Run, result: Mapping[str, Any]
) -> str:
    """The name of the rows that the JVM keeps: the list of `statement` for the rows that `run`, its statement, changed,
    in the columns of `result`, Spark's JSON of a schema.

    Raises as the statement and the list, UnsupportedError RETURNING_TOO_LONG for more rows than
    `sqlext.plan.preview-rows`, RETURNING_NOT_PAIRED, RETURNING_REFUSED for a subquery in a transaction, and
    AnalysisError RETURNING_OTHER_COLUMNS; the table is then as it was. ValidationConflict TRANSACTION_CONFLICT if no
    reruns are left.
    """
    if environment.is_in_transaction and ReturnedList(statement, Schema(())).has_subquery:
        reason = "it would see the change, which it does not see elsewhere. Read what it reads by a SELECT"
        raise UnsupportedError("RETURNING_REFUSED", feature="A subquery in RETURNING in a transaction", reason=reason)
    change = _ReturningChange(spark, statement, run, StructType.fromJson(dict(result)))
    kept = in_own_transaction(environment, spark, statement.table, change.kept, appends_again=True)
    if not environment.is_in_transaction:
        care_for(environment, spark, statement.table)
    return kept


@dataclass(frozen=True, slots=True)
class _ReturningChange:
    spark: SparkSession
    statement: Returning
    run: Run
    result: StructType

    def kept(self, environment: Environment) -> str:
        """The rows of the statement, which stays uncommitted in the environment's transaction."""
        name = self.statement.table
        _, before = environment.catalogs.locate(name.parts)
        outcome = self.run(environment)
        _, after = environment.catalogs.locate(name.parts)
        metadata = after.metadata
        snapshots = metadata.snapshots_not_in(before.metadata)
        schema = metadata.schema()
        listed = ReturnedList(self.statement, schema)
        rows = None
        if snapshots:
            feed, handle = ChangeFeed(environment), handle_of(name.catalog, after)
            parent_id = snapshots[0].parent_snapshot_id
            parent = None if parent_id is None else metadata.snapshot(parent_id)
            step = feed.step(handle, parent, snapshots[-1], 0)
            affected, inserted, updated, deleted = outcome.rows[0]
            counts = Counts(inserted, updated, deleted, affected)
            found = changed_images(
                step,
                schema,
                row_lineage=share_row_ids(parent, snapshots[-1]),
                is_exact=_added_rows(snapshots[-1]) == _written_rows(counts),
                sequence_number=snapshots[-1].sequence_number,
            )
            rows = self._rows(listed, metadata.properties, found, counts)
        return self._kept(environment, listed.select(rows or no_rows(name.parts, schema)))

    def _rows(
        self,
        listed: ReturnedList,
        properties: Mapping[str, str],
        found: ChangedImages,
        counts: Counts,
    ) -> str | None:
        inner, schema = self.statement.statement, listed.schema
        if isinstance(inner, Delete):
            return one_image(found.went, schema, "DELETE")
        if isinstance(inner, Insert) and (inner.overwrite or counts.affected == counts.inserted):
            return one_image(found.came, schema, "INSERT")
        has_one_action = not isinstance(inner, Merge) or not listed.names_action
        if not listed.names_old and counts.deleted == 0 and (has_one_action or counts.inserted == 0):
            return one_image(found.came, schema, "UPDATE")
        if counts.updated == 0:
            return union([one_image(found.came, schema, "INSERT"), one_image(found.went, schema, "DELETE")])
        if found.went is None:
            return one_image(found.came, schema, "INSERT")
        if found.came is None:
            return one_image(found.went, schema, "DELETE")
        return self._paired(schema, properties, found, counts)

    def _paired(self, schema: Schema, properties: Mapping[str, str], found: ChangedImages, counts: Counts) -> str:
        """Old and new rows by their row ids, if both have some, or else by their keys, if the statement keeps them and
        they occur once."""
        assert found.went is not None
        assert found.came is not None
        if found.with_ids and counts.updated is not None:
            rows = paired_images(found.went, found.came, schema, [(ROW_ID.name,)])
            if self._counts(rows)[1] == counts.updated:
                return rows
        keys = [schema.column_path(id) for id in schema.identifier_field_ids]
        if not keys:
            reason = "the table has neither a key nor row ids"
            raise self._not_paired(reason, "Declare a key, or set 'format-version' to 3, or leave")
        if not self._keeps_keys(schema, properties):
            reason = "the statement assigns a column of the key, while not all changed rows have row ids"
            raise self._not_paired(reason, "Set 'format-version' to 3, or do not assign it, or leave")
        rows = paired_images(found.went, found.came, schema, keys)
        if not self._are_paired(rows, found, keys, counts):
            raise self._not_paired("a key occurs several times among the changed rows", "Leave")
        return rows

    def _are_paired(self, rows: str, found: ChangedImages, keys: Sequence[FieldPath], counts: Counts) -> bool:
        """Whether the pairs by key, which the statement keeps, are its updates.

        If all changed rows are told, keys that occur several times make more pairs than there were updates. If rows
        that kept their values are not, there are fewer pairs, so the keys are looked at.
        """
        if counts.updated is None:
            return True
        inserted, updated, deleted = self._counts(rows)
        if not found.touched:
            return updated == counts.updated
        if (inserted, deleted) != (counts.inserted, counts.deleted) or updated > counts.updated:
            return False
        return not lowered_query(self.spark, repeated_keys(found, keys)).collect()

    def _counts(self, rows: str) -> tuple[int, int, int]:
        inserted, updated, deleted = lowered_query(self.spark, count_actions(rows)).collect()[0]
        return inserted, updated, deleted

    def _keeps_keys(self, schema: Schema, properties: Mapping[str, str]) -> bool:
        """Whether updated rows keep their keys, as far as the statement's text and types show."""
        statement, exact = self.statement.statement, is_case_sensitive(self.spark)
        if isinstance(statement, Update):
            return update_keeps_keys(statement, schema, case_sensitive=exact)
        if isinstance(statement, Merge):
            source = lowered_query(self.spark, source_select(statement))
            generated = generated_names(schema, properties)
            bound = bind_merge(statement, schema, source.columns, generated=generated, case_sensitive=exact)
            return merge_keeps_keys(bound) and keys_compare_as_stored(bound, source)
        return True

    def _not_paired(self, reason: str, way_out: str) -> UnsupportedError:
        way_out = f"{way_out} OLD and merge_action() out"
        return UnsupportedError("RETURNING_NOT_PAIRED", name=self.statement.table, reason=reason, way_out=way_out)

    def _kept(self, environment: Environment, query: str) -> str:
        most = environment.planning.thresholds.preview_rows
        rows = lowered_query(self.spark, query)
        told = [(field.name, field.dataType.simpleString()) for field in rows.schema.fields]
        if told != [(field.name, field.dataType.simpleString()) for field in self.result.fields]:
            raise AnalysisError("RETURNING_OTHER_COLUMNS", name=self.statement.table)
        kept = keep_rows(rows.limit(most + 1), most)
        if kept is None:
            raise UnsupportedError("RETURNING_TOO_LONG", name=self.statement.table, most=most)
        return kept


def _written_rows(counts: Counts) -> int | None:
    """How many new rows the statement wrote."""
    if counts.inserted is None or counts.updated is None:
        return None if counts.affected is None else counts.affected - (counts.deleted or 0)
    return counts.inserted + counts.updated


def _added_rows(snapshot: Snapshot) -> int:
    return int(snapshot.summary.get("added-records", "0"))
