"""A port for a server of a test."""

from __future__ import annotations

import random
import socket

_FIRST, _LAST = 15_000, 32_000
"""Below the ports that the kernel hands out itself: a Spark that asks for any port never gets one that a test chose for
a server which is not up yet."""
_RANDOM = random.SystemRandom()


def free_port() -> int:
    """A port of the loopback interface that nothing listens at."""
    while True:
        port = _RANDOM.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
