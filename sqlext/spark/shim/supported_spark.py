"""The versions of Spark that sqlext runs on. This module imports nothing that another version may lack."""

from __future__ import annotations

import pyspark

from sqlext.errors import UnsupportedError

MINORS = ("4.0", "4.1", "4.2", "4.3")
"""The minor versions of Spark that sqlext runs on."""


def require_supported(version: str) -> None:
    """Raises UnsupportedError SPARK_NOT_SUPPORTED for another version, such as 3.5.9, or one for another Scala."""
    if " " in version or ".".join(version.split(".")[:2]) not in MINORS:
        raise UnsupportedError("SPARK_NOT_SUPPORTED", spark=version, versions=f"{MINORS[0]} to {MINORS[-1]}")


def require_supported_pyspark() -> None:
    """As `require_supported`, for the PySpark that is installed."""
    require_supported(pyspark.__version__)
