"""A statement in a few words, its verb and its table, as the names of its Spark jobs and its progress have it."""

from __future__ import annotations

import re
from typing import Any

from sqlext.sql.statements.statement import Call, Delete, Explain, Insert, Merge, Preview, TableName, Truncate, Update

_TABLE = "table"
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def statement_title(statement: Any) -> str:
    """The title of a parsed statement of any kind, such as `MERGE INTO lake.db.t`."""
    match statement:
        case Insert(table=table):
            verb = "UPSERT INTO" if statement.upsert else "INSERT OVERWRITE" if statement.overwrite else "INSERT INTO"
            return f"{verb} {table}"
        case Merge(table=table):
            return f"MERGE INTO {table}"
        case Delete(table=table):
            return f"DELETE FROM {table}"
        case Update(table=table):
            return f"UPDATE {table}"
        case Truncate(table=table):
            return f"TRUNCATE TABLE {table}"
        case Explain(statement=inner):
            return f"EXPLAIN {statement_title(inner)}"
        case Preview(statement=inner):
            return f"PREVIEW {statement_title(inner)}"
        case Call():
            return f"CALL {statement.catalog}.system.{statement.procedure}{_table_argument(statement)}"
    # Others are named as their classes are: CREATE TABLE, ADD PRIMARY KEY, OPTIMIZE.
    words = " ".join(_WORD.sub(" ", type(statement).__name__).split()).upper()
    on = next((one for one in (getattr(statement, name, None) for name in ("table", "name")) if _is_name(one)), None)
    return words if on is None else f"{words} {on}"


def _is_name(value: object) -> bool:
    return isinstance(value, TableName)


def _table_argument(statement: Call) -> str:
    """The table, if it is the literal of an argument by its name or in the first place."""
    by_name = [one.value.text.strip() for one in statement.arguments if (one.name or "").lower() == _TABLE]
    first = [one.value.text.strip() for one in statement.arguments[:1] if one.name is None]
    for text in (*by_name, *first):
        if re.fullmatch(r"'[^'\\]*'|\"[^\"\\]*\"", text):
            return f" on {text[1:-1]}"
    return ""
