"""The provider of a new table: that of `USING name` or of a DataFrame's writer."""

from __future__ import annotations

from sqlext.errors import AnalysisError

_ICEBERG = frozenset({"iceberg", "sqlext"})
# As in Iceberg's Spark catalog, the format of the data files is accepted too: it is Spark's default in `saveAsTable`
# and `spark.catalog.createTable`.
_PROVIDERS = _ICEBERG | {"parquet"}


def is_iceberg(provider: str | None) -> bool:
    """Whether a new table of Spark's session catalog, where tables of other formats are Spark's, is to be sqlext's."""
    return provider is None or provider.lower() in _ICEBERG


def require_provider(table: object, provider: str | None) -> None:
    """Raises AnalysisError UNSUPPORTED_PROVIDER for a provider other than `iceberg`, `sqlext`, `parquet` and None."""
    if provider is not None and provider.lower() not in _PROVIDERS:
        raise AnalysisError("UNSUPPORTED_PROVIDER", table=table, provider=provider)
