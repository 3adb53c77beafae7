"""Which rows of a table a query reads, as far as Spark's optimizer has told its scans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import zip_longest

from pyspark.sql import DataFrame

from sqlext.spark.catalogs import TableVersion
from sqlext.spark.pushdown import predicate_of
from sqlext.spark.table_handle import TableHandle
from sqlext.spec.expression import AlwaysTrue, Or, Predicate
from sqlext.spec.reference import MAIN_BRANCH


def read_predicates(query: DataFrame, version: TableVersion) -> Sequence[Predicate]:
    """For each place where the query reads the table, at whatever version, a predicate that is true of all rows that
    matter there.

    The predicates name the fields of the schema of `version`.
    """
    optimized = query._jdf.queryExecution().optimizedPlan()
    found = json.loads(query.sparkSession.sparkContext._jvm.io.sqlext.ReadTables.of(optimized))
    scans: dict[bool | None, list[Predicate]] = {None: [], True: [], False: []}
    for text, filters, touched_by_key in found:
        handle = TableHandle.decode(text)
        if handle.table_uuid == version.handle.table_uuid:
            same = _at_head(handle) == _at_head(version.handle)
            scans[touched_by_key].append(predicate_of(filters, version.schema) if same else AlwaysTrue())
    # Files that equality deletes touch and those that none touches are two scans for one place.
    halves = zip_longest(scans[True], scans[False])
    return [*scans[None], *(reduce(Or, (one for one in pair if one is not None)) for pair in halves)]


def _at_head(handle: TableHandle) -> TableHandle:
    return replace(handle, branch=MAIN_BRANCH) if handle.branch is None else handle
