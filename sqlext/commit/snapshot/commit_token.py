"""The name of a commit, by which a user finds it in the table."""

from __future__ import annotations

COMMIT_ID_PROPERTY = "sqlext.commit-id"
"""The snapshot summary's key of the commit's id."""
