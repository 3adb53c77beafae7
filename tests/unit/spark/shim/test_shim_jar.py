"""The cache of the shim's jar: what is not whole is compiled anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sqlext.spark.shim import shim_jar as module
from sqlext.spark.shim.shim_jar import shim_jar


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999, "a byte", "another archive"])
def test_a_damaged_jar_is_replaced(share: float | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim_jar()
    data = whole.read_bytes()
    jar = tmp_path / whole.name
    if share == "another archive":
        shutil.make_archive(str(tmp_path / "other"), "zip", Path(__file__).parent)
        shutil.copy(tmp_path / "other.zip", jar)
    elif share == "a byte":
        middle = len(data) // 2
        jar.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    else:
        jar.write_bytes(data[: int(len(data) * float(share))])
    monkeypatch.setattr(module, "_compile", lambda sources, jar: shutil.copy(whole, jar))
    assert shim_jar(tmp_path) == jar
    assert jar.read_bytes() == data


def test_a_whole_jar_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim_jar()
    shutil.copy(whole, tmp_path / whole.name)
    monkeypatch.setattr(module, "_compile", lambda sources, jar: pytest.fail("it was compiled"))
    assert shim_jar(tmp_path) == tmp_path / whole.name
