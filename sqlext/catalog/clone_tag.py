"""Tags by which a table keeps the files that its shallow clones read.

The tag's name has the clone's uuid; the clone's properties name the source and the tag. DROP of the clone releases it,
and DROP of a table that has such tags is refused, as is its RENAME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Protocol

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier, name_parts, quoted
from sqlext.errors import (
    AnalysisError,
    CommitConflict,
    CorruptionError,
    NotFoundError,
    SqlextError,
    UnsupportedError,
)
from sqlext.properties import GC_ENABLED
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


def is_clone(metadata: TableMetadata) -> bool:
    """Whether the table is a shallow clone, and not a copy of one."""
    return metadata.properties.get(_TAG) == clone_tag(metadata.table_uuid)


def snapshots_may_expire(metadata: TableMetadata) -> bool:
    """Whether sqlext expires snapshots of the table: with `gc.enabled`, and of a clone, since it deletes the files in
    the table's own folders only."""
    return GC_ENABLED.of(metadata.properties) or is_clone(metadata)


def require_no_clones(
    metadata: TableMetadata, name: str, change: str = "dropped", but: AbstractSet[str] = frozenset()
) -> None:
    """Raises AnalysisError TABLE_HAS_CLONES if the table keeps files for a clone other than by the tags `but`."""
    tag = next((ref for ref in sorted(metadata.refs) if ref.startswith(CLONE_PREFIX) and ref not in but), None)
    if tag is not None:
        raise AnalysisError("TABLE_HAS_CLONES", name=name, change=change, tag=quoted(tag))


def clones_first(
    tables: _Tables, names: CatalogNames, identifiers: Iterable[TableIdentifier]
) -> Sequence[TableIdentifier]:
    """The tables in an order in which all can be dropped: each clone before its source.

    Raises AnalysisError TABLE_HAS_CLONES for a clone that is not among them, and as `readable`.
    """
    loaded = {identifier: readable(tables, identifier) for identifier in identifiers}
    found = {identifier: None if table is None else table.metadata for identifier, table in loaded.items()}
    clones = {clone_tag(one.table_uuid): identifier for identifier, one in found.items() if one is not None}
    for identifier, metadata in found.items():
        if metadata is not None:
            require_no_clones(metadata, names.table(identifier), but=clones.keys())
    ordered: dict[TableIdentifier, None] = {}

    def add(identifier: TableIdentifier, above: tuple[TableIdentifier, ...]) -> None:
        metadata = found[identifier]
        for tag in () if metadata is None else sorted(metadata.refs):
            clone = clones.get(tag)
            if clone is not None and clone not in (*above, identifier):
                add(clone, (*above, identifier))
        ordered.setdefault(identifier)

    for identifier in found:
        add(identifier, ())
    return tuple(ordered)


def without_clones(
    tables: _Tables, names: CatalogNames, identifier: TableIdentifier, change: str = "dropped"
) -> LoadedTable | None:
    """The table as `readable`. Raises as `readable` and `require_no_clones`."""
    table = readable(tables, identifier)
    if table is not None:
        require_no_clones(table.metadata, names.table(identifier), change)
    return table


def readable(tables: _Tables, identifier: TableIdentifier) -> LoadedTable | None:
    """The table; None if its metadata is damaged, or cannot be read by this catalog at all.

    Raises StorageError or OSError if the store does not say so: then the table may have clones.
    """
    try:
        return tables.load_table(identifier)
    except (CorruptionError, NotFoundError, UnsupportedError, AnalysisError, FileNotFoundError):
        return None


def release_source(tables: _Tables, clone: LoadedTable | None, clock: Callable[[], int]) -> None:
    """Removes the tag of a dropped clone from its source, which need not be there any more.

    A failure leaves the tag, and with it files that nobody needs: it can be dropped like any other.
    """
    if clone is None or not is_clone(clone.metadata):
        return
    properties = clone.metadata.properties
    tag, parts = properties[_TAG], name_parts(properties.get(_SOURCE, ""))
    if len(parts) < 2:
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
