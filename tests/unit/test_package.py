"""What `import sqlext` offers."""

from __future__ import annotations

from pathlib import Path

import sqlext


def test_no_name_is_that_of_a_module() -> None:
    """Python sets a module that is imported on its package, and the name would mean the module from then on."""
    modules = {path.stem for path in Path(sqlext.__file__).parent.iterdir()}
    assert not modules & set(sqlext.__all__)


def test_names_mean_the_same_each_time() -> None:
    for name in sqlext.__all__:
        assert callable(getattr(sqlext, name))
        assert getattr(sqlext, name) is getattr(sqlext, name)
