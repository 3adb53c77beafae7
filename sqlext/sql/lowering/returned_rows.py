"""RETURNING as a SELECT over the rows that a statement changed.

The rows have the table's columns, which are those of the new row, or of the old one if it was deleted; the structs of
the old and the new row; and the action. A star of the list means the table's columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlext.errors import UnsupportedError
from sqlext.spec.field_path import FieldPath
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.name_case import name_key
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.changes import ChangeStep, difference, images
from sqlext.sql.lowering.text import with_ctes
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.statement import Merge
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string, unquote_identifier
from sqlext.sql.tokens.token_cursor import Token, tokenize

RowAction: TypeAlias = Literal["INSERT", "UPDATE", "DELETE"]
_UNION = "\nUNION ALL\n"
_ACTION = "__sqlext_action"
_OLD, _NEW = "__sqlext_old", "__sqlext_new"
_MERGE_ACTION = "MERGE_ACTION"


@dataclass(frozen=True, slots=True)
class ReturnedList:
    """The list of a RETURNING for a table with the columns of `schema`."""

    statement: Returning
    schema: Schema

    @property
    def names_old(self) -> bool:
        """Whether the list names the row before the change."""
        return self._names(self.statement.old)

    @property
    def names_action(self) -> bool:
        """Whether the list calls merge_action()."""
        return any(token.word == _MERGE_ACTION for token in self._tokens())

    @property
    def has_subquery(self) -> bool:
        """Whether the list has a subquery."""
        tokens = self._tokens()
        return any(token.text == "(" and _begins_query(tokens, number) for number, token in enumerate(tokens))

    def select(self, rows: str) -> str:
        """The list over `rows`, a SELECT as by `inserted`, `deleted` or `paired`.

        Raises UnsupportedError UNSUPPORTED_SYNTAX for merge_action() outside of a MERGE, and for a star with EXCEPT.
        """
        shown = [quote_identifier(field.name) for field in self.schema.fields]
        shown += [f"{_q(_OLD)} AS {_q(self.statement.old)}"] if self._is_free(self.statement.old) else []
        shown += [f"{_q(_NEW)} AS {_q(self.statement.new)}"] if self._is_free(self.statement.new) else []
        named = f"(SELECT {', '.join(shown)}, {_q(_ACTION)} FROM (\n{rows}\n)) AS {_q(self._alias)}"
        return with_ctes(self.statement.statement.ctes, f"SELECT {self._items()}\nFROM {named}")

    @property
    def _alias(self) -> str:
        return self.statement.statement.alias or self.statement.table.table

    def _is_free(self, name: str) -> bool:
        return all(name_key(field.name, False) != name_key(name, False) for field in self.schema.fields)

    def _names(self, name: str) -> bool:
        tokens = self._tokens()
        return self._is_free(name) and any(
            token.kind in ("word", "quoted")
            and name_key(unquote_identifier(token.text), False) == name_key(name, False)
            and (number == 0 or tokens[number - 1].text != ".")
            for number, token in enumerate(tokens)
        )

    def _tokens(self) -> list[Token]:
        return tokenize(self.statement.items.text)

    def _items(self) -> str:
        """The user's text with columns in the place of stars, and with the action's column for merge_action().

        Stars of subqueries stay, and that of count(*).
        """
        text, tokens = self.statement.items.text, self._tokens()
        pieces: list[str] = []
        done = 0
        queries: list[bool] = []
        for number, token in enumerate(tokens):
            if token.text == "(":
                queries.append(any(queries) or _begins_query(tokens, number))
            elif token.text == ")" and queries:
                queries.pop()
            following = tokens[number + 1].text if number + 1 < len(tokens) else ","
            if token.word == _MERGE_ACTION and [one.text for one in tokens[number + 1 : number + 3]] == ["(", ")"]:
                if not isinstance(self.statement.statement, Merge):
                    raise _refused("merge_action() outside of a MERGE", "other statements have one action for all rows")
                end = tokens[number + 3].text if number + 3 < len(tokens) else ","
                is_whole = not queries and end == "," and (number == 0 or tokens[number - 1].text == ",")
                pieces += text[done : token.start], _q(_ACTION), " AS `merge_action`" if is_whole else ""
                done = tokens[number + 2].end
            elif token.text == "*" and not any(queries) and (place := self._star(tokens, number)) is not None:
                if following != "," and not (queries and following == ")"):
                    raise _refused("A star with more behind it in RETURNING", "name the columns in its place")
                is_count = [one.text.upper() for one in tokens[max(place - 2, 0) : place]] == ["COUNT", "("]
                if is_count and place == number and following == ")":
                    continue
                if is_count:
                    raise _refused("The count of a star of columns in RETURNING", "count(*) counts rows")
                pieces += text[done : tokens[place].start], self._columns()
                done = token.end
        return "".join((*pieces, text[done:]))

    def _star(self, tokens: Sequence[Token], number: int) -> int | None:
        """The number of the first token of `*` or `name.*`, for all columns of the table; None for another star."""
        first = number
        while first > 1 and tokens[first - 1].text == ".":
            first -= 2
        before = tokens[first - 1] if first else None
        if before is not None and before.text not in (",", "(") and before.word not in ("DISTINCT", "ALL"):
            return None
        parts = [name_key(unquote_identifier(one.text), False) for one in tokens[first:number] if one.text != "."]
        name = [name_key(part, False) for part in self.statement.table.parts]
        is_table = parts == [name_key(self._alias, False)] or (
            self.statement.statement.alias is None and parts == name[len(name) - len(parts) :]
        )
        return first if not parts or is_table else None

    def _columns(self) -> str:
        return ", ".join(f"{_q(self._alias)}.{quote_identifier(field.name)}" for field in self.schema.fields)


@dataclass(frozen=True, slots=True)
class ChangedImages:
    """The old and the new rows of a statement's changes, as SELECTs of the table's columns and, with `with_ids`, of the
    row ids; None without any.

    `touched` are all rows of the changed files, before and after, if rows with equal values in both are left out of the
    images.
    """

    went: str | None
    came: str | None
    with_ids: bool = False
    touched: tuple[str, ...] = ()


def changed_images(
    step: ChangeStep, schema: Schema, *, row_lineage: bool, is_exact: bool, sequence_number: int
) -> ChangedImages:
    """The images of the rows that the snapshot of `step`, which has `sequence_number`, changed.

    `is_exact`: its data files have no rows of others, as after merge-on-read. Else rows that only moved are told by
    when they were last updated with `row_lineage`, if rows before and after have ids, by their values if not.
    """
    columns = [quote_identifier(field.name) for field in schema.fields]
    if not row_lineage:
        if is_exact:
            went, came = images(step, columns)
            return ChangedImages(_joined(went), _joined(came))
        touched = [_joined(rows) for rows in images(step, columns)]
        went, came = difference(step, columns, schema)
        return ChangedImages(_joined(went), _joined(came), touched=tuple(rows for rows in touched if rows is not None))
    lineage = [*columns, _q(ROW_ID.name), _q(LAST_UPDATED.name)]
    went, came = images(step, lineage)
    if is_exact or not came:
        return ChangedImages(_joined(went), _joined(came), with_ids=True)
    moved = f"({_q(LAST_UPDATED.name)} <> {sequence_number}L)"
    kept = f"SELECT {_q(ROW_ID.name)} AS `__sqlext_kept` FROM ({_UNION.join(came)}) WHERE {moved}"
    gone = f"SELECT * FROM ({_UNION.join(went)}) LEFT ANTI JOIN ({kept}) ON {_q(ROW_ID.name)} = `__sqlext_kept`"
    new = f"SELECT * FROM ({_UNION.join(came)}) WHERE NOT {moved}"
    return ChangedImages(gone if went else None, new, with_ids=True)


def one_image(rows: str | None, schema: Schema, action: RowAction) -> str | None:
    """The rows that a statement inserted, deleted, or updated from old rows that are not told."""
    if rows is None:
        return None
    image, nothing = _struct(schema), _nothing(schema)
    old, new = (image, nothing) if action == "DELETE" else (nothing, image)
    return (
        f"SELECT {_columns(schema)}, {quote_string(action)} AS {_q(_ACTION)}, {old} AS {_q(_OLD)}, {new} AS {_q(_NEW)}"
        f" FROM ({rows})"
    )


def paired_images(went: str, came: str, schema: Schema, keys: Sequence[FieldPath]) -> str:
    """The rows, where an old and a new row with equal `keys` are an update."""
    image, row = _struct(schema), ", ".join(f"{quote_name(key)} AS `__sqlext_key_{n}`" for n, key in enumerate(keys))
    equal = " AND ".join(
        f"`__sqlext_o`.`__sqlext_key_{n}` <=> `__sqlext_n`.`__sqlext_key_{n}`" for n in range(len(keys))
    )
    values = ", ".join(
        f"if({_q(_NEW)} IS NULL, {quote_name((_OLD, field.name))}, {quote_name((_NEW, field.name))})"
        f" AS {quote_identifier(field.name)}"
        for field in schema.fields
    )
    action = f"CASE WHEN {_q(_NEW)} IS NULL THEN 'DELETE' WHEN {_q(_OLD)} IS NULL THEN 'INSERT' ELSE 'UPDATE' END"
    return (
        f"SELECT {values}, {action} AS {_q(_ACTION)}, {_q(_OLD)}, {_q(_NEW)}"
        f"\nFROM (SELECT {image} AS {_q(_OLD)}, {row} FROM ({went})) AS `__sqlext_o`"
        f"\nFULL OUTER JOIN (SELECT {image} AS {_q(_NEW)}, {row} FROM ({came})) AS `__sqlext_n` ON {equal}"
    )


def count_actions(rows: str) -> str:
    """A SELECT of how many of the rows were inserted, updated and deleted."""
    counts = ", ".join(f"count_if({_q(_ACTION)} = '{action}')" for action in ("INSERT", "UPDATE", "DELETE"))
    return f"SELECT {counts} FROM ({rows})"


def repeated_keys(images: ChangedImages, keys: Sequence[FieldPath]) -> str:
    """A SELECT of a row if a key of the images occurs several times among the touched rows, before or after."""
    named = ", ".join(f"{quote_name(key)} AS `__sqlext_key_{n}`" for n, key in enumerate(keys))
    names = ", ".join(f"`__sqlext_key_{n}`" for n in range(len(keys)))
    equal = " AND ".join(
        f"`__sqlext_t`.`__sqlext_key_{n}` <=> `__sqlext_c`.`__sqlext_key_{n}`" for n in range(len(keys))
    )
    changed = _UNION.join(f"SELECT {named} FROM ({rows})" for rows in (images.went, images.came) if rows is not None)
    touched = _UNION.join(
        f"SELECT {named}, {side} AS `__sqlext_side` FROM ({rows})" for side, rows in enumerate(images.touched)
    )
    return (
        f"SELECT 1 FROM (\n{touched}\n) AS `__sqlext_t` LEFT SEMI JOIN (\n{changed}\n) AS `__sqlext_c` ON {equal}"
        f"\nGROUP BY {names}, `__sqlext_side` HAVING count(*) > 1 LIMIT 1"
    )


def no_rows(table: Sequence[str], schema: Schema) -> str:
    """A SELECT with the columns of the others and no rows, of a table that is there."""
    found = one_image(f"SELECT * FROM {quote_name(table)} WHERE false", schema, "INSERT")
    assert found is not None
    return found


def union(rows: Sequence[str | None]) -> str | None:
    """All of these rows; None without any."""
    found = [one for one in rows if one is not None]
    return _UNION.join(found) if found else None


def _begins_query(tokens: Sequence[Token], number: int) -> bool:
    """Whether a query is in the brackets that open at that token. VALUES and TABLE may be names of columns."""
    first, second = (tokens[place] if place < len(tokens) else None for place in (number + 1, number + 2))
    if first is None or second is None:
        return False
    is_name = second.kind == "symbol" and (first.word == "TABLE" or second.text != "(")
    return first.word in ("SELECT", "WITH", "FROM") or (first.word in ("VALUES", "TABLE") and not is_name)


def _joined(parts: Sequence[str]) -> str | None:
    return _UNION.join(parts) if parts else None


def _struct(schema: Schema) -> str:
    pairs = ", ".join(f"{quote_string(field.name)}, {quote_identifier(field.name)}" for field in schema.fields)
    return f"named_struct({pairs})"


def _nothing(schema: Schema) -> str:
    return f"if(true, NULL, {_struct(schema)})"


def _columns(schema: Schema) -> str:
    return ", ".join(quote_identifier(field.name) for field in schema.fields)


def _refused(feature: str, reason: str) -> UnsupportedError:
    return UnsupportedError("RETURNING_REFUSED", feature=feature, reason=reason)


def _q(name: str) -> str:
    return quote_identifier(name)
