"""Source rows of an upsert: the operation of each, and which of several rows with one key is written.

A batch has no order of arrival. Two rows with one key are refused, except a pair of `-U` and `+U`, unless the table has
a sequence field (`write.upsert.sequence-field`). A micro-batch of a stream may have an order: within a task of its
source, and within a file if it reads files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from sqlext.command.change.row_level import Target
from sqlext.commit.rules.sequence_field import kind_column, row_order
from sqlext.errors import AnalysisError
from sqlext.properties import IGNORE_DELETE, IGNORE_UPDATE_BEFORE, UPSERT_SEQUENCE_FIELD
from sqlext.spark.query.store_assignment import align
from sqlext.spec.row_kind import GIVEN_KIND, ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UuidType
from sqlext.sql.lowering.row_order import last_of, place
from sqlext.sql.lowering.text import fresh_name, stored_uuid
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.refused_rows import NULL_KEY, REPEATED_KEY, TIED_KEY, UNKNOWN_ROW_KIND
from sqlext.write.row_operation import DELETE, UPDATE

_OPERATION = "__operation"


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """`rows` are the table's columns after `__operation`, and before `GIVEN_KIND` if the source has row kinds.

    `__operation` is an update, a delete or the code of a refusal. `one_row_a_key`: no two rows have the same key. If
    false, that is not checked, and all rows are updates.
    """

    rows: DataFrame
    one_row_a_key: bool


def change_batch(target: Target, rows: DataFrame, *, in_order: bool = False) -> ChangeBatch:
    """The changes of `rows`, which are in the table's columns, optionally followed by `ROW_KIND`.

    With `in_order` the last row of a key is written if all come from one task, or from one file. Raises AnalysisError
    INVALID_SEQUENCE_FIELD.
    """
    schema = target.table.metadata.schema()
    if in_order:
        return one_row_a_key(target, rows, in_order=True)
    looked_at = has_kinds(rows, schema) or UPSERT_SEQUENCE_FIELD.of(target.table.metadata.properties)
    # A null in a column that may have one is found with the rows of a key, not by the writer.
    if not looked_at and all(field.required for field in schema.identifier_fields):
        return plain_batch(target, rows)
    return one_row_a_key(target, rows)


def one_row_a_key(target: Target, rows: DataFrame, *, in_order: bool = False) -> ChangeBatch:
    """The changes of `rows`, at most one of each key; see `change_batch`."""
    schema = target.table.metadata.schema()
    sequence = row_order(schema, target.table.metadata.properties, str(target.name))
    with_kinds = has_kinds(rows, schema)
    rows = kept_changes(target, rows)
    columns = stored_columns(schema)
    taken = [field.name for field in schema.fields]
    last, count, paired, at = (fresh_name(f"__{name}", taken) for name in ("last", "rows", "pair", "place"))
    kind = (F.col(ROW_KIND.name) if with_kinds else F.lit("+U")).alias(_OPERATION)
    place_of_row = F.expr(place(sequence)) if sequence else F.lit(0)
    given = rows.select(
        kind, *map(F.expr, columns), place_of_row.alias(at), *(arrival(taken, rows) if in_order else ())
    )
    keys = [F.col(quote_identifier(field.name)) for field in schema.identifier_fields]
    of_key, kind = Window.partitionBy(*keys), F.col(_OPERATION)
    # Only the last rows of a key count; earlier ones are ignored, even if they are invalid.
    last_place = F.call_function(last_of(sequence), F.col(at)).over(of_key)
    ranked = given.withColumn(last, F.col(at).eqNullSafe(last_place))
    if in_order:
        ranked = _last_to_arrive(ranked, of_key, last, taken)
    is_last, rows_of_key = F.col(last), F.col(count)
    one_each = [F.count_if(is_last & (kind == name)).over(of_key) == 1 for name in ("-U", "+U")]
    ranked = ranked.withColumn(count, F.count_if(is_last).over(of_key))
    ranked = ranked.withColumn(paired, (rows_of_key == 2) & one_each[0] & one_each[1])
    operation = (
        F.when(F.coalesce(~kind.isin("+I", "-U", "+U", "-D"), F.lit(True)), _code(UNKNOWN_ROW_KIND))
        .when(null_in_key(schema), _code(NULL_KEY))
        .when(~is_last, F.lit(None))
        .when((rows_of_key > 1) & ~F.col(paired), _code(TIED_KEY if sequence else REPEATED_KEY))
        .when(kind.isin("+I", "+U"), _code(UPDATE))
        .when(rows_of_key == 1, _code(DELETE))
    )
    given_kind = [kind.alias(GIVEN_KIND)] if with_kinds else []
    tagged = ranked.select(operation.alias(_OPERATION), *(F.col(quote_identifier(name)) for name in taken), *given_kind)
    return ChangeBatch(tagged.where(f"{_OPERATION} IS NOT NULL"), one_row_a_key=True)


def kept_changes(target: Target, rows: DataFrame) -> DataFrame:
    """The rows without those of kinds that the table's properties ignore."""
    properties = target.table.metadata.properties
    passed_over = {"-U": IGNORE_UPDATE_BEFORE.of(properties), "-D": False}
    if IGNORE_DELETE.of(properties):
        passed_over = dict.fromkeys(passed_over, True)
    if not any(passed_over.values()) or not has_kinds(rows, target.table.metadata.schema()):
        return rows
    kind = F.col(ROW_KIND.name)
    return rows.where(kind.isNull() | ~kind.isin(*(name for name, passed in passed_over.items() if passed)))


