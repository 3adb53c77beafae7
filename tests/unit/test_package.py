"""What `import sqlext` offers."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys
from pathlib import Path

import sqlext

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


def test_help_tells_public_names_first() -> None:
    told = pydoc.render_doc(sqlext, renderer=pydoc.plaintext)
    description = told[told.index("DESCRIPTION") : told.index("PACKAGE CONTENTS")]
    assert all(name in description for name in sqlext.__all__)
    assert "docs/python.md" in description
    assert f"VERSION\n    {sqlext.__version__}" in told


def test_the_version_is_of_the_form_of_a_release() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", sqlext.__version__)
    assert f"\n## {sqlext.__version__}" in (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
