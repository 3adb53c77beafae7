"""What metadata answers in place of a scan: filters that partitions decide, aggregates, figures of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlext.scan.column_figures import distinct_counts
from sqlext.scan.file_filter import FileFilter
from sqlext.scan.manifest_cache import ManifestCache
from sqlext.scan.metadata_aggregate import Aggregate, aggregate
from sqlext.scan.scan_plan import scan_schema
from sqlext.spark.catalogs import Catalogs, TableVersion
from sqlext.spark.pushdown import exact_predicate
from sqlext.spark.table_handle import TableHandle
from sqlext.spec.expression import AlwaysTrue, Predicate, conjunction
from sqlext.spec.schema import Schema


class MetadataAnswers:
    """Answers of table versions by their manifests alone; no data file is opened."""

    def __init__(self, catalogs: Catalogs, manifests: ManifestCache) -> None:
        self._catalogs = catalogs
        self._manifests = manifests

    def answered_filters(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "answered filters": for each whether the partitions of the planned files leave nothing to test."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        specs = self._spec_ids(version)

        def is_answered(described: list[Any]) -> bool:
            predicate = exact_predicate(described, version.schema)
            if predicate is None or not _is_planned_by(version, predicate):
                return False
            files = FileFilter(predicate, schema=version.schema, specs=version.metadata.specs_by_id())
            return all(files.is_answered_by(spec_id) for spec_id in specs)

        return {"answered": [is_answered(described) for described in arguments["filters"]]}

    def aggregate(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "aggregate": rows of the groups' values and the functions' results, or null rows."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        said = [exact_predicate(described, version.schema) for described in arguments["filters"]]
        predicate = conjunction(one for one in said if one is not None)
        fields = [version.schema.find(name) for name in arguments["groups"]]
        functions = [
            Aggregate(function, None if name is None else _field_id(version.schema, name))
            for function, name in arguments["functions"]
        ]
        rows = None
        if None not in said and None not in fields and _is_planned_by(version, predicate):
            rows = self._aggregate(version, predicate, [field.id for field in fields if field], functions)
        return {"rows": None if rows is None else [[_json_value(value) for value in row] for row in rows]}

    def column_statistics(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "column statistics": by column, of what the metadata tells, distinct, nulls, min and max.

        They are of all rows, whatever the filters.
        """
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        distinct = distinct_counts(version.metadata, version.snapshot)
        columns: dict[str, dict[str, Any]] = {}
        for field in version.schema.fields:
            figures: dict[str, Any] = {"distinct": distinct.get(field.id)}
            for functions in (("count", "rows"), ("min",), ("max",)):
                wanted = [Aggregate("count") if one == "rows" else Aggregate(one, field.id) for one in functions]  # type: ignore[arg-type]
                found = self._aggregate(version, AlwaysTrue(), [], wanted)
                if found is not None and functions[0] == "count":
                    figures["nulls"] = found[0][1] - found[0][0]
                elif found is not None:
                    figures[functions[0]] = _json_value(found[0][0])
            columns[field.name] = {name: value for name, value in figures.items() if value is not None}
        return {"columns": columns}

    def _aggregate(
        self, version: TableVersion, predicate: Predicate, groups: Sequence[int], functions: Sequence[Aggregate]
    ) -> list[list[Any]] | None:
        return aggregate(
            version.io,
            version.metadata,
            version.snapshot,
            version.schema,
            predicate,
            groups,
            functions,
            manifests=self._manifests,
        )

    def _spec_ids(self, version: TableVersion) -> set[int]:
        """The specs of the snapshot's manifests."""
        listed = () if version.snapshot is None else self._manifests.manifests(version.io, version.snapshot)
        return {manifest.spec_id for manifest in listed}


def _is_planned_by(version: TableVersion, predicate: Predicate) -> bool:
    """Whether scans of the version plan by the schema whose fields the predicate names."""
    if version.snapshot is None:
        return True
    return scan_schema(version.metadata, version.snapshot, predicate) == version.schema


def _field_id(schema: Schema, name: str) -> int:
    field = schema.find(name)
    assert field is not None
    return field.id


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
