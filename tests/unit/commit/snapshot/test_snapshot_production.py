"""What a commit leaves in the cache of manifest lists is what the list says."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from small_tables import (
    BY_REGION,
    ORDERS,
    SCHEMA,
    Clock,
    data_file,
    equality_deletes,
    warehouse_catalog,
    with_namespace,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import UnsupportedError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.sort_order import UNSORTED


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_new_list_is_cached_as_it_would_be_decoded(tmp_path: Path, version: int) -> None:
    catalog = with_namespace(warehouse_catalog(tmp_path), ORDERS.namespace)
    cache, clock = ManifestCache(), Clock()

    def landed(action: Action, base: LoadedTable | None) -> LoadedTable:
        rng = random.Random(clock())
        return commit(catalog, ORDERS, action, base=base, clock=clock, rng=rng, manifests=cache).table

    properties = {"commit.manifest.min-count-to-merge": "4"}
    location = catalog.default_table_location(ORDERS)
    table = landed(CreateTable(SCHEMA, BY_REGION, UNSORTED, properties, version, location), None)
    actions: list[Callable[[TableMetadata], Action]] = [
        lambda metadata: AppendFiles((data_file(metadata, [1, 2]),)),
        lambda metadata: RowDelta((data_file(metadata, [2]),), (equality_deletes(metadata, [2]),)),
    ]
    for turn in range(12):
        table = landed(actions[turn % 2 if version > 1 else 0](table.metadata), table)
        snapshot = table.metadata.current_snapshot()
        assert snapshot is not None
        assert cache.manifests(catalog.io, snapshot) == ManifestCache().manifests(catalog.io, snapshot)
        assert cache._lists.holds(snapshot.manifest_list)


def test_a_table_of_format_1_takes_no_delete_files(tmp_path: Path) -> None:
    catalog, clock = with_namespace(warehouse_catalog(tmp_path), ORDERS.namespace), Clock()
    creation = CreateTable(SCHEMA, BY_REGION, UNSORTED, {}, 1, catalog.default_table_location(ORDERS))
    table = commit(catalog, ORDERS, creation, base=None, clock=clock, rng=random.Random(1)).table
    delta = RowDelta((), (equality_deletes(table.metadata, [2]),))
    with pytest.raises(UnsupportedError, match="FORMAT_VERSION_1_ROW_LEVEL"):
        commit(catalog, ORDERS, delta, base=table, clock=clock, rng=random.Random(2))
