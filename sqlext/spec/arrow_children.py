"""Child fields of Arrow types, under the names that a name mapping uses."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa


def arrow_children(type_: pa.DataType) -> Mapping[str, pa.Field]:
    """Child fields by name: those of a struct, `element` of a list, `key` and `value` of a map; otherwise none."""
    if pa.types.is_struct(type_):
        return {field.name: field for field in type_}
    if pa.types.is_map(type_):
        return {"key": type_.key_field, "value": type_.item_field}
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return {"element": type_.value_field}
    return {}
