"""Sort orders, by which writers sort the rows of each file (spec: Sorting)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from sqlext.spec.transform import Transform, parse_transform

Direction = Literal["asc", "desc"]
NullOrder = Literal["nulls-first", "nulls-last"]


@dataclass(frozen=True, slots=True)
class SortField:
    source_id: int
    transform: Transform
    direction: Direction = "asc"
    null_order: NullOrder = "nulls-first"

    def to_json(self) -> dict[str, Any]:
        return {
            "transform": str(self.transform),
            "source-id": self.source_id,
            "direction": self.direction,
            "null-order": self.null_order,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> SortField:
        """Raises ValueError or KeyError."""
        direction, null_order = obj["direction"].lower(), obj["null-order"].lower()
        if direction not in ("asc", "desc") or null_order not in ("nulls-first", "nulls-last"):
            raise ValueError(f"{direction!r}, {null_order!r} is no direction with a null order")
        return cls(
            obj["source-id"],
            parse_transform(obj["transform"]),
            cast(Direction, direction),
            cast(NullOrder, null_order),
        )


@dataclass(frozen=True, slots=True)
class SortOrder:
    order_id: int
    fields: tuple[SortField, ...]

    @property
    def is_unsorted(self) -> bool:
        return not self.fields

    def to_json(self) -> dict[str, Any]:
        return {"order-id": self.order_id, "fields": [field.to_json() for field in self.fields]}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> SortOrder:
        """Raises ValueError or KeyError."""
        return cls(obj["order-id"], tuple(SortField.from_json(field) for field in obj["fields"]))


UNSORTED = SortOrder(0, ())
