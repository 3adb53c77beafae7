"""CREATE TABLE … SHALLOW CLONE: a table on the files of another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlext.sql.statements.statement import Slice, TableName


@dataclass(frozen=True, slots=True)
class ShallowClone:
    """The version is that of `version` or `timestamp`, or else the newest; `properties` are added to the source's."""

    name: TableName
    source: TableName
    if_not_exists: bool = False
    version: str | None = None
    timestamp: Slice | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
