"""Columns and subqueries in a sliced expression. sqlglot's tree only locates names; the text stays the user's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlext.sql.tokens.dialect import SqlextSpark
from sqlext.sql.tokens.expression_pieces import Piece, expression_pieces


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A column's name as an expression spells it: `text[start:]` begins with its first part.

    With `in_subquery` it may be a column of the subquery, which takes precedence over those of the statement.
    """

    parts: tuple[str, ...]
    start: int
    in_subquery: bool


def column_references(text: str) -> tuple[ColumnReference, ...] | None:
    """The columns that an expression names, by position; None if sqlglot cannot read it.

    Parameters of lambda functions, names of struct fields, units and types are not among them.
    """
    references: list[ColumnReference] = []
    for piece in expression_pieces(text):
        found = None if (tree := _parse(piece.text)) is None else _references(tree, piece)
        if found is None:
            return None
        references += found
    return tuple(sorted(references, key=lambda reference: reference.start))


def _references(tree: exp.Expression, piece: Piece) -> list[ColumnReference] | None:
    references = []
    left = [(tree, piece.in_subquery)]
    while left:
        one, in_subquery = left.pop()
        in_subquery = in_subquery or isinstance(one, exp.Query)
        left += [(part, in_subquery) for part in one.iter_expressions()]
        if isinstance(one, exp.Column):
            start = one.parts[0].meta.get("start")
            if start is None:
                return None
            parts = tuple(part.name for part in one.parts)
            references.append(ColumnReference(parts, piece.start + start, in_subquery))
    return references


def has_subquery(text: str) -> bool:
    """Whether an expression has a subquery; True if sqlglot cannot read it."""
    trees = [_parse(piece.text) for piece in expression_pieces(text)]
    return any(tree is None or tree.find(exp.Query) is not None for tree in trees)


def plain_column(text: str) -> tuple[str, ...] | None:
    """The parts of the column name that is the whole expression, parentheses aside; None for any other."""
    tree = _parse(text)
    return None if tree is None else _column_parts(tree)


def equated_columns(text: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] | None:
    """The pairs of `a = b AND c = d …`, whose sides are plain columns; None for any other condition."""
    tree = _parse(text)
    if tree is None:
        return None
    pairs = [_equated(term) for term in _conjuncts(tree)]
    found = tuple(pair for pair in pairs if pair is not None)
    return found if len(found) == len(pairs) else None


def required_equalities(text: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The pairs of plain columns that a condition requires to be equal, whatever else it requires."""
    tree = _parse(text)
    pairs = () if tree is None else tuple(_equated(term) for term in _conjuncts(tree))
    return tuple(pair for pair in pairs if pair is not None)


def _equated(term: exp.Expression) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    if not isinstance(term, exp.EQ):
        return None
    left, right = _column_parts(term.this), _column_parts(term.expression)
    return None if left is None or right is None else (left, right)


def _parse(text: str) -> exp.Expression | None:
    """The tree; None if sqlglot cannot read the text, or it nests too deeply. Chains of operators do not nest."""
    try:
        trees = SqlextSpark().parse(text)
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None


def _conjuncts(tree: exp.Expression) -> Iterator[exp.Expression]:
    left = [tree]
    while left:
        one = left.pop().unnest()
        if isinstance(one, exp.And):
            left += [one.expression, one.this]
        else:
            yield one


def _column_parts(tree: exp.Expression) -> tuple[str, ...] | None:
    tree = tree.unnest()
    if not isinstance(tree, exp.Column) or isinstance(tree.this, exp.Star):
        return None
    return tuple(part.name for part in tree.parts)
