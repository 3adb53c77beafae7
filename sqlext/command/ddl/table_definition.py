"""The definition of a new table from SQL or Spark's catalog interface: schema, spec, sort order, properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from sqlext.commit.rules.bucket_layout import with_buckets
from sqlext.commit.rules.identity_rules import require_unordered_identities
from sqlext.commit.rules.upsert_rules import require_upsert_rules
from sqlext.errors import AnalysisError
from sqlext.properties import FORMAT_VERSION, KEY_ENFORCED, KEY_RELY, PRIMARY_KEY, as_stored, kept_by_replace
from sqlext.property_names import require_valid_properties
from sqlext.spec.constraint import GENERATED_PREFIX, LENGTH_PREFIX, check_constraints, is_constraint
from sqlext.spec.field_path import FieldPath, listed_paths, path_text
from sqlext.spec.identity_column import IDENTITY_PREFIX, STATE_PREFIXES
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_case import require_distinct_fields
from sqlext.spec.nesting import require_levels
from sqlext.spec.partition_spec import FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec, overlapped_field
from sqlext.spec.replaced_schema import assign_kept_ids
from sqlext.spec.reserved_columns import require_own_names
from sqlext.spec.schema import Schema, assign_fresh_ids
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.stored_fields import require_storable
from sqlext.spec.transform import Transform, other_transforms, parse_transform
from sqlext.spec.types import LongType, NestedField, Type
from sqlext.spec.version_feature import require_version
from sqlext.sql.binding import resolve_field
from sqlext.sql.row_rules import require_plain_check
from sqlext.sql.statements.statement import ColumnDefinition, CreateTable, PartitionTerm, SortTerm
from sqlext.sql.syntax.type_name import TimestampSetting, parse_type
from sqlext.write.bloom_filters import BloomFilters
from sqlext.write.column_chunk import ColumnChunks
from sqlext.write.metrics import MetricsConfig

# Properties by field id, and the clause of a column by which they are set.
_OF_FIELDS = {
    LENGTH_PREFIX: "the type VARCHAR(n)",
    GENERATED_PREFIX: "GENERATED ALWAYS AS (…)",
    **dict.fromkeys((IDENTITY_PREFIX, *STATE_PREFIXES), "GENERATED … AS IDENTITY"),
}
# Properties that Spark adds, or whose values the metadata has elsewhere.
_NOT_STORED = frozenset({"provider", "owner", "location", "external", "is_managed_location"})

# Properties that become other fields of the metadata.
_SAID_ELSEWHERE = frozenset({FORMAT_VERSION.name, PRIMARY_KEY.name})

# Properties of every new table in Iceberg's catalogs.
DEFAULT_PROPERTIES: Mapping[str, str] = {"write.parquet.compression-codec": "zstd"}

# Maps a column and the text of its DEFAULT to the stored value.
DefaultValue = Callable[[NestedField, str], Any]

# Transform name, parts of the column's name, number of buckets or width, and the partition field's name, if any.
PartitionTerms = Iterable[tuple[str, Sequence[str], int | None, str | None]]


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A new table's metadata, except location and uuid."""

    schema: Schema
    spec: PartitionSpec
    sort_order: SortOrder
    properties: Mapping[str, str]
    format_version: int


def define_table(
    statement: CreateTable,
    query_schema: Schema | None,
    timestamp_type: TimestampSetting,
    default: DefaultValue,
    replaced: TableMetadata | None = None,
    *,
    case_sensitive: bool = False,
) -> TableDefinition:
    """The definition by a CREATE TABLE; `query_schema` has the columns of its AS SELECT.

    `replaced` is the table that it replaces. `default` computes the stored value of a column's DEFAULT.
    """
    lengths: dict[int, int] = {}
    columns = query_schema if query_schema is not None else _schema(statement.columns, timestamp_type, lengths, default)
    schema = assign_ids(columns, replaced)
    key = statement.primary_key or tuple(column.name for column in statement.columns if column.primary_key)
    keyed = with_identifier_fields(schema, [(name,) for name in key])
    fresh = dict(zip(columns.field_ids, schema.field_ids, strict=True))
    properties = {
        **_settable(statement.properties),
        **_key_properties(statement),
        **{f"{LENGTH_PREFIX}{fresh[id]}": str(length) for id, length in lengths.items()},
    }
    if statement.comment is not None:
        properties["comment"] = statement.comment
    for column, field in zip(statement.columns, schema.fields, strict=query_schema is None):
        properties |= {f"{prefix}{field.id}": text for prefix, text in column_rules(column, field.type).items()}
    terms = [(t.transform, t.column, t.parameter, t.name) for t in statement.partitioning]
    return complete(keyed, terms, statement.ordering, properties, replaced, case_sensitive=case_sensitive)


