"""SQL text to a statement; None, from its first words if possible, if it does not concern a sqlext catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import NoReturn, TypeAlias

from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.description_statement import DescriptionStatement
from sqlext.sql.statements.maintenance_statement import MaintenanceStatement
from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.routine_statement import RoutineStatement
from sqlext.sql.statements.statement import (
    Delete,
    Explain,
    Insert,
    Merge,
    Preview,
    ShowCreateTable,
    Slice,
    Statement,
    TableName,
    Undrop,
    Update,
)
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.statements.transaction_statement import TransactionStatement
from sqlext.sql.statements.view_statement import ViewStatement
from sqlext.sql.syntax.alter_table_syntax import parse_alter_table, parse_comment_on_column
from sqlext.sql.syntax.call_syntax import parse_call
from sqlext.sql.syntax.constraint_syntax import parse_constraint_change
from sqlext.sql.syntax.create_table_syntax import parse_create_table
from sqlext.sql.syntax.description_syntax import parse_describe
from sqlext.sql.syntax.maintenance_syntax import parse_analyze, parse_optimize, parse_vacuum
from sqlext.sql.syntax.options_hint import with_versions
from sqlext.sql.syntax.ref_syntax import parse_reference_change, parse_restore
from sqlext.sql.syntax.returning_syntax import cut_returning, parse_returning
from sqlext.sql.syntax.routine_syntax import parse_show_procedures
from sqlext.sql.syntax.row_level_syntax import parse_delete, parse_insert, parse_merge, parse_truncate, parse_update
from sqlext.sql.syntax.transaction_syntax import TRANSACTION_HEADS, parse_transaction
from sqlext.sql.syntax.view_syntax import parse_alter_view, parse_create_view, parse_drop_view, parse_show_views
from sqlext.sql.tokens.token_cursor import TokenCursor

_Statement: TypeAlias = (
    Statement
    | Returning
    | ShallowClone
    | DescriptionStatement
    | MaintenanceStatement
    | ViewStatement
    | RoutineStatement
)
AnyStatement: TypeAlias = _Statement | TransactionStatement

_HEADS = frozenset(
    {"CREATE", "REPLACE", "INSERT", "UPSERT", "MERGE", "UPDATE", "DELETE", "WITH", "SHOW", "ALTER", "CALL", "RESTORE"}
    | {"DROP", "UNDROP", "TRUNCATE", "DESCRIBE", "DESC", "COMMENT", "ANALYZE", "OPTIMIZE", "VACUUM"}
)
# White space and comments. Nested comments do not match: text with them is left to the tokenizer.
_GAP = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*))*\*/)"
_EVOLVING = r"(?:WITH~+SCHEMA~+EVOLUTION~+)?"
_HEAD = re.compile(rf"(?:{_GAP}|\()*([A-Za-z]+)\b")
_TARGET = re.compile(
    r"""(?:CREATE~+(?:OR~+REPLACE~+)?(?:EXTERNAL~+)?TABLE~+(?:IF~+NOT~+EXISTS~+)?
    | REPLACE~+TABLE~+ | INSERT~+@(?:INTO|OVERWRITE)~+(?:TABLE~+)? | UPSERT~+@INTO~+(?:TABLE~+)?
    | MERGE~+@INTO~+ | UPDATE~+ | DELETE~+FROM~+ | TRUNCATE~+TABLE~+
    | SHOW~+CREATE~+TABLE~+ | ALTER~+TABLE~+ | RESTORE~+(?:TABLE~+)? | UNDROP~+TABLE~+
    | ANALYZE~+TABLE~+ | OPTIMIZE~+ | VACUUM~+
    | CREATE~+(?:OR~+REPLACE~+)?VIEW~+(?:IF~+NOT~+EXISTS~+)? | ALTER~+VIEW~+ | DROP~+VIEW~+(?:IF~+EXISTS~+)?)
    (?:(?P<word>\w+) | `(?P<quoted>[^`]+)`(?!`)) (?P<dot>~*\.)?""".replace("@", _EVOLVING).replace("~", _GAP),
    re.IGNORECASE | re.VERBOSE,
)
_OTHER_OBJECT = re.compile(
    rf"(?:CREATE{_GAP}+(?:OR{_GAP}+REPLACE{_GAP}+)?(?!(?:OR|EXTERNAL|TABLE|VIEW)\b)|SHOW{_GAP}+(?!(?:CREATE|VIEWS|PROCEDURES)\b)"
    rf"|ANALYZE{_GAP}+(?!TABLE\b)|DESC(?:RIBE)?{_GAP}+(?!(?:FUNCTION|PROCEDURE|HISTORY|DETAIL)\b)|COMMENT{_GAP}+ON{_GAP}+(?!COLUMN\b)"
    rf"|(?:ALTER{_GAP}+(?!TABLE\b)|DROP{_GAP}+)(?!VIEW\b))[A-Za-z]",
    re.IGNORECASE,
)
_ALTER_CLAUSES: tuple[Callable[[TokenCursor, TableName], Statement | None], ...] = (
    parse_reference_change,
    parse_constraint_change,
    parse_alter_table,
)
_EXPLAIN_MODE = rf"{_GAP}*EXPLAIN{_GAP}+(?:(?P<mode>LOGICAL|FORMATTED|EXTENDED|CODEGEN|COST){_GAP}+)?"
_EXPLAIN = re.compile(
    rf"{_EXPLAIN_MODE}(?=(?:INSERT|UPSERT|DELETE|UPDATE|MERGE|WITH){_GAP})",
    re.IGNORECASE,
)
# Statements that Spark does not know, or of which its plan says what is not so.
_EXPLAIN_OTHER = re.compile(
    rf"{_EXPLAIN_MODE}(?=(?:CALL|OPTIMIZE|VACUUM|UNDROP|RESTORE|PREVIEW){_GAP})",
    re.IGNORECASE,
)
_EXPLAIN_COMMIT = re.compile(rf"{_GAP}*EXPLAIN{_GAP}+COMMIT\b", re.IGNORECASE)
_EXPLAIN_MODES = {
    "LOGICAL": "extended",
    "FORMATTED": "formatted",
    "EXTENDED": "extended",
    "CODEGEN": "codegen",
    "COST": "cost",
}
_PREVIEW = re.compile(
    rf"{_GAP}*PREVIEW{_GAP}+(?P<summary>SUMMARY{_GAP}+)?(?=(?:INSERT|UPSERT|DELETE|UPDATE|MERGE|WITH){_GAP})",
    re.IGNORECASE,
)
_ROW_VERB = re.compile(r"\b(?:INSERT|UPSERT|MERGE|UPDATE|DELETE)\b", re.IGNORECASE)


def may_be_ours(text: str) -> bool:
    """Whether `parse` may find a statement in the text, whatever names of catalogs and tables it holds; see there."""
    head = _HEAD.match(text)
    if head is None or head[1].upper() in _HEADS | TRANSACTION_HEADS:
        return True
    return any(one.match(text) is not None for one in (_EXPLAIN, _EXPLAIN_OTHER, _EXPLAIN_COMMIT, _PREVIEW))


def parse(
    text: str,
    *,
    catalogs: Collection[str],
    current: tuple[str, ...],
    other_catalogs: Collection[str] = (),
    holds: Callable[[tuple[str, ...]], bool] = lambda parts: True,
    escaped_string_literals: bool = False,
    double_quoted_identifiers: bool = False,
    case_sensitive: bool = False,
    by_path: bool = False,
) -> AnyStatement | None:
    """The statement that `text` holds, or None if Spark is to run it.

    `catalogs` are the names of the sqlext catalogs, `other_catalogs` those of further ones, `current` is the current
    catalog followed by its current namespace. Names are resolved as in Spark: a first part that is a catalog's name
    wins, anything else belongs to the current catalog. A name of one part may also be a temporary view, which the
    caller must check. `holds` and `by_path` are as in `TableResolution`.
    `escaped_string_literals`, `double_quoted_identifiers` and `case_sensitive` are Spark's settings;
    with `double_quoted_identifiers` slices have backticks for double quotes, but a view's query is as written.

    Raises ParseError with line and column, UnsupportedError for syntax that is understood and refused, and
    AnalysisError for clauses that contradict each other.
    """
    settings = {
        "escaped_string_literals": escaped_string_literals,
        "double_quoted_identifiers": double_quoted_identifiers,
    }
    # A misplaced hint OPTIONS is refused in any statement. Other hints reach Spark as they are written, within slices.
    with_versions(text, **settings)
    explained = _EXPLAIN.match(text)
    other = _EXPLAIN_OTHER.match(text)
    previewed = _PREVIEW.match(text)
    before = explained or other or previewed
    if before is not None:
        # Blanks for EXPLAIN or PREVIEW keep the line and column of errors.
        statement = parse(
            re.sub(r"[^\n]", " ", before[0]) + text[before.end() :],
            catalogs=catalogs,
            current=current,
            other_catalogs=other_catalogs,
            holds=holds,
            **settings,
            case_sensitive=case_sensitive,
            by_path=by_path,
        )
        changes = statement if isinstance(statement, Insert | Delete | Update | Merge) else None
        if isinstance(statement, Returning):
            verb = "PREVIEW" if previewed is not None else "EXPLAIN"
            TokenCursor(text, **settings).refuse(
                f"{verb} of a statement with RETURNING",
                "it changes nothing, so that no rows return. Leave RETURNING out",
            )
        if other is not None:
            if statement is not None:
                TokenCursor(text, **settings).refuse(
                    "EXPLAIN of this statement",
                    "it explains queries and changes of rows. PREVIEW shows the rows that a change would make, and"
                    " arguments such as dry_run what a procedure would do",
                )
            return None
        if previewed is not None:
            # Only sqlext has PREVIEW, so one of another statement gets an error of its own.
            if changes is None:
                _refuse_preview(TokenCursor(text, **settings), catalogs)
            return Preview(changes, summary=previewed["summary"] is not None)
        assert explained is not None
        mode = _EXPLAIN_MODES.get((explained["mode"] or "").upper(), "simple")
        return None if changes is None else Explain(changes, mode)
    head = _HEAD.match(text)
    if (head is not None and head[1].upper() in TRANSACTION_HEADS) or _EXPLAIN_COMMIT.match(text) is not None:
        return parse_transaction(TokenCursor(text))
    if not may_be_ours(text):
        return None
    # Only sqlext has UPSERT, so one into another catalog's table or a view gets an error of its own.
    upserts = head is not None and head[1].upper() == "UPSERT"
    if not upserts and current[0] not in catalogs and not any(catalog in text for catalog in catalogs):
        return None
    tables = TableResolution(frozenset(catalogs), frozenset(other_catalogs), current, by_path, holds)
    if head is not None and not upserts and _is_foreign(text, head.start(1), head[1].upper(), tables):
        return None
    return _parse_tokens(TokenCursor(text, **settings, case_sensitive=case_sensitive), tables)


def _refuse_preview(cursor: TokenCursor, catalogs: Collection[str]) -> NoReturn:
    known = ", ".join(sorted(catalogs)) or "none in this session"
    cursor.refuse(
        "PREVIEW of this statement",
        "sqlext does not run it: its table is in no catalog of sqlext, or a temporary view, or the statement is no"
        f" INSERT, UPSERT, UPDATE, DELETE or MERGE that sqlext plans. The catalogs of sqlext are {known}",
    )


def _is_foreign(text: str, start: int, head: str, tables: TableResolution) -> bool:
    """Whether the statement's first words are enough to leave it to Spark."""
    if head == "WITH":
        return _ROW_VERB.search(text, start) is None
    target = _TARGET.match(text, start)
    if target is None:
        return _OTHER_OBJECT.match(text, start) is not None
    first = target["word"] or target["quoted"]
    if first.upper() == "IDENTIFIER" and text[target.end() :].lstrip().startswith("("):
        return True  # IDENTIFIER('…') is resolved by Spark
    return not tables.owns((first, "") if target["dot"] else (first,))


