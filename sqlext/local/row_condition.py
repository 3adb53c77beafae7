"""SQL conditions on the rows of a table, evaluated on Arrow with Spark's results, and as predicates on field ids.

What Spark would answer otherwise, or in a way that depends on its session, is refused and never approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError

from sqlext.errors import ParseError, UnsupportedError
from sqlext.local.arrow_comparison import MIRRORED, compared, equal_or_both_null
from sqlext.local.condition_value import (
    FLOATS,
    WHOLE,
    Columns,
    Constant,
    NotHere,
    Operand,
    RowValue,
    as_decimals,
    as_numbers,
    column_value,
    constant_of,
    moment_of,
    parsed_date,
    scalar_of,
)
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    Comparison,
    IsNaN,
    IsNull,
    NotNull,
    Operator,
    Or,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
    negate,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    Type,
)
from sqlext.sql.binding import unresolved
from sqlext.sql.check_text import variable_in
from sqlext.sql.tokens.dialect import SqlextSpark

_OPERATORS: dict[type[exp.Expression], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
}
_SUFFIXES = {exp.DataType.Type.BIGINT: int, exp.DataType.Type.DOUBLE: float, exp.DataType.Type.DECIMAL: Decimal}
_MOST_DIGITS = 38
_INT, _LONG = range(-(2**31), 2**31), range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition. `exact` selects the same rows, None if no predicate does; `pruning` selects these and perhaps
    others. `field_ids` are the top-level columns that it reads."""

    text: str
    exact: Predicate | None
    pruning: Predicate
    field_ids: frozenset[int]
    truth: Callable[[Columns], pa.Array]

    def values(self, columns: Columns, count: int) -> pa.Array:
        """True, false or null for each of `count` rows. Raises UnsupportedError LOCAL_NEEDS_SPARK for an overflow."""
        try:
            found = self.truth(columns)
        except pa.ArrowInvalid as error:
            raise _refused(self.text, f"a value overflows ({error})") from None
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return pa.repeat(found, count) if isinstance(found, pa.Scalar) else found

    def selected(self, columns: Columns, count: int) -> NDArray[np.bool_]:
        """Whether the condition is true, for each of `count` rows. Raises as `values`."""
        chosen: NDArray[np.bool_] = pc.fill_null(self.values(columns, count), False).to_numpy(zero_copy_only=False)
        return chosen


def every_row() -> RowCondition:
    """The condition that is true for each row."""
    return RowCondition("true", AlwaysTrue(), AlwaysTrue(), frozenset(), lambda columns: pa.scalar(True))


def row_condition(text: str, schema: Schema, what: str = "The condition") -> RowCondition:
    """The condition of a SQL text over the columns of `schema`, whose names are compared without regard to case.

    Raises ParseError, AnalysisError UNRESOLVED_COLUMN.WITH_SUGGESTION, and UnsupportedError LOCAL_NEEDS_SPARK for a
    part whose result in Spark is not known here; `what` begins its message.
    """
    tree = _parsed(text, what)
    compiler = _Compiler(schema)
    try:
        found = compiler.truth(tree)
    except NotHere as reason:
        raise _refused(text, reason, what) from None
    return RowCondition(text, found.exact, found.pruning, frozenset(compiler.read), found.of)


def _parsed(text: str, what: str) -> exp.Expression:
    variable = variable_in(text)
    if variable is not None or "\\" in text:
        raise _refused(text, variable or "a backslash means what a setting of the session says", what)
    try:
        trees = SqlextSpark().parse(text)
    except (SqlglotError, RecursionError) as error:
        told = error.errors[0] if isinstance(error, SqlglotParseError) and error.errors else {}
        line, column = told.get("line") or 1, told.get("col") or 1
        raise ParseError(
            "PARSE_SYNTAX_ERROR", near=told.get("highlight") or text, line=line, column=column, expected="a condition"
        ) from None
    if len(trees) != 1 or trees[0] is None:
        raise _refused(text, "it is not one expression", what)
    tree: exp.Expression = trees[0]
    return tree


def _refused(text: str, reason: object, what: str = "The condition") -> UnsupportedError:
    return UnsupportedError("LOCAL_NEEDS_SPARK", what=f"{what} {text}", reason=reason)


