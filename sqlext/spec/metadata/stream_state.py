"""Table properties that hold the state of streaming queries and consumers, and are no settings.

They are not shown among a table's settings, and not copied to another table, whose streams have no such past.
"""

from __future__ import annotations

from collections.abc import Mapping

PROGRESS_PREFIX = "sqlext.stream."
"""Before the id of a streaming query: the property that holds its progress."""
CONSUMER_PREFIX = "sqlext.consumer."
"""Before the id of a consumer: the property that holds its position."""


def settings_of(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without the state of streams and consumers."""
    state = (PROGRESS_PREFIX, CONSUMER_PREFIX)
    return {name: value for name, value in properties.items() if not name.startswith(state)}
