"""Tags by which a table keeps the files that its shallow clones read.

The tag's name has the clone's uuid; the clone's properties name the source and the tag. DROP of the clone releases it,
and DROP of a table that has such tags is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier, name_parts, quoted
from sqlext.errors import AnalysisError, CommitConflict, SqlextError
from sqlext.spec.metadata.metadata_update import RemoveSnapshotRef, apply_updates
from sqlext.spec.metadata.stream_state import CLONE_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

_SOURCE, _TAG = f"{CLONE_PREFIX}source", f"{CLONE_PREFIX}tag"
_ATTEMPTS = 10


class _Tables(Protocol):
    def load_table(self, identifier: TableIdentifier) -> LoadedTable: ...

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable: ...


def clone_tag(table_uuid: str) -> str:
    """The tag of a clone."""
    return f"{CLONE_PREFIX}{table_uuid}"


def clone_properties(source: TableIdentifier, table_uuid: str) -> dict[str, str]:
    """The properties of a clone that name its source and tag."""
    return {_SOURCE: str(source), _TAG: clone_tag(table_uuid)}


def require_no_clones(metadata: TableMetadata, name: str) -> None:
    """Raises AnalysisError TABLE_HAS_CLONES if the table keeps files for a clone."""
    tag = next((ref for ref in sorted(metadata.refs) if ref.startswith(CLONE_PREFIX)), None)
    if tag is not None:
        raise AnalysisError("TABLE_HAS_CLONES", name=name, tag=quoted(tag))


def readable(tables: _Tables, identifier: TableIdentifier) -> TableMetadata | None:
    """The table's metadata; None if it is damaged, or there is none."""
    try:
        return tables.load_table(identifier).metadata
    except (SqlextError, OSError):
        return None


def release_source(tables: _Tables, clone: TableMetadata | None, clock: Callable[[], int]) -> None:
    """Removes the tag of a dropped clone from its source, which need not be there any more.

    A failure leaves the tag, and with it files that nobody needs: it can be dropped like any other.
    """
    if clone is None or _TAG not in clone.properties:
        return
    tag, parts = clone.properties[_TAG], name_parts(clone.properties.get(_SOURCE, ""))
    if tag != clone_tag(clone.table_uuid) or len(parts) < 2:
        return
    identifier = TableIdentifier(parts[:-1], parts[-1])
    with suppress(SqlextError, OSError):
        for _ in range(_ATTEMPTS):
            source = tables.load_table(identifier)
            if tag not in source.metadata.refs:
                return
            with suppress(CommitConflict):
                released = apply_updates(source.metadata, (RemoveSnapshotRef(tag),), now_ms=clock())
                tables.commit(identifier, source, released)
                return
