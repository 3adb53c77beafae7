"""Which kind of a table's files a location names, and so which step of a commit an access to it is."""

from __future__ import annotations

import re

_KINDS = (
    (re.compile(r"/_changelog/[^/]*\.parquet$"), "changelog data file"),
    (re.compile(r"/_changelog/snap-[^/]*\.avro$"), "changelog manifest list"),
    (re.compile(r"/_changelog/[^/]*-m[0-9]+\.avro$"), "changelog manifest"),
    (re.compile(r"/metadata/(v[0-9]+|[0-9]+-[^/]*)(\.gz)?\.metadata\.json$"), "table metadata"),
    (re.compile(r"/version-hint\.text$"), "hint"),
    (re.compile(r"/snap-[^/]*\.avro$"), "manifest list"),
    (re.compile(r"/[^/]*-m[0-9]+\.avro$"), "manifest"),
    (re.compile(r"\.puffin$"), "deletion vector"),
    (re.compile(r"\.parquet$"), "data file"),
)
FOLDER = "folder"
FILE_KINDS = (*(kind for _, kind in _KINDS), FOLDER)
"""What `kind_of` returns; delete files are of the kind "data file" too, as their names tell no difference."""


def kind_of(location: str) -> str:
    """One of `FILE_KINDS`."""
    return next((kind for pattern, kind in _KINDS if pattern.search(location)), FOLDER)
