"""The rows of a table that a query reads, by the filters that Spark's optimiser pushes into its scans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame

from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.scan.pushdown import predicate_of
from sqlext.spark.shim.java_objects import java_rows, shim_object
from sqlext.spec.expression import AlwaysTrue, Predicate, disjunction
from sqlext.spec.metadata.reference import MAIN_BRANCH


def read_predicates(query: DataFrame, version: TableVersion) -> Sequence[Predicate]:
    """For each scan of the table in the query, at any version, a predicate that all rows needed there match.

    The predicates use the fields of the schema of `version`.
    """
    scans: dict[bool | None, list[Predicate]] = {None: [], True: [], False: []}
    for handle, filters, touched_by_key in _scans(query, version):
        same = _at_head(handle) == _at_head(version.handle)
        scans[touched_by_key].append(predicate_of(filters, version.schema) if same else AlwaysTrue())
    # Files with equality deletes and those without are two scans of one relation.
    halves = zip_longest(scans[True], scans[False])
    return [*scans[None], *(disjunction(one for one in pair if one is not None) for pair in halves)]


def scanned_tables(query: DataFrame) -> Mapping[TableHandle, Sequence[list[Any]]]:
    """The tables that the query reads, in the order of its plan, each with the filters of its scans (`predicate_of`).

    A subquery counts, and what a cache holds.
    """
    found: dict[TableHandle, list[list[Any]]] = {}
    for handle, filters, _ in _all_scans(query):
        found.setdefault(handle, []).append(filters)
    return found


def reads_other_versions(query: DataFrame, version: TableVersion) -> bool:
    """Whether the query reads the table at another version or branch."""
    read = (replace(handle, read_optimized=False) for handle, _, _ in _scans(query, version))
    return any(_at_head(handle) != _at_head(version.handle) for handle in read)


def reads_snapshots(query: DataFrame, version: TableVersion) -> bool:
    """Whether the query reads the table at a snapshot, by time travel."""
    return any(handle.snapshot_id is not None for handle, _, _ in _scans(query, version))


def _scans(query: DataFrame, version: TableVersion) -> list[tuple[TableHandle, list[Any], bool | None]]:
    """For each scan of the table its handle, its filters, and whether its files have equality deletes (None: all
    files)."""
    return [scan for scan in _all_scans(query) if scan[0].table_uuid == version.handle.table_uuid]


def _all_scans(query: DataFrame) -> list[tuple[TableHandle, list[Any], bool | None]]:
    optimized = java_rows(query).queryExecution().optimizedPlan()
    found = json.loads(shim_object(query.sparkSession, "ReadTables").of(optimized))
    return [(TableHandle.decode(text), filters, touched_by_key) for text, filters, touched_by_key in found]


def _at_head(handle: TableHandle) -> TableHandle:
    """The handle for comparison: a metadata file is one version, whatever was the newest when its name was resolved."""
    return replace(handle, branch=MAIN_BRANCH if handle.branch is None else handle.branch, contents="")