def column_rules(column: ColumnDefinition, type: Type) -> Mapping[str, str]:
    """The table properties of a generated or identity column, by what stands before its id in their names.

    Raises AnalysisError INVALID_GENERATED_COLUMN, and as `_require_identity`.
    """
    rules = {}
    if column.generated_text is not None:
        if column.default_text is not None:
            raise AnalysisError(
                "INVALID_GENERATED_COLUMN",
                column=column.name,
                reason="it has a DEFAULT",
                way_out="Leave one of both out",
            )
        rules[GENERATED_PREFIX] = column.generated_text
    if column.identity is not None:
        _require_identity(column, type)
        rules[IDENTITY_PREFIX] = column.identity.encode()
    return rules


def _require_identity(column: ColumnDefinition, type: Type) -> None:
    """Raises AnalysisError IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE, IDENTITY_COLUMN_WITH_DEFAULT_VALUE, and
    INVALID_IDENTITY_COLUMN for one with an expression."""
    assert column.identity is not None
    if not isinstance(type, LongType):
        raise AnalysisError("IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE", column=column.name, type=type)
    if column.default_text is not None:
        raise AnalysisError(
            "IDENTITY_COLUMN_WITH_DEFAULT_VALUE",
            column=column.name,
            default=column.default_text,
            identity=column.identity.clause(),
        )
    if column.generated_text is not None:
        reason, way_out = "it has an expression", "Leave one of both out"
        raise AnalysisError("INVALID_IDENTITY_COLUMN", column=column.name, reason=reason, way_out=way_out)


def assign_ids(columns: Schema, replaced: TableMetadata | None) -> Schema:
    """The columns with their field ids in the new table; REPLACE keeps the ids of columns with the same names."""
    if replaced is None:
        return assign_fresh_ids(columns)
    return assign_kept_ids(columns, replaced.schema(), replaced.last_column_id, replaced.format_version)


def complete(
    schema: Schema,
    terms: PartitionTerms,
    ordering: Sequence[SortTerm],
    properties: Mapping[str, str],
    replaced: TableMetadata | None = None,
    *,
    case_sensitive: bool,
) -> TableDefinition:
    """The definition: partition spec by `terms`, sort order by `ordering`, format version and the rest by properties.

    Properties of the `replaced` table that outlive it are kept, unless `properties` has them. Raises AnalysisError
    RESERVED_COLUMN_NAME, and COLUMN_ALREADY_EXISTS for two columns or struct fields with one name.
    """
    require_valid_properties({k: v for k, v in properties.items() if k not in _NOT_STORED and not is_constraint(k)})
    MetricsConfig.from_properties(properties).require_columns(schema)
    BloomFilters.from_properties(properties).warn_of_those_not_written(schema)
    ColumnChunks.from_properties(properties).warn_of_those_not_written(schema)
    require_own_names(field.name for field in schema.fields)
    require_distinct_fields(schema.fields, case_sensitive)
    schema = _keyed_by_property(schema, properties)
    given = {k: v for k, v in properties.items() if k not in _NOT_STORED and k not in _SAID_ELSEWHERE}
    stored, gone = as_stored(given)
    # The last batches of applications stay as the commit finds them, which may be newer.
    before = {} if replaced is None else settings_of(replaced.properties)
    kept = {name: text for name, text in before.items() if kept_by_replace(name) and name not in gone}
    stored = {**DEFAULT_PROPERTIES, **kept, **stored}
    version = FORMAT_VERSION.of(properties)
    layout = with_buckets(schema, _partition_spec(schema, terms), _sort_order(schema, ordering), stored, version)
    definition = TableDefinition(schema, layout.spec, layout.sort_order, layout.properties, version)
    require_version(schema, definition.format_version)
    require_storable(schema)
    require_levels(schema)
    if KEY_ENFORCED.of(definition.properties) and not definition.schema.identifier_field_ids:
        reason = f"{KEY_ENFORCED.name} is set, but no key is declared. Declare one, or leave the property out"
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)
    for check in check_constraints(definition.properties):
        require_plain_check(check.name, check.expression, schema)
    require_unordered_identities(schema, definition.sort_order, definition.properties)
    require_upsert_rules(definition.schema, definition.spec, definition.properties, "the new table")
    return definition


def _keyed_by_property(schema: Schema, properties: Mapping[str, str]) -> Schema:
    """The schema with the key of the property `primary-key`, if set."""
    text = PRIMARY_KEY.of(properties)
    if text is None:
        return schema
    if schema.identifier_field_ids:
        raise AnalysisError(
            "INVALID_PRIMARY_KEY",
            reason=f"it is declared both as the property {PRIMARY_KEY.name} and in SQL. Declare it once",
        )
    key = listed_paths(text)
    if key is None:
        reason = f"{PRIMARY_KEY.name} = {text} is not a list of columns. Write their names with commas between"
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)
    return with_identifier_fields(schema, key)


def with_identifier_fields(schema: Schema, key: Sequence[FieldPath]) -> Schema:
    """The schema with `key` as its identifier fields, which become required.

    Raises AnalysisError for a column that does not exist or occurs twice, or a type that cannot be a key.
    """
    ids = [resolve_field(schema, path).id for path in key]
    if len(set(ids)) != len(ids):
        named = ", ".join(map(path_text, key))
        raise AnalysisError("INVALID_PRIMARY_KEY", reason=f"a column is named twice in ({named}). Name it once")
    fields = tuple(replace(field, required=True) if field.id in ids else field for field in schema.fields)
    keyed = Schema(fields, schema.schema_id, tuple(sorted(ids)))
    keyed.validate_identifier_fields()
    return keyed


