"""The abilities that a process of the matrix is asked for."""

from __future__ import annotations

from collections.abc import Collection

from matrix.ability import Ability, abilities


def chosen(names: Collection[str]) -> list[Ability]:
    return [one for one in abilities() if one.name in names]
