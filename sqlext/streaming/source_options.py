"""Options of a streaming read, by Iceberg's names where Iceberg has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.commit.actions.consumer import require_consumer_id
from sqlext.errors import AnalysisError

_KNOWN = (
    "consumer-id",
    "protect-from-expiry",
    "row-kinds",
    "start-snapshot-id",
    "stream-from",
    "stream-from-timestamp",
    "streaming-max-files-per-micro-batch",
    "streaming-max-rows-per-micro-batch",
    "streaming-skip-delete-snapshots",
    "streaming-skip-overwrite-snapshots",
)
_OF_SPARK = ("path", "table", "sqlext.name", "sqlext.table")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The parsed options of a streaming read.

    A stream begins at its `consumer`'s progress in the table, if any; else after the snapshot `start_snapshot`, after
    the one current at `start_ms` (milliseconds since 1970), after the newest (`from_latest`), or with all rows.
    `max_files` and `max_rows` limit a batch. Snapshots with an operation of `skipped` are skipped. With `protects` a
    stream without a consumer also has the table keep what it has yet to read.
    """

    row_kinds: bool = False
    start_snapshot: int | None = None
    start_ms: int | None = None
    from_latest: bool = False
    max_files: int | None = None
    max_rows: int | None = None
    skipped: frozenset[str] = frozenset()
    consumer: str | None = None
    protects: bool = True


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """The parsed options. Raises AnalysisError UNKNOWN_STREAM_OPTION with the known names, INVALID_STREAM_OPTION and
    INVALID_CONSUMER_ID."""
    given = {name.lower(): value.strip() for name, value in options.items() if name.lower() not in _OF_SPARK}
    for name in given:
        if name not in _KNOWN:
            raise AnalysisError("UNKNOWN_STREAM_OPTION", kind="read", name=name, known=", ".join(_KNOWN))
    start = given.get("stream-from", "all").lower()
    if start not in ("all", "latest"):
        raise _invalid("stream-from", given["stream-from"], "it must be all or latest")
    places = {"start-snapshot-id", "stream-from", "stream-from-timestamp"} & given.keys()
    if len(places) > 1:
        raise _invalid(min(places), given[min(places)], f"{max(places)} is set too")
    if "consumer-id" in given and not _boolean(given, "protect-from-expiry", "true"):
        raise _invalid("protect-from-expiry", "false", "consumer-id is set too, and a consumer protects its position")
    skips = (("delete", "streaming-skip-delete-snapshots"), ("overwrite", "streaming-skip-overwrite-snapshots"))
    return SourceOptions(
        row_kinds=_boolean(given, "row-kinds"),
        start_snapshot=_number(given, "start-snapshot-id", 0),
        start_ms=_number(given, "stream-from-timestamp", 0),
        from_latest=start == "latest",
        max_files=_number(given, "streaming-max-files-per-micro-batch", 1),
        max_rows=_number(given, "streaming-max-rows-per-micro-batch", 1),
        consumer=_consumer(given),
        protects=_boolean(given, "protect-from-expiry", "true"),
        skipped=frozenset(operation for operation, name in skips if _boolean(given, name)),
    )


def _consumer(given: Mapping[str, str]) -> str | None:
    consumer = given.get("consumer-id")
    if consumer is not None:
        require_consumer_id(consumer)
    return consumer


def _boolean(given: Mapping[str, str], name: str, default: str = "false") -> bool:
    value = given.get(name, default).lower()
    if value not in ("true", "false"):
        raise _invalid(name, given[name], "it must be true or false")
    return value == "true"


def _number(given: Mapping[str, str], name: str, least: int) -> int | None:
    if name not in given:
        return None
    if not (given[name].isascii() and given[name].isdigit() and int(given[name]) >= least):
        raise _invalid(name, given[name], f"it must be a whole number of at least {least}")
    return int(given[name])


def _invalid(name: str, value: str, reason: str) -> AnalysisError:
    return AnalysisError("INVALID_STREAM_OPTION", kind="read", name=name, value=value, reason=reason)
