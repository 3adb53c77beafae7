"""remove_expired_changelogs: deletes the stored changelogs of expired snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.snapshot.changelog_storage import remove_unneeded_changelogs
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def remove_expired_changelogs(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the number of deleted files. Files of the last day stay, as their snapshots may not be committed yet."""
    table = invocation.load(invocation.arguments["table"])
    environment = invocation.environment
    io = environment.catalogs.catalog(invocation.catalog).io
    return [(remove_unneeded_changelogs(io, table.metadata, environment.clock()),)]


REMOVE_EXPIRED_CHANGELOGS = Procedure(
    "remove_expired_changelogs",
    (Parameter("table", "string"),),
    (("removed_files_count", "long"),),
    remove_expired_changelogs,
)
