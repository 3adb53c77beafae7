"""The name by which Spark's side holds a table at one version of its metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table, one of its metadata files and, when time travels, one of its snapshots.

    `catalog` is None for a table read by its path; `metadata_table` names e.g. `snapshots`. A handle at a branch is at
    its head; one that the metadata does not have begins at the head of main. A snapshot `as_current` is read by the
    columns that the table has now; with `changelog` it stands for the rows of its stored changelog. The uuid tells a
    table from one that was dropped before under its name, and `contents` tells versions apart whose metadata files have
    one name, as those of a table that was registered anew: answers about equal handles are equal. A handle says all
    that is needed to load the table again, so no state behind it can be lost.
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

    def encode(self) -> str:
        """The handle as text for the shim."""
        return json.dumps([getattr(self, field.name) for field in fields(self)])

    @staticmethod
    def decode(text: str) -> TableHandle:
        """The handle that `encode` made `text` of."""
        catalog, namespace, *rest = json.loads(text)
        return TableHandle(catalog, tuple(namespace), *rest)

    @property
    def full_name(self) -> str:
        """The dotted name people know."""
        parts = [*([self.catalog] if self.catalog else []), *self.namespace, self.name]
        return ".".join([*parts, *([self.metadata_table] if self.metadata_table else [])])