@dataclass(frozen=True, slots=True)
class _Truth:
    """Truth values of rows; see `RowCondition`."""

    of: Callable[[Columns], Any]
    exact: Predicate | None = None
    pruning: Predicate = AlwaysTrue()  # noqa: RUF009 - it is frozen

    @classmethod
    def by(cls, of: Callable[[Columns], Any], exact: Predicate | None) -> _Truth:
        return cls(of, exact, AlwaysTrue() if exact is None else exact)


_UNKNOWN = _Truth(lambda columns: pa.scalar(None, pa.bool_()), None, AlwaysFalse())


class _Compiler:
    """Compiles the tree of a condition; `read` are the ids of the columns that it has met."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.read: set[int] = set()

    def truth(self, tree: exp.Expression) -> _Truth:
        tree = tree.unnest()
        if isinstance(tree, exp.Connector):
            return self._connected(tree)
        operator = _OPERATORS.get(type(tree))
        if operator is not None:
            return self._compared(operator, self.operand(tree.this), self.operand(tree.expression))
        match tree:
            case exp.Not():
                return _negated(self.truth(tree.this))
            case exp.Boolean():
                constant = bool(tree.this)
                return _Truth.by(lambda columns: pa.scalar(constant), AlwaysTrue() if constant else AlwaysFalse())
            case exp.Null():
                return _UNKNOWN
            case exp.NullSafeEQ():
                return self._null_safe(self.operand(tree.this), self.operand(tree.expression))
            case exp.Is():
                return self._is(tree)
            case exp.In() if not (tree.args.get("query") or tree.args.get("unnest") or tree.args.get("field")):
                sought = self.operand(tree.this)
                return _any(self._compared("=", sought, self.operand(one)) for one in tree.expressions)
            case exp.Between() if not tree.args.get("symmetric"):
                value = self.operand(tree.this)
                low = self._compared(">=", value, self.operand(tree.args["low"]))
                return _all([low, self._compared("<=", value, self.operand(tree.args["high"]))])
            case exp.Like():
                like = self._like(self.operand(tree.this), self.operand(tree.expression))
                return _negated(like) if tree.args.get("negate") else like
            case exp.StartsWith():
                return _with_ends(self._text(tree.this), self._constant_text(tree.expression))
            case exp.IsNan():
                return self._is_nan(self.operand(tree.this))
        operand = self.operand(tree)
        if isinstance(operand, RowValue) and isinstance(operand.type, BooleanType):
            exact = None if operand.field is None else Comparison("=", operand.field.id, True)
            return _Truth.by(operand.of, exact)
        raise NotHere(f"{tree.sql('spark')} is not known to be true, false or null")

    def operand(self, tree: exp.Expression) -> Operand:
        tree = tree.unnest()
        arithmetic = _ARITHMETIC.get(type(tree))
        if arithmetic is not None:
            return self._calculated(arithmetic, self.operand(tree.this), self.operand(tree.expression))
        match tree:
            case exp.Column() if not isinstance(tree.this, exp.Star):
                return self._column([part.name for part in tree.parts])
            case exp.Dot():
                return self._column([part.name for part in tree.parts])
            case exp.Literal():
                return Constant(tree.this if tree.is_string else _number(tree.this))
            case exp.Boolean():
                return Constant(bool(tree.this))
            case exp.Null():
                return Constant(None)
            case exp.HexString() if len(tree.this) % 2 == 0:
                return Constant(bytes.fromhex(tree.this))
            case exp.Neg():
                return _minus(self.operand(tree.this))
            case exp.Cast():
                return _cast(tree)
            case exp.Length():
                text = self._text(tree.this)
                return RowValue(IntegerType(), lambda columns: pc.utf8_length(text.of(columns)))
            case exp.Mod():
                return _remainder(self.operand(tree.this), self.operand(tree.expression))
        raise NotHere(f"it holds {tree.sql('spark')}")

    # Parts

    def _connected(self, tree: exp.Connector) -> _Truth:
        parts = [self.truth(part) for part in tree.flatten()]
        if isinstance(tree, exp.And):
            return _all(parts)
        if isinstance(tree, exp.Or):
            return _any(parts)
        raise NotHere(f"it holds {tree.key.upper()}")

    def _column(self, parts: list[str]) -> RowValue:
        fields, path = self._schema.fields, list[NestedField]()
        for part in parts:
            found = [field for field in fields if field.name.lower() == part.lower()]
            if not found:
                raise unresolved(".".join(parts), "the condition", [one.name for one in self._schema.fields])
            if len(found) > 1:
                raise NotHere(f"{part} names several columns, which differ in case only")
            path.append(found[0])
            inner = found[0].type
            fields = inner.fields if isinstance(inner, StructType) else ()
        self.read.add(path[0].id)
        return column_value(tuple(path))

    def _text(self, tree: exp.Expression) -> RowValue:
        operand = self.operand(tree)
        if isinstance(operand, RowValue) and isinstance(operand.type, StringType):
            return operand
        raise NotHere(f"{tree.sql('spark')} is no text of a row")

    def _constant_text(self, tree: exp.Expression) -> str:
        operand = self.operand(tree)
        if isinstance(operand, Constant) and isinstance(operand.value, str):
            return operand.value
        raise NotHere(f"{tree.sql('spark')} is no constant text")

    def _is(self, tree: exp.Is) -> _Truth:
        asked = tree.expression
        if isinstance(asked, exp.Null):
            operand = self._nullable(tree.this)
            exact = IsNull(operand.field.id) if operand.field is not None and operand.is_top_level else None
            return _Truth.by(lambda columns: pc.is_null(operand.of(columns)), exact)
        if not isinstance(asked, exp.Boolean):
            raise NotHere(f"it holds IS {asked.sql('spark')}")
        inner, wanted = self.truth(tree.this), bool(asked.this)

        def of(columns: Columns) -> Any:
            return pc.fill_null(pc.equal(inner.of(columns), wanted), False)

        return _Truth(of, None, inner.pruning if wanted else AlwaysTrue())

    def _nullable(self, tree: exp.Expression) -> RowValue:
        """A value that is only compared with null, so that a column may be of any type."""
        inner = tree.unnest()
        if isinstance(inner, exp.Column) and len(inner.parts) == 1:
            name = inner.parts[0].name
            found = [field for field in self._schema.fields if field.name.lower() == name.lower()]
            if len(found) == 1:
                id = found[0].id
                self.read.add(id)
                return RowValue(found[0].type, lambda columns: columns[id], found[0], True)
        operand = self.operand(tree)
        if isinstance(operand, RowValue):
            return operand
        raise NotHere("it asks whether a constant is null")

    def _is_nan(self, operand: Operand) -> _Truth:
        if not (isinstance(operand, RowValue) and isinstance(operand.type, FLOATS)):
            raise NotHere("isnan of another than a float or double")
        # In Spark isnan(NULL) is false.
        return _Truth(lambda columns: pc.fill_null(pc.is_nan(operand.of(columns)), False), None, _is_nan(operand))

    def _like(self, operand: Operand, pattern: Operand) -> _Truth:
        is_text = isinstance(operand, RowValue) and isinstance(operand.type, StringType)
        if not is_text or not (isinstance(pattern, Constant) and isinstance(pattern.value, str)):
            raise NotHere("LIKE of another than a text and a constant pattern")
        assert isinstance(operand, RowValue)
        first, *rest = pattern.value.split("%")
        if "_" in pattern.value:
            raise NotHere(f"the pattern {pattern.value!r} has an underscore, which stands for any character")
        if not rest:
            return self._compared("=", operand, pattern)
        middle = [one for one in rest[:-1] if one]
        if len(middle) > 1 or (middle and (first or rest[-1])):
            raise NotHere(f"the pattern {pattern.value!r} has more than a beginning and an end, or a middle")
        return _holding(operand, middle[0]) if middle else _with_ends(operand, first, rest[-1])

    def _null_safe(self, left: Operand, right: Operand) -> _Truth:
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            raise NotHere("it compares two constants")
        if isinstance(right, RowValue):
            sides = _alike(left, right)
            return _Truth(lambda columns: equal_or_both_null(*(side(columns) for side in sides)))
        if right.value is None:
            value = left
            return _Truth(lambda columns: pc.is_null(value.of(columns)))
        equal = self._compared("=", left, right)
        return _Truth(lambda columns: pc.fill_null(equal.of(columns), False), None, equal.pruning)

    def _compared(self, op: Operator, left: Operand, right: Operand) -> _Truth:
        if isinstance(left, Constant):
            if isinstance(right, RowValue):
                return self._compared(MIRRORED[op], right, left)
            if left.value is None or right.value is None:
                return _UNKNOWN
            raise NotHere("it compares two constants")
        if isinstance(right, Constant):
            return _UNKNOWN if right.value is None else _with_constant(op, left, right)
        sides = _alike(left, right)
        return _Truth(lambda columns: compared(op, *(side(columns) for side in sides)))

    def _calculated(self, function: Callable[[Any, Any], Any], left: Operand, right: Operand) -> RowValue:
        numbers = [one for one in (left, right) if isinstance(one, RowValue)]
        if not numbers or not all(isinstance(one.type, (*WHOLE, DoubleType)) for one in numbers):
            raise NotHere("it calculates with other values than integers or doubles of a row")
        if all(isinstance(one.type, WHOLE) for one in numbers):
            constants = [one.value for one in (left, right) if isinstance(one, Constant)]
            if not all(isinstance(one, int) and not isinstance(one, bool) and one in _LONG for one in constants):
                raise NotHere("it calculates with an integer and another constant")
            narrow = all(isinstance(one.type, IntegerType) for one in numbers) and all(c in _INT for c in constants)
            type: Type = IntegerType() if narrow else LongType()
            sides = [_as_whole(one, pa.int32() if narrow else pa.int64()) for one in (left, right)]
        else:
            type, sides = DoubleType(), [_as_double(one) for one in (left, right)]
        return RowValue(type, lambda columns: function(*(side(columns) for side in sides)))


# Constants


def _number(text: str) -> int | Decimal | float:
    if "e" in text.lower():
        return _finite(float(text))
    try:
        return Decimal(text) if "." in text else int(text)
    except (ValueError, InvalidOperation):
        raise NotHere(f"it holds the number {text}") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise NotHere("it holds a number that is out of range")
    return number


def _minus(operand: Operand) -> Operand:
    if isinstance(operand, Constant) and isinstance(operand.value, int | float | Decimal):
        return Constant(-operand.value)
    raise NotHere("it holds a minus before a value of a row")


def _cast(tree: exp.Cast) -> Constant:
    """A typed literal such as DATE '2026-01-31' or 3L, both of which sqlglot reads as casts of literals."""
    literal, kind = tree.this, tree.to.this
    if isinstance(literal, exp.Literal):
        if literal.is_string and not isinstance(tree, exp.TryCast):
            if kind == exp.DataType.Type.DATE:
                return Constant(parsed_date(literal.this))
            if kind == exp.DataType.Type.TIMESTAMPNTZ:
                return Constant(moment_of(literal.this, ltz=False))
            if kind in (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ):
                return Constant(moment_of(literal.this, ltz=True))
        made = _SUFFIXES.get(kind)
        if made is not None and isinstance(tree, exp.TryCast) and not (literal.is_string and made is not Decimal):
            number = made(literal.this)
            return Constant(_finite(number) if isinstance(number, float) else number)
    raise NotHere(f"it holds {tree.sql('spark')}")


# Comparisons


def _alike(left: RowValue, right: RowValue) -> list[Callable[[Columns], Any]]:
    """Both sides as values of one type, as Spark casts them."""
    if all(isinstance(one.type, (*WHOLE, *FLOATS, DecimalType)) for one in (left, right)):
        return _alike_numbers(left, right)
    if left.type != right.type:
        raise NotHere(f"Spark casts one side of a comparison of {left.type} with {right.type}")
    return [left.of, right.of]


def _alike_numbers(left: RowValue, right: RowValue) -> list[Callable[[Columns], Any]]:
    types = (left.type, right.type)
    if any(isinstance(one, FLOATS) for one in types):
        if any(isinstance(one, DecimalType) for one in types):
            raise NotHere("Spark casts decimals to doubles in a comparison with these")
        if types[0] == types[1]:
            return [left.of, right.of]
        return [_as_double(left), _as_double(right)]
    if any(isinstance(one, DecimalType) for one in types):
        scale = max(one.scale for one in types if isinstance(one, DecimalType))
        _require_exact(*map(_digits, types))
        return [
            lambda columns: as_decimals(left.of(columns), scale),
            lambda columns: as_decimals(right.of(columns), scale),
        ]
    return [_as_whole(left, pa.int64()), _as_whole(right, pa.int64())]


def _with_constant(op: Operator, value: RowValue, constant: Constant) -> _Truth:
    id = None if value.field is None else value.field.id
    if isinstance(value.type, FLOATS):
        return _float_with_constant(op, value, float(_require_number(constant)))
    if isinstance(value.type, (*WHOLE, DecimalType)):
        number = _require_number(constant)
        if isinstance(number, float):
            if isinstance(value.type, DecimalType):
                raise NotHere("Spark casts decimals to doubles in a comparison with these")
            side = _as_double(value)
            return _Truth(lambda columns: compared(op, side(columns), pa.scalar(number, pa.float64())))
        return _exact_with_constant(op, value, Decimal(number))
    stored = constant_of(constant, value.type)

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return compared(op, values, scalar_of(stored, values.type))

    return _Truth.by(of, None if id is None else Comparison(op, id, stored))


def _require_number(constant: Constant) -> int | Decimal | float:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        raise NotHere(f"Spark casts one side of a comparison of a number with {value!r}")
    return value


def _float_with_constant(op: Operator, value: RowValue, number: float) -> _Truth:
    side = _as_double(value)

    def of(columns: Columns) -> Any:
        return compared(op, side(columns), pa.scalar(number, pa.float64()))

    id = None if value.field is None else value.field.id
    if id is None or not math.isfinite(number) or not _is_held(value.type, number):
        return _Truth(of)
    comparison = Comparison(op, id, number)
    return _Truth.by(of, Or(comparison, IsNaN(id)) if op in (">", ">=", "!=") else comparison)


def _is_held(type: Type, number: float) -> bool:
    """Whether a float or double may be the number, so that bounds of files can be compared with it."""
    with np.errstate(over="ignore"):
        return isinstance(type, DoubleType) or float(np.float32(number)) == number


def _is_nan(operand: RowValue) -> Predicate:
    return AlwaysTrue() if operand.field is None else IsNaN(operand.field.id)


def _exact_with_constant(op: Operator, value: RowValue, number: Decimal) -> _Truth:
    """A comparison of integers or decimals with a number that may lie between two of their values, or beyond all."""
    scale = value.type.scale if isinstance(value.type, DecimalType) else 0
    _require_exact(_digits(value.type), _digits_of(number))
    if isinstance(value.type, WHOLE) and not _LONG.start <= number < _LONG.stop:
        raise NotHere(f"Spark takes a comparison of {value.type} with {number} for true or false of null too")
    steps = Fraction(number) * 10**scale
    below, above = math.floor(steps), math.ceil(steps)
    least, most = _range(value.type)
    if below < least or above > most or below != above:
        if op in ("=", "!="):
            return _same_for_all(value, op == "!=")
        if above > most:
            return _same_for_all(value, op in ("<", "<="))
        if below < least:
            return _same_for_all(value, op in (">", ">="))
        # x < 3.5 and x <= 3.5 are x <= 3, and the others x >= 4.
        op, below = ("<=", below) if op in ("<", "<=") else (">=", above)
    stored = below if isinstance(value.type, WHOLE) else Decimal(f"{below}E-{scale}")

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return compared(op, values, pa.scalar(stored, values.type))

    return _Truth.by(of, None if value.field is None else Comparison(op, value.field.id, stored))


def _require_exact(*digits: tuple[int, int]) -> None:
    """Raises NotHere unless a decimal has place for all digits, before and behind the point, of both sides: Spark would
    round one of them."""
    if sum(max(of_side[at] for of_side in digits) for at in (0, 1)) > _MOST_DIGITS:
        raise NotHere(f"Spark rounds one side of a comparison of decimals that need more than {_MOST_DIGITS} digits")


def _digits(type: Type) -> tuple[int, int]:
    """The digits of a type's values before and behind the point."""
    if isinstance(type, DecimalType):
        return type.precision - type.scale, type.scale
    return (10, 0) if isinstance(type, IntegerType) else (20, 0)


