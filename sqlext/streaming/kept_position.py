"""The positions of streams as consumers of their tables, so that what they have yet to read does not expire."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.commit.actions.consumer import Consumer, MoveConsumer, consumer_or_none, heard_ms
from sqlext.errors import SqlextError
from sqlext.spec.metadata.stream_state import CONSUMER_PREFIX

_LOG = logging.getLogger("sqlext")
# The consumer of a query without a name follows it at this distance at most, so that short batches cost few commits.
_MOVED_EVERY_MS = 60_000
_FIRST_SOURCE = "0"
# A consumer that stays where it is is updated so many times before it would expire.
_UPDATES = 4


@dataclass(frozen=True, slots=True)
class QuerySource:
    """A source of a streaming query: the query's id, its name if it has one, and which of its sources it is.

    With `is_temporary` nothing is left of the query when it ends, as Spark then deletes its checkpoint.
    """

    query_id: str
    query_name: str | None
    source: str
    is_temporary: bool

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> QuerySource:
        """That of the shim's arguments."""
        return cls(str(arguments["id"]), arguments["name"], str(arguments["source"]), bool(arguments["temporary"]))

    @property
    def told(self) -> str:
        """The query in words: its name, or its id."""
        return self.query_name or self.query_id

    @property
    def consumer_id(self) -> str:
        """The id of the consumer that a query without `consumer-id` is."""
        return f"query-{self.query_id}" + ("" if self.source == _FIRST_SOURCE else f"-{self.source}")


class KeptPositions:
    """Tells tables how far their streams have read. Each call is one commit at most."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._failed_ms: dict[tuple[str, str], int] = {}

    def keep(self, catalog: str, table: LoadedTable, name: str, consumer_id: str, at: Consumer) -> None:
        """Commits the progress `at` of a named consumer, unless the table has it and it is recent."""
        known = consumer_or_none(table.metadata, name, consumer_id)
        if known is None or not at.is_where(known) or not _is_recent(table, known, at):
            self._environment.commit(catalog, table, MoveConsumer(consumer_id, at))

    def keep_query(
        self, catalog: str, table: LoadedTable, name: str, source: QuerySource, at: Consumer, *, ends: bool = False
    ) -> None:
        """Commits the progress `at` of a query without a name, unless the table has it, or has one that is less than a
        minute old and the query does not end.

        A failure is a warning, as such a query may read a table that it must not change; it is tried again a minute
        later.
        """
        key = (table.metadata.table_uuid, source.consumer_id)
        try:
            known = consumer_or_none(table.metadata, name, source.consumer_id)
            if known is not None and at.is_where(known) and _is_recent(table, known, at):
                return
            tries_ms = (self._failed_ms.get(key), None if known is None else known.updated_ms)
            # A clock that went back ends the pause.
            if not ends and any(ms is not None and 0 <= at.updated_ms - ms < _MOVED_EVERY_MS for ms in tries_ms):
                return
            self._environment.commit(catalog, table, MoveConsumer(source.consumer_id, replace(at, is_query=True)))
        except (SqlextError, OSError) as failure:
            if key not in self._failed_ms:
                _LOG.warning("What query %s has yet to read of %s may expire: %s", source.told, name, failure)
            self._failed_ms[key] = at.updated_ms
        else:
            self._failed_ms.pop(key, None)

    def forget(self, catalog: str, table: LoadedTable, source: QuerySource) -> None:
        """Removes the consumer that a query without a name is, if the table has it."""
        if CONSUMER_PREFIX + source.consumer_id in table.metadata.properties:
            self._environment.commit(catalog, table, MoveConsumer(source.consumer_id, None))


def _is_recent(table: LoadedTable, known: Consumer, at: Consumer) -> bool:
    return at.updated_ms - known.updated_ms < heard_ms(table.metadata) // _UPDATES
