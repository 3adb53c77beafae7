"""Error conditions by subject: the SQLSTATE and the message template of each.

A message says what was refused, why, and what to do instead; its wording may change. A condition that Spark has too
has Spark's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlext.error_conditions.catalogs import CATALOGS
from sqlext.error_conditions.condition import Condition
from sqlext.error_conditions.names import NAMES
from sqlext.error_conditions.rows import ROWS
from sqlext.error_conditions.statements import STATEMENTS
from sqlext.error_conditions.streams import STREAMS
from sqlext.error_conditions.table_format import TABLE_FORMAT

TABLES = (NAMES, STATEMENTS, ROWS, TABLE_FORMAT, CATALOGS, STREAMS)
CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {name: condition for table in TABLES for name, condition in table.items()}
)
