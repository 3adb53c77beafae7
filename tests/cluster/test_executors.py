"""Executors in processes of their own, whose Python has PySpark and not sqlext."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from signal import SIGKILL, SIGPWR, Signals
from typing import Any

import pytest

from catalog.postgres_server import PostgresServer
from catalog.rest_server import RestServer
from catalog.s3_server import S3Server, s3a_settings
from cluster.cluster_process import ROWS
from cluster.standalone import executors, standalone_cluster
from cluster.worker_python import worker_python
from drivers.spark_servers import CONNECT, environment, server

DRIVER = Path(__file__).parent / "cluster_process.py"
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
AFTER_CHANGES = {
    "rows": [["a", 333_333], ["b", 166_667], ["c", 500_000], ["d", 1_000_000]],
    "enforced": "[KEY_ALREADY_EXISTS",
    "small": [1, 0, 1, 0],
    "files": True,
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worker_python(tmp_path_factory.mktemp("python") / "worker")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster").resolve()) as address:
        yield address


def driver(
    folder: Path,
    worker: Path,
    master: str,
    scenario: str,
    lake: Mapping[str, str],
    settings: Mapping[str, str] | None = None,
) -> Any:
    """A running driver whose catalog `lake` has these options."""
    conf = {"spark.sql.catalog.lake": "io.sqlext.Catalog", **(settings or {})}
    conf |= {f"spark.sql.catalog.lake.{name}": value for name, value in lake.items()}
    return subprocess.Popen(
        [sys.executable, str(DRIVER), master, scenario, json.dumps(conf)],
        stdout=subprocess.PIPE,
        stderr=(folder / "driver.log").open("w"),
        text=True,
        env={**environment(), "PYSPARK_PYTHON": str(worker)},
        cwd=folder,
    )


def found(running: Any, folder: Path, longest_s: float = 600) -> dict[str, Any]:
    output, _ = running.communicate(timeout=longest_s)
    assert running.returncode == 0, (folder / "driver.log").read_text()[-6000:]
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def folders(tmp_path: Path) -> dict[str, str]:
    return {"warehouse": str(tmp_path / "lake")}


@pytest.mark.turns(1, pool="executors")
def test_executors_get_the_package_from_the_driver(tmp_path: Path, worker: Path) -> None:
    running = driver(tmp_path, worker, LOCAL_CLUSTER, "changes", folders(tmp_path))
    assert found(running, tmp_path) == AFTER_CHANGES


@pytest.mark.long
def test_a_catalog_in_postgresql_and_a_warehouse_in_s3(tmp_path: Path, worker: Path, cluster: str) -> None:
    database, store = PostgresServer(tmp_path), S3Server()
    try:
        lake = {"type": "jdbc", **database.new_database(), **store.settings()}
        lake["warehouse"] = f"s3://{store.new_bucket()}/w"
        running = driver(tmp_path, worker, cluster, "changes", lake, s3a_settings())
        assert found(running, tmp_path) == AFTER_CHANGES
    finally:
        store.stop()
        database.stop()


@pytest.mark.long
def test_a_catalog_of_a_rest_server(tmp_path: Path, worker: Path, cluster: str) -> None:
    server = RestServer(tmp_path)
    try:
        assert found(driver(tmp_path, worker, cluster, "changes", server.settings()), tmp_path) == AFTER_CHANGES
    finally:
        server.stop()


SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
}
DECOMMISSIONING = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
}


@pytest.mark.turns(1, pool="executors")
@pytest.mark.parametrize(
    ("scenario", "settings", "loss", "losses", "counted"),
    [
        ("slow_insert", SPECULATION, SIGKILL, 2, [ROWS, ROWS, ROWS // 2 * 128 + ROWS // 2 * 8, ROWS]),
        pytest.param(
            "shuffled_insert",
            {},
            SIGKILL,
            1,
            [ROWS, ROWS, ROWS * 128, ROWS],
            marks=pytest.mark.long,
        ),
        pytest.param(
            "slow_insert",
            DECOMMISSIONING,
            SIGPWR,
            2,
            [ROWS, ROWS, ROWS // 2 * 128 + ROWS // 2 * 8, ROWS],
            marks=pytest.mark.long,
        ),
        pytest.param(
            "shuffled_insert",
            DECOMMISSIONING,
            SIGPWR,
            1,
            [ROWS, ROWS, ROWS * 128, ROWS],
            marks=pytest.mark.long,
        ),
    ],
)
def test_rows_are_exact_after_executors_were_lost_in_a_write(
    tmp_path: Path,
    worker: Path,
    cluster: str,
    scenario: str,
    settings: dict[str, str],
    loss: Signals,
    losses: int,
    counted: list[int],
) -> None:
    """Their tasks run again, and with those of a shuffle the tasks that had written its files. No row is there twice,
    nor has the value of another one in the identity column."""
    running = driver(tmp_path, worker, cluster, scenario, folders(tmp_path), settings)
    lost = 0
    for line in running.stdout:
        if line.startswith("begins"):
            time.sleep(1.0)
            for executor in executors()[:1]:
                executor.send_signal(loss)
                lost += 1
        else:
            break
    running.wait()
    assert lost == losses, (tmp_path / "driver.log").read_text()[-3000:]
    answer = json.loads(line)
    assert answer["counted"] == counted
    # a decommissioned executor hands its shuffle files to the other
    assert answer.get("shuffles_again", False) == (scenario == "shuffled_insert" and loss == SIGKILL)
    # what dead tasks left lies where a removal of unreferenced files looks
    named = {Path(path.removeprefix("file:")).resolve() for path in answer["files"]}
    table = (tmp_path / "lake" / "db" / "t").resolve()
    assert {path for path in named if not path.exists()} == set()
    written = {path.resolve() for path in (tmp_path / "lake").rglob("*.parquet")}
    assert all(path.is_relative_to(table / "data") for path in written - named)


@pytest.mark.long
def test_executors_that_come_and_go(tmp_path: Path, worker: Path, cluster: str) -> None:
    """Spark asks for executors as tasks wait, and lets them go after a second without any."""
    settings = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    }
    assert found(driver(tmp_path, worker, cluster, "changes", folders(tmp_path), settings), tmp_path) == AFTER_CHANGES


@pytest.mark.long
def test_a_large_merge_with_little_memory(tmp_path: Path, worker: Path) -> None:
    """Executors and the driver's JVM have 1 GB each; the driver's Python holds bitmaps of positions and no rows."""
    running = driver(tmp_path, worker, LOCAL_CLUSTER, "large_merge", folders(tmp_path))
    answer = found(running, tmp_path, 3600)
    assert answer["counts"] == [20_000_000, 2_000_000, 18_000_000, 0]
    assert answer["rows"] == [102_000_000, 102_000_000, 20_000_000]
    assert answer["peaks_mb"]["python"] < 1024, answer
    print(answer["peaks_mb"])


@pytest.mark.long
def test_a_server_of_connect_on_a_cluster(tmp_path: Path, worker: Path) -> None:
    on_cluster = {"spark.master": LOCAL_CLUSTER, "spark.pyspark.python": str(worker), "spark.executor.memory": "1g"}
    with server(CONNECT, tmp_path, on_cluster) as port:
        own = {**os.environ, "SPARK_CONNECT_MODE_ENABLED": "1"}
        client = [sys.executable, str(DRIVER.parent / "connect_statements.py"), str(port)]
        run = subprocess.run(client, capture_output=True, text=True, check=False, env=own, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout.splitlines()[-1]) == [["a", 1_333_333], ["b", 666_667]]


@pytest.mark.long
def test_a_missing_dependency_is_named(tmp_path: Path, shown_error: Callable[[str, str], None]) -> None:
    lacking = worker_python(tmp_path / "worker", "pyroaring", "fastavro")
    refused = found(driver(tmp_path, lacking, LOCAL_CLUSTER, "changes", folders(tmp_path)), tmp_path)["refused"]
    assert refused.startswith("[WORKER_LACKS_PACKAGES]")
    assert "fastavro>=1.9 (not installed), pyroaring>=1.0 (not installed)" in refused
    assert str(lacking) in refused
    assert "\n" not in refused.strip()
    shown_error("WORKER_LACKS_PACKAGES", refused)


@pytest.mark.long
def test_a_worker_without_pyarrow_is_told_too(tmp_path: Path) -> None:
    lacking = worker_python(tmp_path / "worker", "pyarrow")
    refused = found(driver(tmp_path, lacking, LOCAL_CLUSTER, "changes", folders(tmp_path)), tmp_path)["refused"]
    assert refused.startswith("[WORKER_LACKS_PACKAGES]")
    assert "pyarrow" in refused.lower()
