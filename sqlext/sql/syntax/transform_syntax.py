"""Terms of partitioning and ordering: `days(ts)`, `bucket(4, id) AS shard`, `truncate(3, name) DESC NULLS LAST`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sqlext.errors import AnalysisError
from sqlext.sql.statements.statement import PartitionTerm, SortTerm, TransformName
from sqlext.sql.tokens.token_cursor import TokenCursor

_Term = TypeVar("_Term", PartitionTerm, SortTerm)

_TRANSFORMS: dict[str, TransformName] = {
    "YEAR": "year", "YEARS": "year", "MONTH": "month", "MONTHS": "month", "DAY": "day", "DAYS": "day",
    "DATE": "day", "HOUR": "hour", "HOURS": "hour", "DATE_HOUR": "hour", "BUCKET": "bucket",
    "TRUNCATE": "truncate", "IDENTITY": "identity",
}  # fmt: skip


def parse_terms(cursor: TokenCursor, parse_term: Callable[[TokenCursor], _Term]) -> tuple[_Term, ...]:
    cursor.expect("(")
    terms = [parse_term(cursor)]
    while cursor.accept(","):
        terms.append(parse_term(cursor))
    cursor.expect(")")
    return tuple(terms)


def parse_partition_term(cursor: TokenCursor) -> PartitionTerm:
    term = parse_transform(cursor)
    if cursor.accept("AS"):
        return replace(term, name=cursor.name("a partition field name"))
    if cursor.peek().kind in ("word", "quoted"):
        cursor.refuse("A column type in PARTITIONED BY", "partition columns are columns of the table. Name them only")
    return term


def parse_transform(cursor: TokenCursor) -> PartitionTerm:
    if cursor.peek(1).text != "(":
        return PartitionTerm("identity", cursor.dotted_name("a column name"))
    start = cursor.position
    name = cursor.name("a transform")
    transform = _TRANSFORMS.get(name.upper())
    if transform is None:
        raise AnalysisError(
            "INVALID_PARTITION_TRANSFORM",
            transform=name,
            reason="it is none of identity, bucket, truncate, years, months, days, hours. Use one of these",
        )
    cursor.expect("(")
    parameter = cursor.integer() if cursor.peek().kind == "number" else None
    if parameter is not None:
        cursor.expect(",")
    column = cursor.dotted_name("a column name")
    if parameter is None and cursor.accept(","):
        parameter = cursor.integer()
    cursor.expect(")")
    term_text = cursor.slice_from(start).text
    if (parameter is not None) != (transform in ("bucket", "truncate")):
        way_out = f"Write {name}({'' if parameter is not None else '16, '}{'.'.join(column)})"
        wanted = f"takes {'no number' if parameter is not None else 'a number and a column'}. {way_out}"
        raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=term_text, reason=f"{name} {wanted}")
    if parameter is not None and not 0 < parameter < 2**31:
        raise AnalysisError(
            "INVALID_PARTITION_TRANSFORM",
            transform=term_text,
            reason="its number is none from 1 to 2147483647. Write one of these",
        )
    return PartitionTerm(transform, column, parameter)


def parse_sort_term(cursor: TokenCursor) -> SortTerm:
    term = parse_transform(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first = not descending
    if cursor.accept("NULLS"):
        nulls_first = cursor.accept("FIRST")
        if not nulls_first:
            cursor.expect("LAST")
    return SortTerm(term, descending, nulls_first)
