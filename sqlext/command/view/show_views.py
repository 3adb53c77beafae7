"""SHOW VIEWS: the views of a namespace, and all temporary views of the session, as in Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.view.temporary_view import temporary_views
from sqlext.sql.statements.view_statement import ShowViews

SHOW_VIEWS_COLUMNS = (("namespace", "string"), ("viewName", "string"), ("isTemporary", "boolean"))


def show_views(environment: Environment, spark: SparkSession, statement: ShowViews) -> Outcome:
    """Runs the statement; rows of `SHOW_VIEWS_COLUMNS`. Raises NotFoundError for a namespace that does not exist."""
    catalog, namespace = environment.catalogs.catalog(statement.namespace[0]), statement.namespace[1:]
    found = [one.name for one in catalog.views.list_views(namespace)] if namespace else []
    permanent = [[quoted(*namespace), name, False] for name in _matching(found, statement.pattern)]
    return Outcome(permanent + [["", name, True] for name in _matching(temporary_views(spark), statement.pattern)])


def _matching(names: Iterable[str], pattern: str | None) -> list[str]:
    """The names that match Spark's pattern: `*` matches any text, `|` separates alternatives, case is ignored."""
    if pattern is None:
        return list(names)
    choices = [choice.strip().replace("*", ".*") for choice in pattern.split("|")]
    compiled = [_regular_expression(choice) for choice in choices]
    return [name for name in names if any(choice.fullmatch(name) for choice in compiled)]


def _regular_expression(choice: str) -> re.Pattern[str]:
    """The alternative as a regular expression; literal if it is not a valid one."""
    try:
        return re.compile(choice, re.IGNORECASE)
    except re.error:
        return re.compile(re.escape(choice), re.IGNORECASE)
