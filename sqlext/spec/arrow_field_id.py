"""Field ids of Parquet columns, which Arrow keeps as decimal digits in the metadata of a field."""

from __future__ import annotations

import pyarrow as pa

FIELD_ID_KEY = b"PARQUET:field_id"


def fields_by_id(schema: pa.Schema) -> dict[int, pa.Field]:
    """The top-level columns that have a field id, by id. Raises ValueError for an id that is not a number."""
    ids = ((field, (field.metadata or {}).get(FIELD_ID_KEY)) for field in schema)
    return {int(id): field for field, id in ids if id is not None}
