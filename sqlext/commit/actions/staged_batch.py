"""A micro-batch's files as manifests before the commit, so that a restart commits them without writing rows again.

As in Flink's committer there are manifests of data files and of delete files. A JSON file in the metadata folder,
`stream-<query id>-<batch id>-<token>.json`, holds the rest and is written last, which makes the batch valid. None of
these files belongs to a snapshot.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyroaring import BitMap64

from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.merge_rules import merge_properties
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.manifest_writer import ManifestWriter
from sqlext.errors import CorruptionError, SqlextError
from sqlext.properties import UPSERT_ENABLED
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.deletion_vector import decode_deletion_vector, encode_deletion_vector
from sqlext.spec.manifests.manifest import UNASSIGNED_SEQUENCE_NUMBER, ManifestContent, ManifestFile, decode_manifest
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, metadata_location

_VERSION = 1
# The token is that of an attempt; manifests have a number behind it.
_STAGED_NAME = re.compile(r"stream-(.+)-([0-9]+)-[^-]+(?:-m[0-9]+\.avro|\.json)")

StagedAction: TypeAlias = AppendFiles | RowDelta | OverwriteFiles


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch that is ready to be committed. `plan` is the fingerprint of what it was planned to read.

    `location` is that of the JSON file; `manifests` are the other staged files.
    """

    batch_id: int
    plan: str
    location: str
    manifests: tuple[str, ...]
    action: StagedAction

    @property
    def files(self) -> tuple[ContentFile, ...]:
        """Content files that the batch adds."""
        match self.action:
            case AppendFiles(files=files):
                return tuple(files)
            case RowDelta(data_files=data, delete_files=deletes):
                return (*data, *deletes)
            case OverwriteFiles(added=added):
                return tuple(added)


def stage_batch(
    io: FileIO,
    metadata: TableMetadata,
    action: Action,
    *,
    query_id: str,
    batch_id: int,
    plan: str,
    how: str,
    token: str,
) -> StagedBatch | None:
    """Writes the manifests of an action and the JSON file that makes them valid.

    `how` identifies how the query writes, `token` the attempt.

    None if more than files would have to be kept: for an action that changes columns, depends on rows that it read, or
    removes files. Raises StorageError.
    """
    described = _described(action)
    if described is None:
        return None
    assert isinstance(action, AppendFiles | RowDelta | OverwriteFiles)
    name = f"stream-{query_id}-{batch_id}-{token}"
    writer = ManifestWriter(io, ManifestCache(), name, 1, makes_table=False)
    staged = StagedBatch(batch_id, plan, join(metadata_location(metadata), f"{name}.json"), (), action)
    # One manifest per content and spec, as in the commit.
    manifests = writer.add(staged.files, metadata)
    rows = action.deleted_rows if isinstance(action, RowDelta) else {}
    touched = writer.add([one.data_file(path) for path, one in rows.items()], metadata)
    described |= {
        "version": _VERSION,
        "batch": batch_id,
        "plan": plan,
        "how": how,
        "made-for": _made_for(metadata),
        "manifests": [_manifest(one) for one in manifests],
        "touched": [_manifest(one) for one in touched],
        "deleted-rows": {path: _encoded(one.positions) for path, one in rows.items()},
    }
    io.create(staged.location, json.dumps(described).encode(), make_folders=False)
    paths = tuple(one.path for one in (*manifests, *touched))
    return StagedBatch(batch_id, plan, staged.location, paths, action)


def staged_files(io: FileIO, metadata: TableMetadata, query_id: str) -> Sequence[str]:
    """Locations of all staged files of a query; a complete batch has one that ends in `.json`."""
    prefix = f"stream-{query_id}-"
    files = (file.path for file in io.list(metadata_location(metadata)))
    return [path for path in files if path.rpartition("/")[2].startswith(prefix)]


def staged_query_and_batch(location: str) -> tuple[str, int] | None:
    """The query and batch that a file is staged for, by its name; None for any other file."""
    found = _STAGED_NAME.match(location.rpartition("/")[2])
    return None if found is None else (found[1], int(found[2]))


def files_of_staged(io: FileIO, metadata: TableMetadata, location: str) -> Iterator[str]:
    """The locations in a staged batch's JSON file: of manifests, and of the content files in them.

    Raises CorruptionError for a file that is damaged, FileNotFoundError for one that is gone.
    """
    try:
        value = json.loads(io.read(location))
        described = [*value["manifests"], *value["touched"]]
        paths = [str(one["path"]) for one in described]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind="staged batch", reason=error) from error
    yield from paths
    for one in described:
        yield from (file.file_path for file in _files(io, metadata, one))


