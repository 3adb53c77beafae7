"""The plugin in projects of users: each test is one of pytest's runs in a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project, in an environment that has sqlext installed: its entry points are those of pyproject.toml."""
    points = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    about = pytester.path.parent / "installed" / "sqlext_of_the_clone-0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sqlext-of-the-clone\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {of}\n" for name, of in found.items()) for group, found in points.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setenv("PYTHONPATH", f"{_ROOT}:{about.parent}")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider")
    return pytester


def test_a_table_a_comparison_and_a_fault(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from sqlext.testing import assert_tables_equal

        def test_one(make_table, faults):
            orders = make_table("id BIGINT, buyer STRING", key="id", rows=[{"id": 1, "buyer": "Ada"}])
            assert orders.name == "db.t1"
            with faults.lose_next_commit():
                orders.upsert([{"id": 1, "buyer": "Bo"}])
            assert_tables_equal(orders, [{"id": 1, "buyer": "Bo"}])

        def test_two(sqlext_local, make_table):
            assert sqlext_local.namespaces() == []
            assert make_table("id BIGINT").name == "db.t1"
            assert make_table("id BIGINT").name == "db.t2"

        def test_wrong(make_table):
            orders = make_table("id BIGINT, buyer STRING", key="id", rows="id,buyer\\n1,Ada")
            assert_tables_equal(orders, [{"id": 1, "buyer": "Eve"}])

        def test_unmet(make_table, faults):
            with faults.lose_answer():
                pass
        """
    )
    result = project.runpytest_subprocess("-q")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        ["*id=1: buyer is 'Ada', expected 'Eve'", "*FaultNotMet: lose_answer was to happen once*"]
    )


@pytest.mark.parametrize("by", ["ini", "option"])
def test_a_catalog_in_sqlite_with_options(project: pytest.Pytester, by: str) -> None:
    kind = "sqlext_catalog_type = sqlite" if by == "ini" else ""
    project.makeini(
        f"""
        [pytest]
        sqlext_catalog_name = shop
        sqlext_catalog_options =
            table-default.format-version = 3
            care = keyed
        {kind}
        """
    )
    project.makepyfile(
        """
        def test_it(sqlext_warehouse, make_table):
            assert sqlext_warehouse.name == "shop"
            assert sqlext_warehouse.options["uri"].startswith("sqlite:")
            assert sqlext_warehouse.options["care"] == "keyed"
            table = make_table("id BIGINT", key="id", rows=[{"id": 1}])
            assert table.metadata("metadata_log_entries").num_rows > 0
        """
    )
    arguments = ["--sqlext-catalog-type", "sqlite"] if by == "option" else []
    project.runpytest_subprocess("-q", *arguments).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("sqlext_catalog_type = hive", "*sqlext_catalog_type is 'hive', and can be folder or sqlite*"),
        ("sqlext_catalog_options = care", "*sqlext_catalog_options has the line 'care', which is not of the form*"),
        ("sqlext_catalog_options = cares = none", "*CATALOG_OPTION_REFUSED*cares*"),
    ],
)
def test_settings_that_make_no_sense(project: pytest.Pytester, lines: str, said: str) -> None:
    project.makeini(f"[pytest]\n{lines}\n")
    project.makepyfile("def test_it(sqlext_local): pass")
    result = project.runpytest_subprocess("-q")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_a_catalog_of_the_suites_own_is_within_reach_of_faults(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest, sqlext.local
        from sqlext.testing import make_table

        @pytest.fixture
        def lake(tmp_path):
            return sqlext.local.open(tmp_path / "own")

        def test_a_fixture(lake, faults):
            table = make_table(lake, "id BIGINT", name="db.t")
            with faults.lose_next_commit():
                table.append([{"id": 1}])

        def test_opened_by_the_code_under_test(lake, tmp_path, faults):
            make_table(lake, "id BIGINT", name="db.t")

            def pipeline():
                sqlext.local.open(tmp_path / "own").table("db.t").append([{"id": 1}])

            with faults.lose_next_commit():
                pipeline()
        """
    )
    project.runpytest_subprocess("-q").assert_outcomes(passed=2)


