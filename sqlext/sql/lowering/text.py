"""Pieces of SELECT text that the lowerings share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlext.spec.types import NestedField
from sqlext.sql.binding import Relation
from sqlext.sql.statements.statement import Slice
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_identifier, quote_name

_HEX = "[0-9a-fA-F]"
_ANY_UUID = f"^(?:urn:)?(?:uuid:)?[{{]?({_HEX}{{8}})-?({_HEX}{{4}})-?({_HEX}{{4}})-?({_HEX}{{4}})-?({_HEX}{{12}})[}}]?$"


def with_ctes(ctes: Slice | None, query: str) -> str:
    """The query after the statement's own WITH."""
    return query if ctes is None else f"{ctes.text}\n{query}"


def aliased(relation: str, alias: str | None) -> str:
    return relation if alias is None else f"{relation} AS {quote_identifier(alias)}"


def showing_hidden(relation: str, alias: str | None, hidden: Sequence[str], *sides: Relation) -> str:
    """The relation under its alias, by which a statement's texts qualify its `hidden` columns.

    If a column of a side has the name of the alias, Spark takes `alias._file` for a field of that column, unless a
    subquery lists the hidden column.
    """
    if alias is None or all(side.find(alias) is None for side in sides):
        return aliased(relation, alias)
    listed = ", ".join(map(quote_identifier, hidden))
    return f"(SELECT *, {listed} FROM {relation}) AS {quote_identifier(alias)}"


def hidden_column(name: str, alias: str | None, target: Relation, *sides: Relation) -> str:
    """A hidden column of the target, qualified for a statement's texts; `sides` are all relations that they see.

    Hidden columns have the lowest precedence: Spark takes `lake.db.t._file` for a field of a column `lake` if there is
    one. So without alias the qualifier is the longest suffix of the target's name that neither begins with a column's
    name nor names another side; there may be none.
    """
    others = [side for side in sides if side is not target]
    for start in range(len(target.name)):
        end = target.name[start:]
        hidden_by_column = alias is None and any(side.find(end[0]) is not None for side in sides)
        if not hidden_by_column and not any(side.is_named(end) for side in others):
            return quote_name((*end, name))
    return quote_identifier(name)


def null_of(field: NestedField) -> str:
    """Null, of the column's type."""
    return f"CAST(NULL AS {spark_type_text(field.type)})"


def filtered(where: Slice | None) -> str:
    """The WHERE clause of a relation, empty for None: in two parentheses, as Spark takes `t WHERE (a)` for the alias
    `WHERE` with a column `a`. A bare NULL, which Spark does not take for a condition, is cast to one."""
    if where is None:
        return ""
    return f"\nWHERE (({'CAST(NULL AS BOOLEAN)' if where.text.upper() == 'NULL' else where.text}))"


def selected(columns: Iterable[tuple[str, str]]) -> str:
    """A select list of (expression, name) pairs, one per line."""
    return ",\n  ".join(f"{expression} AS {quote_identifier(name)}" for expression, name in columns)


def fresh_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, with underscores appended until it differs, in any case, from all names in `taken`."""
    lower = {name.lower() for name in taken}
    while wanted.lower() in lower:
        wanted += "_"
    return wanted


def stored_uuid(text: str) -> str:
    """The text of a uuid in the spelling of stored uuids, since Spark compares texts; other text in lower case."""
    return f"lower(regexp_replace({text}, '{_ANY_UUID}', '$1-$2-$3-$4-$5'))"
