"""INSERT, UPDATE, DELETE, MERGE and TRUNCATE. Each function returns None for a table of no sqlext catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlext.errors import AnalysisError, ParseError
from sqlext.spec.field_path import path_text
from sqlext.spec.name_case import name_key, require_distinct_names
from sqlext.sql.statements.statement import (
    Assignment,
    ClauseKind,
    Delete,
    Insert,
    Merge,
    MergeClause,
    Slice,
    Truncate,
    Update,
)
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.on_conflict_syntax import at_on_conflict, parse_on_conflict
from sqlext.sql.syntax.options_hint import misplaced_hint, parse_options_hint
from sqlext.sql.syntax.property_syntax import parse_properties
from sqlext.sql.tokens.quoting import quote_name
from sqlext.sql.tokens.token_cursor import TokenCursor

_QUERY_HEADS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM", "(", "MAP", "REDUCE"})
_OMITTED_CONDITION: dict[ClauseKind, str] = {
    "matched": "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
    "not matched": "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
    "not matched by source": "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
}
_BEHIND_A_VALUE = frozenset({"AND", "OR", "IS", "IN", "NOT", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "DIV", "ESCAPE"})
_ACTIONS: dict[ClauseKind, str] = {
    "matched": "UPDATE SET or DELETE",
    "not matched": "INSERT",
    "not matched by source": "UPDATE SET or DELETE",
}


def parse_insert(cursor: TokenCursor, tables: TableResolution, ctes: Slice | None) -> Insert | None:
    """INSERT or UPSERT; None also for INSERT … REPLACE WHERE and OVERWRITE DIRECTORY, which Spark plans itself."""
    upsert = cursor.accept("UPSERT")
    if not upsert:
        cursor.expect("INSERT")
    evolving = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    overwrite = not upsert and cursor.accept("OVERWRITE")
    if not overwrite and not cursor.accept("INTO"):
        return None
    if cursor.at("DIRECTORY") or cursor.at("LOCAL", "DIRECTORY"):
        return None
    cursor.accept("TABLE")
    at = cursor.position
    name = cursor.dotted_name("a table name")
    table = tables.resolve(name)
    if table is None and upsert:
        cursor.position = at
        catalogs = ", ".join(sorted(tables.catalogs)) or "none in this session"
        cursor.refuse(
            f"UPSERT into {quote_name(name)}",
            f"it is a temporary view, or in no catalog of sqlext, which are {catalogs}. Name a table of one of them",
        )
    by_hint = cursor.peek().kind == "hint"
    options = {} if table is None else _write_options(cursor)
    if table is None or (cursor.at("REPLACE", "WHERE") and not (upsert or by_hint)):
        return None
    if cursor.at("REPLACE", "WHERE") and not upsert:
        cursor.refuse("The hint OPTIONS of an INSERT … REPLACE WHERE", "Spark plans it. Write WITH ('name'='value', …)")
    alias = cursor.name("an alias") if cursor.accept("AS") else None
    partition = _parse_static_partition(cursor) if cursor.accept("PARTITION") else ()
    if cursor.at("IF", "NOT", "EXISTS"):
        cursor.refuse("INSERT … IF NOT EXISTS", "an overwrite replaces what is there. Ask for the rows first")
    by_name = cursor.accept("BY", "NAME")
    columns = cursor.name_list() if not by_name and cursor.at("(") and not _at_bracketed_query(cursor) else None
    if not cursor.at_any(_QUERY_HEADS):
        cursor.fail("a query: SELECT, VALUES, TABLE, FROM or WITH")
    _check_insert_columns(columns or (), partition, cursor.case_sensitive)
    source = cursor.slice_until(lambda: at_on_conflict(cursor), "a query")
    if not cursor.at_end and (upsert or overwrite):
        cursor.refuse("ON CONFLICT here", "an overwrite or UPSERT says itself what is replaced. Write INSERT INTO")
    conflict = None if cursor.at_end else parse_on_conflict(cursor, _parse_assignments)
    return Insert(
        table=table,
        source=source,
        columns=columns,
        by_name=by_name,
        overwrite=overwrite,
        upsert=upsert,
        options=options,
        alias=alias,
        conflict=conflict,
        evolving=evolving,
        static_partition=partition,
        ctes=ctes,
    )


def _write_options(cursor: TokenCursor) -> dict[str, str]:
    """The options of `/*+ OPTIONS('name'='value', …) */` or `WITH ('name'='value', …)`; empty without either.

    Raises ParseError for another hint, which would have no meaning here.
    """
    if cursor.at("WITH", "("):
        cursor.expect("WITH")
        return parse_properties(cursor)
    return parse_options_hint(cursor) if cursor.peek().kind == "hint" else {}


def _at_bracketed_query(cursor: TokenCursor) -> bool:
    """Whether the next bracket holds a query rather than column names."""
    ahead = 1
    while cursor.peek(ahead).text == "(":
        ahead += 1
    return cursor.peek(ahead).word in _QUERY_HEADS and cursor.peek(ahead + 1).text not in (",", ")")


def _parse_static_partition(cursor: TokenCursor) -> tuple[tuple[str, Slice | None], ...]:
    cursor.expect("(")
    terms: list[tuple[str, Slice | None]] = []
    while True:
        name = cursor.name("a partition column")
        value = cursor.slice_until(lambda: cursor.at(",") or cursor.at(")"), "a value") if cursor.accept("=") else None
        terms.append((name, value))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    require_distinct_names((name for name, _ in terms), cursor.case_sensitive)
    return tuple(terms)


def _check_insert_columns(
    columns: tuple[str, ...], partition: Sequence[tuple[str, Slice | None]], case_sensitive: bool
) -> None:
    require_distinct_names(columns, case_sensitive)
    static = {name_key(name, case_sensitive) for name, value in partition if value is not None}
    for name in columns:
        if name_key(name, case_sensitive) in static:
            raise AnalysisError("STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST", name=name)


def parse_delete(cursor: TokenCursor, tables: TableResolution, ctes: Slice | None) -> Delete | None:
    """DELETE FROM name [alias] [WHERE condition]."""
    cursor.expect("DELETE", "FROM")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    alias = _parse_alias(cursor, frozenset({"WHERE"}))
    return Delete(table, alias, _parse_where(cursor), ctes)


def parse_truncate(cursor: TokenCursor, tables: TableResolution) -> Truncate | None:
    """TRUNCATE TABLE name [PARTITION (column = value, …)]."""
    cursor.expect("TRUNCATE", "TABLE")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    terms: list[tuple[str, Slice]] = []
    for name, value in _parse_static_partition(cursor) if cursor.accept("PARTITION") else ():
        if value is None:
            cursor.fail(f"= and a value behind {name} in PARTITION")
        terms.append((name, value))
    cursor.expect_end()
    return Truncate(table, tuple(terms))


def parse_update(cursor: TokenCursor, tables: TableResolution, ctes: Slice | None) -> Update | None:
    """UPDATE name [alias] SET column = value, … [WHERE condition]."""
    cursor.expect("UPDATE")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    alias = _parse_alias(cursor, frozenset({"SET"}))
    cursor.expect("SET")
    assignments = _parse_assignments(cursor, lambda: cursor.at("WHERE"))
    return Update(table, assignments, alias, _parse_where(cursor), ctes)


def _parse_alias(cursor: TokenCursor, stop_words: frozenset[str]) -> str | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    if cursor.peek().kind in ("word", "quoted") and cursor.peek().word not in stop_words:
        return cursor.name("an alias")
    return None


def _parse_where(cursor: TokenCursor) -> Slice | None:
    if cursor.at_end:
        return None
    cursor.expect("WHERE")
    return cursor.slice_to_end("a condition")


def _parse_assignments(cursor: TokenCursor, at_stop: Callable[[], bool]) -> tuple[Assignment, ...]:
    assignments = [_parse_assignment(cursor, at_stop)]
    while cursor.accept(","):
        assignments.append(_parse_assignment(cursor, at_stop))
    return tuple(assignments)


def _parse_assignment(cursor: TokenCursor, at_stop: Callable[[], bool]) -> Assignment:
    column = cursor.dotted_name("a column to assign")
    if not cursor.accept("=="):
        cursor.expect("=")
    return Assignment(column, cursor.slice_until(lambda: cursor.at(",") or at_stop(), "a value"))


def parse_merge(cursor: TokenCursor, tables: TableResolution, ctes: Slice | None) -> Merge | None:
    """MERGE INTO name [alias] USING source [alias] ON condition WHEN …"""
    cursor.expect("MERGE")
    evolving = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    if cursor.peek().kind == "hint":
        raise misplaced_hint(cursor)
    alias = _parse_alias(cursor, frozenset({"USING"}))
    cursor.expect("USING")
    source, source_name = _parse_source(cursor)
    source_alias = _parse_alias(cursor, frozenset({"ON"}))
    source_columns = cursor.name_list() if source_alias is not None and cursor.at("(") else ()
    cursor.expect("ON")
    condition = cursor.slice_until(lambda: _at_when(cursor), "a condition")
    clauses: list[MergeClause] = []
    while not cursor.at_end:
        clauses.append(_parse_clause(cursor))
    if not clauses:
        raise ParseError("MERGE_WITHOUT_WHEN", table=table)
    _check_conditions(clauses)
    return Merge(
        table=table,
        source=source,
        condition=condition,
        clauses=tuple(clauses),
        alias=alias,
        source_alias=source_alias,
        source_columns=source_columns,
        source_name=source_name,
        ctes=ctes,
        evolving=evolving,
    )


def _parse_source(cursor: TokenCursor) -> tuple[Slice, tuple[str, ...]]:
    """A query in parentheses, a table at any version, or a table function's call; and the parts of the table's name."""
    if cursor.at("("):
        return cursor.group(), ()
    first = cursor.position
    name = cursor.dotted_name("a table, or a query in parentheses")
    if cursor.at("("):
        cursor.group()
        return cursor.slice_from(first), ()
    cursor.accept("FOR")
    if any(cursor.accept(word, "AS", "OF") for word in ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")):
        cursor.slice_until(lambda: cursor.peek(-1).word != "OF" and cursor.peek().text not in ("(", "."), "a version")
    elif cursor.peek().kind == "hint":
        cursor.position += 1
    return cursor.slice_from(first), name


def _at_when(cursor: TokenCursor) -> bool:
    """Whether a WHEN clause begins here, even an unknown one; `when` may be a column's name too."""
    after = cursor.peek(1)
    if cursor.at("WHEN") and after.word == "NOT":
        return cursor.peek(2).word == "MATCHED"
    return (
        cursor.at("WHEN") and cursor.peek(-1).text != "." and after.kind == "word" and after.word not in _BEHIND_A_VALUE
    )


