"""The rule that a batch of upserted rows holds a key once."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import DataError

_NAMED_KEYS = 5


def require_distinct(keys: pa.Table, table_name: str) -> None:
    """DataError DUPLICATE_KEY, which names up to five keys, when a row of `keys` comes twice."""
    groups = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    if groups.num_rows == keys.num_rows:
        return
    repeated = groups.filter(pc.greater(groups.column("count_all"), 1)).slice(0, _NAMED_KEYS).select(keys.column_names)
    named = ", ".join(json.dumps(key, default=str, ensure_ascii=False) for key in repeated.to_pylist())
    raise DataError("DUPLICATE_KEY", table=table_name, keys=named)
