"""An S3 server for tests, on a free port: moto's, which honours If-None-Match, behind a door where tests may stand."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from catalog.loopback_server import POLL_S
from judges.iceberg import IVY_CACHE

# Hadoop's S3A for Spark, with the parts of Amazon's SDK that it uses; all of that would be 600 MB.
_SDK = ("apache-client", "s3", "s3-transfer-manager", "sts", "netty-nio-client")
_S3A = ["org.apache.hadoop:hadoop-aws:3.4.2", *(f"software.amazon.awssdk:{name}:2.29.52" for name in _SDK)]
KEY, SECRET = "AKIATESTKEY", "s3cret-canary"


def s3a_settings(*packages: str) -> dict[str, str]:
    """Settings of a Spark session that reads S3 through Hadoop's S3A, with further packages of its own."""
    return {
        "spark.jars.packages": ",".join([*_S3A, *packages]),
        "spark.jars.excludes": "software.amazon.awssdk:bundle",
        "spark.jars.ivy": str(IVY_CACHE),
    }


Answer = Iterable[bytes]
Application = Callable[[dict[str, Any], Any], Answer]
# Takes what the server does, the request and the way to answer it.
Door = Callable[[Application, dict[str, Any], Any], Answer]


class S3Server:
    """`door` stands in front of each request, where a test has set one."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.door: Door | None = None
        self._moto: Application = DomainDispatcherApplication(create_backend_app)
        self._one_at_a_time = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        self.client = boto3.client("s3", endpoint_url=self.endpoint, **keys)
        self._numbers = itertools.count(1)

    def new_bucket(self) -> str:
        name = f"bucket{id(self)}-{next(self._numbers)}"
        self.client.create_bucket(Bucket=name)
        return name

    def settings(self) -> dict[str, str]:
        """What a catalog needs to use the server."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
            "client.region": "us-east-1",
        }

    def keys(self, bucket: str) -> list[str]:
        """The names of all objects of a bucket."""
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=bucket).get("Contents", [])]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()

    def _answer(self, request: dict[str, Any], respond: Any) -> Answer:
        if self.door is None:
            return self._application(request, respond)
        return self.door(self._application, request, respond)

    def _application(self, request: dict[str, Any], respond: Any) -> Answer:
        """S3 decides If-None-Match and writes in one step; moto does not where two threads ask it at once, and may
        fail."""
        with self._one_at_a_time:
            return self._moto(request, respond)
