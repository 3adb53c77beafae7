"""What a removal says of its files as a whole agrees with what it says of each."""

from __future__ import annotations

import pytest

from sqlext.commit.snapshot.removal import RemoveDeleteFiles, RemoveNothing, RemovePaths, Selection, WithVectors
from sqlext.spec.manifests.content_file import Content, ContentFile


def _vector(path: str, offset: int, data_file: str) -> ContentFile:
    return ContentFile(
        Content.POSITION_DELETES,
        path,
        "PUFFIN",
        0,
        (),
        1,
        1,
        referenced_data_file=data_file,
        content_offset=offset,
        content_size_in_bytes=9,
    )


FILES = [
    *(ContentFile(Content.DATA, path, "PARQUET", 0, (), 1, 1) for path in ("a", "b")),
    ContentFile(Content.EQUALITY_DELETES, "d", "PARQUET", 0, (), 1, 1, equality_ids=(1,)),
    _vector("v", 4, "a"),
    _vector("v", 40, "b"),
]
SELECTIONS = {
    "nothing": RemoveNothing(),
    "data files": RemovePaths(frozenset({"a"})),
    "a vector of a file of two": RemoveDeleteFiles(frozenset({FILES[3].key})),
    "superseded vectors": WithVectors(RemoveNothing(), frozenset({FILES[4].key}), frozenset()),
    "vectors of data files": WithVectors(RemovePaths(frozenset({"b"})), frozenset(), frozenset({"b"})),
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS.keys())
def test_no_file_outside_of_the_listed_paths_is_selected(selection: Selection) -> None:
    listed = selection.listed()
    selected = {file.file_path for file in FILES if selection.selects(file)}
    assert listed is None or selected <= listed
    assert bool(selected) == (not isinstance(selection, RemoveNothing))
