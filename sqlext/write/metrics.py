"""Column metrics of a content file's manifest entry, from the file's footer.

Spec: Manifests, `data_file` fields 108 to 128. As in Iceberg, bounds of strings and bytes may be truncated, NaN is
never a bound, and fields inside a list or a map have neither counts nor bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

import pyarrow.parquet as pq

from sqlext.errors import AnalysisError
from sqlext.properties import METADATA_METRICS_COLUMN_PREFIX, METADATA_METRICS_DEFAULT, METADATA_METRICS_MAX_INFERRED
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import are_bounds_in_any_order, encode, scaled
from sqlext.spec.types import BinaryType, DecimalType, StringType, Type, UuidType, VariantType
from sqlext.write.parquet_column import ParquetColumn

_MODE = re.compile(r"(none|counts|full)|truncate\(\s*([1-9]\d*)\s*\)", re.IGNORECASE)
_MAX_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """Which metrics a column has; `length` is the number of code points or bytes of a truncated bound."""

    kind: Literal["none", "counts", "truncate", "full"]
    length: int | None = None


NONE = MetricsMode("none")
FULL = MetricsMode("full")


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """The metrics modes that a table's properties ask for.

    Where no property sets `default` it is None, and only the first `max_inferred` leaf columns have metrics, as the
    metrics of thousands would swamp the manifests.
    """

    default: MetricsMode | None
    columns: tuple[tuple[str, MetricsMode], ...] = ()
    max_inferred: int = METADATA_METRICS_MAX_INFERRED.default

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> MetricsConfig:
        """Raises AnalysisError INVALID_TABLE_PROPERTY for a mode that does not parse."""
        default_name = METADATA_METRICS_DEFAULT.name
        default = properties.get(default_name)
        prefix = METADATA_METRICS_COLUMN_PREFIX
        return cls(
            None if default is None else _parse_mode(default_name, default),
            tuple(
                (name.removeprefix(prefix), _parse_mode(name, text))
                for name, text in properties.items()
                if name.startswith(prefix)
            ),
            METADATA_METRICS_MAX_INFERRED.of(properties),
        )

    def with_bounds(self, columns: Iterable[str]) -> MetricsConfig:
        """The metrics with exact bounds of these columns."""
        return replace(self, columns=(*self.columns, *((name, FULL) for name in columns)))

    def require_columns(self, schema: Schema) -> None:
        """Raises AnalysisError INVALID_TABLE_PROPERTY for a column that the schema lacks, as Iceberg does."""
        known = {schema.column_name(id) for id in schema.field_ids}
        for name, mode in self.columns:
            if name not in known:
                value = mode.kind if mode.length is None else f"{mode.kind}({mode.length})"
                raise AnalysisError(
                    "INVALID_TABLE_PROPERTY",
                    name=f"{METADATA_METRICS_COLUMN_PREFIX}{name}",
                    value=value,
                    reason="the table has no such column",
                    default=f"what {METADATA_METRICS_DEFAULT.name} says",
                )

    def modes(self, schema: Schema, field_ids: Sequence[int]) -> tuple[MetricsMode, ...]:
        """The mode of each leaf column, which `field_ids` has in the order of the file."""
        named = dict(self.columns)
        inferred = _parse_mode(METADATA_METRICS_DEFAULT.name, METADATA_METRICS_DEFAULT.default)
        modes = []
        for position, field_id in enumerate(field_ids):
            fallback = self.default or (inferred if position < self.max_inferred else NONE)
            modes.append(named.get(schema.column_name(field_id), fallback))
        return tuple(modes)


def _parse_mode(name: str, text: str) -> MetricsMode:
    match = _MODE.fullmatch(text.strip())
    if match is None:
        raise AnalysisError(
            "INVALID_TABLE_PROPERTY",
            name=name,
            value=text,
            reason="it must be none, counts, truncate(length) or full",
            default=METADATA_METRICS_DEFAULT.default,
        )
    if match[2]:
        return MetricsMode("truncate", int(match[2]))
    kinds: dict[str, MetricsMode] = {"none": NONE, "counts": MetricsMode("counts"), "full": FULL}
    return kinds[match[1].lower()]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts, sizes and bounds by field id."""

    column_sizes: dict[int, int] = field(default_factory=dict)
    value_counts: dict[int, int] = field(default_factory=dict)
    null_value_counts: dict[int, int] = field(default_factory=dict)
    nan_value_counts: dict[int, int] = field(default_factory=dict)
    lower_bounds: dict[int, bytes] = field(default_factory=dict)
    upper_bounds: dict[int, bytes] = field(default_factory=dict)


