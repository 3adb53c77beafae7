"""Adding existing data files to a table, in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.catalog.discarded_files import ADDED_IN_PLACE
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.metadata_update import SetProperties, apply_updates
from sqlext.spec.metadata.requirement import AssertCurrentSchemaId
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY
from sqlext.storage.location import same_place


@dataclass(frozen=True, slots=True)
class AddFiles:
    """Adds data files that the commit does not own: it never deletes them.

    Columns of the files were matched to schema `schema_id` by `name_mapping`, which becomes the table's if it has none.
    Raises `ValidationConflict` if a commit changed either, and with `check_duplicates` AnalysisError
    FILES_ALREADY_IN_TABLE for a file that is in the table already or twice in `files`.
    """

    files: Sequence[ContentFile]
    schema_id: int
    name_mapping: str
    check_duplicates: bool = True

    def begin(self, context: CommitContext) -> _Adding:
        return _Adding(self, context)


class _Adding:
    def __init__(self, action: AddFiles, context: CommitContext) -> None:
        self._action = action
        self._context = context
        self._production = SnapshotProduction(_Append(action), context)

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("files are added to a table")
        action = self._action
        mapping = base.properties.get(NAME_MAPPING_PROPERTY)
        if base.current_schema_id != action.schema_id or mapping not in (None, action.name_mapping):
            reason = "another statement changed the columns of the table"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        updates = () if mapping else (SetProperties({NAME_MAPPING_PROPERTY: action.name_mapping}),)
        added = self._production.stage(apply_updates(base, updates, now_ms=self._context.clock()))
        requirements = (AssertCurrentSchemaId(action.schema_id), *added.requirements)
        return StagedChange(base, (*updates, *added.updates), requirements, added.snapshot)

    def finish(self, landed: Snapshot | None) -> None:
        self._production.finish(landed)

    def abandon(self) -> None:
        self._production.abandon()


@dataclass(frozen=True, slots=True)
class _Append:
    action: AddFiles

    def change(self) -> FileChange:
        return AppendFiles(self.action.files, {ADDED_IN_PLACE: "true"}, owned=False).change()

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        if not self.action.check_duplicates:
            return
        places = Counter(same_place(file.file_path) for file in self.action.files)
        places.update(_places_in_table(context, base) & places.keys())
        twice = sorted(place for place, times in places.items() if times > 1)
        if twice:
            raise AnalysisError("FILES_ALREADY_IN_TABLE", count=len(twice), name=context.name, path=twice[0])


def _places_in_table(context: CommitContext, base: TableMetadata) -> frozenset[str]:
    head = base.head(context.destination.branch)
    listed = () if head is None else context.manifests.manifests(context.io, head)
    data = [manifest for manifest in listed if manifest.content == ManifestContent.DATA]
    live = context.manifests.live_entries_of(context.io, data, base)
    return frozenset(same_place(entry.file.file_path) for entry in live)
