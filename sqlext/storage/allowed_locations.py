"""Where the files of one catalog may be: what it opens, and what it may delete because metadata says so.

Locations come from metadata, which another engine, or somebody else, may have written. So what they name is held to
the catalog's settings, with symbolic links resolved. A link that is put in between this look and the use is not seen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from sqlext.errors import AnalysisError, SqlextError
from sqlext.storage.location import as_location, is_below, is_object, same_place, to_local_path

ALLOWED_LOCATIONS = "allowed-locations"


@dataclass(frozen=True, slots=True)
class AllowedLocations:
    """`own` are folders in which files are the catalog's: its warehouse, and what `allowed-locations` names beside it.

    With `confined` nothing elsewhere is read or written either.
    """

    own: tuple[str, ...] = ()
    confined: bool = False

    def require_readable(self, location: str) -> None:
        """`AnalysisError` LOCATION_NOT_ALLOWED; errors as `to_local_path` for a location that names no file."""
        if self.confined:
            self._require_own(location)
        elif not is_object(location):
            to_local_path(location)

    def require_writable(self, location: str) -> None:
        """As `require_readable`; also where a link leads out of the folder that a location says to be in."""
        if self.confined or any(is_within(folder, location) for folder in self.own):
            self._require_own(location)
        elif not is_object(location):
            to_local_path(location)

    def owns(self, location: str) -> bool:
        """Whether a file of that name may be deleted because a table's metadata names it."""
        try:
            place = resolved(location)
        except SqlextError:
            return False
        return any(is_within(resolved(folder), place) for folder in self.own)

    def _require_own(self, location: str) -> None:
        if not self.owns(location):
            # Of a location that names no file that is the reason.
            resolved(location)
            raise AnalysisError("LOCATION_NOT_ALLOWED", location=location, allowed=", ".join(self.own) or "nothing")


def is_within(folder: str, location: str) -> bool:
    """Whether it is the folder, or below it, by its text."""
    return same_place(folder) == same_place(location) or is_below(folder, location)


def resolved(location: str) -> str:
    """The location with symbolic links resolved, also where it is not there. Errors as `to_local_path`."""
    return same_place(location) if is_object(location) else os.path.realpath("/" + to_local_path(location).lstrip("/"))


def named_folders(setting: str) -> tuple[str, ...]:
    """The folders of the setting, which commas separate, as locations. Errors as `as_location`."""
    return tuple(as_location(one) for one in (part.strip() for part in setting.split(",")) if one)
