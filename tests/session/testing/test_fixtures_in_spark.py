"""The fixtures of the plugin that have Spark, in a project of a user: a JVM of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).resolve().parents[3]
_IN_SPARK = re.compile(r"```python\n# test_in_spark.py\n(.*?)```", re.DOTALL)
_OWN_SESSION = re.compile(r"```python\n# conftest.py of [^\n]*\n(.*?)```", re.DOTALL)


def test_a_session_a_dying_worker_and_a_suite_with_a_session_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini(
        """
        [pytest]
        addopts = -p no:cacheprovider -p sqlext.testing.plugin
        sqlext_spark_settings =
            spark.sql.session.timeZone = UTC
            spark.sql.shuffle.partitions = 1
        """
    )
    pytester.makepyfile(
        test_a_with_the_kit="""
        from sqlext.testing import assert_tables_equal

        def test_of_both_worlds(sqlext_spark, make_table):
            assert sqlext_spark.conf.get("spark.sql.session.timeZone") == "UTC"
            orders = make_table("id BIGINT, buyer STRING", name="db.orders", key="id", rows=[{"id": 1, "buyer": "Ada"}])
            copy = make_table("id BIGINT, buyer STRING", key="id", rows=sqlext_spark.table("lake.db.orders"))
            assert_tables_equal(copy, orders)

        def test_starts_empty(sqlext_spark):
            assert sqlext_spark.sql("SHOW NAMESPACES IN lake").count() == 0
            sqlext_spark.sql("CREATE NAMESPACE lake.db")
            sqlext_spark.sql("CREATE TABLE lake.db.orders (id INT, PRIMARY KEY (id))")
            assert sqlext_spark.table("lake.db.orders").count() == 0

        def test_a_dying_worker_is_none_of_the_callers_business(sqlext_spark, make_table, faults):
            orders = make_table("id BIGINT", name="db.orders")
            sqlext_spark.conf.set("sqlext.plan.force", "tasks")
            with faults.kill_worker(2):
                sqlext_spark.sql("INSERT INTO lake.db.orders SELECT id FROM range(1000)")
            sqlext_spark.conf.unset("sqlext.plan.force")
            assert orders.to_arrow().num_rows == 1000
        """,
    )
    page = (_ROOT / "docs" / "testing.md").read_text()
    (pytester.path / "test_a_of_the_page.py").write_text(_IN_SPARK.findall(page)[0])
    pytester.mkpydir("own").joinpath("conftest.py").write_text(
        "import pytest, sqlext\n"
        "from pyspark.sql import SparkSession\n\n"
        "@pytest.fixture(scope='session')\n"
        "def spark(tmp_path_factory):\n"
        "    where = str(tmp_path_factory.mktemp('mine'))\n"
        "    session = sqlext.configure(SparkSession.builder.master('local[1]'), mine=where).getOrCreate()\n"
        "    session.sql('CREATE NAMESPACE mine.db')\n"
        "    session.sql('CREATE TABLE mine.db.t (id INT)')\n"
        "    yield session\n"
        "    session.stop()\n\n" + _OWN_SESSION.findall(page)[0]
    )
    (pytester.path / "own" / "test_b_of_the_suite.py").write_text(
        "def test_it(spark, sqlext_spark, make_table, faults):\n"
        "    assert spark is sqlext_spark\n"
        "    make_table('id BIGINT', name='db.orders', rows=[{'id': 1}])\n"
        "    assert spark.table('lake.db.orders').count() == 1\n"
        "    with faults.lose_next_commit(table='mine.db.t'):\n"
        "        spark.sql('INSERT INTO mine.db.t VALUES (1)')\n"
        "    assert spark.table('mine.db.t.snapshots').count() == 2\n"
    )
    first = pytester.runpytest_subprocess("-q", "test_a_with_the_kit.py", "test_a_of_the_page.py", timeout=300)
    first.assert_outcomes(passed=4)
    own = pytester.runpytest_subprocess("-q", "own", timeout=300)
    own.assert_outcomes(passed=1)
