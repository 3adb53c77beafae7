"""The values of a column in the rows of one key, merged as `sql.lowering.column_merge` has Spark merge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

from sqlext.errors import DataError, UnsupportedError
from sqlext.local.merged_collections import collected, merged_map, merged_timed_map, nested_parts, nested_rows
from sqlext.local.united_sketches import united
from sqlext.local.values_of_key import ValuesOfKey, rank
from sqlext.spec.merge_engine import BLANKS, SKETCH_FUNCTIONS, ColumnMerge
from sqlext.spec.types import DecimalType, DoubleType, FloatType, Type

_WIDE = Context(prec=80)
_MOST = Decimal(10) ** 38


def merged_value(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    """The column's new value. Raises DataError INVALID_COLUMN_VALUE for one out of range, and UnsupportedError
    LOCAL_NEEDS_SPARK for the product of retracted values."""
    return _FUNCTIONS[merge.function](merge, type, of_key)


def _last(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    clears = of_key.may_take and merge.column not in merge.order.columns
    in_time = [row for row in of_key.rows if not row.is_late]
    if in_time:
        return None if clears and in_time[-1].takes else in_time[-1].value
    if not of_key.rows or of_key.is_stored:
        return of_key.stored
    return None if clears and of_key.rows[-1].takes else of_key.rows[-1].value


def _last_non_null(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    rows = [row for row in of_key.rows if row.value is not None]
    in_time, late = [row for row in rows if not row.is_late], [row for row in rows if row.is_late]
    if in_time:
        return None if in_time[-1].takes else in_time[-1].value
    if of_key.stored is None and late:
        return None if late[-1].takes else late[-1].value
    return of_key.stored


def _first(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    late = [row.value for row in of_key.rows if row.is_late]
    if late:
        return late[0]
    if of_key.is_stored:
        return of_key.stored
    return of_key.rows[0].value if of_key.rows else None


def _first_non_null(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    values = of_key.values(lambda row: row.is_late)
    if not values and of_key.stored is not None:
        return of_key.stored
    values = values or of_key.values(lambda row: True)
    return values[0] if values else None


def _sum(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    if not of_key.has_value:
        return of_key.stored
    signed = [-row.value if row.takes else row.value for row in of_key.rows if row.value is not None]
    if isinstance(type, DoubleType | FloatType):
        return sum(map(float, signed), 0.0 if of_key.stored is None else float(of_key.stored))
    total = reduce(_WIDE.add, map(Decimal, signed))
    if of_key.stored is not None:
        total = _WIDE.add(Decimal(of_key.stored), _in_range(merge, type, total))
    return _stored(merge, type, total)


def _product(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    if not of_key.has_value:
        return of_key.stored
    if of_key.values(lambda row: row.takes):
        reason = f"the product of retracted values of {merge.column} is rounded as Spark divides decimals"
        raise UnsupportedError("LOCAL_NEEDS_SPARK", what="The write", reason=reason)
    values = of_key.values(lambda row: not row.takes)
    first = 1 if of_key.stored is None else of_key.stored
    if isinstance(type, DoubleType | FloatType):
        return float(first) * reduce(lambda one, other: one * float(other), values, 1.0)
    scale = type.scale if isinstance(type, DecimalType) else 0

    def times(one: Decimal, other: Decimal) -> Decimal:
        # Spark keeps up to six fractional digits of such a product before its cast.
        exact = _in_range(merge, type, _rounded(_WIDE.multiply(one, other), min(2 * scale, 6)))
        return _rounded(exact, scale)

    return _stored(merge, type, times(Decimal(first), reduce(times, map(Decimal, values), Decimal(1))))


def _rounded(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)


def _in_range(merge: ColumnMerge, type: Type, value: Decimal) -> Decimal:
    scale = type.scale if isinstance(type, DecimalType) else 0
    if abs(value) < _MOST.scaleb(-scale):
        return value
    reason = f"the {merge.function} is out of its range"
    raise DataError("INVALID_COLUMN_VALUE", column=merge.column, table="the table", type=type, reason=reason)


def _stored(merge: ColumnMerge, type: Type, total: Decimal) -> Any:
    value = _in_range(merge, type, total)
    return value if isinstance(type, DecimalType) else int(value)


def _count(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    counted = sum(-1 if row.takes else 1 for row in of_key.rows if row.value is not None)
    return (of_key.stored or 0) + counted


def _least(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    return min(_with_stored(of_key), key=rank, default=None)


def _greatest(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    return max(_with_stored(of_key), key=rank, default=None)


def _with_stored(of_key: ValuesOfKey) -> list[Any]:
    stored = [] if of_key.stored is None else [of_key.stored]
    return [*stored, *of_key.values(lambda row: True)]


def _all(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    values = _with_stored(of_key)
    return all(values) if values else None


def _any(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    values = _with_stored(of_key)
    return any(values) if values else None


def _list_of_text(merge: ColumnMerge, type: Type, of_key: ValuesOfKey) -> Any:
    texts = [text for text in of_key.in_order() if text.strip(BLANKS)]
    if not texts or not merge.distinct:
        return merge.delimiter.join(texts) if texts else of_key.stored
    parts = dict.fromkeys(texts[0].split(merge.delimiter))
    added = [part for text in texts[1:] for part in text.split(merge.delimiter) if part.strip(BLANKS)]
    new = [part for part in dict.fromkeys(added) if part not in parts]
    return merge.delimiter.join([texts[0], *new])


_FUNCTIONS: Mapping[str, Callable[[ColumnMerge, Type, ValuesOfKey], Any]] = {
    "sum": _sum,
    "product": _product,
    "count": _count,
    "min": _least,
    "max": _greatest,
    "bool_and": _all,
    "bool_or": _any,
    "last_value": _last,
    "last_non_null_value": _last_non_null,
    "first_value": _first,
    "first_non_null_value": _first_non_null,
    "listagg": _list_of_text,
    "collect": collected,
    "merge_map": merged_map,
    "merge_map_with_keytime": merged_timed_map,
    "nested_update": nested_rows,
    "nested_partial_update": nested_parts,
    **dict.fromkeys(SKETCH_FUNCTIONS, united),
}
