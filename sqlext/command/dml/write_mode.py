"""What a write does with the rows that it brings and with those of the table, by its statement and its options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import DataFrame

from sqlext.command.change.row_level import Target
from sqlext.command.dml.replaced_rows import ReplacedRows
from sqlext.command.upsert.equality_columns import require_upsert
from sqlext.command.upsert.upsert import NAME_COLUMNS, require_upsertable
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import MERGE_ENGINE, ROWKIND_FIELD, UPSERT_ENABLED
from sqlext.spark.catalog.frame_options import WriteOptions

Mode = Literal["append", "overwrite", "overwrite partitions", "overwrite where"]


@dataclass(frozen=True, slots=True)
class WriteMode:
    """The mode of a write; `replaced` are the rows that "overwrite where" replaces."""

    mode: Mode
    replaced: ReplacedRows | None = None


def asked_mode(mode: Mode, options: WriteOptions, target: Target) -> Mode:
    """The mode, which the option `overwrite-enabled` changes to an overwrite of the partitions of the new rows, or of
    an unpartitioned table.

    Raises UnsupportedError OPTION_NOT_SUPPORTED if the option is false and the statement an overwrite.
    """
    if options.overwrite is False and mode != "append":
        reason = "the write is an overwrite"
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name="overwrite-enabled", reason=reason)
    if not options.overwrite or mode == "overwrite where":
        return mode
    return "overwrite" if target.table.metadata.spec().is_unpartitioned else "overwrite partitions"


def in_tasks(rows: DataFrame, most: int | None) -> DataFrame:
    """The rows in at most `most` tasks; None: as they are. For rows that are not upserted: those of one key have an
    order by task."""
    return rows if most is None else rows.coalesce(most)


def with_options(target: Target, options: WriteOptions) -> Target:
    """The target with the snapshot properties and settings of one write's options."""
    to = replace(target.destination, summary=options.summary)
    return replace(target, destination=to, settings={**target.settings, **options.settings})


def is_upsert(target: Target, options: WriteOptions, *, overwrites: bool) -> bool:
    """Whether rows are upserted: by the option `upsert-enabled`, else by the table's `write.upsert.enabled`, or because
    it has a merge engine or a row-kind field.

    Raises AnalysisError UPSERT_WITH_OVERWRITE, MERGE_ENGINE_BYPASSED, ROW_KINDS_BYPASSED, or as `require_upsertable`
    and `require_upsert`.
    """
    properties = target.table.metadata.properties
    merges = has_merge_engine(properties)
    kinds = ROWKIND_FIELD.of(properties)
    enabled = merges or kinds is not None or UPSERT_ENABLED.of(properties)
    said = enabled if options.upsert is None else options.upsert
    if kinds is not None and (overwrites or not said):
        way_out = "Empty the table with DELETE, and write with INSERT" if overwrites else "Leave 'upsert-enabled' out"
        raise AnalysisError("ROW_KINDS_BYPASSED", name=target.name, column=kinds, way_out=way_out)
    if merges and not said and not overwrites:
        raise AnalysisError("MERGE_ENGINE_BYPASSED", name=target.name, engine=MERGE_ENGINE.of(properties))
    if said and overwrites:
        way_out = "Set 'upsert-enabled'='false' for this write" if enabled else "Leave 'upsert-enabled' out"
        raise AnalysisError("UPSERT_WITH_OVERWRITE", name=target.name, way_out=f"{way_out}, or do not overwrite")
    if said:
        by_option = f"{NAME_COLUMNS}, or leave 'upsert-enabled' out"
        require_upsertable(target, by_option if options.upsert else "set write.upsert.enabled to false")
    else:
        require_upsert(target)
    return said