_PIPELINES = """
    import pytest
    from sqlext.errors import SqlextError
    from sqlext.testing.simulator import FaultRates

    @pytest.fixture
    def orders(make_table):
        return make_table("id BIGINT, buyer STRING", key="id")

    def test_right(orders, simulate):
        simulate(lambda batch: orders.upsert(batch.rows()), orders, steps=4)

    def test_drops_a_retry(orders, simulate):
        def pipeline(batch):
            try:
                orders.upsert(batch.rows())
            except SqlextError as error:
                print("will be tried tomorrow")

        simulate(pipeline, orders, rates=FaultRates(refused_write=0.5))

    def test_applies_twice(orders, simulate):
        def pipeline(batch):
            orders.delete(batch.deleted() or [{"id": -1}])
            orders.append(batch.upserted())

        simulate(pipeline, orders, atomic=False)
"""


def test_wrong_pipelines_are_found_and_their_seeds_replayed(project: pytest.Pytester) -> None:
    project.makepyfile(_PIPELINES)
    result = project.runpytest_subprocess("-q", "--sqlext-seed=100", "--sqlext-seeds=3")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*SimulationFailed: seed 10*the pipeline has returned, and the tables differ*"])
    told = [line for line in result.outlines if "with pytest, --sqlext-seed=" in line and line.startswith("E")]
    assert len(told) == 2
    none = project.runpytest_subprocess("-q", "--sqlext-seeds=0")
    none.assert_outcomes(errors=3)
    replay = told[0].rpartition("with pytest, ")[2].split()
    again = project.runpytest_subprocess("-q", "-k", "drops", *replay)
    again.assert_outcomes(failed=1, deselected=2)
    again.stdout.fnmatch_lines([f"*SimulationFailed: seed {replay[0].partition('=')[2]}*"])


def test_a_run_that_uses_nothing_of_it_pays_for_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_it(tmp_path_factory, pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("sqlext")
            known = ("sqlext", "pyspark", "pyarrow", "numpy")
            loaded = {name for name in sys.modules if name.partition(".")[0] in known}
            assert loaded == {"sqlext", "sqlext.version", "sqlext.testing", "sqlext.testing.plugin"}
            assert not list(tmp_path_factory.getbasetemp().iterdir())
        """
    )
    project.runpytest_subprocess("-q").assert_outcomes(passed=1)


def test_tests_without_spark_start_no_jvm(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(project.path / "none"))
    monkeypatch.setenv("PATH", "")
    project.makepyfile(
        """
        from pyspark import SparkContext

        def test_it(make_table, faults, simulate):
            orders = make_table("id BIGINT", key="id")
            with faults.lose_answer(checked=True):
                orders.upsert([{"id": 1}])
            assert SparkContext._active_spark_context is None
        """
    )
    project.runpytest_subprocess("-q").assert_outcomes(passed=1)


def test_fixtures_and_options_are_told(project: pytest.Pytester) -> None:
    fixtures = project.runpytest_subprocess("--fixtures", "-q")
    for name in (
        "sqlext_catalog",
        "sqlext_warehouse",
        "sqlext_local",
        "sqlext_spark",
        "make_table",
        "faults",
        "simulate",
    ):
        assert any(line.startswith(name) for line in fixtures.outlines), name
    options = project.runpytest_subprocess("--help")
    options.stdout.fnmatch_lines(["*--sqlext-catalog-type=*", "*--sqlext-seed=N*", "*sqlext_spark_master*"])


def test_pytest_is_needed_by_the_extra_alone() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert not [one for one in project["dependencies"] if one.startswith("pytest")]
    assert [one.partition(">")[0] for one in project["optional-dependencies"]["testing"]] == ["pytest"]
