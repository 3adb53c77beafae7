"""Options of a streaming write: those of a batch write, and others by the names of Flink's Iceberg sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.catalog.frame_options import (
    BATCH_OPTIONS,
    WriteOptions,
    known_write_options,
    require_not_contradicted,
    write_options,
)
from sqlext.spec.field_path import FieldPath, listed_paths

T = TypeVar("T")

_EMPTY_COMMITS = 10
# Options of the query, not of its sink.
_OF_SPARK = frozenset({"checkpointlocation", "path", "queryname", "table"})
_OWN = (
    "accept-checkpoint",
    "equality-field-columns",
    "max-continuous-empty-commits",
    "overwrite-enabled",
    "overwrite-mode",
    "route-by",
    "route-unknown",
    "write-parallelism",
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The parsed options of a streaming write.

    `overwrite` is "static" (each batch replaces all rows), "dynamic" (it replaces the partitions of its rows) or None.
    Every `empty_commits`th consecutive batch with nothing to commit makes a snapshot; none for 0. With
    `accept_checkpoint` a query may continue in a table without progress of its earlier batches. The column `route_by`
    names each row's table in the target's namespace, `route_unknown` the table of rows whose own does not exist.
    """

    write: WriteOptions = field(default_factory=WriteOptions)
    overwrite: str | None = None
    parallelism: int | None = None
    empty_commits: int = _EMPTY_COMMITS
    accept_checkpoint: bool = False
    route_by: str | None = None
    route_unknown: str | None = None


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options, whose names may be in any case.

    Raises AnalysisError UNKNOWN_STREAM_OPTION with the known names, INVALID_STREAM_OPTION, UnsupportedError for an
    idempotent batch, and as `write_options`.
    """
    given = {name: value for name, value in options.items() if name.lower() not in _OF_SPARK}
    known = {*_OWN, *known_write_options()}
    for name in given:
        if name.lower() not in known and not name.lower().startswith("snapshot-property."):
            raise AnalysisError("UNKNOWN_STREAM_OPTION", kind="write", name=name, known=", ".join(sorted(known)))
    for name in given:
        if name.lower() in BATCH_OPTIONS:
            reason = "a streaming query writes each of its batches once by itself"
            raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name=name, reason=reason)
    own = {name.lower(): value.strip() for name, value in given.items() if name.lower() in _OWN}
    enabled = _parsed(own, "overwrite-enabled", _boolean, default=False)
    return SinkOptions(
        write=replace(
            write_options({name: value for name, value in given.items() if name.lower() not in _OWN}),
            equality_columns=_parsed(own, "equality-field-columns", _columns, default=()),
        ),
        overwrite=_parsed(own, "overwrite-mode", _overwrite_mode, default="dynamic" if enabled else None),
        parallelism=_parsed(own, "write-parallelism", _positive, default=None),
        empty_commits=_parsed(own, "max-continuous-empty-commits", _count, default=_EMPTY_COMMITS),
        accept_checkpoint=_parsed(own, "accept-checkpoint", _boolean, default=False),
        route_by=own.get("route-by"),
        route_unknown=own.get("route-unknown"),
    )


def require_no_other_mode(options: WriteOptions) -> None:
    """Raises AnalysisError UPSERT_CONTRADICTED for an option that contradicts the upserts of update mode."""
    require_not_contradicted(
        options, "outputMode('update')", "Begin it with outputMode('append'), or without the option"
    )


def _parsed(own: Mapping[str, str], name: str, parse: Callable[[str], T], *, default: T) -> T:
    if name not in own:
        return default
    try:
        return parse(own[name])
    except ValueError as error:
        raise AnalysisError("INVALID_STREAM_OPTION", kind="write", name=name, value=own[name], reason=error) from None


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text.lower() == "true"


def _overwrite_mode(text: str) -> str | None:
    if text.lower() not in ("static", "dynamic"):
        raise ValueError("it must be static or dynamic")
    return text.lower()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("it must be a whole number that is not negative")
    return int(text)


def _positive(text: str) -> int | None:
    if _count(text) == 0:
        raise ValueError("it must be at least 1")
    return int(text)


def _columns(text: str) -> tuple[FieldPath, ...]:
    paths = listed_paths(text)
    if paths is None:
        raise ValueError("it must be columns, separated by commas")
    return paths
