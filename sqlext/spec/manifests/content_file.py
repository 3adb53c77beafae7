"""A data file or delete file of a table, with its metrics (spec: Manifests, `data_file`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias


class Content(IntEnum):
    """The kind of a content file (spec: `content` of `data_file`)."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


PUFFIN = "PUFFIN"

ContentKey: TypeAlias = tuple[str, int | None]
"""Identifies a content file in a snapshot: the path, and the offset of a deletion vector in its Puffin file."""


@dataclass(frozen=True, slots=True)
class ContentFile:
    """A data file, a delete file, or a deletion vector in a Puffin file.

    `partition` has stored values in the order of the fields of spec `spec_id`. Mappings go from field id to a count, a
    size in bytes, or a bound in binary single-value form; None means not recorded. `file_format` is in upper case.
    """

    content: Content
    file_path: str
    file_format: str
    spec_id: int
    partition: tuple[Any, ...]
    record_count: int
    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def key(self) -> ContentKey:
        return self.file_path, self.content_offset

    @property
    def is_deletion_vector(self) -> bool:
        """Whether it is a deletion vector, which has all position deletes of `referenced_data_file`."""
        return self.content == Content.POSITION_DELETES and self.file_format == PUFFIN

    @property
    def content_bytes(self) -> int:
        """Size in bytes of the file, or of the deletion vector in it."""
        return self.file_size_in_bytes if self.content_size_in_bytes is None else self.content_size_in_bytes
