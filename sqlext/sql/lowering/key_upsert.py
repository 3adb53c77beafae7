"""A MERGE that is an upsert by primary key, recognised by its text:

    MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *

or its equivalent with the columns written out. Each source row is a row of the table afterwards, whether or not its key
existed, so only keys of the target need to be read, or nothing of it at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.types import NestedField, UuidType
from sqlext.sql.binding import Relation, assigned_value, value_text
from sqlext.sql.bound_merge import BoundMerge
from sqlext.sql.lowering.keyed_changes import lower_keyed_changes
from sqlext.sql.lowering.merge_source import source_text
from sqlext.sql.lowering.text import selected, stored_uuid, with_ctes
from sqlext.sql.statements.statement import MergeClause, Slice
from sqlext.sql.tokens.expression_slice import column_references, has_subquery, plain_column
from sqlext.sql.tokens.token_cursor import tokenize


@dataclass(frozen=True, slots=True)
class KeyUpsert:
    """`keys` has, by key column, the source column that the condition compares it with; `values` has, by column of the
    table, an expression over the source alone. Both are qualified texts."""

    bound: BoundMerge
    keys: Mapping[str, str]
    values: Mapping[str, str]


def key_upsert(bound: BoundMerge) -> KeyUpsert | None:
    """The upsert that the statement is, or None if it is any other MERGE.

    Types are not known here. The condition compares before the source's key is cast to the column's type: the caller
    must check that this makes no difference, as it does for a fraction that becomes an integer. Raises AnalysisError
    for unknown names.
    """
    clauses, keys = bound.merge.clauses, bound.key_columns
    if keys is None or [one.kind for one in clauses] not in (["matched", "not matched"], ["not matched", "matched"]):
        return None
    update, insert = sorted(clauses, key=lambda clause: clause.kind)
    if update.action != "update" or update.condition is not None or insert.condition is not None:
        return None
    updated, inserted = _source_values(bound, update), _source_values(bound, insert)
    if updated is None or inserted is None:
        return None
    updated = {**keys, **updated}
    if set(inserted) != set(bound.target.columns) or any(inserted[name] != keys[name] for name in keys):
        return None
    if any(_spelled(updated.get(name), bound.source) != _spelled(inserted[name], bound.source) for name in inserted):
        return None
    return KeyUpsert(bound, keys, inserted)


def _spelled(text: str | None, source: Relation) -> tuple[str, ...] | None:
    """The tokens of an expression over the source, with columns as `Relation.column` spells them and functions in upper
    case; None for None.

    Expressions of equal tokens have equal values. Other tokens are compared with their case, such as strings, fields of
    structs and paths into variants.
    """
    if text is None:
        return None
    pieces: list[str] = []
    done = 0
    written = tokenize(text)
    starts = [token.start for token in written]
    for reference in column_references(text) or ():
        located = source.locate(reference.parts)
        if located is None or located[1] != len(reference.parts):
            continue
        pieces += text[done : reference.start], source.column(located[0])
        # As many names as it has parts, and the dots between them.
        done = written[bisect_left(starts, reference.start) + 2 * len(reference.parts) - 2].end
    tokens = tokenize("".join((*pieces, text[done:])))
    calls = [token.text == "(" for token in tokens[1:]]
    return tuple(
        token.word if token.word and is_call and before != "." else token.text
        for token, is_call, before in zip(
            tokens, [*calls, False], ["", *(token.text for token in tokens)], strict=False
        )
    )


def lower_upsert_source(upsert: KeyUpsert, kind_column: str | None = None) -> str:
    """The source's rows in the table's columns, and after them `_row_kind`, if the source has it or the table's column
    `kind_column` has the kinds."""
    kind = upsert.bound.source.find(ROW_KIND.name)
    kinds = [] if kind is None else [(f"CAST({upsert.bound.source.column(kind)} AS STRING)", ROW_KIND.name)]
    kinds += [
        (_value(upsert, field), ROW_KIND.name) for field in upsert.bound.schema.fields if field.name == kind_column
    ]
    return with_ctes(upsert.bound.merge.ctes, _source_rows(upsert, behind=kinds))


def lower_resolved_upsert(upsert: KeyUpsert, target: str, *, row_ids: bool = False, one_copy: bool = False) -> str:
    """The source's rows with the position of the target row that each replaces; see `lower_keyed_changes`."""
    rows = f"({_source_rows(upsert)})"
    return with_ctes(
        upsert.bound.merge.ctes,
        lower_keyed_changes(rows, target, upsert.bound.schema, row_ids=row_ids, one_copy=one_copy),
    )


def _source_rows(upsert: KeyUpsert, behind: Sequence[tuple[str, str]] = ()) -> str:
    fields = upsert.bound.schema.fields
    assigned = [(_value(upsert, field), field.name) for field in fields]
    return f"SELECT {selected([*assigned, *behind])}\nFROM {source_text(upsert.bound.merge)}"


def _value(upsert: KeyUpsert, field: NestedField) -> str:
    value = assigned_value(upsert.values[field.name], field, upsert.bound.merge.table)
    is_key = field.id in upsert.bound.schema.identifier_field_ids
    return stored_uuid(value) if is_key and isinstance(field.type, UuidType) else value


def _source_values(bound: BoundMerge, clause: MergeClause) -> dict[str, str] | None:
    """The clause's values by column, plain columns in one spelling; None if one needs more than the source."""
    if clause.star:
        return bound.star_values(clause)
    inserts = clause.action == "insert"
    visible = (bound.source,) if inserts else (bound.target, bound.source)
    fields = {field.name: field for field in bound.schema.fields}
    values: dict[str, str] = {}
    for name, value in bound.assignments(clause).items():
        if not isinstance(value, Slice):
            return None
        given = value_text(value, fields[name], visible)
        text = _source_value(given, bound.target, bound.source, bare_is_source=inserts)
        if text is None:
            return None
        values[name] = text
    return values


def _source_value(text: str, target: Relation, source: Relation, *, bare_is_source: bool) -> str | None:
    parts = plain_column(text)
    if parts is not None and (column := source.find(parts[0])) is not None and len(parts) == 1:
        return source.column(column) if bare_is_source or target.find(parts[0]) is None else None
    if parts is not None and (located := source.locate(parts)) is not None and located[1] == len(parts):
        return source.column(located[0])
    references = column_references(text)
    if references is None or has_subquery(text):
        return None
    certain = all(source.locate(r.parts) is not None and target.locate(r.parts) is None for r in references)
    return text if certain else None
