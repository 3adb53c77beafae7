"""Locations of a table's files below one prefix, and below another one where the table is copied to."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Spellings of one place: engines write locations of local files with and without a scheme, and name S3 in three ways.
_LOCAL = re.compile(r"file:(?://(?:localhost)?(?=/))?(?=/)", re.IGNORECASE)
_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)


class PathOutsidePrefix(ValueError):
    """A location is not below the prefix that is to be replaced."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} is outside of the prefix")


@dataclass(frozen=True, slots=True)
class PathPrefix:
    """A prefix to be replaced by another; slashes at their ends do not matter.

    Locations are compared as text but for their schemes, of which one table may have several.
    """

    source: str
    target: str

    def relative(self, path: str) -> str:
        """The location behind the source prefix; empty for the prefix itself. Raises PathOutsidePrefix."""
        root, place = _with_slash(_place(self.source)), _place(path)
        if not _with_slash(place).startswith(root):
            raise PathOutsidePrefix(path)
        return place[len(root) :]

    def moved(self, path: str) -> str:
        """The location below the target prefix. Raises PathOutsidePrefix."""
        return below(self.target, self.relative(path))


def below(folder: str, relative: str) -> str:
    """A location in a folder; the folder itself if `relative` is empty."""
    return _with_slash(folder) + relative if relative else folder


def _place(path: str) -> str:
    return _S3.sub("s3://", _LOCAL.sub("", path, count=1), count=1)


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else path + "/"
