"""Changing table properties."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import AnalysisError
from sqlext.properties import FORMAT_VERSION
from sqlext.spec.metadata.metadata_update import MetadataUpdate, RemoveProperties, SetProperties, UpgradeFormatVersion
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ChangeProperties:
    """Sets and removes table properties; the last writer wins.

    `format-version` is not stored as a property: setting it upgrades the table in place.
    """

    changed: Mapping[str, str] = field(default_factory=dict)
    removed: AbstractSet[str] = frozenset()

    def begin(self, context: CommitContext) -> _Staging:
        return _Staging(self, context.name)


@dataclass(frozen=True, slots=True)
class _Staging:
    change: ChangeProperties
    name: str

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of properties needs a table")
        change = self.change
        updates: list[MetadataUpdate] = []
        format_version = FORMAT_VERSION.of({FORMAT_VERSION.name: str(base.format_version), **change.changed})
        if format_version < base.format_version:
            raise AnalysisError(
                "FORMAT_VERSION_DOWNGRADE", name=self.name, version=format_version, current=base.format_version
            )
        if format_version != base.format_version:
            updates.append(UpgradeFormatVersion(format_version))
        changed = {key: value for key, value in change.changed.items() if base.properties.get(key) != value}
        changed.pop(FORMAT_VERSION.name, None)
        removed = tuple(sorted(key for key in change.removed if key in base.properties))
        if changed:
            updates.append(SetProperties(changed))
        if removed:
            updates.append(RemoveProperties(removed))
        return StagedChange(base, tuple(updates), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""
