"""Names of namespaces and tables, validated before they are used in paths.

A name becomes a folder's name, here and in Iceberg's Hadoop catalog. Names that could escape or hide in the parent
folder, or be read as another name there, are invalid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.errors import AnalysisError
from sqlext.spec.field_path import path_text

MAX_NAME_BYTES = 200

Namespace = tuple[str, ...]

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")
_ENCODED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_FORBIDDEN = "/\\:"
_VERSION = re.compile(r"(branch|tag)_(.+)|(snapshot_id|at_timestamp)_(\d+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class TableIdentifier:
    """A table's name in a catalog. Raises AnalysisError INVALID_NAME for a name that is not valid for a folder."""

    namespace: Namespace
    name: str

    def __post_init__(self) -> None:
        if not self.namespace:
            raise AnalysisError("INVALID_NAME", name=quoted(self.name), reason="a table name needs a namespace")
        check_namespace(self.namespace)
        check_name(self.name)

    def __str__(self) -> str:
        return quoted(*self.namespace, self.name)


def check_namespace(namespace: Namespace) -> None:
    """Raises AnalysisError INVALID_NAME unless every level is a valid name."""
    if not namespace:
        raise AnalysisError("INVALID_NAME", name="``", reason="a namespace needs at least one level")
    for level in namespace:
        check_name(level)


def check_name(name: str) -> None:
    """Raises AnalysisError INVALID_NAME unless `name` is safe as a folder's name."""
    reason = _objection(name)
    if reason is not None:
        raise AnalysisError("INVALID_NAME", name=quoted(name), reason=reason)


def _objection(name: str) -> str | None:
    if not name:
        return "it is empty"
    if name != name.strip():
        return "it begins or ends with white space"
    if name.startswith("."):
        return "it begins with a dot"
    for character in name:
        if character in _FORBIDDEN:
            return f"it holds the character {character!r}"
        if ord(character) < 32 or 127 <= ord(character) < 160:
            return "it holds a control character"
    encoded = _ENCODED.search(name)
    if encoded is not None:
        return f"it holds {encoded.group()!r}, an encoded path character"
    try:
        length = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        return "it is not valid Unicode text"
    if length > MAX_NAME_BYTES:
        return f"it has {length} bytes, and {MAX_NAME_BYTES} are the most"
    return None


def quoted(*parts: str) -> str:
    """The parts as a SQL name: joined by dots, in backticks where needed."""
    return path_text(parts)


def in_backticks(*parts: str) -> str:
    """The parts as a SQL name: joined by dots, each in backticks, so that no word of SQL is read as such."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def name_parts(text: str, least: int = 1) -> tuple[str, ...]:
    """The parts, at least so many, of a dotted SQL name, in backticks where they have dots. Raises AnalysisError
    INVALID_NAME."""
    parts, place = [], 0
    while True:
        found = _PART.match(text, place)
        if found is None:
            raise AnalysisError("INVALID_NAME", name=text, reason="it is no dotted name")
        parts.append(found[1].replace("``", "`") if found[1] else found[2].strip())
        if found.end() == len(text):
            break
        if text[found.end()] != ".":
            raise AnalysisError("INVALID_NAME", name=text, reason="a part in backticks ends before the next dot")
        place = found.end() + 1
    if len(parts) < least:
        raise AnalysisError("INVALID_NAME", name=text, reason="a table is named with its namespace, as in db.orders")
    return tuple(parts)


def version_in_name(part: str) -> tuple[str, str] | None:
    """The version of a table that the part behind its name selects, as in `db.orders.branch_audit`: `branch`, `tag`,
    `snapshot_id` or `at_timestamp`, in milliseconds, with its value; None for another part."""
    found = _VERSION.fullmatch(part)
    if found is None:
        return None
    kind, value = (found[1], found[2]) if found[1] else (found[3], found[4])
    return kind.lower(), value
