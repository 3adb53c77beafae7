"""Checks of data files by what they say of themselves: rows, nulls and bounds in the footers of Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow.parquet as pq

from sqlext.errors import CorruptionError, NotFoundError, SqlextError, StorageError
from sqlext.scan.checks.finding import Check, Finding
from sqlext.scan.deletes.delete_file_index import referenced_data_file
from sqlext.scan.deletes.position_delete import read_position_deletes
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec import single_value
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each, in_threads
from sqlext.write.existing.existing_file import FileHead, file_head
from sqlext.write.existing.existing_metrics import ColumnRange, column_range
from sqlext.write.existing.existing_schema import MatchedLeaf, SchemaMismatch, match


def data_file_findings(
    io: FileIO, metadata: TableMetadata, snapshots: Iterable[Snapshot], each: Each = in_threads
) -> Iterator[Finding]:
    """What live files of the snapshots say of themselves in contrast to their entries.

    Files that are missing or short, and manifests that cannot be read, are told by `check_table`.
    """
    files: dict[str, tuple[ContentFile, int]] = {}
    cache = ManifestCache(0)
    for snapshot in snapshots:
        try:
            listed = cache.manifests(io, snapshot)
        except SqlextError:
            continue
        for manifest in listed:
            try:
                live = cache.live_entries(io, manifest, metadata)
            except SqlextError:
                continue
            files.update({one.file.file_path: (one.file, snapshot.snapshot_id) for one in live})
    rows = {path: file.record_count for path, (file, _) in files.items() if file.content == Content.DATA}

    def of_file(one: tuple[ContentFile, int]) -> list[Finding]:
        file, id = one
        try:
            faults = list(_faults(io, file, metadata, rows))
        except NotFoundError:
            return []
        except StorageError:
            raise
        except (SqlextError, ValueError) as error:
            reason = str(error.parameters["reason"] if isinstance(error, CorruptionError) else error)
            return [Finding(Check.UNREADABLE, file.file_path, reason, f"a {file.file_format} file", snapshot_id=id)]
        return [Finding(check, file.file_path, found, expected, snapshot_id=id) for check, found, expected in faults]

    for found in each(of_file, [one for one in files.values() if not one[0].is_deletion_vector]):
        yield from found


_Fault = tuple[Check, str, str]


def _faults(io: FileIO, file: ContentFile, metadata: TableMetadata, rows: Mapping[str, int]) -> Iterator[_Fault]:
    if file.content == Content.POSITION_DELETES:
        yield from _of_positions(io, file, rows)
        return
    head = file_head(io, file.file_path, file.file_format)
    if head.rows != file.record_count:
        yield Check.COUNT, f"{head.rows} rows", f"{file.record_count}, by its entry"
    if head.footer is not None:
        yield from _of_footer(file, head, head.footer, metadata)


def _of_positions(io: FileIO, file: ContentFile, rows: Mapping[str, int]) -> Iterator[_Fault]:
    deleted = read_position_deletes(io, file.file_path, file.file_format)
    count = sum(len(positions) for positions in deleted.values())
    if count != file.record_count:
        yield Check.COUNT, f"{count} positions", f"{file.record_count}, by its entry"
    only = referenced_data_file(file)
    for path, positions in deleted.items():
        if only is not None and path != only:
            yield Check.REFERENCE, f"positions of {path}", f"of {only} alone, by its entry"
        if path in rows and positions and positions.max() >= rows[path]:
            yield Check.COUNT, f"position {positions.max()} of {path}", f"below {rows[path]}, its rows"


def _of_footer(file: ContentFile, head: FileHead, footer: pq.FileMetaData, metadata: TableMetadata) -> Iterator[_Fault]:
    mapping = NameMapping.of_table(metadata.properties) or NameMapping.of_schema(metadata.schema())
    try:
        leaves = match(head.schema, metadata.schema(), mapping.fields, frozenset(), head.instants)
    except SchemaMismatch:
        # It is of an earlier schema, which the current one reads by other types: its columns are not compared.
        return
    for leaf in leaves:
        if not leaf.repeated:
            yield from _of_column(file, leaf, column_range(footer, leaf), metadata.schema())


def _of_column(file: ContentFile, leaf: MatchedLeaf, known: ColumnRange, schema: Schema) -> Iterator[_Fault]:
    name, id = schema.column_name(leaf.field_id), leaf.field_id
    told = (file.null_value_counts or {}).get(id)
    if told is not None and known.nulls is not None and told != known.nulls:
        yield Check.COUNT, f"{known.nulls} nulls in {name}", f"{told}, by its entry"
    lower, upper = ((bounds or {}).get(id) for bounds in (file.lower_bounds, file.upper_bounds))
    if known.limits is None:
        return
    least, most = known.limits
    if lower is not None and (bound := single_value.decode(leaf.type, lower)) > least:
        yield Check.BOUND, f"{name} from {least!r}", f"from {bound!r}, by its entry"
    if upper is not None and (bound := single_value.decode(leaf.type, upper)) < most:
        yield Check.BOUND, f"{name} up to {most!r}", f"up to {bound!r}, by its entry"
