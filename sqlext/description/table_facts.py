"""The facts of a table as values, and as JSON. They need nothing but Python, so that any client can show them.

Times are ISO 8601 in UTC, sizes bytes. None stands for what is not known, such as rows that a summary does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` is as CREATE TABLE spells it, `default` an SQL expression."""

    name: str
    type: str
    in_key: bool = False
    required: bool = False
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A table property; `words` say what it does, None where sqlext does not know it."""

    name: str
    value: str
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A branch or tag."""

    name: str
    kind: str
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A snapshot as an event: who made it, what it did, and the rows that came and went.

    `rows_in` are rows of new files, `rows_out` rows of removed files and rows newly deleted by position: a rewrite has
    as many of both. `keys_out` are keys deleted by equality, of which each deletes any older rows. `rows` are those of
    the data files after it.
    """

    snapshot_id: int
    parent_id: int | None
    committed_at: str
    operation: str | None
    what: str
    by: str
    rows_in: int | None
    rows_out: int | None
    keys_out: int
    files_in: int
    files_out: int
    rows: int | None
    is_ancestor: bool
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Data files of at least `least` and less than `below` bytes."""

    least: int
    below: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a snapshot consists of.

    `dead_rows` are deleted by position, and still stored; they are at most so many if `dead_is_bound`.
    `deleted_keys` are deleted by equality, each any older rows.
    """

    data_files: int = 0
    bytes: int = 0
    stored_rows: int = 0
    dead_rows: int = 0
    dead_is_bound: bool = False
    deleted_keys: int = 0
    delete_files: int = 0
    partitions: int = 0
    manifests: int = 0
    sizes: tuple[SizeClass, ...] = ()

    @property
    def live_rows(self) -> int:
        """Rows that are not deleted by position."""
        return self.stored_rows - self.dead_rows

    @property
    def live_rows_told(self) -> str:
        """The live rows in words: `about` if delete files may name a row twice or delete by key."""
        told = f"{self.live_rows:,}"
        return f"about {told}" if self.dead_is_bound or self.deleted_keys else told

    @property
    def dead_rows_told(self) -> str:
        """The dead rows in words."""
        return f"{'at most ' if self.dead_is_bound and self.dead_rows else ''}{self.dead_rows:,}"


_COUNTED = ("manifest", "snapshot")


@dataclass(frozen=True, slots=True)
class CareTask:
    """What care would do now: `count` files, manifests or snapshots of `bytes`; None is not known."""

    name: str
    count: int | None
    bytes: int | None
    words: str | None

    @property
    def counted(self) -> str:
        """The count with what is counted, such as `1 manifest`; empty if it is not known."""
        noun = next((one for one in _COUNTED if self.name.startswith(one)), "file")
        return "" if self.count is None else plural_told(self.count, noun)


@dataclass(frozen=True, slots=True)
class Description:
    """A table, at one version. `commits` are the newest of `commit_count` snapshots, newest first."""

    name: str
    location: str
    metadata_location: str
    uuid: str
    format_version: int
    snapshot_id: int | None
    updated_at: str
    comment: str | None = None
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()
    key_is_enforced: bool = False
    checks: tuple[Check, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    ordered_by: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    references: tuple[Reference, ...] = ()
    commits: tuple[Commit, ...] = ()
    commit_count: int = 0
    contents: Contents = Contents()
    care: tuple[CareTask, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Description:
        """The description of `to_json`; raises TypeError for another object."""
        contents = dict(obj["contents"])
        contents["sizes"] = tuple(SizeClass(**one) for one in contents["sizes"])
        commits = tuple(Commit(**{**one, "references": tuple(one["references"])}) for one in obj["commits"])
        lists = {
            "columns": tuple(Column(**one) for one in obj["columns"]),
            "checks": tuple(Check(**one) for one in obj["checks"]),
            "settings": tuple(Setting(**one) for one in obj["settings"]),
            "references": tuple(Reference(**one) for one in obj["references"]),
            "care": tuple(CareTask(**one) for one in obj["care"]),
            **{name: tuple(obj[name]) for name in ("key", "partitioned_by", "ordered_by")},
        }
        return cls(**{**obj, **lists, "commits": commits, "contents": Contents(**contents)})


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def bytes_told(size: int | None) -> str:
    """A size in words, such as `1.5 MiB`; empty for None."""
    if size is None:
        return ""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if unit == 0:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    return f"{value:.0f} {_UNITS[unit]}" if value >= 100 or value == int(value) else f"{value:.1f} {_UNITS[unit]}"


def plural_told(count: int, noun: str) -> str:
    """A count with its noun, such as `1 file` or `1,024 files`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def count_told(number: int | None) -> str:
    """A number with separators; empty for None."""
    return "" if number is None else f"{number:,}"


def class_told(one: SizeClass) -> str:
    """A class of sizes in words."""
    return f"{bytes_told(one.least)} to {bytes_told(one.below)}" if one.least else f"below {bytes_told(one.below)}"


def key_told(described: Description) -> str:
    """The key in words."""
    if not described.key:
        return "none"
    said = "enforced on every write" if described.key_is_enforced else "not enforced: writers must see to it"
    return f"{', '.join(described.key)} ({said})"
