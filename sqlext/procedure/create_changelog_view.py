"""create_changelog_view: a temporary view of the rows that snapshots of a table inserted, deleted and updated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.command.changelog.changelog_view import ChangelogBounds
from sqlext.command.changelog.changelog_view import create_changelog_view as create
from sqlext.errors import ParseError
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.field_path import FieldPath
from sqlext.spec.schema import Schema
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.sql.tokens.token_cursor import TokenCursor

_WHOLE = re.compile(r"-?[0-9]+")
_BOUNDS = {
    "start-snapshot-id": "start_snapshot_id",
    "start-timestamp": "start_timestamp",
    "end-snapshot-id": "end_snapshot_id",
    "end-timestamp": "end_timestamp",
}


def create_changelog_view(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the name of the view. Raises AnalysisError for an argument, and as `create_changelog_view` of the command.

    Updates are computed with `compute_updates`, and by default if `identifier_columns` are given.
    """
    arguments, environment = invocation.arguments, invocation.environment
    parts = invocation.table_parts(arguments["table"])
    place, table = environment.catalogs.locate(parts)
    given = arguments["identifier_columns"]
    updates = given is not None if arguments["compute_updates"] is None else arguments["compute_updates"]
    net = bool(arguments["net_changes"])
    if net and updates:
        raise CREATE_CHANGELOG_VIEW.refused("net_changes are rows of many snapshots, and have no images of updates")
    schema = table.metadata.schema()
    names = _identifiers(schema, given, exact=is_case_sensitive(invocation.spark))
    if updates and not names:
        reason = "compute_updates needs identifier_columns, as the table has no primary key"
        raise CREATE_CHANGELOG_VIEW.refused(reason)
    view = arguments["changelog_view"]
    view = quote_identifier(f"{place.parts[-1]}_changes") if view is None else view
    name = _view_name(view)
    bounds = _bounds(arguments["options"] or {})
    create(environment, invocation.spark, parts, name, bounds, identifiers=names if updates else (), net=net)
    return [(view,)]


def _identifiers(schema: Schema, given: Sequence[str] | None, *, exact: bool) -> list[FieldPath]:
    """Columns, by default those of the primary key, which may be fields of structs."""
    if given is None:
        return [schema.column_path(id) for id in schema.identifier_field_ids]
    if not given:
        raise CREATE_CHANGELOG_VIEW.refused("identifier_columns is empty")
    found: list[FieldPath] = []
    for name in given:
        field = schema.column(name, exact)
        if field is None:
            raise CREATE_CHANGELOG_VIEW.refused(f"identifier_columns names {name}, and there is no such column")
        found.append((field.name,))
    return found


def _view_name(text: str) -> str:
    """The name that SQL would understand."""
    try:
        cursor = TokenCursor(text)
        parts = cursor.dotted_name("a view's name")
        cursor.expect_end()
    except ParseError:
        raise CREATE_CHANGELOG_VIEW.refused(f"changelog_view is {text}, which is no name") from None
    if len(parts) > 1:
        raise CREATE_CHANGELOG_VIEW.refused(f"changelog_view is {text}, and a temporary view has no namespace")
    return parts[0]


def _bounds(options: Mapping[str, str]) -> ChangelogBounds:
    numbers: dict[str, int] = {}
    for name, value in options.items():
        if name.lower() not in _BOUNDS:
            raise CREATE_CHANGELOG_VIEW.refused(f"options has {name}; it may have {', '.join(_BOUNDS)}")
        if not _WHOLE.fullmatch(value):
            raise CREATE_CHANGELOG_VIEW.refused(f"the option {name} is {value}, and must be a whole number")
        numbers[_BOUNDS[name.lower()]] = int(value)
    for end in ("start", "end"):
        if f"{end}_snapshot_id" in numbers and f"{end}_timestamp" in numbers:
            raise CREATE_CHANGELOG_VIEW.refused(f"options has both {end}-snapshot-id and {end}-timestamp")
    bounds = ChangelogBounds(**numbers)
    start, end_ms = bounds.start_timestamp, bounds.end_timestamp
    if start is not None and end_ms is not None and start >= end_ms:
        raise CREATE_CHANGELOG_VIEW.refused("start-timestamp is not before end-timestamp")
    return bounds


CREATE_CHANGELOG_VIEW = Procedure(
    "create_changelog_view",
    (
        Parameter("table", "string"),
        Parameter("changelog_view", "string", required=False),
        Parameter("options", "map<string, string>", required=False),
        Parameter("compute_updates", "boolean", required=False),
        Parameter("identifier_columns", "array<string>", required=False),
        Parameter("net_changes", "boolean", required=False),
    ),
    (("changelog_view", "string"),),
    create_changelog_view,
)
