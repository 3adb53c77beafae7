"""The cache of the shim's jar: what is not whole is compiled anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sqlext.errors import UnsupportedError
from sqlext.spark.shim import shim_jar as module
from sqlext.spark.shim.shim_jar import Spark, compile_shim, installed_spark, scala_sources, shim_jar, spark_in
from sqlext.spark.shim.supported_spark import MINORS


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999, "a byte", "another archive"])
def test_a_damaged_jar_is_replaced(share: float | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim_jar()
    data = whole.read_bytes()
    jar = tmp_path / whole.name
    if share == "another archive":
        shutil.make_archive(str(tmp_path / "other"), "zip", Path(__file__).parent)
        shutil.copy(tmp_path / "other.zip", jar)
    elif share == "a byte":
        middle = len(data) // 2
        jar.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    else:
        jar.write_bytes(data[: int(len(data) * float(share))])
    monkeypatch.setattr(module, "compile_shim", lambda sources, spark, jar: shutil.copy(whole, jar))
    told: list[str] = []
    assert shim_jar(tmp_path, tell=told.append) == jar
    assert [line for line in told if "compiling its JVM shim" in line and str(tmp_path) in line] == told != []
    assert jar.read_bytes() == data


def test_a_whole_jar_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = shim_jar()
    shutil.copy(whole, tmp_path / whole.name)
    monkeypatch.setattr(module, "compile_shim", lambda sources, spark, jar: pytest.fail("it was compiled"))
    assert shim_jar(tmp_path) == tmp_path / whole.name


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """Such as that of a home folder that is read-only."""
    (tmp_path / "home").touch()
    with pytest.raises(UnsupportedError) as refused:
        shim_jar(tmp_path / "home" / ".cache")
    assert refused.value.condition == "SHIM_NOT_KEPT"
    assert refused.value.parameters["folder"] == str(tmp_path / "home" / ".cache")


def test_spark_is_known_by_its_jars_not_by_pysparks_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.0.3.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert installed_spark() == Spark(tmp_path / "jars", "4.0", "4.0.3")


@pytest.mark.parametrize(
    ("jar", "condition"),
    [
        ("spark-core_2.13-3.5.9.jar", "SPARK_NOT_SUPPORTED"),
        ("spark-core_2.13-4.4.0.jar", "SPARK_NOT_SUPPORTED"),
        ("spark-core_2.12-3.5.9.jar", "SPARK_NOT_SUPPORTED"),
        ("spark-core_2.12-4.1.0.jar", "SPARK_NOT_SUPPORTED"),
        ("other.jar", "SPARK_NOT_FOUND"),
    ],
)
def test_other_sparks_are_refused_by_name(jar: str, condition: str, tmp_path: Path) -> None:
    (tmp_path / jar).touch()
    with pytest.raises(UnsupportedError) as refused:
        spark_in(tmp_path)
    assert refused.value.condition == condition


def test_each_spark_gets_each_object_once() -> None:
    sources = Path(module.__file__).parents[3] / "jvm-shim"
    names = {minor: sorted(path.name for path in scala_sources(sources, minor)) for minor in MINORS}
    assert all(found == names[MINORS[0]] for found in names.values())
    assert all(len(set(found)) == len(found) for found in names.values())
    assert {path for minor in MINORS for path in scala_sources(sources, minor)} == set(sources.rglob("*.scala"))


def test_an_error_of_the_compiler_is_told_without_its_trace(tmp_path: Path) -> None:
    (tmp_path / "version").mkdir()
    (tmp_path / "Wrong.scala").write_text("object Wrong { val number: Int = Nowhere.at.all }")
    with pytest.raises(UnsupportedError) as refused:
        compile_shim(tmp_path, installed_spark(), tmp_path / "shim.jar")
    assert refused.value.parameters["reason"].endswith("Wrong.scala:1: error: not found: value Nowhere")
    assert not (tmp_path / "shim.jar").exists()


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(UnsupportedError, match="JAVA_NOT_FOUND"):
        compile_shim(tmp_path, installed_spark(), tmp_path / "shim.jar")