def _digits_of(number: Decimal) -> tuple[int, int]:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "it is finite"
    return max(len(digits) + exponent, 0), max(-exponent, 0)


def _range(type: Type) -> tuple[int, int]:
    if isinstance(type, DecimalType):
        return -(10**type.precision) + 1, 10**type.precision - 1
    values = _INT if isinstance(type, IntegerType) else _LONG
    return values.start, values.stop - 1


def _same_for_all(value: RowValue, answer: bool) -> _Truth:
    """One answer for all values, and null for null."""

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return pc.if_else(pc.is_valid(values), pa.scalar(answer), pa.scalar(None, pa.bool_()))

    if not answer:
        return _Truth(of, None, AlwaysFalse())
    top = value.field is not None and value.is_top_level
    return _Truth(of, None, NotNull(value.field.id) if top and value.field is not None else AlwaysTrue())


# Numbers


def _as_whole(operand: Operand, type: pa.DataType) -> Callable[[Columns], Any]:
    if isinstance(operand, Constant):
        return lambda columns: pa.scalar(operand.value, type)
    return lambda columns: operand.of(columns).cast(type)


def _as_double(operand: Operand) -> Callable[[Columns], Any]:
    if isinstance(operand, Constant):
        number = float(_require_number(operand))
        return lambda columns: pa.scalar(number, pa.float64())
    return lambda columns: as_numbers(operand.of(columns))


