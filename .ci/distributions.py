"""What a release's wheel and source distribution must contain, and must not: each fault as a sentence.

Standard library only; `members` are the bytes of an archive's files by their paths.
"""

from __future__ import annotations

import configparser
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

# Files of the source distribution beside its two folders of code.
_TOP = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
_JAR_MAGIC = b"PK\x03\x04"


def members(archive: Path) -> dict[str, bytes]:
    """The files of a wheel or of a `.tar.gz`."""
    if archive.suffix == ".whl":
        return _unzipped(archive.read_bytes())
    with tarfile.open(archive) as packed:
        files = [one for one in packed.getmembers() if one.isfile()]
        return {one.name: read.read() for one in files if (read := packed.extractfile(one)) is not None}


def faults_of_wheel(
    wheel: Mapping[str, bytes],
    version: str,
    sources: Mapping[str, bytes],
    jars: Sequence[str],
    machine: Sequence[str],
    points: Mapping[str, Mapping[str, str]],
) -> list[str]:
    """What is wrong: `sources` are the clone's files as the wheel names them, `jars` the names of the shim's jars,
    `machine` are texts that would tell of the machine that made it, and `points` the entry points by their groups."""
    about = f"sqlext-{version}.dist-info/"
    expected = {**dict.fromkeys(sources), **dict.fromkeys(f"sqlext/jars/{name}" for name in jars)}
    found = {name for name in wheel if not name.startswith(about)}
    licences = [name for name in wheel if name.startswith(about) and name.endswith("/LICENSE")]
    return [
        *(f"{name} is missing" for name in sorted(expected.keys() - found)),
        *(f"{name} does not belong into a wheel" for name in sorted(found - expected.keys())),
        *(f"{name} is not the clone's" for name in sorted(sources.keys() & found) if wheel[name] != sources[name]),
        *([] if "sqlext/py.typed" in wheel else ["sqlext/py.typed is missing: types would not be used"]),
        *([] if licences else ["the licence is missing"]),
        *_faults_of_metadata(wheel.get(f"{about}METADATA"), version),
        *_faults_of_entry_points(wheel.get(f"{about}entry_points.txt", b""), points),
        *_told_machines(wheel, machine),
    ]


def faults_of_sdist(
    sdist: Mapping[str, bytes], version: str, sources: Mapping[str, bytes], machine: Sequence[str]
) -> list[str]:
    """What is wrong; `sources` are the clone's files, by their paths in it."""
    root = f"sqlext-{version}/"
    inside = {name.removeprefix(root): data for name, data in sdist.items()}
    others = [name for name in inside if name not in sources and name not in _TOP]
    return [
        *(f"{name} is missing" for name in sorted((sources.keys() | _TOP - {".gitignore"}) - inside.keys())),
        *(f"{name} does not belong into a source distribution" for name in sorted(others)),
        *(f"{name} is not the clone's" for name in sorted(sources.keys() & inside) if inside[name] != sources[name]),
        *_faults_of_metadata(inside.get("PKG-INFO"), version),
        *_told_machines(inside, machine),
    ]


def _faults_of_metadata(metadata: bytes | None, version: str) -> list[str]:
    if metadata is None:
        return ["the metadata are missing"]
    header = metadata.decode().partition("\n\n")[0]
    said = re.findall(r"^Version: (.*)$", header, re.MULTILINE)
    return [] if said == [version] else [f"the metadata say version {', '.join(said)} and not {version}"]


def _faults_of_entry_points(told: bytes, points: Mapping[str, Mapping[str, str]]) -> list[str]:
    found = configparser.ConfigParser(delimiters=("=",))
    found.read_string(told.decode())
    there = {group: dict(found[group]) for group in found.sections()}
    return [] if there == points else [f"the entry points are {there} and not {dict(points)}"]


def _told_machines(files: Mapping[str, bytes], machine: Sequence[str]) -> Iterator[str]:
    for name, data in sorted(files.items()):
        parts = _unzipped(data).values() if data.startswith(_JAR_MAGIC) else [data]
        for text in machine:
            if any(text.encode() in part for part in parts):
                yield f"{name} has {text}, which is of the machine that made it"


def _unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {one.filename: packed.read(one) for one in packed.infolist() if not one.is_dir()}
