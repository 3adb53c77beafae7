"""The part of a table that a procedure or OPTIMIZE works on: a condition, and a branch."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.errors import NotFoundError
from sqlext.spark.query.lowered_sql import lowered_expression, lowered_query
from sqlext.spark.scan.read_tables import read_predicates
from sqlext.spec.expression import AlwaysTrue, Predicate, disjunction
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata


def condition(spark: SparkSession, target: Target, where: str | None) -> Predicate:
    """The part of the condition that scan planning uses, by partitions and bounds; AlwaysTrue for None."""
    if where is None:
        return AlwaysTrue()
    query = lowered_query(spark, f"SELECT * FROM {target.relation}").where(lowered_expression(where))
    predicates = read_predicates(query, target.version)
    return disjunction(predicates)


def require_branch(metadata: TableMetadata, branch: str, name: object) -> None:
    """Raises NotFoundError REFERENCE_NOT_FOUND for a branch that does not exist, which procedures do not create."""
    if branch not in (MAIN_BRANCH, *metadata.refs):
        raise NotFoundError("REFERENCE_NOT_FOUND", type="branch", ref=branch, name=name)
