"""Python's half of the shim's Bridge: answers questions and commands with JSON, and errors as JSON instead of
traces."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.error_conditions import CONDITIONS
from sqlext.error_conditions.spark_parameters import with_spark_parameters
from sqlext.errors import SqlextError, UnsupportedError
from sqlext.spark.bridge import interrupts
from sqlext.spark.bridge.row_lookup import RowLookup
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.executor_task import lacking_packages

Question = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Command = Callable[[SparkSession, Mapping[str, Any], DataFrame | None], Mapping[str, Any]]

# A setting for the start of a session; Java's threads have stacks of 1 MB by default.
_MORE_STACK = "spark.driver.extraJavaOptions=-Xss16m"

_LOG = logging.getLogger("sqlext")


class Bridge:
    """Implements the Scala trait `io.sqlext.Bridge` by functions for questions and commands.

    `catalogs` are those that the functions use, and `rows` looks up keys in their tables; `close` stops what they have
    running, after another bridge is attached.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalogs: Catalogs,
        rows: RowLookup,
        questions: Mapping[str, Question],
        commands: Mapping[str, Command],
        close: Callable[[], None],
    ) -> None:
        self.catalogs = catalogs
        self.rows = rows
        self.close = close
        self._context = spark.sparkContext
        self._questions = questions
        self._commands = commands

    def ask(self, question: str, arguments: str) -> str:
        """The answer to a question as JSON, or {"error": …}."""
        try:
            return json.dumps(self._questions[question](json.loads(arguments)))
        except BaseException as failure:  # a panic of a Rust library too: the JVM would wait for an answer for ever
            return _error(failure, question)

    def run(self, session: Any, command: str, arguments: str, rows: Any) -> Any:
        """The answer to a command as JSON, {"error": …}, or the Throwable of a Spark job that failed in it."""
        try:
            spark = SparkSession(self._context, session)
            frame = None if rows is None else DataFrame(rows, spark)
            with interrupts.interruptible():
                return json.dumps(self._commands[command](spark, json.loads(arguments), frame))
        except PySparkException as failure:
            lacking = lacking_packages(str(failure))
            if lacking is not None:
                return _error(
                    UnsupportedError("WORKER_LACKS_PACKAGES", packages=lacking[0], python=lacking[1]), command
                )
            origin = _origin(failure)
            return _error(failure, command) if origin is None else origin
        except Py4JJavaError as failure:
            if _is_overflow(failure.java_exception):
                return _error(_too_deep("Spark can follow", f", or give Spark more stack by {_MORE_STACK}"), command)
            return failure.java_exception
        except KeyboardInterrupt:
            return _error(SqlextError("OPERATION_CANCELED"), command)
        except BaseException as failure:  # as in `ask`
            return _error(failure, command)

    class Java:
        implements = ("io.sqlext.Bridge",)


def _origin(failure: PySparkException) -> Any:
    """The Throwable behind a PySpark exception; None if PySpark raised it itself.

    PySpark keeps it, except for the failure of a Python worker, which is raised while the Throwable is handled. For a
    Throwable that only tells that a thread failed, its cause is returned, by which PySpark recognises the failure.
    """
    origin = getattr(failure, "_origin", None)
    if origin is None and isinstance(failure.__context__, Py4JJavaError):
        origin = failure.__context__.java_exception
        if "Exception thrown in awaitResult" in (origin.getMessage() or "") and origin.getCause() is not None:
            return origin.getCause()
    return origin


def _is_overflow(thrown: Any) -> bool:
    """Whether Spark's stack overflowed, in any thread."""
    while thrown is not None:
        if thrown.getClass().getName() == "java.lang.StackOverflowError":
            return True
        thrown = thrown.getCause()
    return False


def _too_deep(limit: str, otherwise: str = "") -> SqlextError:
    what = "The statement, a type or what a table's metadata says"
    return SqlextError("TOO_DEEPLY_NESTED", what=what, limit=limit, otherwise=otherwise)


def _error(failure: BaseException, asked: str) -> str:
    if isinstance(failure, RecursionError):
        failure = _too_deep("can be followed")
    if not isinstance(failure, SqlextError):
        _LOG.error("sqlext failed on %r", asked, exc_info=failure)
        failure = SqlextError("INTERNAL_ERROR", asked=asked, reason=f"{type(failure).__name__}: {failure}")
    return error_json(failure)


def error_json(failure: SqlextError) -> str:
    """The answer that the shim makes an exception of."""
    return json.dumps(
        {
            "error": {
                "condition": failure.condition,
                "sqlstate": failure.sqlstate,
                "message": str(failure),
                "template": _spark_template(failure.condition),
                "parameters": with_spark_parameters(failure.condition, failure.parameters),
            }
        }
    )


def _spark_template(condition: str) -> str:
    """The message with its parameters as Spark writes them: in angle brackets."""
    parts = Formatter().parse(CONDITIONS[condition].template)
    return "".join(text + ("" if name is None else f"<{name}>") for text, name, _, _ in parts)
