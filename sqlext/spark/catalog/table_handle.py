"""The identity of a table at one version, which Spark's side keeps and passes back."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from sqlext.catalog.identifier import quoted

# What follows a table's name, as in Paimon, for its data files without deletes.
READ_OPTIMIZED = "ro"


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table, one of its metadata files and, for time travel, one of its snapshots.

    `catalog` is None for a table read by path; `metadata_table` is e.g. `snapshots`. A handle with a `branch` is at its
    head, or at the head of main if the metadata does not have the branch. `as_current`: the snapshot is read by the
    table's current schema; `changelog`: its stored changelog is read; `read_optimized`: only data files are read to
    which no delete applies. `table_uuid` differs from that of a dropped table
    with the same name, and `contents` from that of a metadata file with the same name, as after a new registration.
    Answers about equal handles are equal. A handle suffices to load the table again, so no state is lost with a cache.
    """

    catalog: str | None
    namespace: tuple[str, ...]
    name: str
    metadata_location: str
    table_uuid: str
    contents: str
    snapshot_id: int | None = None
    metadata_table: str | None = None
    branch: str | None = None
    as_current: bool = False
    changelog: bool = False
    read_optimized: bool = False

    def encode(self) -> str:
        """The handle as text, for the shim."""
        return json.dumps([getattr(self, field.name) for field in fields(self)])

    @staticmethod
    def decode(text: str) -> TableHandle:
        """The handle of a text by `encode`."""
        catalog, namespace, *rest = json.loads(text)
        return TableHandle(catalog, tuple(namespace), *rest)

    @property
    def full_name(self) -> str:
        """The name as in SQL, for messages."""
        parts = [*([self.catalog] if self.catalog else []), *self.namespace, self.name]
        ending = [READ_OPTIMIZED] if self.read_optimized else [self.metadata_table] if self.metadata_table else []
        return quoted(*parts, *ending)
