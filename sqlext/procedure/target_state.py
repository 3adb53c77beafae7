"""The state of a table that a procedure describes."""

from __future__ import annotations

from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.scan.metadata_tables.metadata_table import TableState


def state_of(environment: Environment, target: Target) -> TableState:
    """The table at the version of the target, which is the head of main or of a branch."""
    table, version = target.table, target.version
    return TableState(
        version.io, table.metadata, table.metadata_location, version.snapshot, environment.scans.manifests
    )
