"""One session, one warehouse and one judge for a whole run; all start on first use, so unit tests need no JVM."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from golden.runner import DEFAULT_SPARK
from judges.iceberg import IcebergJudge
from own_folders import use_own_folders
from recorded_errors import Told, conditions_of, raised_errors, settle
from sessions import open_session
from sqlext.spark.shim.shim_jar import installed_spark
from turns import take_turns, turn

_numbers = itertools.count(1)
use_own_folders()

# A time limit on an example fails on a busy machine; the blob replays the example that failed.
settings.register_profile("untimed", deadline=None, print_blob=True)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is `long`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    take_turns(items, turn())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"tests of many parameters took their turn {turn()} (SQLEXT_TURN={turn()})")


@pytest.fixture
def seed() -> int:
    """What a random test begins with; pytest shows it when the test fails."""
    chosen = random.randrange(2**32)
    print(f"seed {chosen}")
    return chosen


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse").resolve()


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    session = open_session(warehouse)
    session.sql("CREATE NAMESPACE lake.db")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def iceberg(warehouse: Path) -> Iterator[IcebergJudge]:
    judge = IcebergJudge(warehouse)
    yield judge
    judge.close()


@pytest.fixture
def table_name() -> str:
    """A table that no other test uses: `lake.db.t<N>`."""
    return f"lake.db.t{next(_numbers)}"


_SHOWN = pytest.StashKey[list[Told]]()


@pytest.fixture
def shown_error(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Gives docs/errors.md the message of a condition that another process has ended with."""

    def show(condition: str, message: str) -> None:
        request.node.stash.setdefault(_SHOWN, []).append(Told(condition, message))

    return show


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Holds the messages of docs/errors.md that are this test's equal to those that it makes."""
    conditions = conditions_of(item.nodeid)
    if not conditions:
        return (yield)
    with raised_errors() as raised:
        result = yield
    folders = [one for one in getattr(item, "funcargs", {}).values() if isinstance(one, Path)]
    if installed_spark().minor == DEFAULT_SPARK:  # others speak of themselves, and quote otherwise
        for condition in conditions:
            settle(condition, [*raised, *item.stash.get(_SHOWN, [])], folders)
    return result
