"""The table that the lowering tests change: `lake.db.t (id INT, qty INT, name STRING)`, keyed by id or without key."""

from __future__ import annotations

import re

from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, NestedField, StringType
from sqlext.sql.parser import parse

TARGET = "`lake`.`db`.`t` VERSION AS OF '@v1'"
UNKEYED = Schema(
    (
        NestedField(1, "id", IntegerType(), True),
        NestedField(2, "qty", IntegerType()),
        NestedField(3, "name", StringType()),
    )
)
SCHEMA = Schema(UNKEYED.fields, 0, (1,))
SOURCE = ("id", "qty", "name")


def read(text):
    return parse(text, catalogs=("lake",), current=("lake", "db"))


def flat(sql):
    """The text on one line, conditions without what checks them, and assignments as `value => column`, since their
    other arguments follow from it."""
    line = re.sub(r"sqlext_condition\((.*?), '(?:WHEN|ON) [A-Z ]+'\)", r"\1", re.sub(r"\s+", " ", sql))
    return re.sub(r"sqlext_assign\((.*?), '(\w+)', '\w+', '`lake`.`db`.`t`'\)", r"{\1 => \2}", line)
