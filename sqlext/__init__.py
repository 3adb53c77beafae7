"""sqlext: Iceberg tables with primary keys for PySpark."""

from sqlext.errors import SqlextError
from sqlext.session import attach, configure, session

__all__ = ["SqlextError", "attach", "configure", "session"]
