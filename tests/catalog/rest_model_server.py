"""The model of a REST catalog server behind a port, for clients in other processes."""

from __future__ import annotations

import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from catalog.rest_model import RestModel
from sqlext.storage.file_io import LocalFileIO


class RestModelServer:
    """Answers one request after the other, over a warehouse in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = f"file://{folder}/w"
        model = RestModel(self.warehouse, LocalFileIO(), lambda: time.time_ns() // 1_000_000, random.Random(1))
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                asked = urlsplit(self.path)
                with lock:
                    status, found = model.answer(self.command, asked.path, dict(parse_qsl(asked.query)), body)
                data = json.dumps(found).encode() if found and self.command != "HEAD" else b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_HEAD = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._uri = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def settings(self) -> dict[str, str]:
        """What a catalog needs to use the server."""
        return {"type": "rest", "uri": self._uri}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
