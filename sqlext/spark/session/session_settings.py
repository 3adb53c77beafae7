"""Settings of a Spark session that change what sqlext does.

Sizes are read when the session is attached: bytes, or a text that ends in k, m or g as in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sqlext.errors import AnalysisError
from sqlext.scan.files.manifest_cache import DEFAULT_CAPACITY, DEFAULT_DRIVER_BYTES
from sqlext.spark.shim.java_objects import java_session
from sqlext.spec.name_suggestion import suggestion

_SIZE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True, slots=True)
class SizeSetting:
    """A setting of a size in bytes."""

    name: str
    default: int

    def of(self, settings: Mapping[str, Any]) -> int:
        """The value among a session's settings, or the default. Raises AnalysisError SETTING_INVALID for a text that is
        no size."""
        text = settings.get(self.name)
        if text is None:
            return self.default
        size = _SIZE.fullmatch(str(text).strip())
        if size is None:
            raise AnalysisError("SETTING_INVALID", name=self.name, value=text, allowed="a size such as 400m")
        return int(size[1]) * _UNITS[size[2].lower()]


MANIFEST_CACHE = SizeSetting("spark.sqlext.manifest-cache.max-bytes", DEFAULT_CAPACITY)
MANIFESTS_ON_DRIVER = SizeSetting("spark.sqlext.manifests-on-driver.max-bytes", DEFAULT_DRIVER_BYTES)


_TRANSACTION_OF = "spark.sqlext.transaction-of"
_PREFIX = "spark.sqlext."
_CASE_SENSITIVE = "spark.sql.caseSensitive"
# The last one is read by the JVM, which starts the Python side by it.
_KNOWN = (MANIFEST_CACHE.name, MANIFESTS_ON_DRIVER.name, "spark.sqlext.python")


def require_settings(settings: Mapping[str, Any]) -> None:
    """Raises AnalysisError SETTING_UNKNOWN for a setting that has sqlext's prefix and is none, and SETTING_INVALID."""
    for name in sorted(key for key in settings if key.startswith(_PREFIX)):
        if name not in (*_KNOWN, _TRANSACTION_OF):
            way_out = suggestion(name, _KNOWN, f"There are {', '.join(_KNOWN)}.")
            raise AnalysisError("SETTING_UNKNOWN", name=name, way_out=way_out)
    for size in (MANIFEST_CACHE, MANIFESTS_ON_DRIVER):
        size.of(settings)


def session_id(spark: SparkSession) -> str:
    """The id of the session, unique in the application."""
    return str(java_session(spark).sessionUUID())


def mark_transaction(spark: SparkSession, mark: str | None) -> None:
    """Sets in the session's configuration that it has a transaction, or none.

    Clones of the session, in which Spark runs queries to be cached, inherit the setting and have no other reference to
    their session. Only BEGIN, COMMIT and ROLLBACK of the session change it.
    """
    if mark is None:
        spark.conf.unset(_TRANSACTION_OF)
    else:
        spark.conf.set(_TRANSACTION_OF, mark)


def transaction_mark(spark: SparkSession) -> str | None:
    """What `mark_transaction` has set in the session, or in the one that it is a clone of."""
    mark: str | None = spark.conf.get(_TRANSACTION_OF, None)
    return mark


def transaction_mark_in(settings: Mapping[str, str]) -> str | None:
    """As `transaction_mark`, among the settings of a session."""
    return settings.get(_TRANSACTION_OF)


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether names that differ in case are different: Spark's setting, which may change between statements."""
    return str(spark.conf.get(_CASE_SENSITIVE)).lower() == "true"


def is_case_sensitive_by(settings: Mapping[str, str]) -> bool:
    """As `is_case_sensitive`, by the settings that the session has set."""
    return settings.get(_CASE_SENSITIVE, "false").lower() == "true"


def coerces_structs(spark: SparkSession) -> bool:
    """Whether structs of a MERGE's source may lack fields: Spark's setting, which Spark 4.0 does not have."""
    return str(spark.conf.get("spark.sql.mergeNestedTypeCoercion.enabled", "false")).lower() == "true"