def _settable(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The user's properties. Raises AnalysisError RESERVED_TABLE_PROPERTY for those that Spark or the table sets."""
    for name in properties:
        way_out = next((clause for prefix, clause in _OF_FIELDS.items() if name.startswith(prefix)), None)
        if way_out is not None:
            reason = "the table assigns field ids"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)
        if name in _NOT_STORED:
            reason, way_out = "Spark reserves it", "the clause USING or LOCATION"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)
    return properties


def _key_properties(statement: CreateTable) -> Mapping[str, str]:
    """The properties for ENFORCED and RELY; none for their defaults."""
    said = ((KEY_ENFORCED.name, statement.key_enforced), (KEY_RELY, statement.key_rely))
    for name, value in said:
        if value is not None and statement.properties.get(name, str(value)).lower() != str(value).lower():
            reason = f"the property {name} contradicts the PRIMARY KEY clause. Leave one of both out"
            raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)
    return {name: "true" for name, value in said if value}


def _schema(
    columns: Sequence[ColumnDefinition],
    timestamp_type: TimestampSetting,
    lengths: dict[int, int],
    default: DefaultValue,
) -> Schema:
    ids = count(1)
    fields = []
    for column in columns:
        id = next(ids)
        type = parse_type(column.type_text, timestamp_type=timestamp_type, ids=ids, id=id, lengths=lengths)
        field = NestedField(id, column.name, type, not column.nullable, column.comment)
        if column.default_text is not None:
            value = default(field, column.default_text)
            # A new table has no rows that need an initial default.
            field = replace(field, write_default=value)
        fields.append(field)
    return Schema(tuple(fields))


def _partition_spec(schema: Schema, terms: PartitionTerms) -> PartitionSpec:
    fields: list[PartitionField] = []
    for number, (transform_name, column, parameter, name) in enumerate(terms):
        source = resolve_field(schema, tuple(column))
        transform = _transform(transform_name, parameter)
        if not transform.can_transform(source.type):
            reason = f"column {'.'.join(column)} has type {source.type}. {other_transforms(source.type)}"
            raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=transform_name, reason=reason)
        overlapped = overlapped_field(fields, source.id, transform)
        if overlapped is not None:
            reason = f"it is redundant beside the partition field {overlapped.name}. Name one of the two"
            raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=f"{transform} of {source.name}", reason=reason)
        field_name = name or _field_name(schema.column_name(source.id), transform_name)
        fields.append(PartitionField(source.id, FIRST_PARTITION_FIELD_ID + number, field_name, transform))
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise AnalysisError(
                "INVALID_PARTITION_TRANSFORM", transform=name, reason="two fields have this name. Leave one out"
            )
    return PartitionSpec(0, tuple(fields))


def _transform(name: str, parameter: int | None) -> Transform:
    return parse_transform(name if parameter is None else f"{name}[{parameter}]")


def _field_name(column: str, transform: str) -> str:
    """The partition field's name as by Iceberg, which appears in the `partition` struct."""
    suffix = {"identity": "", "truncate": "_trunc"}.get(transform, f"_{transform}")
    return column + suffix


def _sort_order(schema: Schema, ordering: Sequence[SortTerm]) -> SortOrder:
    if not ordering:
        return UNSORTED
    return SortOrder(1, tuple(_sort_field(schema, term) for term in ordering))


def _sort_field(schema: Schema, sort: SortTerm) -> SortField:
    term: PartitionTerm = sort.term
    return SortField(
        resolve_field(schema, term.column).id,
        _transform(term.transform, term.parameter),
        "desc" if sort.descending else "asc",
        "nulls-first" if sort.nulls_first else "nulls-last",
    )


def described_terms(partitioning: Iterable[Mapping[str, Any]]) -> PartitionTerms:
    """Partition terms of Spark's transforms, as described by the shim. Raises AnalysisError
    INVALID_PARTITION_TRANSFORM."""
    partitioning = list(partitioning)
    for term in partitioning:
        reason = _NO_PARTITIONING.get(term["name"])
        if reason is None and len(term["columns"]) != 1:
            reason = "a partition field has one source column. Name one"
        if reason is not None:
            columns = ", ".join(map(path_text, term["columns"]))
            raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=f"{term['name']}({columns})", reason=reason)
    return [
        (
            _SPARK_TRANSFORMS.get(term["name"], term["name"]),
            term["columns"][0],
            int(term["numbers"][0]) if term["numbers"] else None,
            None,
        )
        for term in partitioning
    ]


_NO_PARTITIONING = {
    "cluster_by": "clusterBy orders rows and does not partition them. Leave it out, and run ALTER TABLE …"
    " CLUSTER BY once the table exists",
    "sorted_bucket": "sortBy orders rows and does not partition them. Leave it out beside bucketBy, and run ALTER"
    " TABLE … WRITE ORDERED BY once the table exists",
}
_SPARK_TRANSFORMS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