def file_metrics(
    footer: pq.FileMetaData,
    columns: Sequence[ParquetColumn],
    modes: Sequence[MetricsMode],
    nan_counts: Mapping[int, int],
) -> Metrics:
    """The metrics of a file from its footer; `nan_counts` has an entry for each float column, by field id."""
    metrics = Metrics()
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    for position, (column, mode) in enumerate(zip(columns, modes, strict=True)):
        if mode == NONE:
            continue
        chunks = [group.column(position) for group in groups]
        size = sum(chunk.total_compressed_size for chunk in chunks)
        metrics.column_sizes[column.field_id] = metrics.column_sizes.get(column.field_id, 0) + size
        if not column.repeated:
            _add_counts(metrics, column, chunks, nan_counts)
            with_bounds = mode.kind != "counts" and not isinstance(column.type, VariantType)
            if with_bounds and all(chunk.is_stats_set for chunk in chunks):
                _add_bounds(metrics, column, mode.length, [chunk.statistics for chunk in chunks], footer.num_rows)
    return metrics


def _add_counts(metrics: Metrics, column: ParquetColumn, chunks: Sequence[Any], nan_counts: Mapping[int, int]) -> None:
    metrics.value_counts[column.field_id] = sum(chunk.num_values for chunk in chunks)
    if all(chunk.is_stats_set for chunk in chunks):
        metrics.null_value_counts[column.field_id] = sum(chunk.statistics.null_count for chunk in chunks)
    if column.field_id in nan_counts:
        metrics.nan_value_counts[column.field_id] = nan_counts[column.field_id]


def _add_bounds(
    metrics: Metrics, column: ParquetColumn, length: int | None, statistics: Sequence[Any], rows: int
) -> None:
    id = column.field_id
    known = [one for one in statistics if one.has_min_max]
    silent = sum(one.num_values for one in statistics if not one.has_min_max)
    # A chunk has no limits if its values are all NaN, or the limits very long; the latter leaves the file without
    # bounds.
    if not known or silent > metrics.nan_value_counts.get(id, 0):
        return
    lower = min(stored_value(column.type, one.min_raw) for one in known)
    upper = max(stored_value(column.type, one.max_raw) for one in known)
    if isinstance(column.type, UuidType) and not are_bounds_in_any_order(lower, upper):
        return
    if isinstance(column.type, StringType | BinaryType) and length is not None:
        lower, upper = lower[:length], truncated_upper(upper, length)
    metrics.lower_bounds[id] = encode(column.type, lower)
    if upper is not None:
        metrics.upper_bounds[id] = encode(column.type, upper)


def stored_value(type: Type, raw: Any) -> Any:
    """The stored value of a limit in Parquet's statistics."""
    match type:
        case DecimalType(scale=scale):
            return scaled(raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True), scale)
        case StringType():
            return raw.decode("utf-8")
        case UuidType():
            return UUID(bytes=raw)
    return raw


def truncated_upper(value: Any, length: int) -> Any:
    """The shortest value of at most `length` units that is not below `value`; None if there is none."""
    if len(value) <= length:
        return value
    rounded = _next_text(value[:length]) if isinstance(value, str) else _next_bytes(value[:length])
    return rounded or None


def _next_text(prefix: str) -> str:
    """The smallest text above all texts that start with `prefix`; empty if there is none."""
    for end in range(len(prefix), 0, -1):
        point = ord(prefix[end - 1]) + 1
        if point in _SURROGATES:
            point = _SURROGATES.stop
        if point <= _MAX_CODE_POINT:
            return prefix[: end - 1] + chr(point)
    return ""


def _next_bytes(prefix: bytes) -> bytes:
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else b""
