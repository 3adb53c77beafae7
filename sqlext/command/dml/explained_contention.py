"""The commit of a change in EXPLAIN: how many are expected, what conflicts with it, and who may be in its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.command.change.enforced_key import is_enforced
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.read_set import read_set_of
from sqlext.command.change.rerun_limit import told_limit
from sqlext.command.change.row_change import conflict_scope
from sqlext.command.change.row_level import Target
from sqlext.command.compaction.compaction_candidates import compacts_itself
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import COPIES, Way
from sqlext.commit.actions.consumer import stored_consumers
from sqlext.commit.loop.conflict import SERIALIZABLE
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.session.session_settings import session_id
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.field_path import path_text
from sqlext.spec.iso_date_time import format_timestamp
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stream_state import PROGRESS_PREFIX
from sqlext.spec.schema import Schema
from sqlext.sql.predicate_text import predicate_text

_MOST_NAMED = 5
_OVERWRITES = (Way.OVERWRITE, Way.OVERWRITE_PARTITIONS, Way.OVERWRITE_WHERE, Way.DELETE_ALL)


def commit_lines(environment: Environment, spark: SparkSession, explained: Explanation) -> Iterator[str]:
    """The lines. Other sessions of the application are known here, other processes are not."""
    target = explained.target
    yield f"commits: {_commits(environment, explained)}"
    head = target.version.snapshot
    yield f"planned on {'the empty branch' if head is None else told(head)}"
    yield from _conflict_lines(environment, explained)
    for line in _in_the_way(environment, spark, target) or ["nothing that this application knows of"]:
        yield f"in the way now: {line}"
    readers = [name for name, _ in stored_consumers(target.table.metadata)]
    if readers:
        yield f"read as changes by the consumers {_named(readers)}"


def told(snapshot: Snapshot) -> str:
    """A snapshot, what it did, who committed it and when."""
    at = format_timestamp(snapshot.timestamp_ms, 1000).replace("T", " ")
    engine = snapshot.summary.get("engine-name") or snapshot.summary.get("spark.app.id") or "an unnamed engine"
    return f"snapshot {snapshot.snapshot_id} ({snapshot.operation or 'unknown'} by {engine}, {at}Z)"


def _commits(environment: Environment, explained: Explanation) -> str:
    target = explained.target
    to = f"branch {target.destination.branch} of {path_text(_path(target))}"
    if target.destination.wap_id is not None:
        to = f"{target.name}, staged under the id {target.destination.wap_id}"
    if environment.is_in_transaction:
        return f"none before the COMMIT of the session's transaction, then one to {to} with its other changes"
    text = f"1 to {to}{'' if explained.plan.way in _OVERWRITES else ', or none if no row changes'}"
    if environment.catalogs.group_commit(target.name.catalog) is not None:
        text += "; statements that commit at the same time share it (group commit)"
    return text + ("; 1 more if compaction is due then" if _compacts(target) else "")


def _path(target: Target) -> tuple[str, ...]:
    """The table's name without the branch that the statement's may end in."""
    return (target.name.catalog, *target.table.identifier.namespace, target.table.identifier.name)


def _compacts(target: Target) -> bool:
    try:
        return compacts_itself(target.table.metadata) and target.destination.wap_id is None
    except AnalysisError:  # a property that the statement itself does not need
        return False


def _conflict_lines(environment: Environment, explained: Explanation) -> Iterator[str]:
    if environment.is_in_transaction:
        yield "conflicts at COMMIT with every commit of others to the table since the transaction has read it"
        return
    yield f"conflicts with {_conflicts(explained)}"
    limit = told_limit(explained.target.table.metadata.properties)
    if _reads(explained) and limit is not None:
        yield f"runs again after a conflict, {limit}"


def _reads(explained: Explanation) -> bool:
    """Whether the statement's result depends on rows that others may change; an overwrite is not run again."""
    appends = explained.plan.way is Way.APPEND and not is_enforced(explained.target.table.metadata)
    return explained.plan.way not in _OVERWRITES and not appends


