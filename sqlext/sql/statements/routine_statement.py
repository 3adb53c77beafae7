"""Statements about procedures and functions of a catalog, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ShowProcedures:
    """SHOW PROCEDURES; an empty `namespace` is the whole catalog."""

    catalog: str
    namespace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeProcedure:
    """DESCRIBE PROCEDURE; `name` is in lower case."""

    catalog: str
    name: str


@dataclass(frozen=True, slots=True)
class DescribeFunction:
    """DESCRIBE FUNCTION [EXTENDED]; `name` is in lower case."""

    catalog: str
    name: str
    extended: bool = False


RoutineStatement: TypeAlias = ShowProcedures | DescribeProcedure | DescribeFunction
