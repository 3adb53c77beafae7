"""Which rows of a table a query reads, as far as Spark's optimizer has told its scans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from sqlext.spark.catalogs import TableVersion
from sqlext.spark.pushdown import predicate_of
from sqlext.spark.table_handle import TableHandle
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.reference import MAIN_BRANCH


def read_predicates(query: DataFrame, version: TableVersion) -> Sequence[Predicate]:
    """For each scan of the table in the query, at whatever version, a predicate that is true of all rows that matter.

    The predicates name the fields of the schema of `version`.
    """
    optimized = query._jdf.queryExecution().optimizedPlan()
    found = json.loads(query.sparkSession.sparkContext._jvm.io.sqlext.ReadTables.of(optimized))
    predicates: list[Predicate] = []
    for text, filters in found:
        handle = TableHandle.decode(text)
        if handle.table_uuid == version.handle.table_uuid:
            same = _at_head(handle) == _at_head(version.handle)
            predicates.append(predicate_of(filters, version.schema) if same else AlwaysTrue())
    return predicates


def _at_head(handle: TableHandle) -> TableHandle:
    return replace(handle, branch=MAIN_BRANCH) if handle.branch is None else handle
