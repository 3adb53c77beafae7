"""A query's scan of rows by their key, which the driver's Python process reads in place of a Spark job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType as SparkStruct

from sqlext.errors import OnlyByQuery, SqlextError
from sqlext.scan.files.readable_files import require_allowed
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.arrow_types import batches_in_base64, to_arrow_schema
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.scan.pushdown import predicate_of
from sqlext.spark.scan.rows_of_keys import FoundRows, is_looked_up, keys_sought, rows_of_keys
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.thresholds import Thresholds
from sqlext.write.positioned_values import has_positioned_values

# Spec: Reserved Field IDs.
_FILE = NestedField(2147483646, "_file", StringType())
_POSITION = NestedField(2147483645, "_pos", LongType())
_PLACES = (_FILE, _POSITION)


class KeyedScan:
    """Answers the shim's question for the rows of a scan of which "plan scan" says that it is by key."""

    def __init__(self, catalogs: Catalogs, scans: ScanBridge) -> None:
        self._catalogs = catalogs
        self._scans = scans

    def rows(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """{"batches": …}: the rows with one of the keys that the filters say, in the columns `types`, as record batches
        of Arrow in Base64. Rows that do not match the rest of the filters are among them. null if Spark has to read
        them, or to tell what is wrong."""
        try:
            batches = self._batches(arguments)
        except (SqlextError, OnlyByQuery, pa.ArrowException, OverflowError, ValueError):
            batches = None
        return {"batches": batches}

    def _batches(self, arguments: Mapping[str, Any]) -> list[str] | None:
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        shape = to_arrow_schema(SparkStruct.fromJson(json.loads(arguments["types"])))
        fields = _fields(version, shape.names)
        key = version.schema.identifier_fields
        predicate = predicate_of(arguments["filters"], version.schema)
        sought = keys_sought(predicate, key)
        if fields is None or sought is None:
            return None
        plan = self._scans.with_positions(version, self._scans.plan(version, predicate))
        others = [field for field in fields if field not in key and field not in _PLACES]
        thresholds = Thresholds.of(arguments["plan_settings"])
        if plan is None or not is_looked_up(version, plan, key, others, thresholds):
            return None
        require_allowed(version.io, [task.file for task in plan.tasks])
        tables = [
            pa.table([_column(found, field) for field in fields], names=shape.names).cast(shape)
            for found in rows_of_keys(version, plan, key, sought, others)
        ]
        return batches_in_base64(pa.concat_tables([shape.empty_table(), *tables]))


def _column(rows: FoundRows, field: NestedField) -> pa.Array | pa.ChunkedArray:
    if field == _FILE:
        return pa.repeat(rows.path, len(rows.positions))
    return pa.array(position_array(rows.positions)) if field == _POSITION else rows.columns[field.id]


def _fields(version: TableVersion, names: Sequence[str]) -> list[NestedField] | None:
    """The columns of these names, which may be those of a row's place; None if one is none of the table's columns, or
    of a type that is not read here, or if there is none: a table of Arrow without columns has no rows."""
    stored = [field for field in version.schema.fields if has_positioned_values(field)]
    fields = {field.name: field for field in (*stored, *_PLACES)}
    if len(fields) < len(stored) + len(_PLACES):
        return None
    found = [fields[name] for name in names if name in fields]
    return found if found and len(found) == len(names) else None