def _conflicts(explained: Explanation) -> str:
    """The commits of others that would refuse or repeat the statement."""
    target, way = explained.target, explained.plan.way
    unique = is_enforced(target.table.metadata)
    match way:
        case Way.APPEND:
            return "commits that add a row with one of its keys" if unique else "no other commit of rows"
        case Way.OVERWRITE | Way.DELETE_ALL:
            return "no other commit of rows: what others have added by then is removed too"
        case Way.OVERWRITE_PARTITIONS:
            return "no other commit of rows: what others have added to the partitions by then is removed too"
        case Way.OVERWRITE_WHERE | Way.METADATA_DELETE | Way.PARTIAL_METADATA_DELETE:
            return "commits that remove a file it changes, or add one of which only some rows match"
        case Way.EQUALITY:
            return "commits that add rows with one of its keys in another partitioning"
        case Way.LOOK_UP:
            return "commits that add, change or remove a row with one of its keys"
    return _read_set(explained)


def _read_set(explained: Explanation) -> str:
    change, target = explained.change, explained.target
    assert change is not None
    read = read_set_of(explained.rows, target.version, conflict_scope(change, target), None)
    schema = target.version.schema
    if explained.plan.way is Way.INSERT_ONLY:
        parts = []
    elif explained.plan.way in (*COPIES, Way.AUTO):
        parts = ["change or remove a row of a file that it rewrites"]
    else:
        parts = ["change or remove a row that it changes"]
    if read.keys_unique:
        parts.append("add a row with one of its keys")
    if change.isolation == SERIALIZABLE:
        if read.added is not None:
            parts.append(f"add {_rows(read.added, schema)}")
        if read.removed is not None:
            parts.append(f"remove {_rows(read.removed, schema)}")
    return f"commits that {'; or '.join(parts)} ({change.isolation})" if parts else "no other commit of rows"


def _rows(predicate: Predicate, schema: Schema) -> str:
    return "any row" if predicate == AlwaysTrue() else f"rows that may match {predicate_text(predicate, schema)}"


def _in_the_way(environment: Environment, spark: SparkSession, target: Target) -> Sequence[str]:
    """What others have committed since the session's transaction has read the table, and what this application has
    running or waiting on it."""
    metadata, session = target.table.metadata, session_id(spark)
    parts = _path(target)
    lines = [f"{told(one)}, committed since the transaction has read the table" for one in _since(environment, target)]
    others = environment.transactions.changing(parts, besides=session)
    if others:
        lines.append(
            f"{others} open transaction{'s' if others > 1 else ''} of other sessions with changes of the table"
        )
    if environment.statements_run_again(target.table):
        lines.append("statements that run again after a conflict, which have their turn first")
    tasks = [task for task in environment.care.tasks() if task.table == path_text(parts)]
    lines += [f"{task.kind} in the background, {task.state}" for task in tasks if task.state in ("waiting", "running")]
    streams = [
        query.name or query.id
        for query in spark.streams.active
        if f"{PROGRESS_PREFIX}{query.id}" in metadata.properties
    ]
    if streams:
        lines.append(f"streams of the session that write to the table: {_named(streams)}")
    return lines


def _since(environment: Environment, target: Target) -> Sequence[Snapshot]:
    """The newest snapshots that the table has, and not in the session's transaction."""
    if not environment.is_in_transaction:
        return []
    catalog = replace(environment.catalogs, transaction=None).catalog(target.name.catalog)
    try:
        newest = catalog.load_table(target.table.identifier).metadata
    except NotFoundError:  # the transaction has created it, or another has dropped it
        return []
    unread = [one for one in newest.snapshots if target.table.metadata.snapshot_or_none(one.snapshot_id) is None]
    return unread[-_MOST_NAMED:]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join([*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
