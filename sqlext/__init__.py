"""Iceberg tables with primary keys for PySpark.

    spark = sqlext.session(lake="./warehouse")
    spark.sql("CREATE TABLE lake.db.t (id INT, v STRING, PRIMARY KEY (id))")
    sqlext.upsert(spark.createDataFrame([(1, "a")], "id INT, v STRING"), "lake.db.t")

What is public is in `dir(sqlext)`:

    session, configure, attach    sessions of a Python driver
    upsert, merge, write_stream   DataFrames and streams into tables
    lookup                        rows of a table by their keys
    from_debezium                 change feeds of databases as rows with kinds
    table                         a table as notebooks show it
    local                         tables in this process, without a JVM
    transaction                   several statements, on several tables, as one commit
    procedures                    a function for each procedure of CALL
    testing                       a test kit: fixtures of pytest, faults, comparison of tables, a simulator
    errors, SqlextError           classes of errors and their root, each with a condition
    __version__

docs/python.md has the reference with examples, docs/sql.md the statements. Python's `help` lists all folders and
modules of the package below: but for errors, local, procedures and testing (with testing.simulator) they are internal,
and may change in any release.
"""

# Names are imported on first use: an executor that only writes files needs neither a session nor a SQL parser, and a
# client of Spark Connect needs no package but PySpark for what is no function of drivers.

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlext.version import __version__

if TYPE_CHECKING:
    from sqlext import errors, local, procedures, testing
    from sqlext.any_session import merge, transaction, upsert
    from sqlext.changelog.debezium import from_debezium
    from sqlext.errors import SqlextError
    from sqlext.notebook.shown_table import table
    from sqlext.rows_by_key import lookup
    from sqlext.spark_session import attach, configure, session
    from sqlext.streaming.stream_write import write_stream

__all__ = [
    "SqlextError",
    "__version__",
    "attach",
    "configure",
    "errors",
    "from_debezium",
    "local",
    "lookup",
    "merge",
    "procedures",
    "session",
    "table",
    "testing",
    "transaction",
    "upsert",
    "write_stream",
]

_MODULES = {
    "SqlextError": "sqlext.errors",
    "attach": "sqlext.spark_session",
    "configure": "sqlext.spark_session",
    "from_debezium": "sqlext.changelog.debezium",
    "lookup": "sqlext.rows_by_key",
    "merge": "sqlext.any_session",
    "session": "sqlext.spark_session",
    "table": "sqlext.notebook.shown_table",
    "transaction": "sqlext.any_session",
    "upsert": "sqlext.any_session",
    "write_stream": "sqlext.streaming.stream_write",
}
_SUBMODULES = frozenset({"errors", "local", "procedures", "testing"})
_FOR_DRIVERS = frozenset({"attach", "configure", "local", "session"})
# What these import beside PySpark, and a client of Spark Connect need not have.
_DRIVER_PACKAGES = ("fastavro", "mmh3", "numpy", "pyarrow", "pyiceberg_core", "pyroaring", "sqlglot")


def __dir__() -> list[str]:
    """What is public; without functions of drivers where these cannot be, as `help` reads every name."""
    is_driver = all(find_spec(package) is not None for package in _DRIVER_PACKAGES)
    return sorted(name for name in __all__ if is_driver or name not in _FOR_DRIVERS)


if not TYPE_CHECKING:  # to type checkers a slip in a name would have any type

    def __getattr__(name: str) -> Any:
        if name not in _MODULES and name not in _SUBMODULES:
            raise AttributeError(f"module 'sqlext' has no attribute {name!r}")
        if name in _FOR_DRIVERS:
            import_module("sqlext.spark.shim.supported_spark").require_supported_pyspark()
        try:
            module = import_module(_MODULES.get(name, f"sqlext.{name}"))
        except ModuleNotFoundError as error:
            if name not in _FOR_DRIVERS or (error.name or "").startswith("sqlext"):
                raise
            errors = import_module("sqlext.errors")
            raise errors.UnsupportedError(
                "DRIVER_LACKS_PACKAGE", function=f"sqlext.{name}", package=error.name
            ) from None
        return module if name in _SUBMODULES else getattr(module, name)
