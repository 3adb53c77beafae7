"""ALTER VIEW … SET and UNSET TBLPROPERTIES, RENAME TO, and DROP VIEW."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.view.create_view import require_view_properties
from sqlext.command.view.temporary_view import is_temporary, require_permanent
from sqlext.commit.loop.view_change import commit_view
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spec.metadata.view_metadata import ViewMetadata
from sqlext.sql.statements.statement import TableName
from sqlext.sql.statements.view_statement import AlterViewProperties, DropView, RenameView


def alter_view_properties(environment: Environment, spark: SparkSession, statement: AlterViewProperties) -> Outcome:
    """Runs the statement; no rows."""
    require_permanent(spark, statement.name)
    require_view_properties({**statement.changed, **dict.fromkeys(statement.removed, "")})
    catalog = environment.catalogs.catalog(statement.name.catalog)
    base = catalog.views.load_view(_identifier(statement.name))

    def change(current: ViewMetadata | None) -> ViewMetadata:
        assert current is not None
        for name in statement.removed:
            if name not in current.properties and not statement.if_exists:
                raise AnalysisError("UNSET_NONEXISTENT_PROPERTIES", property=name, name=statement.name)
        kept = {key: value for key, value in current.properties.items() if key not in statement.removed}
        return replace(current, properties={**kept, **statement.changed})

    commit_view(
        catalog,
        base.identifier,
        change,
        base=base,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
    )
    return Outcome()


def rename_view(environment: Environment, spark: SparkSession, statement: RenameView) -> Outcome:
    """Runs the statement; no rows.

    The view is created under the new name before it is dropped under the old one, so that a failure between leaves it
    at least once. Raises AlreadyExistsError if the new name is taken.
    """
    require_permanent(spark, statement.name)
    catalog = environment.catalogs.catalog(statement.name.catalog)
    base = catalog.views.load_view(_identifier(statement.name))
    to = _identifier(statement.to)
    moved = replace(base.metadata, location=catalog.views.default_view_location(to))
    commit_view(
        catalog,
        to,
        lambda _: moved,
        base=None,
        clock=environment.clock,
        rng=environment.rng,
        sleep=environment.sleep,
    )
    catalog.views.drop_view(base.identifier)
    return Outcome()


def drop_view(environment: Environment, spark: SparkSession, statement: DropView) -> Outcome:
    """Runs the statement; no rows. A name of one part is first looked up as a temporary view, as in Spark."""
    if is_temporary(spark, statement.name):
        spark.catalog.dropTempView(statement.name.table)
        return Outcome()
    catalog = environment.catalogs.catalog(statement.name.catalog)
    if not catalog.views.drop_view(_identifier(statement.name)) and not statement.if_exists:
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=statement.name)
    return Outcome()


def _identifier(name: TableName) -> TableIdentifier:
    return TableIdentifier(name.parts[1:-1], name.table)
