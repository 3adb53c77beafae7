"""The model of a REST catalog server behind a port, for clients in other processes."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from catalog.loopback_server import LoopbackServer, QuietHandler
from catalog.rest_model import RestModel
from sqlext.storage.file_io import LocalFileIO


class RestModelServer:
    """Answers one request after the other, over a warehouse in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = f"file://{folder}/w"
        model = RestModel(self.warehouse, LocalFileIO(), lambda: time.time_ns() // 1_000_000, random.Random(1))
        lock = threading.Lock()

        class Handler(QuietHandler):
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

        self._server = LoopbackServer(Handler)

    def settings(self) -> dict[str, str]:
        """What a catalog needs to use the server."""
        return {"type": "rest", "uri": self._server.uri}

    def stop(self) -> None:
        self._server.stop()
