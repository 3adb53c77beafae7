"""Inclusive projection of a row predicate to a predicate over partition values (spec: "Scan Planning").

If a row matches the row predicate, its partition matches the projected one, whose ids are partition field ids and whose
literals are values of the transforms' result types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    InBucket,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
    negate,
    referenced_field_ids,
)
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)
from sqlext.spec.types import DateType, IntegerType, LongType, Type

_LARGEST = {IntegerType: 2**31 - 1, LongType: 2**63 - 1}
_TIME_TRANSFORMS = (YearTransform, MonthTransform, DayTransform, HourTransform)


def project(predicate: Predicate, spec: PartitionSpec, schema: Schema) -> Predicate:
    """The inclusive projection of `predicate`, whose field ids are those of `schema`, through `spec`."""
    match predicate:
        case AlwaysTrue() | AlwaysFalse():
            return predicate
        case And():
            return conjunction((project(predicate.left, spec, schema), project(predicate.right, spec, schema)))
        case Or():
            return disjunction((project(predicate.left, spec, schema), project(predicate.right, spec, schema)))
        case Not() if not isinstance(predicate.child, StartsWith):
            return project(negate(predicate.child), spec, schema)
        case _:
            return _project_term(predicate, spec, schema)


def _project_term(term: Predicate, spec: PartitionSpec, schema: Schema) -> Predicate:
    """The AND of the term's projections through all partition fields of its column."""
    (source_id,) = referenced_field_ids(term)
    source = schema.field_or_none(source_id)
    if source is None:
        return AlwaysTrue()
    return conjunction(
        _project_field(term, field, source.type) for field in spec.fields if field.source_id == source_id
    )


def _project_field(term: Predicate, field: PartitionField, source_type: Type) -> Predicate:
    transform = field.transform
    if isinstance(transform, (VoidTransform, UnknownTransform)):
        return AlwaysTrue()
    if isinstance(term, (IsNull, NotNull)):
        return type(term)(field.field_id)
    if isinstance(term, InBucket):
        return In(field.field_id, term.buckets) if transform == BucketTransform(term.count) else AlwaysTrue()
    if isinstance(transform, IdentityTransform):
        return _rename(term, field.field_id)
    if isinstance(term, (Comparison, In)):
        return _project_values(term, field, source_type)
    if isinstance(transform, TruncateTransform):
        return _project_prefix(term, field.field_id, transform.width)
    return AlwaysTrue()


def _rename(term: Predicate, field_id: int) -> Predicate:
    match term:
        case IsNaN() | NotNaN():
            return type(term)(field_id)
        case Comparison():
            return Comparison(term.op, field_id, term.value)
        case In() | NotIn():
            return type(term)(field_id, term.values)
        case StartsWith():
            return StartsWith(field_id, term.prefix)
        case Not():
            return Not(_rename(term.child, field_id))
        case _:
            return AlwaysTrue()


def _project_values(term: Comparison | In, field: PartitionField, source_type: Type) -> Predicate:
    transform = field.transform
    if isinstance(term, In) or term.op == "=":
        values = term.values if isinstance(term, In) else (term.value,)
        return _project_equality(values, field, source_type)
    if term.op == "!=" or isinstance(transform, BucketTransform):
        return AlwaysTrue()
    return _project_inequality(term, field, source_type)


def _project_equality(values: Iterable[Any], field: PartitionField, source_type: Type) -> Predicate:
    results = {field.transform.apply(source_type, value) for value in values}
    if _may_be_off_by_one(field, source_type):
        results |= {result + 1 for result in results if result < 0}
    if not results:
        return AlwaysFalse()
    if len(results) == 1:
        return Comparison("=", field.field_id, results.pop())
    return In(field.field_id, frozenset(results))


def _project_inequality(term: Comparison, field: PartitionField, source_type: Type) -> Predicate:
    """`<`, `<=`, `>` and `>=` through a transform that rounds down and preserves order.

    `truncate` of integers wraps around below the least one, so the smallest values have large partition values.
    """
    below, strict, value = term.op in ("<", "<="), term.op in ("<", ">"), term.value
    if strict and isinstance(value, int):  # integers allow an inclusive bound
        value, strict = value + (-1 if below else 1), False
    result = field.transform.apply(source_type, value)
    largest = _LARGEST.get(type(source_type)) if isinstance(transform := field.transform, TruncateTransform) else None
    if largest is not None and result > value:
        return AlwaysTrue()
    if not below:
        return Comparison(">=", field.field_id, result)
    if _may_be_off_by_one(field, source_type) and result < 0:
        result += 1
    at_most: Predicate = Comparison("<=", field.field_id, result)
    if largest is not None:
        assert isinstance(transform, TruncateTransform)
        return Or(at_most, Comparison(">", field.field_id, largest - transform.width))
    starts_cell = strict and result == value  # smaller values then have smaller partition values
    return Comparison("<", field.field_id, result) if starts_cell else at_most


def _project_prefix(term: Predicate, field_id: int, width: int) -> Predicate:
    """`StartsWith`, or NOT of it, through `truncate[width]` of strings."""
    match term:
        case StartsWith():
            if len(term.prefix) < width:
                return StartsWith(field_id, term.prefix)
            return Comparison("=", field_id, term.prefix[:width])
        case Not(child=StartsWith() as starts):
            if len(starts.prefix) < width:
                return Not(StartsWith(field_id, starts.prefix))
            return Comparison("!=", field_id, starts.prefix) if len(starts.prefix) == width else AlwaysTrue()
        case _:
            return AlwaysTrue()


def _may_be_off_by_one(field: PartitionField, source_type: Type) -> bool:
    """Whether partition values before 1970 may be one too large, since old writers rounded times towards zero."""
    if isinstance(field.transform, DayTransform) and isinstance(source_type, DateType):
        return False
    return isinstance(field.transform, _TIME_TRANSFORMS)
