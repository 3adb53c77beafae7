"""Runs of the core script with the wheel alone, and those that docs/compatibility.md has a row of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoreRun:
    """A version of Spark, and the Python and Java, where it is not that of the clone, such as 3.12 and 21.

    The Spark is a minor version's newest release, such as 4.1, or a release, such as 4.1.0.

    With `oldest` the dependencies have the lowest versions that pyproject.toml names, else the newest.
    """

    spark: str
    python: str | None = None
    java: str | None = None
    oldest: bool = False

    @property
    def minor(self) -> str:
        return ".".join(self.spark.split(".")[:2])

    def name(self) -> str:
        """Such as 4.1-python3.12-java21-oldest."""
        parts = [f"python{self.python}" if self.python else "", f"java{self.java}" if self.java else ""]
        return "-".join(filter(None, [self.spark, *parts, "oldest" if self.oldest else ""])).replace("/", "_")


DOCUMENTED = (
    *(CoreRun(spark, python="3.11") for spark in ("4.0", "4.1", "4.2", "4.3")),
    *(CoreRun("4.1", python=python) for python in ("3.10", "3.12", "3.13")),
    CoreRun("4.3", python="3.13"),
    CoreRun("4.3", python="3.11", java="25"),
    *(CoreRun(spark, python="3.11", oldest=True) for spark in ("4.0.0", "4.1.0", "4.2.0")),
)
"""Python 3.11 is the newest that has wheels of all the oldest packages. The shim's jar of a minor version is compiled
against its newest release, and runs on its first one too."""
