"""EXPLAIN COMMIT: why the last commit of the session was refused, and by whose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import quoted
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.errors import Contender, SqlextError
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.session.refused_commits import RefusedCommit
from sqlext.spark.session.session_settings import session_id
from sqlext.spec.iso_date_time import moment
from sqlext.spec.manifests.manifest import EntryStatus
from sqlext.spec.metadata.contender import MOST_LISTED
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.sql.statements.transaction_statement import ExplainCommit

EXPLAIN_COMMIT_COLUMNS = (("fact", "string"), ("value", "string"))


def explain_commit(environment: Environment, spark: SparkSession, statement: ExplainCommit) -> Outcome:
    """Runs the statement; rows of facts about the last refused commit of the session, in order.

    Facts come with the error; only files that it does not name are looked up in the table's manifests.
    """
    refused = environment.refused.last(session_id(spark))
    if refused is None:
        return Outcome([["conflict", "none: no commit of this session was refused because of another one"]])
    return Outcome([list(fact) for fact in _facts(environment, refused)])


def _facts(environment: Environment, refused: RefusedCommit) -> Iterator[tuple[str, str]]:
    for table in [quoted(*parts) for parts in refused.tables] or [refused.name]:
        yield "table", table
    yield "statement", refused.statement
    yield "refused_at", moment(refused.refused_ms)
    yield "condition", refused.condition
    yield "reason", refused.message
    if refused.contender is None:
        yield "in_the_way", "the error does not tell a snapshot"
        return
    yield from _of_contender(environment, refused, refused.contender)


def _of_contender(environment: Environment, refused: RefusedCommit, found: Contender) -> Iterator[tuple[str, str]]:
    yield "planned_on", "no snapshot" if found.planned_on is None else f"snapshot {found.planned_on}"
    yield "in_the_way", f"snapshot {found.snapshot_id}"
    yield "operation", found.operation or "unknown"
    yield "committed_at", moment(found.committed_ms)
    for name, value in found.author:
        yield "author", f"{name} = {value}"
    files = found.files or tuple(_changed_files(environment, refused, found))
    yield from _listed("file", files)
    yield from _listed("key", found.keys)


def _listed(fact: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((fact, value) for value in values[:MOST_LISTED])
    if len(values) >= MOST_LISTED:
        yield fact, "… and perhaps more"


def _changed_files(environment: Environment, refused: RefusedCommit, found: Contender) -> Iterator[str]:
    """Files that the snapshot added or removed, if a table of the statement still has it."""
    for parts in refused.tables:
        try:
            table = environment.catalogs.load(parts)
            snapshot = table.metadata.snapshot_or_none(found.snapshot_id)
            if snapshot is not None:
                version = environment.version(parts[0], table)
                yield from islice(_paths(environment, version, snapshot), MOST_LISTED)
        except SqlextError:  # the table is dropped, or a manifest gone; the other facts stand
            continue


def _paths(environment: Environment, version: TableVersion, snapshot: Snapshot) -> Iterator[str]:
    manifests = environment.scans.manifests
    for manifest in manifests.manifests(version.io, snapshot):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            for entry in manifests.entries(version.io, manifest, version.metadata):
                if entry.snapshot_id == snapshot.snapshot_id and entry.status != EntryStatus.EXISTING:
                    yield entry.file.file_path
