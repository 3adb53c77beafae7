"""The options of `rewrite_data_files` and `rewrite_position_delete_files`, as Iceberg 1.12 has them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlext.command.compaction.z_order import NUMBER_BYTES
from sqlext.errors import AnalysisError
from sqlext.scan.rewrite_candidates import SizeRules
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata

Refusal = Callable[[str], AnalysisError]
"""The error for an option, by its reason."""

_G = TypeVar("_G")
_MOST = 2**63 - 1
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_COMPRESSION = 1000
_SIZES = (
    "target-file-size-bytes",
    "min-file-size-bytes",
    "max-file-size-bytes",
    "min-input-files",
    "rewrite-all",
    "max-file-group-size-bytes",
    "max-file-group-input-files",
    "max-concurrent-file-group-rewrites",
    "partial-progress.enabled",
    "partial-progress.max-commits",
    "rewrite-job-order",
)
_DATA = (
    "delete-file-threshold",
    "delete-ratio-threshold",
    "max-files-to-rewrite",
    "output-spec-id",
    "partial-progress.max-failed-commits",
    "remove-dangling-deletes",
    "use-starting-sequence-number",
)
_SORT = ("compression-factor", "shuffle-partitions-per-file")
_Z_ORDER = ("max-output-size", "var-length-contribution")
_ORDERS = ("none", "bytes-asc", "bytes-desc", "files-asc", "files-desc")


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """How files are chosen, grouped, written and committed.

    `together` is how many groups are written at a time, None as many as there are. With `commits` not None there are at
    most so many, of which `failed_commits` may fail; else there is one. New files belong to `spec_id`. `text_bytes` and
    `z_bytes` are those of z-values.
    """

    rules: SizeRules
    spec_id: int
    job_order: str = "none"
    together: int | None = None
    commits: int | None = None
    failed_commits: int = 0
    removes_dangling: bool = False
    keeps_sequence_number: bool = True
    tasks_per_file: int = 1
    text_bytes: int = NUMBER_BYTES
    z_bytes: int = _MOST

    @classmethod
    def of_data_files(
        cls, given: Mapping[str, str], metadata: TableMetadata, target_bytes: int, way: str, refused: Refusal
    ) -> RewriteOptions:
        """The options of a rewrite in the way `binpack`, `sort` or `zorder`. Raises what `refused` gives, for an option
        that the way does not have, or a value that it cannot have."""
        sorts = _SORT if way != "binpack" else ()
        read = _Options(given, (*_SIZES, *_DATA, *sorts, *(_Z_ORDER if way == "zorder" else ())), way, refused)
        return cls(
            rules=read.rules(target_bytes),
            spec_id=read.spec_id(metadata),
            job_order=read.one_of("rewrite-job-order", _ORDERS),
            together=read.whole("max-concurrent-file-group-rewrites", None, 1),
            commits=read.commits(),
            failed_commits=read.at_least("partial-progress.max-failed-commits", read.most_commits(), 0),
            removes_dangling=read.truth("remove-dangling-deletes", False),
            keeps_sequence_number=read.truth("use-starting-sequence-number", True),
            tasks_per_file=read.at_least("shuffle-partitions-per-file", 1, 1),
            text_bytes=read.at_least("var-length-contribution", NUMBER_BYTES, 1),
            z_bytes=read.at_least("max-output-size", _MOST, 1),
        )

    @classmethod
    def of_delete_files(
        cls, given: Mapping[str, str], metadata: TableMetadata, target_bytes: int, refused: Refusal
    ) -> RewriteOptions:
        """The options of a rewrite of position-delete files. Raises as `of_data_files`."""
        read = _Options(given, _SIZES, "rewrite of position-delete files", refused)
        return cls(
            rules=read.rules(target_bytes),
            spec_id=metadata.default_spec_id,
            job_order=read.one_of("rewrite-job-order", _ORDERS),
            together=read.whole("max-concurrent-file-group-rewrites", None, 1),
            commits=read.commits(),
        )

    def in_job_order(self, groups: Sequence[_G], files: Callable[[_G], Sequence[ContentFile]]) -> Sequence[_G]:
        """Groups of files in the order in which they are rewritten; `files` gives those of a group."""
        by, _, direction = self.job_order.partition("-")
        if by == "none":
            return groups

        def size(group: _G) -> int:
            return sum(file.file_size_in_bytes for file in files(group)) if by == "bytes" else len(files(group))

        return sorted(groups, key=size, reverse=direction == "desc")

    def by_commit(self, groups: Sequence[_G]) -> Iterator[Sequence[_G]]:
        """The groups of each commit."""
        return chunks(groups, len(groups) if self.commits is None else -(-len(groups) // self.commits))


def chunks(groups: Sequence[_G], size: int) -> Iterator[Sequence[_G]]:
    """The groups in parts of `size`, the last of which may be smaller."""
    for start in range(0, len(groups), max(size, 1)):
        yield groups[start : start + size]


class _Options:
    def __init__(self, given: Mapping[str, str], known: tuple[str, ...], way: str, refused: Refusal) -> None:
        self._given = given
        self._refused = refused
        for name in given:
            if name not in known:
                raise refused(f"{way} has no option {name}; it has {', '.join(sorted(known))}")

    def rules(self, target_bytes: int) -> SizeRules:
        target = self.at_least("target-file-size-bytes", target_bytes, 1)
        least = self.at_least("min-file-size-bytes", target * 3 // 4, 0)
        most = self.at_least("max-file-size-bytes", target * 9 // 5, 1)
        if not least < target < most:
            raise self._refused(
                f"min-file-size-bytes is {least}, target-file-size-bytes {target} and max-file-size-bytes {most}, and"
                " the target must be between the others"
            )
        ratio = self._number("delete-ratio-threshold", 0.3)
        if not 0 < ratio <= 1:
            raise self._refused(f"delete-ratio-threshold is {ratio}, and must be above 0 and at most 1")
        compression = self._number("compression-factor", 1.0)
        if not 0 < compression <= _MOST_COMPRESSION:
            raise self._refused(
                f"compression-factor is {compression}, and must be above 0 and at most {_MOST_COMPRESSION}"
            )
        return SizeRules(
            target_bytes=target,
            min_bytes=least,
            max_bytes=most,
            min_files=self.at_least("min-input-files", 5, 1),
            rewrite_all=self.truth("rewrite-all", False),
            max_group_bytes=self.at_least("max-file-group-size-bytes", 100 * 1024**3, 1),
            max_group_files=self.whole("max-file-group-input-files", None, 1),
            delete_files=self.whole("delete-file-threshold", None, 0),
            delete_ratio=ratio,
            max_files=self.whole("max-files-to-rewrite", None, 1),
            compression=compression,
        )

    def spec_id(self, metadata: TableMetadata) -> int:
        id = self.whole("output-spec-id", metadata.default_spec_id, 0)
        specs = metadata.specs_by_id()
        if id not in specs:
            known = ", ".join(map(str, sorted(specs)))
            raise self._refused(f"output-spec-id is {id}, and the table has the partition specs {known}")
        assert id is not None
        return id

    def commits(self) -> int | None:
        """The most commits; None without partial progress."""
        most = self.most_commits()
        return most if self.truth("partial-progress.enabled", False) else None

    def most_commits(self) -> int:
        return self.at_least("partial-progress.max-commits", 10, 1)

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self._given.get(name, allowed[0]).lower()
        if value not in allowed:
            raise self._refused(f"{name} is {value}, and must be one of {', '.join(allowed)}")
        return value

    def truth(self, name: str, default: bool) -> bool:
        return self.one_of(name, ("false", "true") if not default else ("true", "false")) == "true"

    def whole(self, name: str, default: int | None, least: int) -> int | None:
        text = self._given.get(name)
        if text is None:
            return default
        digits = text.strip()
        if not _WHOLE.fullmatch(digits) or not least <= int(digits) <= _MOST:
            raise self._refused(f"{name} is {text}, and must be a whole number from {least} on")
        return int(digits)

    def at_least(self, name: str, default: int, least: int) -> int:
        value = self.whole(name, default, least)
        assert value is not None
        return value

    def _number(self, name: str, default: float) -> float:
        text = self._given.get(name)
        if text is None:
            return default
        if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(float(text)):
            raise self._refused(f"{name} is {text}, and must be a number")
        return float(text)
