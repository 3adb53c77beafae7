"""A table whose metadata is gone, made anew: from its manifests, which lose the least, else from its data files."""

from __future__ import annotations

import re
from contextlib import suppress

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer
from sqlext.command.doctor.found_files import FoundFiles, found_files
from sqlext.command.doctor.table_from_files import table_from_files, table_location
from sqlext.command.doctor.table_from_manifests import FOUND_BRANCH, FoundVersion, version_from_manifests
from sqlext.command.environment import Environment
from sqlext.scan.checks.finding import Check, Finding
from sqlext.spec.metadata.table_metadata import metadata_beginning
from sqlext.storage.file_io import FileIO

# Engines write the uuid as one of the first fields.
_BEGINNING_BYTES = 64 * 1024
_UUID = re.compile(rb'"table-uuid"\s*:\s*"([0-9a-f-]{36})"')


def remade_table(
    environment: Environment, catalog: Catalog, identifier: TableIdentifier, damaged: str | None
) -> Answer:
    """Makes a table in the place of one whose metadata file `damaged` cannot be read, or which the catalog lacks.

    Raises NotFoundError NO_TABLE_AT_LOCATION if there are no files to make it of, and as `Catalog.commit` and
    `Catalog.replace_damaged`.
    """
    io, location = catalog.io, table_location(catalog, identifier, damaged)
    found = version_from_manifests(io, location, _table_uuid(io, damaged), environment.clock, environment.rng)
    if found is None:
        files = found_files(io, location)
        made = table_from_files(environment, catalog, identifier, damaged, files)
        told = _of_files(made, files)
    else:
        made = (
            catalog.commit(identifier, None, found.metadata)
            if damaged is None
            else catalog.replace_damaged(identifier, damaged, found.metadata)
        )
        told = _of_manifests(made, found)
    return Answer(Finding(Check.MISSING, damaged or location, "no metadata", "the metadata of the table"), told)


def _table_uuid(io: FileIO, damaged: str | None) -> str | None:
    """As far as the damaged file has it."""
    with suppress(FileNotFoundError):
        text = b"" if damaged is None else metadata_beginning(io.read(damaged), _BEGINNING_BYTES)
        found = _UUID.search(text)
        return None if found is None else found[1].decode("ascii")
    return None


def _of_manifests(made: LoadedTable, found: FoundVersion) -> str:
    metadata = found.metadata
    head = metadata.current_snapshot()
    assert head is not None
    others = sorted(name for name in metadata.refs if name.startswith(FOUND_BRANCH))
    parts = [
        f"{made.metadata_location} has the {len(metadata.snapshots)} snapshots that manifest lists tell, and main is at"
        f" the newest, {head.snapshot_id}, with {head.summary['total-records']} rows in"
        f" {head.summary['total-data-files']} files",
        "properties, constraints, sort orders, statistics, and names of branches and tags are lost",
    ]
    if others:
        parts.append(f"what other branches, or commits that were not made, have is in {', '.join(others)}")
    if found.left_out:
        parts.append("left out, since not all of their manifests can be read: " + ", ".join(found.left_out))
    return "; ".join(parts)


def _of_files(made: LoadedTable, found: FoundFiles) -> str:
    parts = [
        f"{made.metadata_location} is of a new table of {len(found.files)} files with {found.rows} rows",
        "rows return of files that had been replaced, and those that equality deletes had deleted",
        "snapshots, row ids, branches, sort orders, constraints and properties are lost",
    ]
    if found.positions:
        parts.append(f"{sum(map(len, found.positions.values()))} rows are deleted by position")
    if made.metadata.schema().identifier_field_ids:
        parts.append("the key may be in several rows")
    if found.untold:
        parts.append("not told are the partition fields " + "; ".join(found.untold))
    if found.left_out:
        parts.append("left out: " + ", ".join(found.left_out))
    return "; ".join(parts)
