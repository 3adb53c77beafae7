"""CREATE TABLE and REPLACE TABLE, in Spark's spelling and in Flink's.

    CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name [(column | constraint, …)] [clause …] [AS query]

Clauses come in any order: USING, PARTITIONED BY, ORDERED BY or CLUSTER BY, COMMENT, LOCATION, TBLPROPERTIES, WITH. What
Iceberg tables do not have is refused by name; nothing that is written is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlext.errors import AnalysisError, ParseError
from sqlext.spec.identity_column import IdentityColumn
from sqlext.spec.name_case import name_key, require_distinct_names
from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.provider import is_iceberg, require_provider
from sqlext.sql.statements.statement import (
    Check,
    ColumnDefinition,
    CreateTable,
    CreateTableLike,
    PartitionTerm,
    Slice,
    SortTerm,
    TableName,
)
from sqlext.sql.statements.table_resolution import SPARK_CATALOG, TableResolution
from sqlext.sql.syntax.clone_syntax import at_clone, parse_clone
from sqlext.sql.syntax.constraint_syntax import KeyCharacteristics, parse_check, parse_key_characteristics
from sqlext.sql.syntax.identity_syntax import accept_identity
from sqlext.sql.syntax.property_syntax import parse_properties
from sqlext.sql.syntax.transform_syntax import parse_partition_term, parse_sort_term, parse_terms
from sqlext.sql.syntax.type_name import is_type_text
from sqlext.sql.tokens.token_cursor import TokenCursor

_BRACKETED_QUERY_HEADS = frozenset({"SELECT", "WITH", "FROM", "VALUES"})
_QUERY_HEADS = frozenset({"AS", "SELECT", "WITH", "VALUES", "TABLE", "FROM", "("})
_COLUMN_CLAUSES = frozenset(
    {
        "NOT", "NULL", "COMMENT", "PRIMARY", "CONSTRAINT", "DEFAULT", "GENERATED", "CHECK", "UNIQUE", "REFERENCES",
        "COLLATE", "METADATA", "MASK", "AS",
    }
)  # fmt: skip
_CLAUSES_OF_HIVE = frozenset({"CLUSTERED", "SKEWED", "ROW", "STORED"})
_NOT_OURS = {
    "CLUSTERED": ("CLUSTERED BY", "use PARTITIONED BY (bucket(n, column))"),
    "SKEWED": ("SKEWED BY", "an Iceberg table has no skew declaration"),
    "ROW": ("ROW FORMAT", "the table's files are Parquet"),
    "STORED": ("STORED AS", "the table's files are Parquet"),
    "OPTIONS": ("OPTIONS", "options belong to a read or a write; table properties go into TBLPROPERTIES"),
    "DEFAULT": ("DEFAULT COLLATION", "Iceberg strings have no collation"),
    "DISTRIBUTED": ("DISTRIBUTED BY", "use PARTITIONED BY (bucket(n, column))"),
}


@dataclass(slots=True)
class _Columns:
    definitions: list[ColumnDefinition] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    characteristics: KeyCharacteristics = field(default_factory=KeyCharacteristics)
    checks: list[Check] = field(default_factory=list)

    def set_primary_key(self, columns: tuple[str, ...]) -> None:
        if self.primary_key:
            raise ParseError("DUPLICATE_CLAUSES", clause="PRIMARY KEY")
        self.primary_key = columns


def parse_create_table(
    cursor: TokenCursor, tables: TableResolution
) -> CreateTable | CreateTableLike | ShallowClone | None:
    """The statement, or None for another object's CREATE or a table of another catalog."""
    create = cursor.accept("CREATE")
    or_replace = cursor.accept("OR", "REPLACE") if create else cursor.accept("REPLACE")
    external = cursor.accept("EXTERNAL")
    if not cursor.accept("TABLE"):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = tables.resolve_new(cursor.dotted_name("a table name"))
    if name is None or (name.catalog == SPARK_CATALOG and (external or not _is_of_iceberg(cursor, tables))):
        return None
    if external:
        cursor.refuse(
            "CREATE EXTERNAL TABLE", "the catalog owns its tables. Leave EXTERNAL out; LOCATION sets the folder"
        )
    if or_replace and if_not_exists:
        cursor.refuse("OR REPLACE with IF NOT EXISTS", "the two contradict each other. Leave one of them out")
    if at_clone(cursor):
        if or_replace:
            cursor.refuse("REPLACE TABLE … CLONE", "drop the table first, or clone to another name")
        return parse_clone(cursor, tables, name, if_not_exists)
    if cursor.at("LIKE") or _at_bracketed_like(cursor):
        if or_replace:
            cursor.refuse("REPLACE TABLE … LIKE", "drop the table first, or use REPLACE TABLE … AS")
        return _parse_like(cursor, tables, name, if_not_exists)
    columns = _parse_columns(cursor) if cursor.at("(") and not _at_query(cursor) else _Columns()
    clauses = _parse_clauses(cursor, name)
    as_select = _parse_query(cursor, columns)
    cursor.expect_end()
    if as_select is None and not columns.definitions:
        cursor.fail("columns in parentheses, or AS and a query")
    _check_names(columns, cursor.case_sensitive)
    return CreateTable(
        name=name,
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        must_exist=not create,
        columns=tuple(columns.definitions),
        primary_key=() if any(column.primary_key for column in columns.definitions) else columns.primary_key,
        key_enforced=columns.characteristics.enforced,
        key_rely=columns.characteristics.rely,
        checks=tuple(columns.checks),
        partitioning=clauses.partitioning,
        ordering=clauses.ordering,
        properties=clauses.properties,
        comment=clauses.comment,
        location=clauses.location,
        provider=clauses.provider,
        as_select=as_select,
    )


