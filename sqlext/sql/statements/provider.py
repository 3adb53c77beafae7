"""The provider of a table that is made: `USING name`, or what a DataFrame's writer names."""

from __future__ import annotations

from sqlext.errors import AnalysisError

# As in Iceberg's Spark catalog, the format of the data files may stand for the table's. Spark names it by itself, as
# its default for `saveAsTable` and `spark.catalog.createTable`.
_PROVIDERS = frozenset({"iceberg", "sqlext", "parquet"})


def require_provider(table: object, provider: str | None) -> None:
    """AnalysisError UNSUPPORTED_PROVIDER for one that is named and is neither Iceberg nor the data files' format."""
    if provider is not None and provider.lower() not in _PROVIDERS:
        raise AnalysisError("UNSUPPORTED_PROVIDER", table=table, provider=provider)
