"""Places of files, by which locations of one file are equal however they are spelled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlext.errors import SqlextError
from sqlext.storage.location import is_object, same_place, to_local_path

NO_NAMES: Mapping[str, str] = MappingProxyType({})
# Hadoop's names of one object store.
_EQUAL_SCHEMES = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The prefix of a location, as scheme and authority, and the path behind it."""

    scheme: str
    authority: str
    path: str

    @property
    def prefix(self) -> str:
        return f"{self.scheme}://{self.authority}"


class FilePlaces:
    """Places of locations. `equal_schemes` and `equal_authorities` map names, or several with commas between them, to
    the one that they are equal to; symbolic links in folders are resolved."""

    def __init__(
        self, equal_schemes: Mapping[str, str] = NO_NAMES, equal_authorities: Mapping[str, str] = NO_NAMES
    ) -> None:
        self._schemes = {**_EQUAL_SCHEMES, **_by_name(equal_schemes)}
        self._authorities = _by_name(equal_authorities)
        self._folders: dict[str, str] = {}

    def of(self, location: str) -> FilePlace:
        """The place of a file, which is that of the link itself for a symbolic link."""
        if is_object(location):
            _, _, rest = same_place(location).partition("://")
            return self._place("s3", rest)
        try:
            path = "/" + to_local_path(location).lstrip("/")
        except SqlextError:
            scheme, _, rest = location.partition(":")
            return self._place(scheme, rest.removeprefix("//"))
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder or "/").rstrip("/")
        return self._place("file", f"{self._folders[folder]}/{name}")

    def needed_for(self, location: str) -> Iterable[FilePlace]:
        """The place of a file, and if that is a symbolic link, the place of the file to which it leads."""
        place = self.of(location)
        yield place
        if place.scheme == "file" and os.path.islink(place.path):
            yield self._place("file", os.path.realpath(place.path))

    def _place(self, scheme: str, rest: str) -> FilePlace:
        authority, slash, path = rest.partition("/")
        named = self._schemes.get(scheme, scheme)
        return FilePlace(named, self._authorities.get(authority, authority), slash + path)


class NeededFiles:
    """A set of places, in which a file is looked up by its path first."""

    def __init__(self, places: FilePlaces) -> None:
        self._places = places
        self._prefixes: dict[str, set[str]] = {}

    def add(self, locations: Iterable[str]) -> None:
        for location in locations:
            for place in self._places.needed_for(location):
                self._prefixes.setdefault(place.path, set()).add(place.prefix)

    def mismatch(self, location: str) -> tuple[str, str] | None:
        """The prefix of a file whose path is needed with other prefixes only, and one of these; else None."""
        place = self._places.of(location)
        prefixes = self._prefixes.get(place.path, ())
        return None if not prefixes or place.prefix in prefixes else (place.prefix, min(prefixes))

    def __contains__(self, location: str) -> bool:
        place = self._places.of(location)
        return place.prefix in self._prefixes.get(place.path, ())


def _by_name(equal: Mapping[str, str]) -> dict[str, str]:
    return {name.strip(): to.strip() for names, to in equal.items() for name in names.split(",")}
