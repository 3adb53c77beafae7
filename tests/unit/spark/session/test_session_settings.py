"""Settings of sqlext in a session: their values, and names that there are not."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.spark.session.session_settings import MANIFEST_CACHE, require_settings


@pytest.mark.parametrize(("text", "size"), [("400m", 400 * 2**20), ("7", 7), ("2 GB", 2 * 2**30), (7, 7)])
def test_sizes(text: object, size: int) -> None:
    assert MANIFEST_CACHE.of({MANIFEST_CACHE.name: text}) == size


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(AnalysisError, match=r"SETTING_INVALID.*manifest-cache.*much"):
        require_settings({MANIFEST_CACHE.name: "much"})


def test_a_setting_that_there_is_not_is_refused() -> None:
    require_settings({"spark.sqlext.python": "python3", "spark.sql.shuffle.partitions": "2", "sqlext.plan.x": "1"})
    with pytest.raises(AnalysisError, match=r"SETTING_UNKNOWN.*Did you mean spark\.sqlext\.python\?"):
        require_settings({"spark.sqlext.pyhton": "python3"})
    with pytest.raises(AnalysisError, match=r"SETTING_UNKNOWN.*There are "):
        require_settings({"spark.sqlext.colour": "blue"})
