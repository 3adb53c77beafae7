"""SQL conditions on the rows of a table, evaluated on Arrow with Spark's results, and as predicates on field ids.

What Spark would answer otherwise, or in a way that depends on its session, is refused and never approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError

from sqlext.errors import ParseError, UnsupportedError
from sqlext.local.condition_comparison import alike, as_double, as_whole, compared_with_constant
from sqlext.local.condition_truth import UNKNOWN, RowTruth, all_of, any_of, holding, negated, with_ends
from sqlext.local.condition_value import (
    FLOATS,
    INT_RANGE,
    LONG_RANGE,
    WHOLE,
    Columns,
    Constant,
    NotHere,
    Operand,
    RowValue,
    column_value,
    moment_of,
    parsed_date,
)
from sqlext.scan.filter.arrow_comparison import MIRRORED, compared, equal_or_both_null
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    Comparison,
    IsNaN,
    IsNull,
    Operator,
    Predicate,
)
from sqlext.spec.field_path import path_text
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BooleanType,
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
        near = text.strip() or "the end"
        raise ParseError("PARSE_SYNTAX_ERROR", near=near, line=1, column=1, expected="one condition")
    tree: exp.Expression = trees[0]
    return tree


def _refused(text: str, reason: object, what: str = "The condition") -> UnsupportedError:
    return UnsupportedError("LOCAL_NEEDS_SPARK", what=f"{what} {text}", reason=reason)


class _Compiler:
    """Compiles the tree of a condition; `read` are the ids of the columns that it has met."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.read: set[int] = set()

    def truth(self, tree: exp.Expression) -> RowTruth:
        tree = tree.unnest()
        if isinstance(tree, exp.Connector):
            return self._connected(tree)
        operator = _OPERATORS.get(type(tree))
        if operator is not None:
            return self._compared(operator, self.operand(tree.this), self.operand(tree.expression))
        match tree:
            case exp.Not():
                return negated(self.truth(tree.this))
            case exp.Boolean():
                constant = bool(tree.this)
                return RowTruth.by(lambda columns: pa.scalar(constant), AlwaysTrue() if constant else AlwaysFalse())
            case exp.Null():
                return UNKNOWN
            case exp.NullSafeEQ():
                return self._null_safe(self.operand(tree.this), self.operand(tree.expression))
            case exp.Is():
                return self._is(tree)
            case exp.In() if not (tree.args.get("query") or tree.args.get("unnest") or tree.args.get("field")):
                sought = self.operand(tree.this)
                return any_of(self._compared("=", sought, self.operand(one)) for one in tree.expressions)
            case exp.Between() if not tree.args.get("symmetric"):
                value = self.operand(tree.this)
                low = self._compared(">=", value, self.operand(tree.args["low"]))
                return all_of([low, self._compared("<=", value, self.operand(tree.args["high"]))])
            case exp.Like():
                like = self._like(self.operand(tree.this), self.operand(tree.expression))
                return negated(like) if tree.args.get("negate") else like
            case exp.StartsWith():
                return with_ends(self._text(tree.this), self._constant_text(tree.expression))
            case exp.IsNan():
                return self._is_nan(self.operand(tree.this))
        operand = self.operand(tree)
        if isinstance(operand, RowValue) and isinstance(operand.type, BooleanType):
            exact = None if operand.field is None else Comparison("=", operand.field.id, True)
            return RowTruth.by(operand.of, exact)
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

    def _connected(self, tree: exp.Connector) -> RowTruth:
        parts = [self.truth(part) for part in tree.flatten()]
        if isinstance(tree, exp.And):
            return all_of(parts)
        if isinstance(tree, exp.Or):
            return any_of(parts)
        raise NotHere(f"it holds {tree.key.upper()}")

    def _column(self, parts: list[str]) -> RowValue:
        fields, path = self._schema.fields, list[NestedField]()
        for part in parts:
            found = [field for field in fields if field.name.lower() == part.lower()]
            if not found:
                raise unresolved(path_text(parts), "the condition", [one.name for one in self._schema.fields])
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

    def _is(self, tree: exp.Is) -> RowTruth:
        asked = tree.expression
        if isinstance(asked, exp.Null):
            operand = self._nullable(tree.this)
            exact = IsNull(operand.field.id) if operand.field is not None and operand.is_top_level else None
            return RowTruth.by(lambda columns: pc.is_null(operand.of(columns)), exact)
        if not isinstance(asked, exp.Boolean):
            raise NotHere(f"it holds IS {asked.sql('spark')}")
        inner, wanted = self.truth(tree.this), bool(asked.this)

        def of(columns: Columns) -> Any:
            return pc.fill_null(pc.equal(inner.of(columns), wanted), False)

        return RowTruth(of, None, inner.pruning if wanted else AlwaysTrue())

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

    def _is_nan(self, operand: Operand) -> RowTruth:
        if not (isinstance(operand, RowValue) and isinstance(operand.type, FLOATS)):
            raise NotHere("isnan of another than a float or double")
        # In Spark isnan(NULL) is false.
        return RowTruth(lambda columns: pc.fill_null(pc.is_nan(operand.of(columns)), False), None, _is_nan(operand))

    def _like(self, operand: Operand, pattern: Operand) -> RowTruth:
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
        return holding(operand, middle[0]) if middle else with_ends(operand, first, rest[-1])

    def _null_safe(self, left: Operand, right: Operand) -> RowTruth:
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            raise NotHere("it compares two constants")
        if isinstance(right, RowValue):
            sides = alike(left, right)
            return RowTruth(lambda columns: equal_or_both_null(*(side(columns) for side in sides)))
        if right.value is None:
            value = left
            return RowTruth(lambda columns: pc.is_null(value.of(columns)))
        equal = self._compared("=", left, right)
        return RowTruth(lambda columns: pc.fill_null(equal.of(columns), False), None, equal.pruning)

    def _compared(self, op: Operator, left: Operand, right: Operand) -> RowTruth:
        if isinstance(left, Constant):
            if isinstance(right, RowValue):
                return self._compared(MIRRORED[op], right, left)
            if left.value is None or right.value is None:
                return UNKNOWN
            raise NotHere("it compares two constants")
        if isinstance(right, Constant):
            return UNKNOWN if right.value is None else compared_with_constant(op, left, right)
        sides = alike(left, right)
        return RowTruth(lambda columns: compared(op, *(side(columns) for side in sides)))

    def _calculated(self, function: Callable[[Any, Any], Any], left: Operand, right: Operand) -> RowValue:
        numbers = [one for one in (left, right) if isinstance(one, RowValue)]
        if not numbers or not all(isinstance(one.type, (*WHOLE, DoubleType)) for one in numbers):
            raise NotHere("it calculates with other values than integers or doubles of a row")
        if all(isinstance(one.type, WHOLE) for one in numbers):
            constants = [one.value for one in (left, right) if isinstance(one, Constant)]
            if not all(isinstance(one, int) and not isinstance(one, bool) and one in LONG_RANGE for one in constants):
                raise NotHere("it calculates with an integer and another constant")
            narrow = all(isinstance(one.type, IntegerType) for one in numbers) and all(
                c in INT_RANGE for c in constants
            )
            type: Type = IntegerType() if narrow else LongType()
            sides = [as_whole(one, pa.int32() if narrow else pa.int64()) for one in (left, right)]
        else:
            type, sides = DoubleType(), [as_double(one) for one in (left, right)]
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


def _is_nan(operand: RowValue) -> Predicate:
    return AlwaysTrue() if operand.field is None else IsNaN(operand.field.id)