def _parse_tokens(cursor: TokenCursor, tables: TableResolution) -> _Statement | None:
    if cursor.at("WITH"):
        ctes = _skip_ctes(cursor)
        return None if ctes is None else _parse_with_returning(cursor, tables, ctes)
    if cursor.at("SHOW", "PROCEDURES"):
        return parse_show_procedures(cursor, tables)
    if cursor.at("DESCRIBE") or cursor.at("DESC"):
        return parse_describe(cursor, tables)
    if cursor.at("TRUNCATE"):
        return parse_truncate(cursor, tables)
    if cursor.at("SHOW", "VIEWS"):
        return parse_show_views(cursor, tables)
    if cursor.at("SHOW"):
        return _parse_show(cursor, tables)
    if cursor.at("DROP"):
        return parse_drop_view(cursor, tables)
    if cursor.at("ALTER", "VIEW"):
        return parse_alter_view(cursor, tables)
    if cursor.at("ALTER"):
        return _parse_alter_table(cursor, tables)
    if cursor.at("COMMENT"):
        return parse_comment_on_column(cursor, tables)
    if cursor.at("UNDROP"):
        return _parse_undrop(cursor, tables)
    if cursor.at("RESTORE"):
        return parse_restore(cursor, tables)
    if cursor.at("ANALYZE"):
        return parse_analyze(cursor, tables)
    if cursor.at("OPTIMIZE"):
        return parse_optimize(cursor, tables)
    if cursor.at("VACUUM"):
        return parse_vacuum(cursor, tables)
    if cursor.at("CALL"):
        return parse_call(cursor, tables)
    if cursor.at("CREATE", "VIEW") or cursor.at("CREATE", "OR", "REPLACE", "VIEW"):
        return parse_create_view(cursor, tables)
    if cursor.at("CREATE") or cursor.at("REPLACE"):
        return parse_create_table(cursor, tables)
    return _parse_with_returning(cursor, tables, None)


