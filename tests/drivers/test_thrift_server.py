"""The Thrift server, with beeline as its client over JDBC: sessions are apart from each other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import psutil
import pytest

from drivers.beeline import PROMPT, beeline
from drivers.spark_servers import THRIFT, server


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with server(THRIFT, tmp_path_factory.mktemp("thrift").resolve()) as port:
        yield port


def rows(client: subprocess.Popen[str]) -> list[str]:
    output, errors = client.communicate(timeout=300)
    assert "Error" not in errors, errors
    return [line for line in PROMPT.sub("", output).splitlines() if line]


def test_statements(port: int) -> None:
    given = rows(
        beeline(
            port,
            "CREATE NAMESPACE lake.db",
            "CREATE TABLE lake.db.t (id INT, v STRING, PRIMARY KEY (id))",
            "INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')",
            "UPSERT INTO lake.db.t VALUES (2, 'c'), (3, 'd')",
            "INSERT INTO lake.db.t SELECT id + 10, 'x' FROM range(300000)",
            "SELECT * FROM lake.db.t WHERE id < 10 ORDER BY id",
        )
    )
    assert given == ["2,2,0,0", "2,1,1,0", "300000,300000,0,0", "1,a", "2,c", "3,d"]


def test_connections_have_transactions_of_their_own(port: int) -> None:
    rows(beeline(port, "CREATE NAMESPACE lake.tx", "CREATE TABLE lake.tx.t (id INT, v STRING, PRIMARY KEY (id))"))
    first = beeline(
        port,
        "BEGIN",
        "INSERT INTO lake.tx.t VALUES (1, 'a')",
        "SELECT java_method('java.lang.Thread', 'sleep', 20000L) IS NULL",
        "SELECT count(*) FROM lake.tx.t",
        "ROLLBACK",
    )
    assert first.stdout is not None
    while "1,1,0,0" not in first.stdout.readline():
        assert first.poll() is None
    second = beeline(port, "SELECT count(*) FROM lake.tx.t", "INSERT INTO lake.tx.t VALUES (2, 'b')")
    assert rows(second) == ["0", "1,1,0,0"]
    assert rows(first)[-1] == "1"
    assert rows(beeline(port, "SELECT * FROM lake.tx.t")) == ["2,b"]


def test_errors_have_their_conditions(port: int) -> None:
    _, errors = beeline(port, "CREATE TABLE lake.none.t (id INT, PRIMARY KEY (nope))").communicate(timeout=300)
    assert "Error running query: [UNRESOLVED_COLUMN.WITH_SUGGESTION]" in errors
    assert "The column nope cannot be resolved in PRIMARY KEY" in errors


def test_a_connection_opens_where_the_python_side_was_killed(port: int) -> None:
    """What opens a connection, in a thread with Hive's class loader, starts the next: it finds the shim's classes."""
    rows(beeline(port, "CREATE NAMESPACE lake.killed"))
    children = psutil.Process(server_at(port)).children()
    (side,) = (one for one in children if "sqlext.serve" in (one.as_dict(["cmdline"])["cmdline"] or ()))
    side.kill()
    side.wait(30)
    assert rows(beeline(port, "CREATE TABLE lake.killed.t (id INT)", "SELECT count(*) FROM lake.killed.t")) == ["0"]


def server_at(port: int) -> int:
    """The id of the process that listens at the port."""
    found = (
        one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.laddr.port == port
    )
    pid = next(found).pid
    assert pid is not None
    return pid
