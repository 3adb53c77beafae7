"""Answers from metadata instead of a scan: filters that partitions decide, aggregates, column statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlext.scan.answered_filters import answered_filters
from sqlext.scan.column_statistics import distinct_counts
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_aggregate import Aggregate, aggregate
from sqlext.scan.scan_plan import scan_schema
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.scan.pushdown import exact_predicate, predicate_of
from sqlext.spec.expression import AlwaysTrue, Predicate, conjunction
from sqlext.spec.schema import Schema


class MetadataAnswers:
    """Answers about table versions by manifests and statistics; no data file is opened."""

    def __init__(self, catalogs: Catalogs, manifests: ManifestCache) -> None:
        self._catalogs = catalogs
        self._manifests = manifests

    def answered_filters(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "answered filters": for each of `exactly`, whether all rows of the scanned files match it.

        `filters` are those of the scan plan; `exactly` has for each filter the form that selects the same rows, or
        null.
        """
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        planned_by = predicate_of(arguments["filters"], version.schema)
        exactly = [None if one is None else exact_predicate(one, version.schema) for one in arguments["exactly"]]
        if not _is_planned_by(version, conjunction([planned_by, *(one for one in exactly if one is not None)])):
            return {"answered": [False] * len(exactly)}
        answered = answered_filters(
            version.io,
            version.metadata,
            version.snapshot,
            version.schema,
            planned_by,
            exactly,
            manifests=self._manifests,
        )
        return {"answered": answered}

    def aggregate(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "aggregate": rows with the groups' values and the functions' results; null if metadata does not
        tell."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        said = [exact_predicate(described, version.schema) for described in arguments["filters"]]
        predicate = conjunction(one for one in said if one is not None)
        fields = [version.schema.column(name) for name in arguments["groups"]]
        functions = [
            Aggregate(function, None if name is None else _field_id(version.schema, name))
            for function, name in arguments["functions"]
        ]
        rows = None
        if None not in said and None not in fields and _is_planned_by(version, predicate):
            rows = self._aggregate(version, predicate, [field.id for field in fields if field], functions)
        return {"rows": None if rows is None else [[_json_value(value) for value in row] for row in rows]}

    def column_statistics(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "column statistics": by column, as far as metadata tells, distinct, nulls, min and max of all rows
        in data files. They are estimates, which deleted rows are part of: Spark uses no distinct count without nulls.
        """
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        distinct = distinct_counts(version.metadata, version.snapshot)
        fields = version.schema.fields
        rows = self._of_all_rows(version, [Aggregate("count")])[0]
        counts, least, largest = (
            self._of_all_rows(version, [Aggregate(function, field.id) for field in fields])
            for function in ("count", "min", "max")
        )
        columns: dict[str, dict[str, Any]] = {}
        for field, count, first, last in zip(fields, counts, least, largest, strict=True):
            nulls = None if rows is None or count is None else rows - count
            figures = {"distinct": distinct.get(field.id), "nulls": nulls}
            figures |= {"min": _json_value(first), "max": _json_value(last)}
            columns[field.name] = {name: value for name, value in figures.items() if value is not None}
        return {"columns": columns}

    def _of_all_rows(self, version: TableVersion, functions: Sequence[Aggregate]) -> list[Any]:
        """The results, None for one that metadata does not tell. All are asked for at once, then halves of what is not
        told together."""
        rows = self._aggregate(version, AlwaysTrue(), [], functions, with_deleted_rows=True)
        if rows is not None:
            return rows[0]
        if len(functions) < 2:
            return [None] * len(functions)
        half = len(functions) // 2
        return self._of_all_rows(version, functions[:half]) + self._of_all_rows(version, functions[half:])

    def _aggregate(
        self,
        version: TableVersion,
        predicate: Predicate,
        groups: Sequence[int],
        functions: Sequence[Aggregate],
        *,
        with_deleted_rows: bool = False,
    ) -> list[list[Any]] | None:
        if version.handle.read_optimized and not with_deleted_rows:
            return None  # which files are read is known only once the deletes have been
        return aggregate(
            version.io,
            version.metadata,
            version.snapshot,
            version.schema,
            predicate,
            groups,
            functions,
            manifests=self._manifests,
            with_deleted_rows=with_deleted_rows,
        )


def _is_planned_by(version: TableVersion, predicate: Predicate) -> bool:
    """Whether scans of the version use the version's schema for the predicate."""
    if version.snapshot is None:
        return True
    return scan_schema(version.metadata, version.snapshot, predicate) == version.schema


def _field_id(schema: Schema, name: str) -> int:
    field = schema.column(name)
    assert field is not None
    return field.id


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
