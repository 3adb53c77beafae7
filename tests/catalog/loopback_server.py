"""An HTTP server within the process of a test, which answers and stops without a wait."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

POLL_S = 0.01
"""How long a server that is stopped may go on, in place of half a second."""


class QuietHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise a body waits until the client has acknowledged the headers, which it does after 40 ms.
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


class LoopbackServer:
    """Answers requests by `handler`, each in a thread, at `uri`."""

    def __init__(self, handler: type[QuietHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.uri = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(POLL_S,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
