"""A small server in front of a REST catalog server, where a test may stand between a request and its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

# method, path, body and headers of a request; (status, body) as an answer, None to pass the request on.
Answering = Callable[[str, str, bytes, Any], tuple[int, bytes] | None]


class RestDoor:
    """Passes requests on to `uri`. `before` may answer in its place; `after` sees that the answer is lost."""

    def __init__(self, uri: str) -> None:
        self.before: Answering = lambda *request: None
        self.after: Answering = lambda *request: None
        self.seen: list[tuple[str, str, str | None]] = []
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = (self.command, self.path, body, self.headers)
                door.seen.append((self.command, self.path, self.headers.get("Authorization")))
                said = door.before(*request)
                if said is None:
                    kept = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "accept-encoding")}
                    passed = httpx.request(self.command, uri + self.path, content=body, headers=kept, timeout=60)
                    said = door.after(*request) or (passed.status_code, passed.content)
                self.send_response(said[0])
                self.send_header("Content-Length", str(len(said[1])))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(said[1])

            do_GET = do_POST = do_HEAD = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
