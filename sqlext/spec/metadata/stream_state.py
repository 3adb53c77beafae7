"""Table properties with the state of streaming queries, consumers, idempotent batches and identity columns.

They are neither shown as settings of the table nor copied to another table, whose streams have other progress.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.spec.identity_column import STATE_PREFIXES

PROGRESS_PREFIX = "sqlext.stream."
"""Followed by the id of a streaming query: the property with its progress."""
CONSUMER_PREFIX = "sqlext.consumer."
"""Followed by the id of a consumer: the property with its position."""
BATCH_PREFIX = "sqlext.txn."
"""Followed by the percent-encoded id of an application: the property with its last idempotent batch."""
CLONE_PREFIX = "sqlext.clone."
"""Followed by `source` and `tag`: the properties of a shallow clone. Its tag in the source begins with it too."""


def settings_of(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without the state of streams, consumers, batches, clones and identity columns."""
    state = (PROGRESS_PREFIX, CONSUMER_PREFIX, BATCH_PREFIX, CLONE_PREFIX, *STATE_PREFIXES)
    return {name: value for name, value in properties.items() if not name.startswith(state)}
