"""What `import sqlext` offers."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sqlext
from sqlext.testing import simulator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_a_name_of_a_module_is_that_module() -> None:
    """Python sets a module that is imported on its package, and the name would mean the module from then on."""
    modules = {path.stem for path in Path(sqlext.__file__).parent.iterdir()} & set(sqlext.__all__)
    assert modules == sqlext._SUBMODULES
    assert all(getattr(sqlext, name).__name__ == f"sqlext.{name}" for name in modules)


def test_names_mean_the_same_each_time() -> None:
    for name in sqlext.__all__:
        assert getattr(sqlext, name) is getattr(sqlext, name)


def test_dir_has_what_is_public_whatever_was_imported() -> None:
    script = "import sqlext, sqlext.spec; print(dir(sqlext) == sorted(sqlext.__all__))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told == "True\n"


def test_drivers_need_the_packages_that_they_import() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    packages = {re.split(r"[\[>=<]", one)[0].replace("-", "_") for one in project["dependencies"]} - {"pyspark"}
    script = f"import sys, sqlext; sqlext.attach; print(*({packages!r} & sys.modules.keys()))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(told.split()) == set(sqlext._DRIVER_PACKAGES)


def test_help_tells_public_names_first_and_that_others_are_internal() -> None:
    told = pydoc.render_doc(sqlext, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    description = told[told.index("DESCRIPTION") : told.index("PACKAGE CONTENTS")]
    assert all(name in description for name in sqlext.__all__)
    assert "docs/python.md" in description
    public, _, verdict = description.partition("but for ")[2].partition(" they are internal")
    assert verdict
    assert set(re.findall(r"\b[a-z]+\b(?!\.)", public)) - {"and", "with", "simulator"} == sqlext._SUBMODULES
    assert f"VERSION\n    {sqlext.__version__}" in told
    assert all(f"\n    {name}(" in told for name in sqlext.__all__ if inspect.isfunction(getattr(sqlext, name)))


@pytest.mark.parametrize("module", [sqlext.errors, sqlext.local, sqlext.procedures, sqlext.testing, simulator])
def test_a_public_module_shows_and_documents_what_it_is_for(module: ModuleType) -> None:
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), name


def test_pages_import_what_is_public() -> None:
    root = Path(__file__).parents[2]
    texts = [path.read_text() for path in [root / "README.md", *(root / "docs").glob("*.md")]]
    imported = {name for text in texts for name in re.findall(r"\b(?:from|import) (sqlext(?:\.\w+)*)", text)}
    public = {"sqlext", "sqlext.testing.simulator", *(f"sqlext.{name}" for name in sqlext._SUBMODULES)}
    assert {"sqlext", "sqlext.local", "sqlext.testing"} <= imported
    assert imported - public == set()


def test_the_version_is_of_the_form_of_a_release() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", sqlext.__version__)
    assert f"\n## {sqlext.__version__}" in (Path(__file__).parents[2] / "CHANGELOG.md").read_text()


def test_nothing_says_to_install_the_other_project_of_that_name() -> None:
    """What PyPI has as sqlext is not this: extras stand behind the path of the wheel."""
    root = Path(sqlext.__file__).parents[1]
    pages = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("sqlext/**/*.py")]
    asked = re.compile(r"install +['\"]?sqlext\b(?!'s wheel)", re.IGNORECASE)
    assert asked.search("pip install 'sqlext[pictures]'")
    assert [str(page) for page in pages if asked.search(page.read_text())] == []
