"""Pythons and Javas of this machine, by version: on PATH, of pyenv, where systems keep Java."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import environment

_JAVA = re.compile(r'version "([\d.]+)')


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python outside of environments, and its whole version, such as 3.12.1."""

    path: Path
    version: str

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class Java:
    """The folder of a Java, and its whole version, such as 17.0.15."""

    home: Path
    version: str

    @property
    def major(self) -> str:
        return self.version.split(".")[0]


def running() -> Interpreter:
    """The Python of this process."""
    found = _interpreter(sys.executable)
    assert found is not None
    return found


def interpreter(wanted: str) -> Interpreter:
    """The Python of a minor version, such as 3.12, or of a path. Raises LookupError if there is none."""
    candidates = [wanted] if os.sep in wanted else [sys.executable, f"python{wanted}", *_of_pyenv(wanted)]
    for candidate in candidates:
        found = _interpreter(candidate)
        if found is not None and (os.sep in wanted or found.minor == wanted):
            return found
    raise LookupError(f"there is no Python {wanted} on PATH or of pyenv: give its path in place of the version")


def java(wanted: str | None = None) -> Java:
    """The Java of JAVA_HOME, of a major version, such as 21, or of a path. Raises LookupError if there is none."""
    if wanted is None or os.sep in wanted:
        return _java(Path(wanted or os.environ["JAVA_HOME"]))
    for home in environment.java_homes():
        if environment.java_version(home) == int(wanted):
            return _java(Path(home))
    raise LookupError(f"there is no Java {wanted} in JAVA_HOME, on PATH or where systems keep it: give its path")


def _interpreter(candidate: str) -> Interpreter | None:
    said = environment.answer([candidate, "-c", "import sys; print(sys.executable, *sys.version_info[:3])"])
    if said is None:
        return None
    path, *version = said.split()
    return Interpreter(Path(path), ".".join(version))


def _of_pyenv(minor: str) -> Iterator[str]:
    for version in (environment.answer(["pyenv", "versions", "--bare"]) or "").split():
        if version.startswith(f"{minor}."):
            prefix = environment.answer(["pyenv", "prefix", version])
            if prefix is not None:
                yield str(Path(prefix.strip()) / "bin" / "python")


def _java(home: Path) -> Java:
    said = environment.answer([str(home / "bin" / "java"), "-version"])
    version = _JAVA.search(said or "")
    if version is None:
        raise LookupError(f"there is no Java in {home}")
    return Java(home, version.group(1))