def _parse_with_returning(
    cursor: TokenCursor, tables: TableResolution, ctes: Slice | None
) -> Statement | Returning | None:
    """A row-level statement, maybe with RETURNING at its end."""
    returning = cut_returning(cursor)
    statement = _parse_row_statement(cursor, tables, ctes)
    if returning is None or not isinstance(statement, Insert | Delete | Update | Merge):
        return statement
    return parse_returning(returning, statement)


def _parse_row_statement(cursor: TokenCursor, tables: TableResolution, ctes: Slice | None) -> Statement | None:
    if cursor.at("INSERT") or cursor.at("UPSERT"):
        return parse_insert(cursor, tables, ctes)
    if cursor.at("MERGE"):
        return parse_merge(cursor, tables, ctes)
    if cursor.at("UPDATE"):
        return parse_update(cursor, tables, ctes)
    if cursor.at("DELETE"):
        return parse_delete(cursor, tables, ctes)
    return None


def _skip_ctes(cursor: TokenCursor) -> Slice | None:
    """Step over `WITH [RECURSIVE] name [(columns)] [AS] (query), …`; None if the text does not have that shape."""
    cursor.expect("WITH")
    if cursor.at("RECURSIVE") and cursor.peek(1).kind in ("word", "quoted") and cursor.peek(1).word != "AS":
        cursor.accept("RECURSIVE")
    while cursor.peek().kind in ("word", "quoted"):
        cursor.name()
        if cursor.at("("):
            cursor.group()
        if cursor.accept("MAX", "RECURSION", "LEVEL"):
            cursor.integer()
        cursor.accept("AS")
        if cursor.at("("):
            cursor.group()
        if not cursor.accept(","):
            return cursor.slice_from(0)
    return None


def _parse_alter_table(cursor: TokenCursor, tables: TableResolution) -> Statement | None:
    if not cursor.accept("ALTER", "TABLE"):
        return None
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    start = cursor.position
    for parse_clause in _ALTER_CLAUSES:
        cursor.position = start
        statement = parse_clause(cursor, table)
        if statement is not None:
            return statement
    return None


def _parse_undrop(cursor: TokenCursor, tables: TableResolution) -> Undrop | None:
    cursor.expect("UNDROP", "TABLE")
    name = tables.resolve_new(cursor.dotted_name("a table name"))
    cursor.expect_end()
    return None if name is None else Undrop(name)


def _parse_show(cursor: TokenCursor, tables: TableResolution) -> ShowCreateTable | None:
    if not cursor.accept("SHOW", "CREATE", "TABLE"):
        return None
    name: TableName | None = tables.resolve(cursor.dotted_name("a table name"))
    if name is None:
        return None
    if cursor.at("AS", "SERDE"):
        cursor.refuse("SHOW CREATE TABLE … AS SERDE", "an Iceberg table has no Hive serde. Leave AS SERDE out")
    cursor.expect_end()
    return ShowCreateTable(name)