def _at_clause(cursor: TokenCursor) -> bool:
    return cursor.at("WHEN", "MATCHED") or cursor.at("WHEN", "NOT", "MATCHED")


def _parse_clause(cursor: TokenCursor) -> MergeClause:
    kind = _parse_clause_kind(cursor)
    condition = cursor.slice_until(lambda: cursor.at("THEN"), "a condition") if cursor.accept("AND") else None
    cursor.expect("THEN")
    if kind == "not matched":
        return _parse_insert_action(cursor, condition)
    if cursor.accept("DELETE"):
        _expect_clause_end(cursor)
        return MergeClause(kind, "delete", condition)
    if not cursor.accept("UPDATE", "SET"):
        cursor.fail(_ACTIONS[kind])
    if cursor.at("*"):
        if kind == "not matched by source":
            cursor.refuse(
                "UPDATE SET * without a source row", "no source row is there to take values from. Name the columns"
            )
        cursor.expect("*")
        _expect_clause_end(cursor)
        return MergeClause(kind, "update", condition, star=True)
    assignments = _parse_assignments(cursor, lambda: _at_clause(cursor))
    return MergeClause(kind, "update", condition, assignments=assignments)


def _parse_clause_kind(cursor: TokenCursor) -> ClauseKind:
    cursor.expect("WHEN")
    if cursor.accept("MATCHED"):
        return "matched"
    if not cursor.accept("NOT", "MATCHED"):
        cursor.fail("MATCHED or NOT MATCHED")
    if cursor.accept("BY", "SOURCE"):
        return "not matched by source"
    cursor.accept("BY", "TARGET")
    return "not matched"


