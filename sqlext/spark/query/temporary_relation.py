"""Temporary views over DataFrames, for use in SQL."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from sqlext.sql.tokens.quoting import quote_identifier


@contextmanager
def named_rows(rows: DataFrame, rng: random.Random) -> Iterator[str]:
    """The quoted name of a temporary view over the rows, which is dropped at the end of the block."""
    name = f"__sqlext_{uuid.UUID(int=rng.getrandbits(128), version=4)}"
    rows.createTempView(quote_identifier(name))
    try:
        yield quote_identifier(name)
    finally:
        rows.sparkSession.catalog.dropTempView(name)