def _is_of_iceberg(cursor: TokenCursor, tables: TableResolution) -> bool:
    """Whether a new table of Spark's session catalog is to be sqlext's: by USING, or as its source in LIKE, or without
    any clause that says its format."""
    first = cursor.position
    by_default = True
    try:
        if cursor.at("LIKE") or _at_bracketed_like(cursor):
            cursor.accept("(")
            cursor.expect("LIKE")
            by_default = tables.resolve(cursor.dotted_name("a table name")) is not None
        elif cursor.at("(") and not _at_query(cursor):
            cursor.group()
        while not cursor.at_end and not cursor.at_any(_QUERY_HEADS - {"WITH", "("}):
            if cursor.accept("USING"):
                return is_iceberg(".".join(cursor.dotted_name("a format name")))
            if cursor.at_any(_CLAUSES_OF_HIVE):
                return False
            if cursor.accept("WITH") and not cursor.at("("):
                break
            if cursor.at("("):
                cursor.group()
            else:
                cursor.position += 1
        return by_default
    finally:
        cursor.position = first


def _parse_like(cursor: TokenCursor, tables: TableResolution, name: TableName, if_not_exists: bool) -> CreateTableLike:
    """LIKE source, or (LIKE source), with properties that are added to those of the source."""
    bracketed = cursor.accept("(")
    cursor.expect("LIKE")
    first = cursor.position
    source = tables.resolve(cursor.dotted_name("a table name"))
    if source is None:
        cursor.position = first
        cursor.refuse(
            "LIKE with a temporary view or a table of another catalog",
            "its key and partitioning are unknown here. Use AS SELECT",
        )
    if bracketed:
        if cursor.at("INCLUDING") or cursor.at("EXCLUDING"):
            word = cursor.peek().word
            cursor.refuse(f"LIKE … {word}", "all but the rows is taken over. Leave it out, and alter the table after")
        if cursor.at(","):
            cursor.refuse("LIKE beside columns", "the source gives them all. Add columns with ALTER TABLE after")
        cursor.expect(")")
    clauses = _parse_clauses(cursor, name)
    cursor.expect_end()
    if clauses.partitioning or clauses.ordering or clauses.comment or clauses.location:
        cursor.refuse(
            "LIKE with PARTITIONED BY, ORDERED BY, COMMENT or LOCATION", "the source gives them. Alter them after"
        )
    return CreateTableLike(name, source, if_not_exists, clauses.properties)


def _at_bracketed_like(cursor: TokenCursor) -> bool:
    """Whether the next bracket is (LIKE source), and not the definition of a column named like."""
    if not cursor.at("(", "LIKE") or cursor.peek(2).kind not in ("word", "quoted"):
        return False
    if cursor.peek(3).text == ".":
        return True
    return cursor.peek(3).word in ("INCLUDING", "EXCLUDING") or (
        cursor.peek(3).text in (")", ",") and not is_type_text(cursor.peek(2).text)
    )


def _at_query(cursor: TokenCursor) -> bool:
    """Whether the next bracket holds a query rather than columns."""
    return cursor.peek(1).text == "(" or (cursor.peek(1).word in _BRACKETED_QUERY_HEADS and cursor.peek(2).text != ",")


def _parse_query(cursor: TokenCursor, columns: _Columns) -> Slice | None:
    if cursor.at_end:
        return None
    if not cursor.at_any(_QUERY_HEADS):
        cursor.fail("a table clause, or AS and a query")
    if columns.definitions:
        cursor.refuse(
            "CREATE TABLE … AS with column definitions", "the query gives the columns. Use CAST and aliases in it"
        )
    cursor.accept("AS")
    return cursor.slice_to_end("a query")


