"""What `import sqlext` says where it cannot work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pyspark
import pytest

import sqlext
from sqlext.errors import UnsupportedError


@pytest.mark.parametrize("function", ["attach", "configure", "session"])
def test_another_pyspark_is_refused_by_name(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    with pytest.raises(UnsupportedError, match=r"SPARK_NOT_SUPPORTED.*3\.5\.9.*4\.0 to"):
        getattr(sqlext, function)


def test_a_driver_without_a_package_is_told_which(shown_error: Callable[[str, str], None]) -> None:
    """A client of Spark Connect has PySpark alone."""
    script = "import sys; sys.modules['mmh3'] = None; import sqlext; sqlext.upsert; sqlext.attach"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "DRIVER_LACKS_PACKAGE" in done.stderr
    assert "sqlext.attach is for drivers, and needs the package mmh3" in done.stderr
    shown_error("DRIVER_LACKS_PACKAGE", done.stderr.splitlines()[-1].partition(": ")[2])
