"""sqlext: Iceberg tables with primary keys for PySpark.

Names are imported on first use: an executor that only writes files needs neither a session nor a SQL parser, and a
client of Spark Connect only `table`, `transaction`, `upsert` and `write_stream`, which need no package but PySpark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlext.any_session import transaction, upsert
    from sqlext.errors import SqlextError
    from sqlext.notebook.shown_table import table
    from sqlext.spark_session import attach, configure, session
    from sqlext.streaming.stream_write import write_stream

__all__ = ["SqlextError", "attach", "configure", "session", "table", "transaction", "upsert", "write_stream"]

_MODULES = {
    "SqlextError": "sqlext.errors",
    "attach": "sqlext.spark_session",
    "configure": "sqlext.spark_session",
    "session": "sqlext.spark_session",
    "table": "sqlext.notebook.shown_table",
    "transaction": "sqlext.any_session",
    "upsert": "sqlext.any_session",
    "write_stream": "sqlext.streaming.stream_write",
}
_FOR_DRIVERS = frozenset({"attach", "configure", "session"})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sqlext' has no attribute {name!r}")
    if name in _FOR_DRIVERS:
        import_module("sqlext.spark.shim.supported_spark").require_supported_pyspark()
    try:
        module = import_module(_MODULES[name])
    except ModuleNotFoundError as error:
        if name not in _FOR_DRIVERS or (error.name or "").startswith("sqlext"):
            raise
        errors = import_module("sqlext.errors")
        raise errors.UnsupportedError("DRIVER_LACKS_PACKAGE", function=f"sqlext.{name}", package=error.name) from None
    return getattr(module, name)
