"""The changes of rows between snapshots, as one SELECT over the rows of the data files that differ.

A row that a snapshot both deletes and inserts, with equal values, was moved by a rewrite of its file and is no change.
In a table with a key a deleted and an inserted row of one key in one step are an update.

A snapshot's stored changelog has these changes, or the row kinds of its source, at the cost of the changes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    IntegerType,
    LongType,
    NestedField,
    StringType,
    Type,
)
from sqlext.sql.lowering.compared_value import can_compare, compared_row
from sqlext.sql.lowering.union import union_all
from sqlext.sql.tokens.quoting import quote_identifier, quote_string

CHANGE_TYPE = "_change_type"
ORDINAL = "_change_ordinal"
SNAPSHOT_ID = "_commit_snapshot_id"
INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER = "INSERT", "DELETE", "UPDATE_BEFORE", "UPDATE_AFTER"
ROW_KINDS = {INSERT: "+I", DELETE: "-D", UPDATE_BEFORE: "-U", UPDATE_AFTER: "+U"}
# Spark's names of them (connector.catalog.Changelog).
_KINDS = {INSERT: "insert", DELETE: "delete", UPDATE_BEFORE: "update_preimage", UPDATE_AFTER: "update_postimage"}


TOLD_STEP = (
    NestedField(2147483440, "__sqlext_ordinal", IntegerType(), required=True),
    NestedField(2147483441, "__sqlext_snapshot", LongType(), required=True),
)
"""The columns after the kind that tell of which step a row is: its ordinal and its snapshot."""


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """The changes of one snapshot, or between two. `before` and `after` are the relations' texts; None: no rows.

    The paths are those of `ChangedFiles`. `stored`, the text of a relation of rows with their kinds, has the changes
    instead if it is set, or `told`, one of the rows of several steps with the columns `TOLD_STEP`; so do `parts`
    together, less the rows that one inserts and another deletes.
    """

    before: str | None
    after: str
    ordinal: int
    snapshot_id: int
    removed: Sequence[str]
    added: Sequence[str]
    touched: Sequence[str]
    stored: str | None = None
    told: str | None = None
    parts: Sequence[ChangeStep] = ()


def change_schema(schema: Schema) -> Schema:
    """The columns of `lower_changes`."""
    first = max((*schema.field_ids, 0)) + 1
    added: tuple[tuple[str, Type], ...] = (
        (CHANGE_TYPE, StringType()),
        (ORDINAL, IntegerType()),
        (SNAPSHOT_ID, LongType()),
    )
    fields = [NestedField(first + number, name, type) for number, (name, type) in enumerate(added)]
    return Schema((*(replace(field, required=False) for field in schema.fields), *fields))


def lower_changes(steps: Sequence[ChangeStep], schema: Schema) -> str:
    """A SELECT of the changes: the table's columns, then the change type, the step's ordinal and the snapshot id.

    A relation of told rows is read once, with the rows of all its steps."""
    columns = [quote_identifier(field.name) for field in schema.fields]
    told = [_told(relation, columns) for relation in dict.fromkeys(step.told for step in steps) if relation is not None]
    told += [_stored(step, step.stored, columns) for step in steps if step.stored is not None]
    to_find = [step for step in steps if step.told is None and step.stored is None]
    found = [part for step in to_find for part in _step(step, columns, schema)]
    keys = [quote_identifier(field.name) for field in schema.identifier_fields]
    if found and keys:
        found = [with_updates(union_all(found), columns, keys)]
    return union_all([*told, *found]) or _nothing(steps, columns)


def lower_kinds(changes: str, schema: Schema) -> str:
    """A SELECT of the `changes` of `lower_changes`: the table's columns, then the row kind."""
    columns = ", ".join(quote_identifier(field.name) for field in schema.fields)
    kinds = " ".join(f"WHEN '{change}' THEN '{kind}'" for change, kind in ROW_KINDS.items())
    return f"SELECT {columns}, CASE `{CHANGE_TYPE}` {kinds} END AS `{ROW_KIND.name}` FROM ({changes})"