def _check_names(columns: _Columns, case_sensitive: bool) -> None:
    require_distinct_names((column.name for column in columns.definitions), case_sensitive)
    require_distinct_names(columns.primary_key, case_sensitive)
    defined = {name_key(column.name, case_sensitive) for column in columns.definitions}
    for name in columns.primary_key:
        if columns.definitions and name_key(name, case_sensitive) not in defined:
            raise AnalysisError(
                "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                name=name,
                where="PRIMARY KEY",
                suggestions=", ".join(column.name for column in columns.definitions),
            )


# Columns and constraints


def _parse_columns(cursor: TokenCursor) -> _Columns:
    columns = _Columns()
    cursor.expect("(")
    while True:
        if not _parse_constraint(cursor, columns):
            columns.definitions.append(_parse_column(cursor, columns))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return columns


def _parse_constraint(cursor: TokenCursor, columns: _Columns) -> bool:
    """Reads a table constraint into `columns`; False if none comes next."""
    name = None
    if cursor.at("CONSTRAINT") and cursor.peek(2).word in ("PRIMARY", "FOREIGN", "UNIQUE", "CHECK"):
        cursor.expect("CONSTRAINT")
        name = cursor.name("a constraint name")
    if cursor.at("PRIMARY", "KEY", "("):
        cursor.expect("PRIMARY", "KEY")
        columns.set_primary_key(cursor.name_list())
        columns.characteristics = parse_key_characteristics(cursor)
        return True
    if cursor.at("CHECK", "("):
        columns.checks.append(parse_check(cursor, name))
        return True
    if cursor.at("FOREIGN", "KEY"):
        cursor.refuse("FOREIGN KEY", "Iceberg tables have no foreign keys. Leave it out")
    if cursor.at("UNIQUE", "("):
        cursor.refuse("UNIQUE", "only a PRIMARY KEY is kept. Leave it out, or make it the primary key")
    if cursor.at("WATERMARK", "FOR"):
        cursor.refuse("WATERMARK FOR", "a watermark belongs to a streaming query, not to the table")
    return False


def _parse_column(cursor: TokenCursor, columns: _Columns) -> ColumnDefinition:
    name = cursor.name("a column name")
    if cursor.at("AS"):
        cursor.refuse(
            "A computed column",
            "columns are stored. Write name type GENERATED ALWAYS AS (…), or compute it in a view",
        )
    type_text = type_slice(cursor, _COLUMN_CLAUSES).text
    nullable: bool | None = None
    comment: str | None = None
    default: str | None = None
    generated: str | None = None
    identity: IdentityColumn | None = None
    primary_key = False
    while not cursor.at_any(frozenset({",", ")"})) and not cursor.at_end:
        if nullable is None and cursor.accept("NOT", "NULL"):
            nullable = False
        elif nullable is None and cursor.accept("NULL"):
            nullable = True
        elif default is None and cursor.accept("DEFAULT"):
            default = cursor.slice_until(lambda: _at_column_clause(cursor), "a default value").text
        elif generated is None and (text := accept_generated(cursor)) is not None:
            generated = text
        elif identity is None and (found := accept_identity(cursor)) is not None:
            identity = found
        elif comment is None and cursor.accept("COMMENT"):
            comment = cursor.string("a comment in quotes")
        elif not primary_key and _accept_column_key(cursor):
            primary_key = True
            columns.set_primary_key((name,))
            columns.characteristics = parse_key_characteristics(cursor)
        elif _at_column_check(cursor):
            columns.checks.append(parse_check(cursor, _constraint_name(cursor)))
        else:
            _refuse_column_clause(cursor)
    return ColumnDefinition(
        name=name,
        type_text=type_text,
        nullable=nullable is not False,
        comment=comment,
        primary_key=primary_key,
        default_text=default,
        generated_text=generated,
        identity=identity,
    )


def accept_generated(cursor: TokenCursor) -> str | None:
    """The expression of GENERATED ALWAYS AS (expression); None if no such clause comes next."""
    if not cursor.at("GENERATED", "ALWAYS", "AS", "("):
        return None
    cursor.expect("GENERATED", "ALWAYS", "AS")
    return cursor.group().text[1:-1].strip()


def _at_column_clause(cursor: TokenCursor) -> bool:
    """Whether a default ends here; NOT and NULL may be part of one."""
    if cursor.at("NOT", "NULL") and cursor.peek(-1).word != "IS":
        return True
    return cursor.at_any(frozenset({",", ")", *_COLUMN_CLAUSES} - {"NOT", "NULL", "AS"}))


