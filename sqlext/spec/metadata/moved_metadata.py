"""Metadata files of a table that is copied elsewhere: as they were written, but for locations."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from sqlext.spec.manifests.path_prefix import PathPrefix
from sqlext.spec.metadata.metadata_checksum import GZIP_MAGIC, MEMBER, closing
from sqlext.spec.metadata.stream_state import CLONE_PREFIX
from sqlext.spec.metadata.table_metadata import ungzipped

_PLACES = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


def moved_metadata(data: bytes, prefix: PathPrefix) -> bytes:
    """The bytes of a metadata file with its locations replaced, and without tags of clones; gzipped if they were.

    The bytes are those of valid table metadata. Raises PathOutsidePrefix.
    """
    obj: dict[str, Any] = json.loads(ungzipped(data))
    obj["location"] = prefix.moved(obj["location"])
    for list_name, name in (
        ("snapshots", "manifest-list"),
        ("metadata-log", "metadata-file"),
        ("statistics", "statistics-path"),
        ("partition-statistics", "statistics-path"),
    ):
        if obj.get(list_name):
            obj[list_name] = [_moved(one, name, prefix) for one in obj[list_name]]
    if obj.get("properties"):
        for name in _PLACES:
            obj["properties"] = _moved(obj["properties"], name, prefix)
    # The copy is no clone, and keeps nothing for one.
    for name in ("refs", "properties"):
        if obj.get(name):
            obj[name] = {key: one for key, one in obj[name].items() if not key.startswith(CLONE_PREFIX)}
    # The checksum is of another text, and that of a gzipped file is outside of the text.
    obj.pop(MEMBER, None)
    text = json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode()
    return gzip.compress(text, mtime=0) if data.startswith(GZIP_MAGIC) else text[:-1] + closing([text[:-1]])


def _moved(obj: Mapping[str, Any], name: str, prefix: PathPrefix) -> dict[str, Any]:
    return {**obj, name: prefix.moved(obj[name])} if obj.get(name) else dict(obj)
