"""A catalog named by one text: its options, as those after `spark.sql.catalog.<name>.`, are told from its form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlext.errors import UnsupportedError
from sqlext.storage.location import OBJECT_SCHEMES

# SQLAlchemy has the name of a driver behind a plus.
_DATABASE = re.compile(r"jdbc:|(?:sqlite|postgresql|postgres)(?:\+\w+)?:")
_SERVERS = ("http://", "https://")
_FOLDERS = ("file", *OBJECT_SCHEMES)


def options_of_uri(text: str) -> dict[str, str] | None:
    """The options of a REST server's or a database's URI; None for another text, which is a folder.

    Raises UnsupportedError UNSUPPORTED_LOCATION for the URI of something else.
    """
    if text.startswith(_SERVERS):
        return {"type": "rest", "uri": text}
    if _DATABASE.match(text):
        return {"type": "sql", "uri": text}
    scheme, separator, rest = text.partition("://")
    if separator and "/" not in scheme and scheme.lower() not in _FOLDERS:
        # Before the host may be a password.
        location = f"{scheme}://…" if "@" in rest else text
        reason = f"{scheme!r} is not known; a database is sqlite: or postgresql:, and a server https:"
        raise UnsupportedError("UNSUPPORTED_LOCATION", location=location, reason=reason)
    return None


def is_database(options: Mapping[str, str]) -> bool:
    """Whether a catalog of these options is in a database."""
    return options.get("type", "").lower() in ("jdbc", "sql")
