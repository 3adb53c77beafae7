"""Statements that are idempotent batches: one that the table has is skipped, without an error."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment, StatementBatch
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.errors import AlreadyExistsError, AnalysisError, BatchRanBefore, NotFoundError
from sqlext.spark.catalog.frame_options import write_options
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun, application_id, batch_version
from sqlext.spec.name_suggestion import suggestion

T = TypeVar("T")

APP_ID, VERSION = "sqlext.txn.app-id", "sqlext.txn.version"


def session_batch(settings: Mapping[str, str]) -> Batch | None:
    """The batch that the session settings `sqlext.txn.*` name; None if there are none.

    Raises AnalysisError SETTING_UNKNOWN, SETTING_INVALID, and BATCH_NOT_IDENTIFIED if only one of the two is there.
    """
    known = (APP_ID, VERSION)
    for name in settings:
        if name not in known:
            way_out = suggestion(name, known, f"There are {APP_ID} and {VERSION}.")
            raise AnalysisError("SETTING_UNKNOWN", name=name, way_out=way_out)
    if not settings:
        return None
    for given, missing in (known, known[::-1]):
        if missing not in settings:
            raise AnalysisError(
                "BATCH_NOT_IDENTIFIED", given=f"the session's setting {given}", missing=f"the setting {missing}"
            )
    return Batch(_parsed(settings, APP_ID, application_id), _parsed(settings, VERSION, batch_version))


def _parsed(settings: Mapping[str, str], name: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(settings[name])
    except ValueError as allowed:
        raise AnalysisError("SETTING_INVALID", name=name, value=settings[name], allowed=allowed) from None


def as_batch(
    environment: Environment, session: str, settings: Mapping[str, str], options: Mapping[str, str]
) -> Environment:
    """The environment of a statement that is the batch of its write options, or else of the session's settings.

    All statements of a transaction are one run. Raises as `write_options` and `session_batch`.
    """
    batch = write_options(options).batch or session_batch(settings)
    if batch is None:
        return environment
    run = environment.transactions.identity(session) or str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    return replace(environment, batch=StatementBatch(BatchRun(batch, run, environment.clock())))


def unless_ran_before(environment: Environment, table: Sequence[str], run: Callable[[Environment], T], skipped: T) -> T:
    """The result of `run`, a statement that changes rows of `table`, or `skipped` if the table has its batch.

    A statement that had nothing to commit commits the record of its batch.
    """
    if environment.batch is None:
        return run(environment)
    try:
        result = run(environment)
        if not environment.batch.is_recorded:
            _, loaded = environment.catalogs.locate(tuple(table))
            environment.commit(table[0], loaded, CommitOnce(environment.batch.run))
    except BatchRanBefore:
        return skipped
    return result


def unless_created_before(environment: Environment, table: Sequence[str], create: Callable[[], object]) -> None:
    """Runs `create`, which creates or replaces `table` with rows, unless a table of that name has their batch."""
    if environment.batch is None:
        create()
        return
    if _has_batch(environment, environment.batch, table):
        return
    try:
        create()
    except BatchRanBefore:
        return
    except AlreadyExistsError:
        # Another run of the batch may have been faster.
        if not _has_batch(environment, environment.batch, table):
            raise


def _has_batch(environment: Environment, batch: StatementBatch, table: Sequence[str]) -> bool:
    identifier = TableIdentifier(tuple(table[1:-1]), table[-1])
    try:
        there = environment.catalogs.catalog(table[0]).load_table(identifier)
        batch.run.require_first(there.metadata, path_text(table))
    except NotFoundError:
        return False
    except BatchRanBefore:
        return True
    return False