def has_kinds(rows: DataFrame, schema: Schema) -> bool:
    """Whether rows in the table's columns are followed by `ROW_KIND`."""
    return ROW_KIND.name in rows.columns[len(schema.fields) : len(schema.fields) + 1]


def arrival(taken: Sequence[str], rows: DataFrame) -> list[Column]:
    """Columns with a row's origin (task and file) and its number there. Unless the rows have them already, they are
    only correct before a shuffle."""
    origin, number = arrival_names(taken)
    if number in rows.columns:
        return [F.col(origin), F.col(number)]
    came_from = F.concat_ws(" ", F.spark_partition_id(), F.input_file_name())
    return [came_from.alias(origin), F.monotonically_increasing_id().alias(number)]


def _last_to_arrive(rows: DataFrame, of_key: WindowSpec, last: str, taken: Sequence[str]) -> DataFrame:
    """Of the `last` rows of a key only the one that arrived last, if all have one origin; else all."""
    origin, number = (F.when(F.col(last), F.col(name)) for name in arrival_names(taken))
    from_one_place = F.min(origin).over(of_key).eqNullSafe(F.max(origin).over(of_key))
    is_newest = number.eqNullSafe(F.max(number).over(of_key))
    return rows.withColumn(last, F.col(last) & (~from_one_place | is_newest))


def arrival_names(taken: Sequence[str]) -> tuple[str, str]:
    """Names of the columns of `arrival` that are not among the columns `taken`."""
    return fresh_name("__origin", taken), fresh_name("__number", taken)


def plain_batch(target: Target, rows: DataFrame) -> ChangeBatch:
    """The rows, all updates."""
    columns = stored_columns(target.table.metadata.schema())
    return ChangeBatch(rows.selectExpr(f"{UPDATE}Y AS {_OPERATION}", *columns), one_row_a_key=False)


def has_order_or_kinds(target: Target, columns: Sequence[str]) -> bool:
    """Whether a source with these columns has row kinds, or the table has a sequence field. Raises as
    `row_kind_column`."""
    properties = target.table.metadata.properties
    in_source = row_kind_column(target, columns) is not None
    return in_source or own_kind_column(target) is not None or bool(UPSERT_SEQUENCE_FIELD.of(properties))


def stored_columns(schema: Schema) -> list[str]:
    """Expressions for the table's columns over rows that have these, with keys in the form in which they are
    compared."""
    return [_column(field, is_key=field.id in schema.identifier_field_ids) for field in schema.fields]


def _column(field: NestedField, *, is_key: bool) -> str:
    """The column; a UUID key in the canonical text of stored values, since Spark compares UUIDs as texts."""
    name = quote_identifier(field.name)
    return f"{stored_uuid(name)} AS {name}" if is_key and isinstance(field.type, UuidType) else name


def row_kind_column(target: Target, columns: Sequence[str]) -> str | None:
    """The source column with the row kinds, in addition to the table's columns; None if there is none.

    Raises AnalysisError ROW_KIND_IN_TABLE if the table has a column of that name, ROW_KIND_TWICE if it has a row-kind
    field of its own.
    """
    found = next((name for name in columns if name.lower() == ROW_KIND.name), None)
    if found is not None and target.table.metadata.schema().column(ROW_KIND.name, case_sensitive=False) is not None:
        raise AnalysisError("ROW_KIND_IN_TABLE", name=target.name)
    own = None if found is None else own_kind_column(target)
    if own is not None:
        raise AnalysisError("ROW_KIND_TWICE", name=target.name, column=own)
    return found


def own_kind_column(target: Target) -> str | None:
    """The table's own column with row kinds, if it has one. Raises AnalysisError INVALID_ROWKIND_FIELD."""
    metadata = target.table.metadata
    return kind_column(metadata.schema(), metadata.properties, str(target.name))


def align_changes(
    spark: SparkSession, rows: DataFrame, target: Target, *, by_name: bool, kind: str | None
) -> DataFrame:
    """The rows in the table's columns by Spark's store assignment, followed by `ROW_KIND` if the source has a column
    `kind`, or the table a row-kind field."""
    schema = target.table.metadata.schema()
    if kind is None:
        aligned = align(spark, rows, target.name.parts, schema, by_name=by_name)
        own = own_kind_column(target)
        return aligned if own is None else aligned.withColumn(ROW_KIND.name, F.col(quote_identifier(own)))
    # By position, as a query may give two columns one name.
    names = [f"{number}" for number in range(len(rows.columns))]
    given = [name for name, own in zip(names, rows.columns, strict=True) if own != kind]
    moved = rows.toDF(*names).select(*given, names[rows.columns.index(kind)])
    last = moved.toDF(*(name for name in rows.columns if name != kind), ROW_KIND.name)
    return align(spark, last, target.name.parts, Schema((*schema.fields, ROW_KIND)), by_name=by_name)


def null_in_key(schema: Schema) -> Column:
    """Whether a key column of a row is null."""
    test = F.lit(False)
    for field in schema.identifier_fields:
        test = test | F.col(quote_identifier(field.name)).isNull()
    return test


def _code(number: int) -> Column:
    return F.lit(number).cast("tinyint")
