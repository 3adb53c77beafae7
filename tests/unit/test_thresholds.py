"""docs/plans.md has every threshold as the code has it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from sqlext.thresholds import Thresholds, setting

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plans.md"


def test_the_page_has_each_threshold() -> None:
    page = PAGE.read_text()
    for one in fields(Thresholds):
        default = f"{one.default:,}" if isinstance(one.default, int) else str(one.default)
        row = f"| `{setting(one.name)}` | {default} {one.metadata['unit']} | {one.metadata['basis']} |"
        assert row in page, row
    assert page.count("| `sqlext.plan.") == len(fields(Thresholds))
