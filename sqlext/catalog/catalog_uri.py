"""A catalog named by one text: its options, as those after `spark.sql.catalog.<name>.`, are told from its form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlext.errors import AnalysisError
from sqlext.storage.location import OBJECT_SCHEMES

# SQLAlchemy has the name of a driver behind a plus.
_DATABASE = re.compile(r"jdbc:|(?:sqlite|postgresql|postgres)(?:\+\w+)?:")
_SERVERS = ("http://", "https://")
_FOLDERS = ("file", *OBJECT_SCHEMES)
_ALLOWED = "sqlite:…, postgresql://… or https://…; a folder of tables is a path, file:///… or s3://…"


def options_of_uri(text: str, name: str) -> dict[str, str] | None:
    """The options of a REST server's or a database's URI; None for another text, which is a folder.

    Raises AnalysisError CATALOG_OPTION_INVALID, for the catalog `name`, for the URI of neither.
    """
    if text.startswith(_SERVERS):
        return {"type": "rest", "uri": text}
    if _DATABASE.match(text):
        return {"type": "sql", "uri": text}
    scheme, separator, _ = text.partition("://")
    if separator and "/" not in scheme and scheme.lower() not in _FOLDERS:
        # What follows may be a password.
        raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option="uri", value=f"{scheme}://…", allowed=_ALLOWED)
    return None


def is_database(options: Mapping[str, str]) -> bool:
    """Whether a catalog of these options is in a database."""
    return options.get("type", "").lower() in ("jdbc", "sql")
