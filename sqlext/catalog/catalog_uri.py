"""A catalog named by one text: its options, as those after `spark.sql.catalog.<name>.`, are told from its form."""

from __future__ import annotations

from collections.abc import Mapping

_DATABASES = ("sqlite:", "postgresql:", "postgres:", "jdbc:")
_SERVERS = ("http://", "https://")


def options_of_uri(text: str) -> dict[str, str] | None:
    """The options of a REST server's or a database's URI; None for another text, which is a folder."""
    if text.startswith(_SERVERS):
        return {"type": "rest", "uri": text}
    if text.startswith(_DATABASES):
        return {"type": "sql", "uri": text}
    return None


def is_database(options: Mapping[str, str]) -> bool:
    """Whether a catalog of these options is in a database."""
    return options.get("type", "").lower() in ("jdbc", "sql")
