"""A test kit for pipelines that write tables of sqlext.

With pytest its fixtures are there (docs/testing.md); the extra `testing` brings pytest. Without pytest:

    Faults                 commits that lose, answers that are lost, stores that refuse, workers that die
    assert_tables_equal    two tables by their key, with a report of what differs
    table_difference       the same as a value
    TemporaryCatalog       a catalog in a folder of its own
    make_table             a table by columns and rows
    simulator              a package: seeded histories of changes against a pipeline of yours
"""

# Names are imported on first use: pytest loads the package for its plugin in every run, also in those that use nothing
# of it.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlext.testing.compared_tables import TableDifference, assert_tables_equal, table_difference
    from sqlext.testing.faults import FaultNotMet, Faults
    from sqlext.testing.made_table import make_table
    from sqlext.testing.temporary_catalog import TemporaryCatalog

__all__ = [
    "FaultNotMet",
    "Faults",
    "TableDifference",
    "TemporaryCatalog",
    "assert_tables_equal",
    "make_table",
    "table_difference",
]

_MODULES = {
    "FaultNotMet": "sqlext.testing.faults",
    "Faults": "sqlext.testing.faults",
    "TableDifference": "sqlext.testing.compared_tables",
    "TemporaryCatalog": "sqlext.testing.temporary_catalog",
    "assert_tables_equal": "sqlext.testing.compared_tables",
    "make_table": "sqlext.testing.made_table",
    "table_difference": "sqlext.testing.compared_tables",
}


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # to type checkers a slip in a name would have any type

    def __getattr__(name: str) -> Any:
        if name == "simulator":
            return import_module("sqlext.testing.simulator")
        if name not in _MODULES:
            raise AttributeError(f"module 'sqlext.testing' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
