"""Checks of view metadata by itself: ids, references, history, queries (view spec: View Metadata)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.scan.checks.metadata_checks import CLOCKS_MS
from sqlext.spec.metadata.view_metadata import ViewMetadata, ViewVersion


def view_findings(metadata: ViewMetadata, location: str) -> Iterator[Finding]:
    """What is wrong in the view metadata of the file at `location`, which could be decoded."""
    for check, found, expected, severity in (*_repeated_ids(metadata), *_history(metadata), *_queries(metadata)):
        yield Finding(check, location, found, expected, severity)


_Fault = tuple[Check, str, str, Severity]


def _repeated_ids(metadata: ViewMetadata) -> Iterator[_Fault]:
    for kind, ids in (
        ("version", [one.version_id for one in metadata.versions]),
        ("schema", [one.schema_id for one in metadata.schemas]),
    ):
        for id, count in Counter(ids).items():
            if count > 1:
                yield Check.ID, f"the {kind} id {id} twice", "each id once", Severity.ERROR


def _history(metadata: ViewMetadata) -> Iterator[_Fault]:
    known = {one.version_id for one in metadata.versions}
    for entry in metadata.version_log:
        if entry.version_id not in known:
            found = f"version-log names version {entry.version_id}"
            yield Check.REFERENCE, found, "a version of the view", Severity.WARNING
    if metadata.version_log and metadata.version_log[-1].version_id != metadata.current_version_id:
        found = f"version-log ends with {metadata.version_log[-1].version_id}"
        yield Check.REFERENCE, found, f"the current version {metadata.current_version_id}", Severity.WARNING
    times = [one.timestamp_ms for one in metadata.version_log]
    if any(later < earlier - CLOCKS_MS for earlier, later in pairwise(times)):
        yield Check.HISTORY, "the times of version-log go back", "times that rise", Severity.WARNING


def _queries(metadata: ViewMetadata) -> Iterator[_Fault]:
    for version in metadata.versions:
        severity = Severity.ERROR if version.version_id == metadata.current_version_id else Severity.WARNING
        for found, expected in _query_faults(version):
            yield Check.REFERENCE, f"version {version.version_id} has {found}", expected, severity


def _query_faults(version: ViewVersion) -> Iterator[tuple[str, str]]:
    if not version.representations:
        yield "no query", "one for each dialect"
    queries = [one for one in version.representations if one.get("type") == "sql"]
    dialects = Counter(str(one.get("dialect", "")).lower() for one in queries)
    for dialect, count in dialects.items():
        if not dialect:
            yield "a query without a dialect", "the dialect that it is written in"
        elif count > 1:
            yield f"{count} queries of the dialect {dialect}", "one for each dialect"
    if any(not str(one.get("sql") or "").strip() for one in queries):
        yield "a query without text", "the text of a query"
