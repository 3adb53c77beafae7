"""What the figures must be: each target compares two of one run's results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import care, without_spark
from benchmarks.data_file_rewrites import DELETED, SMALL, SORTED
from benchmarks.evolved import ADDED_COLUMN
from benchmarks.history import CODECS, SNAPSHOTS
from benchmarks.maintenance import EXPIRY, ORPHAN_FILES
from benchmarks.manifest_rewrites import CASE as REWRITE
from benchmarks.planning import CASES, FILES
from benchmarks.row_changes import COMMITS
from benchmarks.small_commits import APPENDERS, EACH, GROUPED, THREADS

_ROWS = ("1.5 M rows", "15 M rows")
_UPSERTS = {
    "equality": (1 / 5, 1 / 10),
    "resolved": (1 / 2.5, 1 / 4),
    "resolved, compacted": (1 / 2.5, 1 / 4),
}
_SCANS_AFTER = {
    "equality": (1.2, 1.5, 2.0),
    "resolved": (1.1, 1.1, 1.1),
    "resolved, compacted": (1.1, 1.1, 1.1),
}
_CASES = [f"{files:,} files {case.name}" for files in FILES for case in CASES]


@dataclass(frozen=True, slots=True)
class Figure:
    """Names one result."""

    suite: str
    case: str
    system: str
    mode: str

    def of(self, results: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        for one in results:
            if all(one[name] == getattr(self, name) for name in ("suite", "case", "system", "mode")):
                return one
        return None


@dataclass(frozen=True, slots=True)
class Target:
    """`figure` must be at most `limit` times `beside`; without `beside`, at most so many of its unit.

    `per` divides the ratio, as by how much larger the one table is. Without `limit` the figure is only told.
    """

    figure: Figure
    limit: float | None
    beside: Figure | None = None
    per: float = 1

    def judged(self, results: Sequence[Mapping[str, Any]]) -> str | None:
        """One line that says whether it is met; None if the run has not what it takes."""
        found = self.figure.of(results)
        other = self.beside.of(results) if self.beside else None
        if found is None or (self.beside is not None and other is None):
            return None
        name = f"{self.figure.suite}, {self.figure.case}, {self.figure.mode}"
        if self.beside is None or other is None:
            return f"{_verdict(found['amount'], self.limit)} {name}: {found['amount']:.0f} {found['unit']}"
        if found["amount"] is not None and other["amount"] is not None:
            ratio = found["amount"] / other["amount"]
            return f"{_verdict(ratio, self.limit)} {name}: {ratio:.3f} x {other['mode']}"
        wall, cpu = (found["cost"][of] / max(other["cost"][of], 1e-9) / self.per for of in ("wall", "cpu"))
        than = other["system"] if other["system"] != found["system"] else f"{other['case']}, {other['mode']}"
        return f"{_verdict(wall, self.limit)} {name}: {wall:.3f} x {than} (CPU {cpu:.3f})"


def _verdict(figure: float, limit: float | None) -> str:
    if limit is None:
        return "               "
    return f"{'met   ' if figure <= limit else 'MISSED'} (<= {limit:g})".ljust(15)


def judgements(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for target in _targets():
        said = target.judged(results)
        if said is not None:
            yield said


def _targets() -> Iterator[Target]:
    for case in _CASES:
        repeated = 0.3 if case.startswith(f"{FILES[0]:,} ") else 0.05
        for what, mode, limit in (
            ("scan planning", "cold", 1.0),
            ("scan planning", "repeated", repeated),
            ("scan planning", "other values", None),
            ("whole query", "repeated", None),
            ("whole query", "other values", None),
        ):
            yield Target(_planning(case, what, mode), limit, _planning(case, what, mode, "iceberg"))
    small, large = (f"{files:,} files {CASES[1].name}" for files in FILES)
    ratio = FILES[1] / FILES[0]
    for mode in ("cold", "other values"):
        of_large, of_small = (_planning(case, "scan planning", mode) for case in (large, small))
        yield Target(of_large, 1.0, of_small, per=ratio)
    for case in _CASES:
        for what in ("driver memory, Python's peak", "driver memory, JVM's heap"):
            yield Target(_planning(case, what, "cold"), 500)
    for case, other in (("all columns", "not evolved"), ("filtered", "not evolved"), (ADDED_COLUMN, "written so")):
        yield Target(Figure("evolved", case, "sqlext", "evolved"), 1.05, Figure("evolved", case, "sqlext", other))

    short, *longer = (f"{count:,} snapshots" for count in SNAPSHOTS)
    for codec in CODECS:
        for case in longer:
            yield Target(_sqlext("history", case, codec), 1.3, _sqlext("history", short, codec))
    rewrites = (Figure("manifest_rewrites", REWRITE, system, "") for system in ("sqlext", "iceberg"))
    yield Target(next(rewrites), 0.5, next(rewrites))

    for case, limit, peer in (
        (without_spark.UPSERT, 0.25, without_spark.PYICEBERG),
        (without_spark.MEMORY, 1.0, without_spark.PYICEBERG),
        (without_spark.APPEND, 1.0, without_spark.DELTALAKE),
    ):
        figures = (_sqlext("without_spark", case, library) for library in (without_spark.LOCAL, peer))
        yield Target(next(figures), limit, next(figures))

    yield from _of_care()
    yield from _of_row_changes()
    yield from _of_small_commits()
    for case, limit in ((EXPIRY, 0.2), (ORPHAN_FILES, 0.5)):
        yield Target(_sqlext("maintenance", case, ""), limit, Figure("maintenance", case, "iceberg", ""))
    for case, limit in ((SMALL, 0.35), (DELETED, 0.35), (SORTED, 0.7)):
        yield Target(_sqlext("rewrites", case, ""), limit, Figure("rewrites", case, "iceberg", ""))


def _of_care() -> Iterator[Target]:
    for count, (mode, *_) in care.RUNS.items():

        def figure(what: str, count: int = count, mode: str = mode) -> Figure:
            return _sqlext("care", care.case(count, what), mode)

        yield Target(figure("beyond the median"), 0.25, figure("all"))
        yield Target(figure("slowest"), 3, figure("median"))
        yield Target(figure("last"), 1.2, figure("first"))
        yield Target(figure("scan"), 1.15, figure("scan of a clean table"))
        yield Target(figure("metadata"), 30)
        yield Target(figure("live files"), 60)


def _of_row_changes() -> Iterator[Target]:
    for way, limits in _UPSERTS.items():
        for mode in ("copy-on-write", "merge-on-read v2", "merge-on-read v3"):
            of_upserts, of_one_row = limits
            yield Target(
                _sqlext("upsert", "10 rounds", way), of_upserts, Figure("upsert", "10 rounds", "iceberg", mode)
            )
            limit = of_one_row if mode != "copy-on-write" else None
            yield Target(_sqlext("one_row", _ROWS[0], way), limit, Figure("one_row", _ROWS[0], "iceberg", mode))
        yield Target(_sqlext("one_row", _ROWS[1], way), 1.3, _sqlext("one_row", _ROWS[0], way))
        for commits, limit in zip(COMMITS, _SCANS_AFTER[way], strict=True):
            clean = _sqlext("scan_after", "no upserts", way)
            yield Target(_sqlext("scan_after", f"{commits} upserts", way), limit, clean)
    for case, limit in (("DELETE 0.5 %", 1 / 1.5), ("UPDATE 1 %", 1 / 2.5)):
        beside = Figure("delete_update", case, "iceberg", "merge-on-read v3")
        yield Target(_sqlext("delete_update", case, "merge-on-read v3"), limit, beside)


def _of_small_commits() -> Iterator[Target]:
    for mode in ("", GROUPED):
        yield Target(_sqlext("one_row_inserts", "all", mode), 0.3, Figure("one_row_inserts", "all", "iceberg", ""))
        first = _sqlext("one_row_inserts", "first", mode)
        yield Target(_sqlext("one_row_inserts", "last", mode), 1.2, first)
        case = f"{THREADS} x {EACH}"
        yield Target(_sqlext("threads_insert", case, mode), 0.35, Figure("threads_insert", case, "iceberg", ""))
        case = f"{APPENDERS} for a minute"
        typical = _sqlext("appenders", f"{case}, median", mode)
        yield Target(_sqlext("appenders", f"{case}, slowest", mode), 20, typical)
    grouped = _sqlext("file_appends", f"{APPENDERS} writers", GROUPED)
    yield Target(grouped, 1 / 30, Figure("one_row_inserts", "all", "iceberg", ""))
    yield Target(grouped, 1 / 30, Figure("file_appends", "one writer", "iceberg", "Java"))


def _sqlext(suite: str, case: str, mode: str) -> Figure:
    return Figure(suite, case, "sqlext", mode)


def _planning(case: str, what: str, mode: str, system: str = "sqlext") -> Figure:
    return Figure("planning", f"{case}: {what}", system, mode)
