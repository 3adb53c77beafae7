"""Files of statistics beside a table's metadata files: written first, then named by a commit."""

from __future__ import annotations

import uuid

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.commit.actions.statistics_change import SetStatisticsFile
from sqlext.commit.snapshot.own_files import create_own_file
from sqlext.errors import NotFoundError
from sqlext.properties import METADATA_PATH
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spec.metadata.metadata_update import SetPartitionStatistics, SetStatistics
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.location import join, metadata_location


def new_location(environment: Environment, metadata: TableMetadata, beginning: str, ending: str) -> str:
    """The location of a file with a name that no other has."""
    unique = uuid.UUID(int=environment.rng.getrandbits(128), version=4)
    return join(metadata_location(metadata), f"{beginning}-{unique}{ending}")


def commit_statistics(
    environment: Environment,
    catalog_name: str,
    table: LoadedTable,
    data: bytes,
    update: SetStatistics | SetPartitionStatistics,
) -> None:
    """Writes `data` at the location that `update` names, and commits the update.

    Raises NotFoundError if the table was dropped, and as `SetStatisticsFile` and `Environment.commit`.
    """
    io = environment.catalogs.catalog(catalog_name).io
    try:
        # Created only in an existing table: a dropped table's folder must not reappear.
        make_folders = METADATA_PATH.name in table.metadata.properties
        create_own_file(io, update.statistics.location, data, make_folders=make_folders)
    except FileNotFoundError:
        name = handle_of(catalog_name, table).full_name
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=name) from None
    environment.commit(catalog_name, table, SetStatisticsFile(update))
