"""A snapshot that was in the way of another commit, with what its summary tells of its author."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from sqlext.errors import Contender
from sqlext.spec.metadata.snapshot import Snapshot

MOST_LISTED = 20
"""How many files and keys a conflict lists at most."""
_MOST_ENTRIES = 12
_LONGEST_VALUE = 200
# Entries of a summary that count files and rows (spec: Optional Snapshot Summary Fields).
_COUNTS = ("added-", "changed-", "deleted-", "entries-", "manifests-", "partition", "removed-", "replace-", "total-")


def contender_of(
    snapshot: Snapshot, planned_on: int | None, files: Iterable[str] = (), keys: Iterable[str] = ()
) -> Contender:
    """The snapshot as a `Contender`, with up to `MOST_LISTED` of the files and keys."""
    return Contender(
        planned_on,
        snapshot.snapshot_id,
        snapshot.operation,
        snapshot.timestamp_ms,
        _author(snapshot.summary),
        tuple(islice(files, MOST_LISTED)),
        tuple(islice(keys, MOST_LISTED)),
    )


def _author(summary: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The entries that count nothing: names and ids of an engine, an application and a user, and what these add."""
    told = [(name, value) for name, value in summary.items() if not name.startswith(_COUNTS) and name != "operation"]
    return tuple((name, value[:_LONGEST_VALUE]) for name, value in told[:_MOST_ENTRIES])
