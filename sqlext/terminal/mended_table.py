"""`sqlext fsck --repair`: repairs are commits, as those of `CALL fsck`, made without Spark."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from sqlext.command.care_tasks import CareTasks
from sqlext.command.doctor.answer import Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.command.environment import Environment
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.storage.scheme_io import SchemeIO
from sqlext.terminal.examined import examined
from sqlext.terminal.named_catalog import NamedCatalog
from sqlext.write.merged_file import merge_data_files


def repaired(named: NamedCatalog, table: str | None, *, data_files: bool) -> Iterator[Sequence[object]]:
    """A row for each finding, with what was done about it. Raises as `consult`."""
    environment = environment_of(named)
    for identifier in examined(named, table):
        for answer in consult(environment, named.name, identifier, Repairing.DAMAGE, data_files=data_files):
            one = answer.finding
            place = (one.path, one.snapshot_id)
            yield (str(identifier), one.severity.value, one.check.value, *place, one.found, one.expected, answer.repair)


def environment_of(named: NamedCatalog) -> Environment:
    """What commands work with, over the one catalog and without a session of Spark."""
    catalog, rng, queue = named.catalog, random.Random(), AttemptQueue()
    opened = OpenCatalogs(lambda name, options: catalog)
    opened.initialize(named.name, named.options)
    catalogs = Catalogs(opened, RememberedMetadata(), SchemeIO())
    groups = GroupCommitters(clock=_milliseconds, rng=rng, sleep=time.sleep, queue=queue, merge=merge_data_files)
    return Environment(
        catalogs,
        ScanBridge(catalogs, ManifestCache(), PositionDeleteCache()),
        clock=_milliseconds,
        rng=rng,
        sleep=time.sleep,
        transactions=OpenTransactions(catalogs, rng),
        queue=queue,
        groups=groups,
        care=CareTasks(_milliseconds),
    )


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