def _parse_insert_action(cursor: TokenCursor, condition: Slice | None) -> MergeClause:
    if not cursor.accept("INSERT"):
        cursor.fail(_ACTIONS["not matched"])
    if cursor.accept("*"):
        _expect_clause_end(cursor)
        return MergeClause("not matched", "insert", condition, star=True)
    columns = _parse_dotted_list(cursor)
    cursor.expect("VALUES", "(")
    values: list[Slice] = []
    while True:
        values.append(cursor.slice_until(lambda: cursor.at(",") or cursor.at(")"), "a value"))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    _expect_clause_end(cursor)
    if len(columns) != len(values):
        raise ParseError(
            "INSERT_COLUMN_ARITY_MISMATCH",
            name="WHEN NOT MATCHED THEN INSERT",
            reason="too many values" if len(values) > len(columns) else "not enough values",
            columns=", ".join(map(path_text, columns)),
            values=", ".join(value.text for value in values),
        )
    assignments = tuple(Assignment(column, value) for column, value in zip(columns, values, strict=True))
    return MergeClause("not matched", "insert", condition, assignments=assignments)


def _parse_dotted_list(cursor: TokenCursor) -> list[tuple[str, ...]]:
    cursor.expect("(")
    columns = [cursor.dotted_name("a column to insert")]
    while cursor.accept(","):
        columns.append(cursor.dotted_name("a column to insert"))
    cursor.expect(")")
    return columns


def _expect_clause_end(cursor: TokenCursor) -> None:
    if not cursor.at_end and not _at_clause(cursor):
        cursor.fail("WHEN MATCHED, WHEN NOT MATCHED or the end of the statement")


def _check_conditions(clauses: Sequence[MergeClause]) -> None:
    """Raises ParseError if a clause without condition is not the last of its kind."""
    for i, clause in enumerate(clauses):
        if clause.condition is None and any(later.kind == clause.kind for later in clauses[i + 1 :]):
            raise ParseError(_OMITTED_CONDITION[clause.kind])
