"""Estimated number of rows that match a predicate, by bounds and counts of data files. It is not a bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.value_range import metrics_range
from sqlext.spec.expression import AlwaysFalse, And, Comparison, In, IsNull, Or, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import DateType, IntegerType, LongType

_WHOLE_NUMBERS = (IntegerType, LongType, DateType)


def expected_rows(predicate: Predicate, files: Iterable[ContentFile], schema: Schema) -> int | None:
    """The estimated number of matching rows in `files`; None if the predicate allows no estimate.

    Assumes that integers are spread evenly between their bounds, and that each primary key occurs once.
    """
    by_key = _keys(predicate, schema.identifier_field_ids)
    total = 0.0
    for file in files:
        rows = _selected(predicate, file, schema)
        if rows is None:
            return by_key
        total += rows
    return math.ceil(total) if by_key is None else min(math.ceil(total), by_key)


def _keys(predicate: Predicate, key_ids: Sequence[int]) -> int | None:
    """The number of primary keys that `=` and IN of the predicate list; None if they do not cover the key."""
    values = _named_values(predicate)
    return math.prod(values[id] for id in key_ids) if key_ids and values.keys() >= set(key_ids) else None


def _named_values(predicate: Predicate) -> Mapping[int, int]:
    """The number of values that `=` and IN of the predicate allow for a field, by field id."""
    match predicate:
        case And(left=left, right=right):
            first, second = _named_values(left), _named_values(right)
            return {**first, **{id: min(count, first.get(id, count)) for id, count in second.items()}}
        case Comparison(op="=", id=id):
            return {id: 1}
        case In(id=id, values=values):
            return {id: len(values)}
    return {}


def _selected(predicate: Predicate, file: ContentFile, schema: Schema) -> float | None:
    match predicate:
        case AlwaysFalse():
            return 0
        case And(left=left, right=right):
            known = [rows for one in (left, right) if (rows := _selected(one, file, schema)) is not None]
            return min(known, default=None)
        case Or(left=left, right=right):
            first, second = _selected(left, file, schema), _selected(right, file, schema)
            return None if first is None or second is None else min(first + second, file.record_count)
        case IsNull(id=id):
            return None if file.null_value_counts is None else file.null_value_counts.get(id)
        case Comparison(op="=", id=id, value=value):
            return _equal(id, (value,), file, schema)
        case In(id=id, values=values):
            return _equal(id, tuple(values), file, schema)
        case Comparison(op="<" | "<=", id=id, value=int(value)):
            return _between(id, None, value, file, schema)
        case Comparison(op=">" | ">=", id=id, value=int(value)):
            return _between(id, value, None, file, schema)
    return None


def _equal(id: int, values: Sequence[object], file: ContentFile, schema: Schema) -> float | None:
    bounds = _bounds(id, file, schema)
    if bounds is None:
        return None
    inside = sum(1 for value in values if isinstance(value, int) and bounds[0] <= value <= bounds[1])
    return min(file.record_count * inside / (bounds[1] - bounds[0] + 1), file.record_count)


def _between(id: int, least: int | None, most: int | None, file: ContentFile, schema: Schema) -> float | None:
    bounds = _bounds(id, file, schema)
    if bounds is None:
        return None
    first = bounds[0] if least is None else max(least, bounds[0])
    last = bounds[1] if most is None else min(most, bounds[1])
    return file.record_count * max(last - first + 1, 0) / (bounds[1] - bounds[0] + 1)


def _bounds(id: int, file: ContentFile, schema: Schema) -> tuple[int, int] | None:
    """The bounds of a top-level column of integers or dates; None if unknown."""
    field = schema.field_or_none(id)
    if field is None or not isinstance(field.type, _WHOLE_NUMBERS) or len(schema.column_path(id)) > 1:
        return None
    bounds = metrics_range(file, id, MetricsColumn(field.type))
    if bounds.lower is None or bounds.upper is None:
        return None
    return bounds.lower, bounds.upper
