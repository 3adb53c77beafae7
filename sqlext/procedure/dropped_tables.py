"""dropped_tables: the tables that UNDROP TABLE can restore."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.sql.tokens.token_cursor import TokenCursor


def dropped_tables(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Rows: name and time (ISO, UTC) of each dropped table of the namespace, the newest first."""
    catalog = invocation.environment.catalogs.catalog(invocation.catalog)
    written = TokenCursor(invocation.arguments["namespace"]).dotted_name("a namespace")
    namespace = written[1:] if len(written) > 1 and written[0] == catalog.name else written
    return [
        (dropped.identifier.name, datetime.fromtimestamp(dropped.dropped_at_ms / 1000, timezone.utc).isoformat())
        for dropped in catalog.dropped_tables(namespace)
    ]


DROPPED_TABLES = Procedure(
    "dropped_tables",
    (Parameter("namespace", "string"),),
    (("table_name", "string"), ("dropped_at", "string")),
    dropped_tables,
)
