"""Constraints: characteristics of PRIMARY KEY, CHECK, and ALTER TABLE … ADD, MODIFY (a key) and DROP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlext.sql.statements.statement import (
    AddConstraint,
    AddPrimaryKey,
    Check,
    DropConstraint,
    DropPrimaryKey,
    Slice,
    TableName,
)
from sqlext.sql.tokens.token_cursor import TokenCursor


@dataclass(frozen=True, slots=True)
class KeyCharacteristics:
    """[NOT] ENFORCED and [NO]RELY of a key; None if not written."""

    enforced: bool | None = None
    rely: bool | None = None


def parse_key_characteristics(cursor: TokenCursor) -> KeyCharacteristics:
    """The two in either order, each at most once."""
    enforced: bool | None = None
    rely: bool | None = None
    while True:
        if enforced is None and cursor.accept("NOT", "ENFORCED"):
            enforced = False
        elif enforced is None and cursor.accept("ENFORCED"):
            enforced = True
        elif rely is None and cursor.accept("RELY"):
            rely = True
        elif rely is None and cursor.accept("NORELY"):
            rely = False
        else:
            return KeyCharacteristics(enforced, rely)


def parse_check(cursor: TokenCursor, name: str | None) -> Check:
    """CHECK (condition) [ENFORCED] [RELY | NORELY]; NOT ENFORCED is refused, as it would be a mere comment."""
    cursor.expect("CHECK")
    if not cursor.at("("):
        cursor.fail("(")
    group = cursor.group()
    if cursor.at("NOT", "ENFORCED"):
        cursor.refuse("CHECK … NOT ENFORCED", "it would hold nobody to it. Leave NOT ENFORCED out, or the constraint")
    cursor.accept("ENFORCED")
    if not cursor.accept("RELY"):
        cursor.accept("NORELY")
    inner = group.text[1:-1]
    start = group.start + 1 + len(inner) - len(inner.lstrip())
    condition = Slice(inner.strip(), start, start + len(inner.strip()))
    if not condition.text:
        cursor.fail("a condition in the parentheses of CHECK")
    return Check(name, condition)


ConstraintChange: TypeAlias = AddConstraint | AddPrimaryKey | DropConstraint | DropPrimaryKey


def parse_constraint_change(cursor: TokenCursor, table: TableName) -> ConstraintChange | None:
    """The clause after ALTER TABLE and the table's name; None if it is about something else."""
    if cursor.accept("DROP", "PRIMARY", "KEY"):
        if_exists = cursor.accept("IF", "EXISTS")
        cursor.expect_end()
        return DropPrimaryKey(table, if_exists)
    if cursor.accept("DROP", "CONSTRAINT"):
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.name("a constraint name")
        if not cursor.accept("RESTRICT"):
            cursor.accept("CASCADE")
        cursor.expect_end()
        return DropConstraint(table, name, if_exists)
    modifies = cursor.accept("MODIFY")
    if not modifies and not cursor.accept("ADD"):
        return None
    constraint = cursor.name("a constraint name") if cursor.accept("CONSTRAINT") else None
    if cursor.accept("PRIMARY", "KEY"):
        columns = cursor.name_list()
        said = parse_key_characteristics(cursor)
        cursor.expect_end()
        return AddPrimaryKey(table, columns, bool(said.enforced), bool(said.rely), modifies)
    if modifies:
        cursor.refuse("MODIFY here", "only a primary key is modified. Write ALTER COLUMN, or drop and add a CHECK")
    if cursor.at("FOREIGN", "KEY") or cursor.at("UNIQUE"):
        cursor.refuse(f"ADD {cursor.peek().word}", "Iceberg tables have only a primary key and CHECKs. Leave it out")
    if constraint is None and not cursor.at("CHECK"):
        return None
    check = parse_check(cursor, constraint)
    cursor.expect_end()
    return AddConstraint(table, check)
