"""The Python half of the shim's Bridge: questions and commands come in, JSON goes out, no error escapes as a trace."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.errors import SqlextError
from sqlext.spark.bridge import interrupts
from sqlext.spark.catalog.session_catalogs import Catalogs

Question = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Command = Callable[[SparkSession, Mapping[str, Any], DataFrame | None], Mapping[str, Any]]

# For a session's start. The stack of Java's threads has 1 MB by default.
_MORE_STACK = "spark.driver.extraJavaOptions=-Xss16m"

_LOG = logging.getLogger("sqlext")


class Bridge:
    """Implements the Scala trait `io.sqlext.Bridge` over tables of questions and commands.

    `catalogs` are those that these have open; `close` ends what they have running, once another bridge is attached.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalogs: Catalogs,
        questions: Mapping[str, Question],
        commands: Mapping[str, Command],
        close: Callable[[], None],
    ) -> None:
        self.catalogs = catalogs
        self.close = close
        self._context = spark.sparkContext
        self._questions = questions
        self._commands = commands

    def ask(self, question: str, arguments: str) -> str:
        """The answer to one question, or {"error": …}."""
        try:
            return json.dumps(self._questions[question](json.loads(arguments)))
        except Exception as failure:
            return _error(failure, question)

    def run(self, session: Any, command: str, arguments: str, rows: Any) -> Any:
        """The answer of one command, {"error": …}, or the Throwable of the Spark job that failed under it."""
        try:
            spark = SparkSession(self._context, session)
            frame = None if rows is None else DataFrame(rows, spark)
            with interrupts.heeded():
                return json.dumps(self._commands[command](spark, json.loads(arguments), frame))
        except PySparkException as failure:
            origin = _origin(failure)
            return _error(failure, command) if origin is None else origin
        except Py4JJavaError as failure:
            if _is_overflow(failure.java_exception):
                return _error(_too_deep("Spark can follow", f", or give Spark more stack by {_MORE_STACK}"), command)
            return failure.java_exception
        except KeyboardInterrupt:
            return _error(SqlextError("OPERATION_CANCELED"), command)
        except Exception as failure:
            return _error(failure, command)

    class Java:
        implements = ("io.sqlext.Bridge",)


def _origin(failure: PySparkException) -> Any:
    """The Throwable that PySpark made the exception of, or None for an exception of PySpark's own.

    PySpark keeps it for all but the failure of a Python worker, which is raised while the Throwable is handled. A
    Throwable that says no more than that a thread failed gives way to its cause, by which PySpark knows the failure.
    """
    origin = getattr(failure, "_origin", None)
    if origin is None and isinstance(failure.__context__, Py4JJavaError):
        origin = failure.__context__.java_exception
        if "Exception thrown in awaitResult" in (origin.getMessage() or "") and origin.getCause() is not None:
            return origin.getCause()
    return origin


def _is_overflow(thrown: Any) -> bool:
    """Whether Spark went out of stack in a statement that it ran for one of ours, in whatever thread."""
    while thrown is not None:
        if thrown.getClass().getName() == "java.lang.StackOverflowError":
            return True
        thrown = thrown.getCause()
    return False


def _too_deep(limit: str, otherwise: str = "") -> SqlextError:
    what = "The statement, a type or what a table's metadata says"
    return SqlextError("TOO_DEEPLY_NESTED", what=what, limit=limit, otherwise=otherwise)


def _error(failure: Exception, asked: str) -> str:
    if isinstance(failure, RecursionError):
        failure = _too_deep("can be followed")
    if not isinstance(failure, SqlextError):
        _LOG.error("sqlext failed on %r", asked, exc_info=failure)
        failure = SqlextError("INTERNAL_ERROR", asked=asked, reason=f"{type(failure).__name__}: {failure}")
    return json.dumps(
        {
            "error": {
                "condition": failure.condition,
                "sqlstate": failure.sqlstate,
                "message": str(failure),
                "parameters": failure.parameters,
            }
        }
    )
