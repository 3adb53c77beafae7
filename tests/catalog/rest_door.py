"""A small server in front of a REST catalog server, where a test may stand between a request and its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from catalog.loopback_server import LoopbackServer, QuietHandler

# (status, body), with headers if there are any.
Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]]
# method, path, body and headers of a request; an answer, None to pass the request on.
Answering = Callable[[str, str, bytes, Any], Answer | None]


_CUT_OFF = 0
"""The status of an answer that is none: the connection ends."""


class RestDoor:
    """Passes requests on to `uri`. `before` may answer in its place; `after` sees that the answer is lost."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._server_side = httpx.Client(timeout=60, verify=False)  # no certificates are loaded
        self.before: Answering = lambda *request: None
        self.after: Answering = lambda *request: None
        self.seen: list[tuple[str, str, str | None]] = []
        door = self

        class Handler(QuietHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = (self.command, self.path, body, self.headers)
                door.seen.append((self.command, self.path, self.headers.get("Authorization")))
                said = door.before(*request)
                if said is None:
                    passed = door.passed_on(*request)
                    said = door.after(*request) or (passed.status_code, passed.content)
                if said[0] == _CUT_OFF:
                    self.close_connection = True
                    return
                self.send_response(said[0])
                for name, value in (said[2] if len(said) == 3 else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said[1])))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(said[1])

            do_GET = do_POST = do_HEAD = do_DELETE = answer

        self._server = LoopbackServer(Handler)
        self.uri = self._server.uri

    def passed_on(self, method: str, path: str, body: bytes, headers: Any) -> httpx.Response:
        """What the server answers to a request."""
        kept = {k: v for k, v in headers.items() if k.lower() not in ("host", "accept-encoding", "content-length")}
        return self._server_side.request(method, self._uri + path, content=body, headers=kept)

    def stop(self) -> None:
        self._server.stop()
