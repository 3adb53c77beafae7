"""Removal of delete files that can apply to no data file, by their partitions and sequence numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.scan.deletes.delete_file_index import referenced_data_file, sequence_number
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata


def remove_dangling_deletes(environment: Environment, target: Target) -> int:
    """Removes the dangling delete files at the head of the target's branch; returns how many. Raises errors of a
    commit."""
    catalog, branch = target.name.catalog, target.destination.branch
    table = environment.catalogs.load(target.name.parts)
    version = environment.version(catalog, table, None if branch == MAIN_BRANCH else branch)
    dangling = list(dangling_deletes(environment.scans.live_entries(version), table.metadata))
    if dangling and version.snapshot is not None:
        action = RewriteDeleteFiles(dangling, version.snapshot.snapshot_id)
        environment.commit(catalog, table, action, target.destination)
    return len(dangling)


def dangling_deletes(entries: Sequence[ManifestEntry], metadata: TableMetadata) -> Iterator[ContentFile]:
    """The delete files among live entries that apply to no data file: older than all data of their partition, or naming
    a data file that is gone."""
    oldest: dict[PartitionKey, int] = {}
    paths = set[str]()
    for entry in entries:
        if entry.file.content == Content.DATA:
            key, number = partition_key(entry.file), sequence_number(entry)
            oldest[key] = min(oldest.get(key, number), number)
            paths.add(entry.file.file_path)
    specs = metadata.specs_by_id()
    of_any = min(oldest.values(), default=None)
    for entry in entries:
        file = entry.file
        if file.content == Content.DATA:
            continue
        if file.content == Content.EQUALITY_DELETES:
            first = of_any if specs[file.spec_id].is_unpartitioned else oldest.get(partition_key(file))
            dangles = first is None or sequence_number(entry) <= first
        else:
            first, path = oldest.get(partition_key(file)), referenced_data_file(file)
            dangles = first is None or sequence_number(entry) < first or (path is not None and path not in paths)
        if dangles:
            yield file
