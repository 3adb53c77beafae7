"""What commands work with in a process without Spark: their environment, and the settings of a session by default."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, NoReturn, TypeAlias

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.command.care_tasks import CareTasks
from sqlext.command.environment import Environment
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.errors import UnsupportedError
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.storage.clock import system_clock
from sqlext.storage.scheme_io import SchemeIO
from sqlext.write.merged_file import merge_data_files


class _Settings:
    """Settings of a session that sets none."""

    def get(self, name: str, default: str | None = None) -> str | None:
        return default


class Sessionless:
    """In the place of a Spark session where there is none: it has no settings, and whatever needs more is refused.

    So a command that can do without Spark does, and one that turns out to need a query fails before its commit.
    """

    conf = _Settings()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(
            "LOCAL_NEEDS_SPARK", what="The statement", reason="it needs a query of more rows than are read here"
        )


NO_SESSION: Any = Sessionless()
"""The one `Sessionless`; it passes for a session."""

Opener: TypeAlias = Callable[[str, Mapping[str, str]], Catalog]
CATALOG_OPENER: ContextVar[Opener] = ContextVar("CATALOG_OPENER", default=open_catalog)
"""How this context opens catalogs, by name and options. Tests set it to reach catalogs that the code under test opens
itself."""


def environment_of(name: str, options: Mapping[str, str], opener: Opener | None = None) -> Environment:
    """The environment of a process with one catalog, which is opened by `options`, as `opener` does it or by default
    this context. Raises as `open_catalog`."""
    open_catalogs = OpenCatalogs(opener or CATALOG_OPENER.get())
    open_catalogs.initialize(name, options)
    catalogs = Catalogs(open_catalogs, RememberedMetadata(), SchemeIO())
    rng, queue = random.Random(), AttemptQueue()
    return Environment(
        catalogs,
        ScanBridge(catalogs, ManifestCache(), PositionDeleteCache()),
        clock=system_clock,
        rng=rng,
        sleep=time.sleep,
        transactions=OpenTransactions(catalogs, rng),
        queue=queue,
        groups=GroupCommitters(clock=system_clock, rng=rng, sleep=time.sleep, queue=queue, merge=merge_data_files),
        care=CareTasks(system_clock),
    )
