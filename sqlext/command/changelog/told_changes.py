"""The table function `table_changes`: small differences of snapshots are computed by the driver, others by a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType as SparkStruct

from sqlext.command.changelog.changes import ChangeFeed, PlansInOrder
from sqlext.command.changelog.few_changes import few_changes
from sqlext.command.environment import Environment
from sqlext.spark.catalog.arrow_types import batches_in_base64, to_arrow_schema
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.changes import TOLD_STEP
from sqlext.sql.tokens.quoting import quote_name
from sqlext.thresholds import Thresholds

# The shim puts the rows of that number in the place of a relation of this name.
_RELATION = "__sqlext_told_changes"


class TableChanges:
    """Answers the shim's question for the query that `table_changes` stands for."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def sql(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{"sql": …, "rows": …}: the feed of `ChangeFeed.sql`, in which the relation `__sqlext_told_changes`.`n` has
        the rows of that number: their Spark schema, and record batches of Arrow in Base64. It is one relation for the
        small steps of all snapshots, so that Spark plans no more for many than for one.

        The driver computes up to `sqlext.plan.table-changes-rows` changes, of `sqlext.plan.driver-bytes` in memory.
        Raises as `ChangeFeed.sql`, and errors of a scan.
        """
        told: list[pa.Table] = []
        plans = PlansInOrder(self._environment)
        columns: Mapping[str, Any] = {}
        limits = Thresholds.of(arguments.get("plan_settings", {}))
        rows_left, bytes_left = limits.table_changes_rows, limits.driver_bytes

        def tell(handle: TableHandle, before: Snapshot | None, after: Snapshot, ordinal: int) -> str | None:
            nonlocal columns, rows_left, bytes_left
            found = few_changes(self._environment, handle, before, after, rows_left, plans)
            if found is None or found.nbytes > bytes_left:
                return None
            rows_left -= found.num_rows
            bytes_left -= found.nbytes
            for field, value in zip(TOLD_STEP, (ordinal, after.snapshot_id), strict=True):
                found = found.append_column(field.name, pa.repeat(value, found.num_rows))
            if not told:
                schema = self._environment.catalogs.version(handle).metadata.schema()
                columns = schema_to_spark(Schema((*schema.fields, ROW_KIND, *TOLD_STEP)))
            told.append(found.cast(to_arrow_schema(SparkStruct.fromJson(dict(columns)))))
            return quote_name((_RELATION, "0"))

        text = ChangeFeed(self._environment, tell).sql(arguments)
        rows = [{"schema": columns, "batches": batches_in_base64(pa.concat_tables(told))}] if told else []
        return {"sql": text, "rows": rows}