def lower_clause(changes: str, schema: Schema, committed: Mapping[int, int], *, updates: bool) -> str:
    """A SELECT of the `changes` of `lower_changes` in the columns and names of Spark's clause CHANGES.

    `committed` has each snapshot's commit time in milliseconds. Without `updates` the images of an update are a delete
    and an insert.
    """
    columns = [quote_identifier(field.name) for field in schema.fields]
    kinds = _KINDS if updates else {**_KINDS, UPDATE_BEFORE: _KINDS[DELETE], UPDATE_AFTER: _KINDS[INSERT]}
    moments = " ".join(f"WHEN {id}L THEN timestamp_millis({ms}L)" for id, ms in committed.items())
    moment = f"CASE `{SNAPSHOT_ID}` {moments} END" if moments else "CAST(NULL AS TIMESTAMP)"
    return (
        f"SELECT {', '.join(columns)}, {_kind_names(kinds)} AS `_change_type`,"
        f" `{SNAPSHOT_ID}` AS `_commit_version`, {moment} AS `_commit_timestamp`\nFROM ({changes})"
    )


def lower_preview(changes: str, schema: Schema, most: int) -> str:
    """A SELECT of the change type, by Spark's name, and the table's columns of up to `most` of the `changes` of
    `lower_changes`; in order of the key, if there is one, with the row before a change first."""
    columns = ", ".join(quote_identifier(field.name) for field in schema.fields)
    order = [quote_identifier(field.name) for field in schema.identifier_fields]
    order += [f"`{CHANGE_TYPE}` IN ({quote_string(INSERT)}, {quote_string(UPDATE_AFTER)})"] if order else []
    by_key = f"\nORDER BY {', '.join(order)}" if order else ""
    named = f"SELECT {_kind_names()} AS `_change_type`, {columns}"
    return f"{named}\nFROM (SELECT * FROM ({changes}){by_key}\nLIMIT {most})"


def lower_change_counts(changes: str) -> str:
    """A SELECT of one row: how many rows the `changes` of `lower_changes` insert, update and delete."""
    counts = ", ".join(f"count_if(`{CHANGE_TYPE}` = {quote_string(kind)})" for kind in (INSERT, UPDATE_AFTER, DELETE))
    return f"SELECT {counts} FROM ({changes})"


def _kind_names(kinds: Mapping[str, str] = _KINDS) -> str:
    branches = " ".join(f"WHEN {quote_string(kind)} THEN {quote_string(name)}" for kind, name in kinds.items())
    return f"CASE `{CHANGE_TYPE}` {branches} END"


def _stored(step: ChangeStep, relation: str, columns: Sequence[str]) -> str:
    return _with_kinds(relation, columns, str(step.ordinal), f"{step.snapshot_id}L")


def _told(relation: str, columns: Sequence[str]) -> str:
    return _with_kinds(relation, columns, *(quote_identifier(field.name) for field in TOLD_STEP))


def _with_kinds(relation: str, columns: Sequence[str], ordinal: str, snapshot_id: str) -> str:
    changes = " ".join(f"WHEN '{kind}' THEN '{change}'" for change, kind in ROW_KINDS.items())
    return (
        f"SELECT {', '.join(columns)}, CASE `{ROW_KIND.name}` {changes} END AS `{CHANGE_TYPE}`,"
        f" {ordinal} AS `{ORDINAL}`, {snapshot_id} AS `{SNAPSHOT_ID}` FROM {relation}"
    )


def difference(step: ChangeStep, columns: Sequence[str], schema: Schema) -> tuple[list[str], list[str]]:
    """SELECTs of `columns`, quoted names, of the rows that the step deletes, and of those that it inserts; without the
    rows that were only moved."""
    went, came = images(step, columns)
    if not (went and came):
        return went, came
    if can_compare(schema):
        return _without(went, came), _without(came, went)
    row = compared_row(columns, schema)
    return _without_compared(went, came, columns, row), _without_compared(came, went, columns, row)


def _step(step: ChangeStep, columns: Sequence[str], schema: Schema) -> list[str]:
    went, came = difference(step, columns, schema)
    return [_tagged(part, columns, DELETE, step) for part in went] + [
        _tagged(part, columns, INSERT, step) for part in came
    ]


