"""Upserts whose given rows are also stored as the changelog (`changelog-producer` = `input`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sqlext.command.change.row_level import Target
from sqlext.command.changelog.changelog_recorder import store_changelog
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.commit.snapshot.changelog_storage import remove_changelog
from sqlext.errors import CommitStateUnknown
from sqlext.local.given_rows import GivenRows
from sqlext.local.keyed_rows import kept_rows
from sqlext.spark.query.write_job import write_on_driver
from sqlext.spec.metadata.stored_changelog import INPUT, StoredChangelog
from sqlext.spec.row_kind import ROW_KIND


def storing_input(
    environment: Environment, target: Target, given: GivenRows, write: Callable[[Target], Counts]
) -> Counts:
    """Calls `write` with a target whose commit names a changelog of the rows, with their kinds or `+I`, without those
    that the table ignores. The changelog is removed if nothing is committed."""
    metadata, io = target.table.metadata, target.version.io
    rows, kinds = kept_rows(target, given)
    told = pa.repeat(pa.scalar("+I"), rows.num_rows) if given.kinds is None else kinds
    changelog = rows.append_column(ROW_KIND.name, told)
    id = store_changelog(environment, io, metadata, str(target.name), partial(write_on_driver, changelog))
    summary = (*target.destination.summary, *StoredChangelog(id, INPUT).summary().items())
    try:
        counts = write(replace(target, destination=replace(target.destination, summary=summary)))
    except CommitStateUnknown:
        raise
    except BaseException:
        remove_changelog(io, metadata, id)
        raise
    if not counts.row()[0]:
        remove_changelog(io, metadata, id)
    return counts
