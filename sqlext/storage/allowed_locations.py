"""Which locations a catalog may read and write, and where it may delete files that metadata names.

Metadata may be written by another engine or by anybody, so the locations in it are checked against the catalog's
settings, with symbolic links resolved. A link created between check and use is not noticed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from sqlext.errors import AnalysisError, SqlextError
from sqlext.storage.location import as_location, is_below, is_object, same_place, to_local_path

ALLOWED_LOCATIONS = "allowed-locations"


@dataclass(frozen=True, slots=True)
class AllowedLocations:
    """`own` are the catalog's folders: its warehouse, and those that `allowed-locations` names.

    With `confined` nothing outside them is read or written either.
    """

    own: tuple[str, ...] = ()
    confined: bool = False

    def require_readable(self, location: str) -> None:
        """Raises AnalysisError LOCATION_NOT_ALLOWED, and as `to_local_path` for an invalid location."""
        if self.confined:
            self._require_own(location)
        elif not is_object(location):
            to_local_path(location)

    def require_writable(self, location: str) -> None:
        """As `require_readable`; raises also if a symbolic link leads from an own folder to another one."""
        if self.confined or any(is_within(folder, location) for folder in self.own):
            self._require_own(location)
        elif not is_object(location):
            to_local_path(location)

    def owns(self, location: str) -> bool:
        """Whether a file there may be deleted because a table's metadata names it."""
        try:
            place = resolved(location)
        except SqlextError:
            return False
        return any(is_within(resolved(folder), place) for folder in self.own)

    def _require_own(self, location: str) -> None:
        if not self.owns(location):
            # An invalid location raises its own error.
            resolved(location)
            raise AnalysisError("LOCATION_NOT_ALLOWED", location=location, allowed=", ".join(self.own) or "nothing")


def is_within(folder: str, location: str) -> bool:
    """Whether the location is the folder, or below it, without resolving links."""
    return same_place(folder) == same_place(location) or is_below(folder, location)


def resolved(location: str) -> str:
    """The location with symbolic links resolved; it need not exist. Raises as `to_local_path`."""
    return same_place(location) if is_object(location) else os.path.realpath("/" + to_local_path(location).lstrip("/"))


def named_folders(setting: str) -> tuple[str, ...]:
    """The comma-separated folders of a setting, as locations. Raises as `as_location`."""
    return tuple(as_location(one) for one in (part.strip() for part in setting.split(",")) if one)
