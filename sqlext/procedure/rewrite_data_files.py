"""rewrite_data_files: makes few files of many, without deleted rows, as they are or in an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.change.row_level import Target, load_target
from sqlext.command.compaction.chosen_part import condition, require_branch
from sqlext.command.compaction.data_file_rewrite import REWRITTEN_COLUMNS, DataFilesRewritten, rewrite_data_files
from sqlext.command.compaction.rewrite_options import RewriteOptions
from sqlext.command.compaction.rewrite_order import given_order, table_order, z_order
from sqlext.command.compaction.row_sort import ZOrder
from sqlext.command.ddl.alter_table import sort_term
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.properties import TARGET_FILE_SIZE_BYTES
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.sort_order import SortOrder
from sqlext.sql.statements.statement import SortTerm, TableName
from sqlext.sql.syntax.sort_order_syntax import parse_sort_order


def rewrite(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """One row of REWRITTEN_COLUMNS. Raises AnalysisError for arguments, otherwise as `rewrite_data_files`."""
    environment, spark, arguments = invocation.environment, invocation.spark, invocation.arguments
    name = TableName(invocation.table_parts(arguments["table"]))
    target = load_target(environment, spark, name, arguments["branch"])
    metadata = target.table.metadata
    require_branch(metadata, target.destination.branch, target.name)
    options, by = _options(target, arguments["strategy"], arguments["sort_order"], arguments["options"] or {})
    if bucket_count(metadata) is not None:
        raise REWRITE_DATA_FILES.refused("the table has buckets, whose files are sorted runs. CALL compact merges them")
    if target.version.snapshot is None:
        return [DataFilesRewritten().row()]
    chosen = condition(spark, target, arguments["where"])
    return [rewrite_data_files(environment, spark, target, chosen, options, by).row()]


def _options(
    target: Target, strategy: str | None, text: str | None, given: dict[str, str]
) -> tuple[RewriteOptions, SortOrder | ZOrder | None]:
    metadata, refused = target.table.metadata, REWRITE_DATA_FILES.refused
    way = (strategy or ("binpack" if text is None else "sort")).lower()
    if way not in ("binpack", "sort"):
        raise refused(f"strategy is {strategy}, and must be binpack or sort")
    if way == "binpack" and text is not None:
        raise refused("binpack keeps rows in their order, and sort_order asks for another one. Use strategy sort")
    terms = () if text is None else parse_sort_order(text)
    columns = tuple(term for term in terms if not isinstance(term, SortTerm))
    kind = "zorder" if columns else way
    size = TARGET_FILE_SIZE_BYTES.of(metadata.properties)
    options = RewriteOptions.of_data_files(given, metadata, size, kind, refused)
    if columns:
        return options, z_order(columns, metadata, options.text_bytes, options.z_bytes, refused)
    return options, _order(metadata, [term for term in terms if isinstance(term, SortTerm)], way)


def _order(metadata: TableMetadata, terms: Sequence[SortTerm], way: str) -> SortOrder | None:
    if way == "binpack":
        return None
    if not terms:
        return table_order(metadata, REWRITE_DATA_FILES.refused)
    return given_order([sort_term(term) for term in terms], metadata, REWRITE_DATA_FILES.refused)


REWRITE_DATA_FILES = Procedure(
    "rewrite_data_files",
    (
        Parameter("table", "string"),
        Parameter("strategy", "string", required=False),
        Parameter("sort_order", "string", required=False),
        Parameter("options", "map<string, string>", required=False),
        Parameter("where", "string", required=False),
        Parameter("branch", "string", required=False),
    ),
    REWRITTEN_COLUMNS,
    rewrite,
)
