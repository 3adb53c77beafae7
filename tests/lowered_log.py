"""The SQL that stands in for statements, as sqlext logs it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGER = logging.getLogger("sqlext.lowered")


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def lowered_statements() -> Iterator[list[str]]:
    """The texts that are logged within the block, in their order."""
    handler, level = _Texts(), _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.DEBUG)
    try:
        yield handler.texts
    finally:
        _LOGGER.setLevel(level)
        _LOGGER.removeHandler(handler)
