"""The commit of a view against other writers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import Clock, InterruptedIO, warehouse_catalog, with_namespace
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.view_catalog import LoadedView
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.loop.view_change import commit_view
from sqlext.errors import AlreadyExistsError, NotFoundError
from sqlext.spec.metadata.view_metadata import ViewMetadata
from unit.spec.metadata.test_view_metadata import view

VIEW = TableIdentifier(("db",), "v")


def run(
    catalog: WarehouseCatalog, change: Callable[[ViewMetadata | None], ViewMetadata], base: LoadedView | None
) -> LoadedView:
    clock = Clock()
    if base is None:
        with_namespace(catalog)
    return commit_view(catalog, VIEW, change, base=base, clock=clock, rng=random.Random(1), sleep=clock.sleep)


def setting(name: str) -> Callable[[ViewMetadata | None], ViewMetadata]:
    def change(current: ViewMetadata | None) -> ViewMetadata:
        assert current is not None
        return replace(current, properties={**current.properties, name: "x"})

    return change


def test_a_lost_race_is_run_again_on_what_the_other_left(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path)
    base = run(catalog, lambda _: view(), None)
    run(catalog, setting("first"), base)
    second = run(catalog, setting("second"), base)
    assert second.metadata.properties == {"first": "x", "second": "x"}
    assert catalog.views.load_view(VIEW) == second


def test_a_view_that_somebody_made_first_is_left_alone(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path)
    first = run(catalog, lambda _: view(a="first"), None)
    with pytest.raises(AlreadyExistsError):
        run(catalog, lambda _: view(a="second"), None)
    assert catalog.views.load_view(VIEW) == first


def test_a_view_that_was_dropped_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path)
    base = run(catalog, lambda _: view(), None)
    catalog.views.drop_view(VIEW)
    with pytest.raises(NotFoundError):
        run(catalog, setting("a"), base)
    assert not catalog.views.view_exists(VIEW)


@pytest.mark.parametrize("lands", [True, False])
def test_a_commit_without_an_answer_is_settled(tmp_path: Path, lands: bool) -> None:
    answers = iter([False])

    def silent_once(location: str, create: Callable[[], None]) -> None:
        if "metadata.json" in location and not next(answers, True):
            if lands:
                create()
            raise TimeoutError("no answer")
        create()

    catalog = warehouse_catalog(tmp_path, InterruptedIO(silent_once))
    settled = run(catalog, lambda _: view(a="1"), None)
    assert settled == catalog.views.load_view(VIEW)
    assert settled.metadata == view(a="1")
