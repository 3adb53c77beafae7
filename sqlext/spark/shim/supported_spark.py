"""The versions of Spark that sqlext runs on. This module imports nothing that another version may lack."""

from __future__ import annotations

import pyspark

from sqlext.errors import UnsupportedError

MINORS = ("4.0", "4.1", "4.2", "4.3")
"""The minor versions of Spark that sqlext runs on."""


_SCALA = "2.13"


def require_supported(version: str, scala: str = _SCALA) -> None:
    """Raises UnsupportedError SPARK_NOT_SUPPORTED for another version, such as 3.5.9, or one for another Scala."""
    if scala != _SCALA or ".".join(version.split(".")[:2]) not in MINORS:
        shown = version if scala == _SCALA else f"{version} for Scala {scala}"
        raise UnsupportedError("SPARK_NOT_SUPPORTED", spark=shown, versions=f"{MINORS[0]} to {MINORS[-1]}")


def require_supported_pyspark() -> None:
    """As `require_supported`, for the PySpark that is installed."""
    require_supported(pyspark.__version__)
