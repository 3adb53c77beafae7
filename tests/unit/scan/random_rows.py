"""Random rows, their files' metrics and random predicates, for tests that compare pruning with evaluating each row."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random
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
)
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.transform import BucketTransform
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    Type,
)

Row = dict[int, Any]
BUCKETS = BucketTransform(4)

TYPES: tuple[Type, ...] = (
    BooleanType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DecimalType(9, 2),
    DecimalType(30, 5),
    DateType(),
    TimestampType(),
    StringType(),
    BinaryType(),
)
IN_OPTIONAL = tuple(
    NestedField(number, f"f{number}", of) for number, of in ((21, LongType()), (22, DoubleType()), (23, StringType()))
)
IN_REQUIRED = (NestedField(31, "f31", LongType()), NestedField(32, "f32", DoubleType()))
SCHEMA = Schema(
    (
        *(NestedField(number, f"c{number}", of) for number, of in enumerate(TYPES, 1)),
        NestedField(20, "s", StructType(IN_OPTIONAL)),
        NestedField(30, "r", StructType(IN_REQUIRED), required=True),
    )
)
COLUMNS = (*SCHEMA.fields[: len(TYPES)], *IN_OPTIONAL, *IN_REQUIRED)
LACKS_STRUCT = -1
TRUNCATION = 3

_FLOATS = (0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan)
_LETTERS = "ab\x7fé\uffff\U0001f40e\U0010ffff" + string.digits[:2]
_DAY = 86_400_000_000
_GENERATORS: dict[type, Callable[[Random, Any], Any]] = {
    BooleanType: lambda random, of: random.random() < 0.5,
    IntegerType: lambda random, of: random.choice((random.randint(-20, 20), -(2**31), 2**31 - 1)),
    LongType: lambda random, of: random.choice((random.randint(-20, 20), -(2**63), 2**63 - 1)),
    FloatType: lambda random, of: random.choice(_FLOATS),
    DoubleType: lambda random, of: random.choice((*_FLOATS, random.uniform(-2, 2))),
    DecimalType: lambda random, of: Decimal(random.randint(-300, 300)).scaleb(-of.scale),
    DateType: lambda random, of: random.randint(-400, 400),
    TimestampType: lambda random, of: random.choice((-2, -1, 0, 1, 400)) * _DAY + random.randint(-3, 3),
    StringType: lambda random, of: "".join(random.choices(_LETTERS, k=random.randint(0, 5))),
    BinaryType: lambda random, of: bytes(random.choices((0, 1, 0x7F, 0xFF), k=random.randint(0, 5))),
}


def random_value(random: Random, of: Type) -> Any:
    return _GENERATORS[type(of)](random, of)


def random_rows(random: Random) -> list[Row]:
    """Rows in which each column prefers nulls, NaN, one value, or many; struct `s` is null where `LACKS_STRUCT`."""
    size = random.randint(1, 6)
    columns: dict[int, list[Any]] = {}
    for field in COLUMNS:
        pool = [random_value(random, field.type) for _ in range(random.choice((1, 2, 6)))]
        pool += [None] * random.choice((0, 0, 1, 3))
        if random.random() < 0.1:
            pool = [None]
        elif isinstance(field.type, (FloatType, DoubleType)) and random.random() < 0.15:
            pool = [math.nan]
        columns[field.id] = random.choices(pool, k=size)
    share = random.choice((0, 0, 0.3, 1))
    lacking = [random.random() < share for _ in range(size)]
    for field in IN_OPTIONAL:
        columns[field.id] = [None if lacks else value for lacks, value in zip(lacking, columns[field.id], strict=True)]
    columns[LACKS_STRUCT] = lacking
    return [{field_id: values[row] for field_id, values in columns.items()} for row in range(size)]


def data_file(random: Random, rows: Sequence[Row], spec_id: int = 0, partition: tuple[Any, ...] = ()) -> ContentFile:
    """A file of `rows` with correct metrics, any of which may be missing."""
    counts: dict[str, dict[int, Any]] = {name: {} for name in ("values", "nulls", "nans", "lower", "upper")}
    for field in COLUMNS:
        values = [row[field.id] for row in rows]
        present = [value for value in values if value is not None]
        numbers = [value for value in present if value == value]
        counts["values"][field.id] = len(values)
        counts["nulls"][field.id] = len(values) - len(present)
        if isinstance(field.type, (FloatType, DoubleType)):
            counts["nans"][field.id] = len(present) - len(numbers)
        if numbers:
            counts["lower"][field.id] = encode(field.type, _lower(min(numbers)))
            upper = _upper(max(numbers))
            if upper is not None:
                counts["upper"][field.id] = encode(field.type, upper)
    for metric in counts.values():
        for field_id in list(metric):
            if random.random() < 0.1:
                del metric[field_id]
    return ContentFile(
        Content.DATA,
        "file:///t/data/f.parquet",
        "PARQUET",
        spec_id,
        partition,
        len(rows),
        1000,
        value_counts=counts["values"],
        null_value_counts=counts["nulls"],
        nan_value_counts=counts["nans"],
        lower_bounds=counts["lower"],
        upper_bounds=counts["upper"],
    )


def falsified(random: Random, file: ContentFile, rows: Sequence[Row]) -> ContentFile:
    """The file with counts that some writers make: with or without fields in null structs, of another
    number of rows than the file has, or of none. Each can be detected by the record count."""
    values, nulls, nans = (
        dict(one or {}) for one in (file.value_counts, file.null_value_counts, file.nan_value_counts)
    )
    lacking = sum(row[LACKS_STRUCT] for row in rows)
    counts_nulls, counts_values = random.random() < 0.5, random.random() < 0.5
    for field in IN_OPTIONAL:
        for counts, whole in ((values, counts_values), (nulls, counts_nulls)):
            if field.id in counts and not whole:
                counts[field.id] -= lacking
    for field in COLUMNS:
        kind = random.random()
        if kind < 0.1:
            values[field.id] = random.choice((-1, 0, max(0, len(rows) - 1), len(rows) + 1))
            if values[field.id] != len(rows):
                nulls[field.id], nans[field.id] = (random.randint(-1, len(rows)) for _ in range(2))
        elif kind < 0.15:
            nulls[field.id] = random.choice((-1, len(rows) + 1))
        elif kind < 0.2:
            nans[field.id] = random.choice((-1, len(rows) + 1))
    records = -1 if random.random() < 0.05 else file.record_count
    return replace(file, record_count=records, value_counts=values, null_value_counts=nulls, nan_value_counts=nans)


def _lower(value: Any) -> Any:
    return value[:TRUNCATION] if isinstance(value, (str, bytes)) else value


def _upper(value: Any) -> Any:
    """An upper bound of at most TRUNCATION characters; None if there is none."""
    if not isinstance(value, (str, bytes)) or len(value) <= TRUNCATION:
        return value
    for end in range(TRUNCATION, 0, -1):
        last = value[end - 1]
        if isinstance(last, int):
            if last < 0xFF:
                return value[: end - 1] + bytes([last + 1])
        elif ord(last) < 0x10FFFF:
            after = ord(last) + 1
            return value[: end - 1] + chr(0xE000 if 0xD800 <= after <= 0xDFFF else after)
    return None


def random_predicate(random: Random, rows: Sequence[Row], depth: int = 3) -> Predicate:
    """A predicate whose literals are values of the rows, near the bounds, or random."""
    if depth and random.random() < 0.5:
        left = random_predicate(random, rows, depth - 1)
        if random.random() < 0.2:
            return Not(left)
        right = random_predicate(random, rows, depth - 1)
        return And(left, right) if random.random() < 0.5 else Or(left, right)
    return _random_term(random, rows)


def _random_term(random: Random, rows: Sequence[Row]) -> Predicate:
    field = random.choice(COLUMNS)

    def literal() -> Any:
        known = [row[field.id] for row in rows if row[field.id] is not None]
        return random.choice(known) if known and random.random() < 0.5 else random_value(random, field.type)

    kind = random.random()
    if kind < 0.02:
        return random.choice((AlwaysTrue(), AlwaysFalse()))
    if kind < 0.12:
        return random.choice((IsNull, NotNull))(field.id)
    if kind < 0.2 and isinstance(field.type, (FloatType, DoubleType)):
        return random.choice((IsNaN, NotNaN))(field.id)
    if kind < 0.35 and isinstance(field.type, (StringType, BinaryType)):
        return StartsWith(field.id, literal()[: random.randint(0, 4)])
    if kind < 0.4 and BUCKETS.can_transform(field.type):
        return InBucket(field.id, BUCKETS.n, frozenset(random.sample(range(BUCKETS.n), random.randint(0, BUCKETS.n))))
    if kind < 0.5:
        values = frozenset(literal() for _ in range(random.randint(0, 3)))
        return random.choice((In, NotIn))(field.id, values)
    return Comparison(random.choice(("<", "<=", ">", ">=", "=", "!=")), field.id, literal())


def evaluate(predicate: Predicate, row: Row) -> bool | None:
    """The value of a predicate for a row in SQL; None is unknown. NaN equals itself and is the largest value."""
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case Not(child=child):
            value = evaluate(child, row)
            return None if value is None else not value
        case And(left=left, right=right):
            sides = (evaluate(left, row), evaluate(right, row))
            return False if False in sides else None if None in sides else True
        case Or(left=left, right=right):
            sides = (evaluate(left, row), evaluate(right, row))
            return True if True in sides else None if None in sides else False
        case IsNull(id=id):
            return row[id] is None
        case NotNull(id=id):
            return row[id] is not None
    return _evaluate_term(predicate, row[predicate.id])


def _evaluate_term(predicate: Predicate, value: Any) -> bool | None:
    if value is None:
        return None
    match predicate:
        case IsNaN():
            return value != value
        case NotNaN():
            return bool(value == value)
        case StartsWith(prefix=prefix):
            return bool(value.startswith(prefix))
        case InBucket(id=id, buckets=buckets):
            return BUCKETS.apply(SCHEMA.field(id).type, value) in buckets
        case In(values=values):
            return any(_rank(value) == _rank(one) for one in values)
        case NotIn(values=values):
            return all(_rank(value) != _rank(one) for one in values)
        case Comparison(op=op, value=literal):
            left, right = _rank(value), _rank(literal)
            return {
                "<": left < right,
                "<=": left <= right,
                ">": left > right,
                ">=": left >= right,
                "=": left == right,
                "!=": left != right,
            }[op]
    raise AssertionError(predicate)


def _rank(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)
