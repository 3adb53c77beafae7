"""The merge engine of a table: how rows of one key become one row, column by column (Paimon's rules and names).

Paimon's `deduplicate` is not a `MergeEngine`: the last row of a key replaces the others as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.spec.row_order import UNORDERED, RowOrder

# Functions whose result does not depend on the order of the values.
UNORDERED_FUNCTIONS = frozenset({"sum", "product", "count", "min", "max", "bool_and", "bool_or"})
# Functions that support retractions.
RETRACTING_FUNCTIONS = frozenset({"sum", "product", "count", "collect", "last_value", "last_non_null_value"})
# Functions that do not skip nulls.
NULL_TAKING_FUNCTIONS = frozenset({"last_value", "first_value"})
FUNCTIONS = (
    "sum",
    "product",
    "count",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "last_value",
    "last_non_null_value",
    "first_value",
    "first_non_null_value",
    "listagg",
    "collect",
)


@dataclass(frozen=True, slots=True)
class ColumnMerge:
    """The aggregate `function` of one column over the rows of a key, sorted by `order`.

    `distinct` applies to `collect`, `delimiter` to `listagg`. With `ignores_retractions` retracting rows are skipped.
    With `grouped` (Paimon: sequence group) rows with nulls in all columns of `order` are skipped.
    """

    column: str
    function: str
    order: RowOrder = UNORDERED
    distinct: bool = False
    delimiter: str = ","
    ignores_retractions: bool = False
    grouped: bool = False

    @property
    def retracts(self) -> bool:
        """Whether the column defines the effect of a retraction: `function` supports it, or it is ignored."""
        return self.ignores_retractions or self.function in RETRACTING_FUNCTIONS

    @property
    def is_ordered(self) -> bool:
        """Whether the result depends on the order of rows. A column of `order` itself is equal in all tied rows."""
        return self.function not in UNORDERED_FUNCTIONS and self.column not in self.order.columns


@dataclass(frozen=True, slots=True)
class MergeEngine:
    """An engine that combines rows; `columns` are all columns outside the key, `sequence` is the order of rows.

    A row of kind `-D` deletes the row of its key (`removes_on_delete`) or, with `takes_retractions`, retracts its
    values if all columns define that. With `keeps_first` a stored row is never changed.
    """

    name: str
    columns: tuple[ColumnMerge, ...]
    sequence: RowOrder = UNORDERED
    removes_on_delete: bool = False
    takes_retractions: bool = False
    keeps_first: bool = False

    @property
    def takes_back(self) -> bool:
        """Whether rows may retract values: the engine takes retractions, and every column defines their effect."""
        return self.takes_retractions and all(one.retracts for one in self.columns)

    @property
    def is_ordered(self) -> bool:
        """Whether the result depends on the order of the rows of a key."""
        return self.removes_on_delete or any(one.is_ordered for one in self.columns)
