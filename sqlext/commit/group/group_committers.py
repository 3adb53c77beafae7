"""The group committers of a process: one for each catalog that has its commits grouped."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import GroupCommit
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.group.host_committer import HostCommitter
from sqlext.commit.group.host_socket import MeetingPlace
from sqlext.commit.group.small_files import MergeFiles, SmallFiles
from sqlext.commit.loop.attempt_queue import AttemptQueue

Committer: TypeAlias = GroupCommitter | HostCommitter


class GroupCommitters:
    """`merge` is what small files are merged by, where a catalog asks for that; others as of `GroupCommitter`."""

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        rng: random.Random,
        sleep: Callable[[float], None],
        queue: AttemptQueue,
        merge: MergeFiles,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._queue = queue
        self._merge = merge
        self._lock = threading.Lock()
        self._committers: dict[str, tuple[Catalog, Committer]] = {}

    def of(self, catalog: Catalog, group: GroupCommit) -> Committer:
        """The one of that catalog, whose commits land together as `group` says; a new one where another catalog has
        taken its name."""
        with self._lock:
            known, committer = self._committers.get(catalog.name, (None, None))
            if committer is None or known is not catalog:
                committer = self._made(catalog, group)
                self._committers[catalog.name] = catalog, committer
            return committer

    def close(self) -> None:
        """Leaves the places where processes meet to others."""
        with self._lock:
            for _, committer in self._committers.values():
                if isinstance(committer, HostCommitter):
                    committer.close()
            self._committers.clear()

    def _made(self, catalog: Catalog, group: GroupCommit) -> Committer:
        small = SmallFiles(group.min_file_bytes, self._merge) if group.min_file_bytes else None
        if group.settings is None:
            return GroupCommitter(
                catalog, clock=self._clock, rng=self._rng, sleep=self._sleep, small=small, queue=self._queue
            )
        place = partial(MeetingPlace.of, group.settings)
        return HostCommitter(
            catalog, place, clock=self._clock, rng=self._rng, sleep=self._sleep, small=small, queue=self._queue
        )
