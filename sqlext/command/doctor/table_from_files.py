"""A table whose metadata is gone, made anew from its data files and position deletes.

Files do not say whether their rows are still live: those of replaced files return, and those that equality deletes have
deleted, which apply by sequence numbers that only manifests have. So this is never done unless it is asked for.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, cast

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.change.row_level import delete_rows
from sqlext.command.doctor.found_files import FoundFiles
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.table_creation import MakeFoundTable
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.sort_order import UNSORTED


def table_from_files(
    environment: Environment, catalog: Catalog, identifier: TableIdentifier, damaged: str | None, found: FoundFiles
) -> LoadedTable:
    """Makes a table of the files where the table was, whose metadata file `damaged` cannot be read, or which the
    catalog does not know any more. Raises StorageError, and as `commit` and `Catalog.replace_damaged`."""
    start = _empty_table(environment, table_location(catalog, identifier, damaged), found)
    operation = begin_write(start, catalog.io, str(identifier), environment.rng)
    partitions = {file.file_path: (file.spec_id, file.partition) for file in found.files}
    to = catalog if damaged is None else cast(Catalog, _InPlaceOf(catalog, damaged))
    with operation.cleaned_on_failure():
        deletes = delete_rows(operation, found.positions, partitions)
        action = MakeFoundTable(start, found.files, tuple(deletes.files), deletes.rows)
    return environment.create(to, identifier, action)


def _empty_table(environment: Environment, location: str, found: FoundFiles) -> TableMetadata:
    """The table before its first snapshot, with all of its specs."""
    spec, identity = found.specs[-1], str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    empty = new_table_metadata(
        found.schema, spec, UNSORTED, location, found.properties, found.format_version, identity, environment.clock()
    )
    return replace(
        empty,
        partition_specs=found.specs,
        last_partition_id=max(one.last_assigned_field_id for one in found.specs),
        # Rows that have ids keep them, so others must get new ones.
        next_row_id=None if empty.next_row_id is None else found.next_row_id,
    )


def table_location(catalog: Catalog, identifier: TableIdentifier, damaged: str | None) -> str:
    """The folder of a table, which has the damaged metadata file in its folder `metadata`."""
    if damaged is None:
        return catalog.default_table_location(identifier)
    return damaged.rpartition("/")[0].removesuffix("/metadata")


class _InPlaceOf:
    """`Catalog`, in which a table is made in the place of one whose current metadata file cannot be read."""

    def __init__(self, catalog: Catalog, damaged: str) -> None:
        self._catalog = catalog
        self._damaged = damaged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        return self._catalog.replace_damaged(identifier, self._damaged, updated)
