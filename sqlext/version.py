"""The version of sqlext, from which the build takes that of the distribution. What it promises: docs/releases.md."""

__version__ = "0.2.0"
