"""PyFlink at the other end of a pipe: `flink_process.py <warehouse>`, run by the Python that has it.

Requests and answers are JSON lines over standard input and output: `{"sql": text}` runs a statement,
`{"start": text}` begins a job that inserts and answers with its number, `{"state": number}` and `{"stop": number}`
are about it, `{"rows": text}` answers a query. Its catalog `ice` is Iceberg's Hadoop catalog over the warehouse.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

CHECKPOINTS = "300 ms"


def environment(warehouse: str, batch: bool) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    table_environment = TableEnvironment.create(settings)
    configuration = {
        "parallelism.default": "1",
        "rest.bind-port": "0",
        "rest.port": "0",
        # Flink's own default begins a job that fails again for ever.
        "restart-strategy.type": "none",
        "table.dml-sync": "false",
        # Its own state of what was sent would stand between the log and the sink.
        "table.exec.sink.upsert-materialize": "NONE",
        "table.local-time-zone": "UTC",
    }
    if not batch:
        configuration["execution.checkpointing.interval"] = CHECKPOINTS
    for name, value in configuration.items():
        table_environment.get_config().set(name, value)
    table_environment.execute_sql(
        f"CREATE CATALOG ice WITH ('type'='iceberg','catalog-type'='hadoop','warehouse'='file://{warehouse}')"
    )
    return table_environment


def plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return str(value) if isinstance(value, (datetime.date, decimal.Decimal)) else value


class Session:
    """Both modes of one Flink, and the jobs that were begun."""

    def __init__(self, warehouse: str) -> None:
        self._stream, self._batch = environment(warehouse, batch=False), environment(warehouse, batch=True)
        self._jobs: list[Any] = []

    def answer(self, request: dict[str, Any]) -> Any:
        ((verb, given),) = request.items()
        if verb == "sql":
            self._stream.execute_sql(given)
            return None
        if verb == "start":
            self._jobs.append(self._stream.execute_sql(given).get_job_client())
            return len(self._jobs) - 1
        if verb == "state":
            return self._jobs[given].get_job_status().result().name
        if verb == "stop":
            return self._jobs[given].cancel().result()
        with self._batch.execute_sql(given).collect() as rows:
            return [[plain(value) for value in row] for row in rows]


def main() -> None:
    # What Flink prints goes to standard error, as the answers must be alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = Session(sys.argv[1])
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"answer": session.answer(json.loads(line))}
        except Exception as failure:
            answer = {"error": str(failure)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