def _remainder(left: Operand, right: Operand) -> RowValue:
    if not isinstance(left, RowValue) or not isinstance(left.type, WHOLE) or not isinstance(right, Constant):
        raise NotHere("% of another than an integer of a row and a constant")
    divisor = right.value
    if isinstance(divisor, bool) or not isinstance(divisor, int) or divisor not in range(1, 2**31):
        raise NotHere("% by another than a positive integer")

    def of(columns: Columns) -> Any:
        values = left.of(columns)
        by = pa.scalar(divisor, values.type)
        return pc.subtract(values, pc.multiply(pc.divide(values, by), by))

    return RowValue(left.type, of)


# Texts


def _with_ends(value: RowValue, first: str, last: str = "") -> _Truth:
    """Whether a text begins with `first` and, behind that, ends with `last`."""

    def of(columns: Columns) -> Any:
        texts = value.of(columns)
        found = pc.starts_with(texts, first)
        if last:
            least = pa.scalar(len(first.encode()) + len(last.encode()), pa.int32())
            is_long = pc.greater_equal(pc.binary_length(texts), least)
            found = pc.and_(found, pc.and_(pc.ends_with(texts, last), is_long))
        return found

    if value.field is None or not first:
        return _Truth(of)
    begins = StartsWith(value.field.id, first)
    return _Truth(of, None if last else begins, begins)


def _holding(value: RowValue, part: str) -> _Truth:
    return _Truth(lambda columns: pc.match_substring(value.of(columns), part))


# Connectives


def _all(parts: Iterable[_Truth]) -> _Truth:
    found = list(parts)
    exact = [one.exact for one in found]
    return _Truth(
        lambda columns: reduce(pc.and_kleene, (one.of(columns) for one in found)),
        None if None in exact else conjunction(one for one in exact if one is not None),
        conjunction(one.pruning for one in found),
    )


def _any(parts: Iterable[_Truth]) -> _Truth:
    found = list(parts)
    if not found:
        raise NotHere("it holds an empty list")
    exact = [one.exact for one in found]
    return _Truth(
        lambda columns: reduce(pc.or_kleene, (one.of(columns) for one in found)),
        None if None in exact else disjunction(one for one in exact if one is not None),
        disjunction(one.pruning for one in found),
    )


def _negated(truth: _Truth) -> _Truth:
    return _Truth.by(lambda columns: pc.invert(truth.of(columns)), None if truth.exact is None else negate(truth.exact))
