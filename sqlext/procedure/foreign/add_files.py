"""add_files: adds data files of another program to a table. The files stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlext.commit.actions.add_files import AddFiles
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.procedure.foreign.added_files import content_files, threads
from sqlext.procedure.foreign.source_files import Source, source_files
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.partition_folder import stored_value
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform
from sqlext.write.existing.existing_file import ExistingFile, TableShape
from sqlext.write.metrics import MetricsConfig


def add_files(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the numbers of added files and of changed partitions.

    Raises UnsupportedError FILES_NOT_ADDED or, for one file, FILE_NOT_ADDED; AnalysisError for an argument.
    """
    arguments = invocation.arguments
    table = invocation.load(arguments["table"])
    metadata, name = table.metadata, str(table.identifier)
    _require_no_row_rules(metadata, name)
    catalog = invocation.environment.catalogs.catalog(invocation.catalog)
    source = source_files(invocation.spark, catalog.io, arguments["source_table"])
    spec = _fitting_spec(metadata, source, name)
    source = _filtered(source, arguments["partition_filter"] or {}, spec, metadata.schema())
    if not source.files:
        return [(0, 0)]
    mapping = NameMapping.of_table(metadata.properties) or NameMapping.of_schema(metadata.schema())
    shape = TableShape(metadata.schema(), spec, mapping, MetricsConfig.from_properties(metadata.properties))
    action = AddFiles(
        content_files(catalog.io, source.files, shape, name, threads(ADD_FILES, arguments)),
        metadata.current_schema_id,
        mapping.to_text(),
        arguments["check_duplicate_files"] is not False,
    )
    snapshot = invocation.environment.commit(invocation.catalog, table, action).snapshot
    assert snapshot is not None
    return [(int(snapshot.summary["added-data-files"]), int(snapshot.summary["changed-partition-count"]))]


def _require_no_row_rules(metadata: TableMetadata, name: str) -> None:
    """Raises UnsupportedError for a table with constraints, by which the files' rows were never checked."""
    rules = row_rule_properties(metadata.properties)
    if rules:
        raise UnsupportedError(
            "FILES_NOT_ADDED",
            name=name,
            reason=f"their rows were never checked against its constraint {min(rules)}",
            way_out="Insert the rows with INSERT INTO … SELECT, which checks them, or drop the constraint first.",
        )


def _fitting_spec(metadata: TableMetadata, source: Source, name: str) -> PartitionSpec:
    """The current partition spec, else the newest, with an identity field for each column of the source's folders."""
    told, schema = set(source.folder_columns), metadata.schema()
    others = sorted(metadata.partition_specs, key=lambda spec: -spec.spec_id)
    for spec in (metadata.spec(), *others):
        if all(any(_tells(column, field, schema) for field in spec.fields) for column in told):
            return spec
    raise UnsupportedError(
        "FILES_NOT_ADDED",
        name=name,
        reason=f"their folders partition them by {', '.join(sorted(told))}, and the table is not partitioned so",
        way_out="Partition the table by these columns themselves, or add the files of one folder at a time to a table"
        " without them.",
    )


def _tells(column: str, field: PartitionField, schema: Schema) -> bool:
    if not isinstance(field.transform, IdentityTransform) or schema.field_or_none(field.source_id) is None:
        return False
    return column in (field.name, schema.column_name(field.source_id))


def _filtered(source: Source, wanted: Mapping[str, str], spec: PartitionSpec, schema: Schema) -> Source:
    """The source with the files whose folders have the `wanted` values, compared as values of the columns."""
    tests = [_test(column, text, source, spec, schema) for column, text in wanted.items()]
    return replace(source, files=tuple(file for file in source.files if all(test(file) for test in tests)))


def _test(
    column: str, text: str, source: Source, spec: PartitionSpec, schema: Schema
) -> Callable[[ExistingFile], bool]:
    field = next((field for field in spec.fields if _tells(column, field, schema)), None)
    if field is None or column not in source.folder_columns:
        raise _argument(f"partition_filter names {column}, by which the source is not partitioned")
    type_ = schema.field(field.source_id).type
    try:
        value = stored_value(type_, text)
    except ValueError as error:
        raise _argument(f"partition_filter has no value of type {type_} for {column}: {error}") from None

    def is_wanted(file: ExistingFile) -> bool:
        with suppress(ValueError):
            return bool(stored_value(type_, file.folder[column]) == value)
        return False

    return is_wanted


def _argument(reason: str) -> AnalysisError:
    return AnalysisError("PROCEDURE_ARGUMENT", procedure="add_files", reason=reason, parameters=ADD_FILES.signature)


ADD_FILES = Procedure(
    "add_files",
    (
        Parameter("table", "string"),
        Parameter("source_table", "string"),
        Parameter("partition_filter", "map<string, string>", required=False),
        Parameter("check_duplicate_files", "boolean", required=False),
        Parameter("parallelism", "int", required=False),
    ),
    (("added_files_count", "long"), ("changed_partition_count", "long")),
    add_files,
)
