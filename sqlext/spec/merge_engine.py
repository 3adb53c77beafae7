"""How rows of one key become one row: a table's merge engine, and what it does in each column.

The names are those of Paimon. `deduplicate` is no `MergeEngine`: there the last row replaces those before it whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.spec.row_order import UNORDERED, RowOrder

# Of these the result is the same in whatever order the values come.
UNORDERED_FUNCTIONS = frozenset({"sum", "product", "count", "min", "max", "bool_and", "bool_or"})
# These give a result for values that are taken back as well.
RETRACTING_FUNCTIONS = frozenset({"sum", "product", "count", "collect", "last_value", "last_non_null_value"})
# Of these a null is a value.
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
    """What becomes of the values of one column, in the order `order` of rows.

    `distinct` is of `collect`, `delimiter` of `listagg`. With `ignores_retractions` rows that take values back are
    passed over. With `grouped` so are rows without a value in any column of `order`.
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
        """Whether a row that takes a value back does something to the column that is told."""
        return self.ignores_retractions or self.function in RETRACTING_FUNCTIONS

    @property
    def is_ordered(self) -> bool:
        """Whether the result depends on the order of rows. Rows that are equal in a column of the order agree on it."""
        return self.function not in UNORDERED_FUNCTIONS and self.column not in self.order.columns


@dataclass(frozen=True, slots=True)
class MergeEngine:
    """An engine that combines rows; `columns` are all that are not in the key.

    `sequence` tells the order of rows. Rows that delete take their row away whole (`removes_on_delete`), or, with
    `takes_retractions`, take its values back where all columns can.
    With `keeps_first` a row that is stored stays as it is.
    """

    name: str
    columns: tuple[ColumnMerge, ...]
    sequence: RowOrder = UNORDERED
    removes_on_delete: bool = False
    takes_retractions: bool = False
    keeps_first: bool = False

    @property
    def takes_back(self) -> bool:
        """Whether rows may take values back."""
        return self.takes_retractions and all(one.retracts for one in self.columns)

    @property
    def is_ordered(self) -> bool:
        """Whether of several rows of a key it matters which comes first."""
        return self.removes_on_delete or any(one.is_ordered for one in self.columns)
