"""Pieces of SELECT text that every lowering writes alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.sql.binding import Relation
from sqlext.sql.statements.statement import Slice
from sqlext.sql.tokens.quoting import quote_identifier, quote_name

_HEX = "[0-9a-fA-F]"
_ANY_UUID = f"^(?:urn:)?(?:uuid:)?[{{]?({_HEX}{{8}})-?({_HEX}{{4}})-?({_HEX}{{4}})-?({_HEX}{{4}})-?({_HEX}{{12}})[}}]?$"


def with_ctes(ctes: Slice | None, query: str) -> str:
    """The query behind the statement's own WITH."""
    return query if ctes is None else f"{ctes.text}\n{query}"


def aliased(relation: str, alias: str | None) -> str:
    return relation if alias is None else f"{relation} AS {quote_identifier(alias)}"


def showing_hidden(relation: str, alias: str | None, hidden: Sequence[str], *sides: Relation) -> str:
    """The relation under its alias, which the texts of a statement put before its `hidden` columns.

    Where a column of a side has the alias's name, Spark takes `alias._file` for a field of that column, unless it is a
    column that is listed.
    """
    if alias is None or all(side.find(alias) is None for side in sides):
        return aliased(relation, alias)
    listed = ", ".join(map(quote_identifier, hidden))
    return f"(SELECT *, {listed} FROM {relation}) AS {quote_identifier(alias)}"


def hidden_column(name: str, alias: str | None, target: Relation, *sides: Relation) -> str:
    """A hidden column of the target, for the texts of a statement; `sides` are all relations that they see.

    Without an alias it is qualified by the longest end of the target's name that does not begin with the name of a
    column, and is no name of another side: hidden columns come last, so Spark takes `lake.db.t._file` for a field of
    the column `lake` where there is one.
    """
    others = [side for side in sides if side is not target]
    for start in range(len(target.name)):
        end = target.name[start:]
        hidden_by_column = alias is None and any(side.find(end[0]) is not None for side in sides)
        if not hidden_by_column and not any(side.is_named(end) for side in others):
            return quote_name((*end, name))
    return quote_identifier(name)


def filtered(where: Slice | None) -> str:
    """The WHERE behind a relation: in two brackets, as Spark takes `t WHERE (a)` for one whose alias is `WHERE` and its
    column `a`. A bare NULL, which Spark does not take for a condition, selects nothing."""
    if where is None:
        return ""
    return f"\nWHERE (({'CAST(NULL AS BOOLEAN)' if where.text.upper() == 'NULL' else where.text}))"


def selected(columns: Iterable[tuple[str, str]]) -> str:
    """A select list of (expression, name) pairs, one a line."""
    return ",\n  ".join(f"{expression} AS {quote_identifier(name)}" for expression, name in columns)


def fresh_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, with as many underscores behind it as make it differ from all names taken."""
    lower = {name.lower() for name in taken}
    while wanted.lower() in lower:
        wanted += "_"
    return wanted


def stored_uuid(text: str) -> str:
    """The text of a uuid in the one spelling that stored ones have, since Spark compares texts; other text stays."""
    return f"lower(regexp_replace({text}, '{_ANY_UUID}', '$1-$2-$3-$4-$5'))"
