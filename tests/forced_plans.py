"""What `sqlext.plan.force` is in tests that compare the rows of all ways to write a change."""

from __future__ import annotations

FORCED = (
    "tasks",
    "driver",
    "equality",
    "look-up",
    "merge-on-read",
    "merge-on-read,tasks",
    "copy-on-write",
    "copy-by-query",
    "completed-by-tasks",
    "auto",
    "auto,tasks",
)
