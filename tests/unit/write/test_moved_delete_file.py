"""Position deletes as they are rewritten for another place."""

from __future__ import annotations

from sqlext.spec.manifests.path_prefix import PathPrefix
from sqlext.write.moved_delete_file import moved_position_deletes
from unit.command.lake import refused


def test_those_of_other_formats_are_refused() -> None:
    prefix = PathPrefix("/home/ada/from", "/home/ada/to")
    with refused("DELETE_FILE_NOT_MOVED", "they are ORC"):
        moved_position_deletes(b"ORC", "/home/ada/from/deletes.orc", "ORC", prefix)
