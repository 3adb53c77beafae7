"""Upserts whose input rows are also stored as the changelog (`changelog-producer` = `input`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.checked_rows import with_generated
from sqlext.command.change.read_set import require_one_version
from sqlext.command.change.row_level import Target
from sqlext.command.changelog.changelog_recorder import write_changelog
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import arrival, has_kinds, kept_changes
from sqlext.commit.snapshot.changelog_storage import remove_changelog
from sqlext.errors import CommitStateUnknown
from sqlext.properties import CHANGELOG_PRODUCER
from sqlext.spark.query.driver_rows import checkpointed, estimate
from sqlext.spark.query.literal_plan import are_literals
from sqlext.spec.metadata.stored_changelog import INPUT, StoredChangelog, can_store_changes
from sqlext.spec.row_kind import ROW_KIND
from sqlext.sql.row_rules import row_rules
from sqlext.sql.tokens.quoting import quote_identifier

Write = Callable[[Target, DataFrame], Counts]


def stores_input(target: Target) -> bool:
    """Whether input rows are stored as the changelog."""
    metadata = target.table.metadata
    is_input = CHANGELOG_PRODUCER.of(metadata.properties) == INPUT and can_store_changes(metadata)
    return is_input and target.destination.wap_id is None


def write_with_changelog(
    environment: Environment, spark: SparkSession, target: Target, rows: DataFrame, write: Write, *, in_order: bool
) -> Counts:
    """Calls `write` with a target whose commit names a changelog of `rows`, with their kinds or `+I`.

    Rows that the table ignores are in neither; generated columns have their values in both. `rows` are evaluated once.
    The changelog is removed if nothing is committed. Raises ValidationConflict as `require_one_version`: evaluated rows
    do not tell what they were read from.
    """
    metadata, name = target.table.metadata, str(target.name)
    fields = metadata.schema().fields
    require_one_version(rows, target.version, target.overtaken)
    if not (are_literals(rows) and estimate(rows).repeatable):
        where = arrival([field.name for field in fields], rows) if in_order else []
        rows = checkpointed(rows.select("*", *where), environment.planning.tasks)
    kind = F.col(ROW_KIND.name) if has_kinds(rows, metadata.schema()) else F.lit("+I")
    columns = [F.col(quote_identifier(field.name)) for field in fields]
    told = kept_changes(target, rows).select(*columns, kind.alias(ROW_KIND.name))
    told = with_generated(told, row_rules(metadata.schema(), metadata.properties))
    id = write_changelog(environment, target.version.io, metadata, name, told)
    entries = tuple(StoredChangelog(id, INPUT).summary().items())
    destination = replace(target.destination, summary=(*target.destination.summary, *entries))
    try:
        counts = write(replace(target, destination=destination), rows)
    except CommitStateUnknown:
        raise
    except BaseException:
        remove_changelog(target.version.io, metadata, id)
        raise
    if not counts.row()[0]:
        remove_changelog(target.version.io, metadata, id)
    return counts
