"""The name by which Spark's side holds a table at one version of its metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table, one of its metadata files and, when time travels, one of its snapshots.

    `catalog` is None for a table read by its path; `metadata_table` names e.g. `snapshots`. A handle says all that is
    needed to load the table again, so no state behind it can be lost.
    """

    catalog: str | None
    namespace: tuple[str, ...]
    name: str
    metadata_location: str
    snapshot_id: int | None = None
    metadata_table: str | None = None

    def encode(self) -> str:
        """The handle as text for the shim."""
        return json.dumps(
            [self.catalog, self.namespace, self.name, self.metadata_location, self.snapshot_id, self.metadata_table]
        )

    @staticmethod
    def decode(text: str) -> TableHandle:
        """The handle that `encode` made `text` of."""
        catalog, namespace, name, location, snapshot_id, metadata_table = json.loads(text)
        return TableHandle(catalog, tuple(namespace), name, location, snapshot_id, metadata_table)

    @property
    def full_name(self) -> str:
        """The dotted name people know."""
        parts = [*([self.catalog] if self.catalog else []), *self.namespace, self.name]
        return ".".join([*parts, *([self.metadata_table] if self.metadata_table else [])])
