"""What is found wrong with the archives of a release."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from distributions import faults_of_sdist, faults_of_wheel, members

SOURCES = {"sqlext/__init__.py": b"", "sqlext/py.typed": b"", "sqlext/jvm_shim/A.scala": b"object A"}
METADATA = b"Metadata-Version: 2.4\nName: sqlext\nVersion: 1.2.3\n\nVersion: of the README"
JARS = ["shim4.0.jar", "shim4.1.jar"]
MACHINE = ["/home/ada/sqlext/"]
TOLD_POINTS = b"[console_scripts]\nsqlext = sqlext.app:main\n\n[pytest11]\nsqlext = a.b\n"
POINTS = {"console_scripts": {"sqlext": "sqlext.app:main"}, "pytest11": {"sqlext": "a.b"}}


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return out.getvalue()


def wheel(**changed: bytes | None) -> dict[str, bytes]:
    files: dict[str, bytes | None] = {
        **SOURCES,
        **{f"sqlext/jars/{name}": zipped({"A.class": b"A"}) for name in JARS},
        "sqlext-1.2.3.dist-info/METADATA": METADATA,
        "sqlext-1.2.3.dist-info/RECORD": b"",
        "sqlext-1.2.3.dist-info/entry_points.txt": TOLD_POINTS,
        "sqlext-1.2.3.dist-info/licenses/LICENSE": b"Apache",
        **changed,
    }
    return {name: data for name, data in files.items() if data is not None}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"sqlext/__init__.py": None}, "sqlext/__init__.py is missing"),
        ({"sqlext/__init__.py": b"old"}, "sqlext/__init__.py is not the clone's"),
        ({"sqlext/jars/shim4.1.jar": None}, "sqlext/jars/shim4.1.jar is missing"),
        ({"tests/test_a.py": b""}, "tests/test_a.py does not belong into a wheel"),
        ({"sqlext-1.2.3.dist-info/licenses/LICENSE": None}, "the licence is missing"),
        (
            {"sqlext-1.2.3.dist-info/entry_points.txt": b"[console_scripts]\nsqlext = sqlext.app:main\n"},
            f"the entry points are {{'console_scripts': {{'sqlext': 'sqlext.app:main'}}}} and not {POINTS}",
        ),
        (
            {"sqlext-1.2.3.dist-info/entry_points.txt": None},
            f"the entry points are {{}} and not {POINTS}",
        ),
        ({"sqlext-1.2.3.dist-info/METADATA": None}, "the metadata are missing"),
        ({"sqlext-1.2.3.dist-info/METADATA": b"Version: 1.2.2\n"}, "the metadata say version 1.2.2 and not 1.2.3"),
        (
            {"sqlext/jars/shim4.0.jar": zipped({"A.class": b"at /home/ada/sqlext/jvm-shim/A.scala"})},
            "sqlext/jars/shim4.0.jar has /home/ada/sqlext/, which is of the machine that made it",
        ),
    ],
)
def test_faults_of_a_wheel(changed: dict[str, bytes | None], fault: str | None) -> None:
    found = faults_of_wheel(wheel(**changed), "1.2.3", SOURCES, JARS, MACHINE, POINTS)
    assert found == ([] if fault is None else [fault])


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"CHANGELOG.md": None}, "CHANGELOG.md is missing"),
        ({"tests/a.py": b""}, "tests/a.py does not belong into a source distribution"),
        ({"README.md": b"see /home/ada/sqlext/README"}, "README.md has /home/ada/sqlext/, which is of the machine"),
    ],
)
def test_faults_of_a_source_distribution(changed: dict[str, bytes | None], fault: str | None, tmp_path: Path) -> None:
    top = dict.fromkeys(("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"), b"")
    files = {**SOURCES, **top, "PKG-INFO": b"Version: 1.2.3\n", **changed}
    archive = tmp_path / "sqlext-1.2.3.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for name, data in files.items():
            if data is not None:
                entry = tarfile.TarInfo(f"sqlext-1.2.3/{name}")
                entry.size = len(data)
                packed.addfile(entry, io.BytesIO(data))
    found = faults_of_sdist(members(archive), "1.2.3", SOURCES, MACHINE)
    assert len(found) == (0 if fault is None else 1)
    assert fault is None or found[0].startswith(fault)


def test_members_of_a_wheel(tmp_path: Path) -> None:
    archive = tmp_path / "sqlext-1.2.3-py3-none-any.whl"
    archive.write_bytes(zipped(wheel()))
    assert members(archive) == wheel()
