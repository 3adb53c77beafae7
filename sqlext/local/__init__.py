"""sqlext without a JVM: tables read and written by one process, with the commits, keys and rules of sqlext in Spark.

`open` gives a catalog or a table; rows come and go as Arrow. Writers here and in Spark share tables: each commit is the
compare-and-swap of the same catalog.
"""

from sqlext.command.outcome import Counts
from sqlext.local.local_catalog import LocalCatalog, open
from sqlext.local.local_table import LocalTable

__all__ = ["Counts", "LocalCatalog", "LocalTable", "open"]


def __dir__() -> list[str]:
    return sorted(__all__)
