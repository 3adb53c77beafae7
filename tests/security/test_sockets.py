"""The ways between Python and the JVM: on this machine only, and only for who has the session's token."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from pyspark.sql import SparkSession

ASK = b"c\np0\nask\nsparse\ns{}\ne\n"
"""Py4J's words for a call of the bridge, which is the first object that Python has given to the JVM."""


def answer(port: int, said: bytes) -> bytes:
    """What is sent back until the connection is closed or nothing comes for a while."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(said)
        try:
            while part := connection.recv(4096):
                received += part
        except (ConnectionError, TimeoutError):
            pass
    return received


def auth(token: str) -> bytes:
    """As Python is told it; the JVM is told without the last line."""
    return f"A\n{token}\ne\n".encode()


@pytest.fixture
def gateway(spark: SparkSession) -> Any:
    return spark.sparkContext._gateway


def test_both_servers_are_bound_to_the_loopback_interface(spark: SparkSession, gateway: Any) -> None:
    host, port = gateway._callback_server.server_socket.getsockname()
    assert host == "127.0.0.1"
    server = gateway.jvm.py4j.GatewayServer
    assert server.DEFAULT_ADDRESS == "127.0.0.1"
    listening = listening_on({port, gateway.gateway_parameters.port})
    assert listening == {port: {"127.0.0.1"}, gateway.gateway_parameters.port: {"127.0.0.1"}}


def listening_on(ports: set[int]) -> dict[int, set[str]]:
    """The addresses on which this machine listens, by the kernel's own tables."""
    found: dict[int, set[str]] = {}
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as lines:
            for line in list(lines)[1:]:
                _, local, _, state, *_ = line.split()
                address, _, port = local.partition(":")
                if state == "0A" and int(port, 16) in ports:
                    found.setdefault(int(port, 16), set()).add(_text(address))
    return found


def _text(address: str) -> str:
    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
    packed = b"".join(words)
    if len(packed) == 16 and packed.startswith(b"\0" * 10 + b"\xff\xff"):
        packed = packed[12:]
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


@pytest.mark.parametrize("token", [None, "", "wrong", "None"])
def test_python_answers_nobody_without_the_token(gateway: Any, token: str | None) -> None:
    port = gateway._callback_server.server_socket.getsockname()[1]
    said = answer(port, (b"" if token is None else auth(token)) + ASK)
    assert b"INTERNAL_ERROR" not in said
    assert b"condition" not in said


def test_python_answers_who_has_the_token(gateway: Any) -> None:
    """So that what is refused above is refused for the token."""
    port = gateway._callback_server.server_socket.getsockname()[1]
    token = gateway.gateway_parameters.auth_token
    assert len(token) >= 32
    found = [answer(port, auth(token) + ASK.replace(b"p0", b"p%d" % number)) for number in range(20)]
    assert any(b"INTERNAL_ERROR" in one for one in found)


@pytest.mark.parametrize("token", [None, "wrong"])
def test_the_jvm_answers_nobody_without_the_token(gateway: Any, token: str | None) -> None:
    call = b"c\nz:java.lang.System\ngetProperty\nsjava.version\ne\n"
    port, given = gateway.gateway_parameters.port, gateway.gateway_parameters.auth_token
    assert b"!ys" in answer(port, auth(given).removesuffix(b"e\n") + call)
    assert b"!ys" not in answer(port, (b"" if token is None else auth(token).removesuffix(b"e\n")) + call)


def test_threads_of_spark_that_python_did_not_start_are_answered(spark: SparkSession, table_name: str) -> None:
    """A stream's thread calls back by a connection of its own."""
    counted: list[int] = []
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")

    def count(batch: Any, number: int) -> None:
        counted.append(batch.count())

    query = spark.readStream.table(table_name).writeStream.foreachBatch(count).trigger(availableNow=True).start()
    query.awaitTermination()
    assert counted == [2]