def images(step: ChangeStep, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """SELECTs of `columns`, quoted names, of all rows that went and that came, also of those that were only moved."""
    if step.parts:
        pairs = [images(part, columns) for part in step.parts]
        return [row for went, _ in pairs for row in went], [row for _, came in pairs for row in came]
    relation = step.stored or step.told
    if relation is not None:
        own = "" if step.told is None else f"`{TOLD_STEP[1].name}` = {step.snapshot_id}L AND "
        rows = f"SELECT {', '.join(columns)} FROM {relation} WHERE {own}`{ROW_KIND.name}` IN"
        return [f"{rows} ('-U', '-D')"], [f"{rows} ('+I', '+U')"]
    went = _rows(step.before, columns, step.removed), _difference(step, columns, gone=True)
    came = _rows(step.after, columns, step.added), _difference(step, columns, gone=False)
    return [part for part in went if part], [part for part in came if part]


def _rows(relation: str | None, columns: Sequence[str], paths: Sequence[str]) -> str | None:
    if relation is None or not paths:
        return None
    return f"SELECT {', '.join(columns)} FROM {relation} WHERE {_in(paths)}"


def _difference(step: ChangeStep, columns: Sequence[str], *, gone: bool) -> str | None:
    """The rows of the touched files that are live on one side only."""
    if step.before is None or not step.touched:
        return None
    one, other = (step.before, step.after) if gone else (step.after, step.before)
    places = f"SELECT `_file` AS `__sqlext_file`, `_pos` AS `__sqlext_pos` FROM {other} WHERE {_in(step.touched)}"
    return (
        f"SELECT {', '.join(columns)}"
        f" FROM (SELECT {', '.join(columns)}, `_file` AS `__sqlext_own_file`, `_pos` AS `__sqlext_own_pos`"
        f" FROM {one} WHERE {_in(step.touched)}) LEFT ANTI JOIN ({places})"
        " ON `__sqlext_own_file` = `__sqlext_file` AND `__sqlext_own_pos` = `__sqlext_pos`"
    )


def _without(rows: Sequence[str], others: Sequence[str]) -> list[str]:
    """The rows minus the others, as multisets."""
    return [f"({union_all(rows)}) EXCEPT ALL ({union_all(others)})"]


def _without_compared(rows: Sequence[str], others: Sequence[str], columns: Sequence[str], compared: str) -> list[str]:
    """The rows minus the others, as multisets: each of equal rows has a number, and goes with the other of its
    number."""

    def numbered(relations: Sequence[str]) -> str:
        told = f"SELECT *, {compared} AS `__sqlext_row` FROM ({union_all(relations)})"
        number = "row_number() OVER (PARTITION BY `__sqlext_row` ORDER BY `__sqlext_row`)"
        return f"SELECT *, {number} AS `__sqlext_number` FROM ({told})"

    return [
        f"SELECT {', '.join(columns)} FROM ({numbered(rows)}) AS `__sqlext_rows`"
        f"\nLEFT ANTI JOIN ({numbered(others)}) AS `__sqlext_others`"
        "\nON `__sqlext_rows`.`__sqlext_row` = `__sqlext_others`.`__sqlext_row`"
        " AND `__sqlext_rows`.`__sqlext_number` = `__sqlext_others`.`__sqlext_number`"
    ]


def _tagged(rows: str, columns: Sequence[str], kind: str, step: ChangeStep) -> str:
    return (
        f"SELECT {', '.join(columns)}, {quote_string(kind)} AS `{CHANGE_TYPE}`, {step.ordinal} AS `{ORDINAL}`,"
        f" {step.snapshot_id}L AS `{SNAPSHOT_ID}` FROM ({rows})"
    )


def with_updates(rows: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """The rows; if a key has one deleted and one inserted row in a step, these are the images of an update."""
    of_key = f"OVER (PARTITION BY `{ORDINAL}`, {', '.join(keys)})"
    counted = (
        f"SELECT *, count_if(`{CHANGE_TYPE}` = '{DELETE}') {of_key} AS `__sqlext_went`,"
        f" count_if(`{CHANGE_TYPE}` = '{INSERT}') {of_key} AS `__sqlext_came` FROM ({rows})"
    )
    kind = (
        "CASE WHEN `__sqlext_went` = 1 AND `__sqlext_came` = 1 THEN"
        f" if(`{CHANGE_TYPE}` = '{DELETE}', '{UPDATE_BEFORE}', '{UPDATE_AFTER}') ELSE `{CHANGE_TYPE}` END"
    )
    return f"SELECT {', '.join(columns)}, {kind} AS `{CHANGE_TYPE}`, `{ORDINAL}`, `{SNAPSHOT_ID}` FROM ({counted})"


def _nothing(steps: Sequence[ChangeStep], columns: Sequence[str]) -> str:
    return _tagged(f"SELECT {', '.join(columns)} FROM {steps[-1].after} WHERE false", columns, INSERT, steps[-1])


def _in(paths: Sequence[str]) -> str:
    return f"`_file` IN ({', '.join(quote_string(path) for path in paths)})"
