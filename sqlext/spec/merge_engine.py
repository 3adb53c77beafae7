"""The merge engine of a table: how rows of one key become one row, column by column (Paimon's rules and names).

Paimon's `deduplicate` is not a `MergeEngine`: the last row of a key replaces the others as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlext.spec.row_order import UNORDERED, RowOrder

# Functions that unite serialized sketches of distinct values (of Apache DataSketches) and bitmaps (Roaring).
SKETCH_FUNCTIONS = ("theta_sketch", "hll_sketch", "rbm32", "rbm64")
# Functions whose result does not depend on the order of the values.
UNORDERED_FUNCTIONS = frozenset({"sum", "product", "count", "min", "max", "bool_and", "bool_or", *SKETCH_FUNCTIONS})
# Functions that support retractions.
RETRACTING_FUNCTIONS = frozenset(
    {"sum", "product", "count", "collect", "merge_map", "nested_update", "last_value", "last_non_null_value"}
)
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
    "merge_map",
    "merge_map_with_keytime",
    "nested_update",
    "nested_partial_update",
    *SKETCH_FUNCTIONS,
)
# A text of these alone adds nothing to a `listagg`.
BLANKS = " \t\n\x0b\f\r"
NullKeys: TypeAlias = Literal["merge", "ignore", "error"]


@dataclass(frozen=True, slots=True)
class NestedRows:
    """An array of structs as rows (Paimon: nested table): of those with equal fields `key` one stays, the last one or
    the one with the greatest fields `sequence`. Without `key` all stay.

    `null_keys` says what becomes of elements with a null in the key; `limit` is the greatest number of elements.
    """

    key: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    null_keys: NullKeys = "merge"
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnMerge:
    """The aggregate `function` of one column over the rows of a key, sorted by `order`.

    `distinct` applies to `collect` and `listagg`, `delimiter` to `listagg`, `nested` to `nested_update` and
    `nested_partial_update`; `time` is the field of a map's values that orders them (`merge_map_with_keytime`). With
    `ignores_retractions` retracting rows are skipped. With `grouped` (Paimon: sequence group) rows with nulls in all
    columns of `order` are skipped.
    """

    column: str
    function: str
    order: RowOrder = UNORDERED
    distinct: bool = False
    delimiter: str = ","
    nested: NestedRows = NestedRows()
    time: str = ""
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