def load_staged(io: FileIO, metadata: TableMetadata, location: str, how: str) -> StagedBatch | None:
    """A staged batch; None if it can no longer be committed.

    A batch can be committed with an equal `how`, if the table's columns, partitioning, key, constraints and format
    version are unchanged and all files intact.
    """
    try:
        value = json.loads(io.read(location))
        if (value["version"], value["how"], value["made-for"]) != (_VERSION, how, _made_for(metadata)):
            return None
        files = [file for one in value["manifests"] for file in _files(io, metadata, one)]
        touched = {file.file_path: file for one in value["touched"] for file in _files(io, metadata, one)}
        deleted_rows = {
            path: DeletedRows(touched[path].spec_id, touched[path].partition, _decoded(text))
            for path, text in value["deleted-rows"].items()
        }
        if not all(io.exists(file.file_path) for file in files):
            return None
        paths = tuple(str(one["path"]) for one in (*value["manifests"], *value["touched"]))
        action = _action(value, files, deleted_rows)
        return StagedBatch(int(value["batch"]), str(value["plan"]), location, paths, action)
    except (SqlextError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _described(action: Action) -> dict[str, Any] | None:
    match action:
        case AppendFiles(summary_properties=summary) if not summary:
            return {"action": "append"}
        case OverwriteFiles(deleted_files=(), read_filter=None, needed_filter=None, unique_key=()) as overwrite:
            way = "all" if overwrite.delete_all else "partitions"
            return {"action": f"overwrite {way}", "base": overwrite.base_snapshot_id}
        case RowDelta(isolation=isolation, deleted_files=(), removed_delete_files=()) as delta:
            if isolation != SNAPSHOT and (delta.read_filter is not None or delta.needed_filter is not None):
                return None
            if delta.referenced_data_files != delta.deleted_rows.keys():
                return None
            return {"action": "row delta", "base": delta.base_snapshot_id, "unique-key": list(delta.unique_key)}
    return None


def _action(
    value: Mapping[str, Any], files: Sequence[ContentFile], deleted_rows: Mapping[str, DeletedRows]
) -> StagedAction:
    data = [file for file in files if file.content == Content.DATA]
    match value["action"]:
        case "append":
            return AppendFiles(files)
        case "overwrite all":
            return OverwriteFiles(files, delete_all=True)
        case "overwrite partitions":
            partitions = frozenset((file.spec_id, file.partition) for file in files)
            return OverwriteFiles(files, partitions=partitions, base_snapshot_id=value["base"])
        case "row delta":
            return RowDelta(
                data_files=data,
                delete_files=[file for file in files if file.content != Content.DATA],
                deleted_rows=deleted_rows,
                referenced_data_files=frozenset(deleted_rows),
                base_snapshot_id=value["base"],
                isolation=SNAPSHOT,
                unique_key=tuple(value["unique-key"]),
            )
    raise ValueError(value["action"])


def _made_for(metadata: TableMetadata) -> Mapping[str, Any]:
    """What the batch's rows depend on."""
    return {
        "table": metadata.table_uuid,
        "format-version": metadata.format_version,
        "schema": metadata.current_schema_id,
        "spec": metadata.default_spec_id,
        "rules": dict(row_rule_properties(metadata.properties)),
        "upserts": metadata.properties.get(UPSERT_ENABLED.name),
        "merges": merge_properties(metadata.properties),
    }


def _manifest(manifest: ManifestFile) -> Mapping[str, Any]:
    return {
        "path": manifest.path,
        "length": manifest.length,
        "spec": manifest.spec_id,
        "content": int(manifest.content),
    }


def _files(io: FileIO, metadata: TableMetadata, described: Mapping[str, Any]) -> Iterable[ContentFile]:
    unassigned = UNASSIGNED_SEQUENCE_NUMBER
    manifest = ManifestFile(
        path=described["path"],
        length=described["length"],
        spec_id=described["spec"],
        content=ManifestContent(described["content"]),
        sequence_number=unassigned,
        min_sequence_number=unassigned,
        added_snapshot_id=1,
        **dict.fromkeys(_COUNTS),
    )
    entries = decode_manifest(io.read(manifest.path), manifest, schema=metadata.schema(), specs=metadata.specs_by_id())
    return [entry.file for entry in entries]


_COUNTS = tuple(f"{what}_{of}_count" for of in ("files", "rows") for what in ("added", "existing", "deleted"))


def _encoded(positions: BitMap64) -> str:
    return base64.b64encode(encode_deletion_vector(positions.serialize())).decode()


def _decoded(text: str) -> BitMap64:
    try:
        return BitMap64.deserialize(decode_deletion_vector(base64.b64decode(text, validate=True)))
    except binascii.Error as error:
        raise ValueError(error) from None
