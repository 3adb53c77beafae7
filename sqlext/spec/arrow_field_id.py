"""Where Arrow keeps the field id of a Parquet column: in the metadata of its field, as decimal digits."""

from __future__ import annotations

FIELD_ID_KEY = b"PARQUET:field_id"