def _accept_column_key(cursor: TokenCursor) -> bool:
    if cursor.at("CONSTRAINT") and cursor.peek(2).word == "PRIMARY":
        cursor.expect("CONSTRAINT")
        cursor.name("a constraint name")
    return cursor.accept("PRIMARY", "KEY")


def _at_column_check(cursor: TokenCursor) -> bool:
    return cursor.at("CHECK", "(") or (cursor.at("CONSTRAINT") and cursor.peek(2).word == "CHECK")


def _constraint_name(cursor: TokenCursor) -> str | None:
    return cursor.name("a constraint name") if cursor.accept("CONSTRAINT") else None


def _refuse_column_clause(cursor: TokenCursor) -> None:
    reasons = {
        "GENERATED": "a column is GENERATED ALWAYS AS (expression), or AS IDENTITY, once",
        "UNIQUE": "only a PRIMARY KEY is kept. Leave it out, or make it the primary key",
        "REFERENCES": "Iceberg tables have no foreign keys. Leave it out",
        "COLLATE": "Iceberg strings have no collation. Leave it out",
        "METADATA": "metadata columns are not declared. Leave it out",
        "MASK": "Iceberg tables have no column masks. Leave it out",
    }
    if cursor.at("CONSTRAINT"):
        cursor.refuse("CONSTRAINT on a column", "only PRIMARY KEY and CHECK are kept. Leave it out")
    reason = reasons.get(cursor.peek().word)
    if reason is not None:
        cursor.refuse(cursor.peek().word, reason)
    cursor.fail("NOT NULL, COMMENT, PRIMARY KEY, ',' or ')'")


def type_slice(cursor: TokenCursor, stop_words: frozenset[str]) -> Slice:
    """The text of a column type: to the next stop word, ',' or ')' outside its own brackets."""
    first = cursor.position
    depth = 0
    while not cursor.at_end:
        token = cursor.peek()
        ends = token.text == "," or (token.word in stop_words and cursor.position > first)
        if token.text == ")" or (depth == 0 and ends):
            break
        if token.text in ("(", "[", "{"):
            cursor.group()
            continue
        if token.kind == "symbol":
            depth += token.text.count("<") - token.text.count(">")
        cursor.position += 1
    if depth:
        cursor.fail(">")
    if cursor.position == first:
        cursor.fail("a type")
    return cursor.slice_from(first)


# Clauses after the columns


@dataclass(slots=True)
class _Clauses:
    provider: str | None = None
    partitioning: tuple[PartitionTerm, ...] = ()
    ordering: tuple[SortTerm, ...] = ()
    comment: str | None = None
    location: str | None = None
    properties: dict[str, str] = field(default_factory=dict)


def _parse_clauses(cursor: TokenCursor, name: TableName) -> _Clauses:
    clauses = _Clauses()
    seen: set[str] = set()
    while (clause := _accept_clause_head(cursor)) is not None:
        if clause in seen:
            raise ParseError("DUPLICATE_CLAUSES", clause=clause)
        seen.add(clause)
        if clause == "USING":
            clauses.provider = _parse_provider(cursor, name)
        elif clause == "PARTITIONED BY":
            clauses.partitioning = parse_terms(cursor, parse_partition_term)
        elif clause == "ORDERED BY":
            clauses.ordering = parse_terms(cursor, parse_sort_term)
        elif clause == "COMMENT":
            clauses.comment = cursor.string("a comment in quotes")
        elif clause == "LOCATION":
            clauses.location = cursor.string("a location in quotes")
        else:
            clauses.properties = parse_properties(cursor)
    return clauses


def _accept_clause_head(cursor: TokenCursor) -> str | None:
    if cursor.accept("PARTITIONED", "BY"):
        return "PARTITIONED BY"
    if cursor.accept("ORDERED", "BY") or cursor.accept("CLUSTER", "BY"):
        return "ORDERED BY"
    if cursor.at("WITH", "(") or cursor.at("TBLPROPERTIES"):
        cursor.position += 1
        return "TBLPROPERTIES"
    for word in ("USING", "COMMENT", "LOCATION"):
        if cursor.accept(word):
            return word
    refused = _NOT_OURS.get(cursor.peek().word)
    if refused is not None:
        cursor.refuse(*refused)
    return None


def _parse_provider(cursor: TokenCursor, name: TableName) -> str:
    provider = ".".join(cursor.dotted_name("a format name"))
    require_provider(name, provider)
    return provider.lower()
