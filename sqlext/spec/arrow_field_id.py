"""Where Arrow keeps the field id of a Parquet column: in the metadata of its field, as decimal digits."""

from __future__ import annotations

import pyarrow as pa

FIELD_ID_KEY = b"PARQUET:field_id"


def fields_by_id(schema: pa.Schema) -> dict[int, pa.Field]:
    """The top-level columns that have a field id. ValueError for one that is no number."""
    ids = ((field, (field.metadata or {}).get(FIELD_ID_KEY)) for field in schema)
    return {int(id): field for field, id in ids if id is not None}
