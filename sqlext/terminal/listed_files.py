"""`sqlext files`: the data and delete files of a snapshot, as they are read from its manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from sqlext.description.table_facts import bytes_told, count_told
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.spec.transform import BucketTransform
from sqlext.terminal.described import print_left_out
from sqlext.terminal.named_catalog import NamedTable
from sqlext.terminal.output import print_json, print_rows
from sqlext.terminal.read_state import state_of

_KINDS = {
    Content.DATA: "data",
    Content.POSITION_DELETES: "position deletes",
    Content.EQUALITY_DELETES: "equality deletes",
}


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a snapshot; a deletion vector or position-delete file may be `of` one data file."""

    kind: str
    partition: str
    rows: int
    bytes: int
    format: str
    path: str
    of: str | None


def print_files(named: NamedTable, most: int | None, *, as_json: bool) -> None:
    """At most so many files; beyond them manifests are not read. Raises errors of reading."""
    state = state_of(named)
    listed = () if state.snapshot is None else state.manifests.manifests(state.io, state.snapshot)
    found = [_listed(named, file) for file in islice(_files(state, listed), most)]
    count = sum(_live(one) for one in listed) if most is not None and len(found) == most else len(found)
    if as_json:
        print_json({"table": named.name, "files": [asdict(one) for one in found], "left_out": count - len(found)})
        return
    rows = [
        (
            one.kind,
            one.partition,
            count_told(one.rows),
            bytes_told(one.bytes),
            one.path if one.of is None else f"{one.path} of {one.of}",
        )
        for one in found
    ]
    print_rows(("kind", "partition", "rows", "size", "path"), rows, right=("rows", "size"))
    print_left_out(len(found), count, "files")


def _files(state: TableState, listed: tuple[ManifestFile, ...]) -> Iterator[ContentFile]:
    return (entry.file for entry in state.manifests.live_entries_of(state.io, listed, state.metadata))


def _live(manifest: ManifestFile) -> int:
    """The files of a manifest, as far as its list tells."""
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


def _listed(named: NamedTable, file: ContentFile) -> ListedFile:
    return ListedFile(
        kind="deletion vector" if file.is_deletion_vector else _KINDS[file.content],
        partition=_partition(named, file),
        rows=file.record_count,
        bytes=file.content_bytes,
        format=file.file_format.lower(),
        path=file.file_path,
        of=file.referenced_data_file,
    )


def _partition(named: NamedTable, file: ContentFile) -> str:
    """The values of a file's partition, such as `day=2026-01-31/bucket=3`."""
    metadata = named.metadata
    spec = metadata.specs_by_id()[file.spec_id]
    told = spec.told_values((metadata.schema(), *metadata.schemas), file.partition)
    for field, value in zip(spec.fields, file.partition, strict=True):
        if isinstance(field.transform, BucketTransform):
            told[field.name] = None if value is None else str(value)
    names = (field.name for field in spec.fields if field.name in told)
    return "/".join(f"{name}={'null' if told[name] is None else told[name]}" for name in names)
