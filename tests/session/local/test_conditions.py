"""Conditions without Spark select the rows that Spark selects, of values at the edges of their types."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlext.local
from sqlext.errors import UnsupportedError
from sqlext.local import LocalCatalog

_COLUMNS = {
    "i": ("INT", ["0", "1", "-1", "2147483647", "-2147483648", "NULL", "3"]),
    "l": ("BIGINT", ["0", "3", "9223372036854775807", "-9223372036854775808", "NULL", "2147483648"]),
    "f": ("FLOAT", ["0.1F", "0F", "-0.0F", "CAST('NaN' AS FLOAT)", "CAST('Infinity' AS FLOAT)", "NULL", "3.5F"]),
    "d": ("DOUBLE", ["0.1D", "0D", "-0.0D", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)", "NULL", "3D"]),
    "n": ("DECIMAL(9, 2)", ["0", "3.5", "-3.49", "9999999.99", "-9999999.99", "NULL", "3"]),
    "w": ("DECIMAL(38, 10)", ["0", "3.5000000001", "-3.49", "1234567890123456789012345678.5", "NULL"]),
    "s": ("STRING", ["''", "'Ada'", "'ada'", "'Adam'", "'Äda'", "'a%b'", "'😀'", "NULL", "'z'", "'ﬀ'"]),
    "b": ("BOOLEAN", ["true", "false", "NULL"]),
    "y": ("BINARY", ["X''", "X'00'", "X'00FF'", "X'80'", "NULL"]),
    "t": ("DATE", ["DATE '2024-01-31'", "DATE '1969-12-31'", "DATE '0001-01-01'", "NULL", "DATE '9999-12-31'"]),
    "z": ("TIMESTAMP", ["TIMESTAMP '2024-01-31 12:00:00.000001Z'", "TIMESTAMP '1969-12-31 23:59:59.999999Z'", "NULL"]),
    "m": ("TIMESTAMP_NTZ", ["TIMESTAMP_NTZ '2024-01-31 12:00:00'", "TIMESTAMP_NTZ '1969-12-31 23:59:59'", "NULL"]),
    "r": ("STRUCT<a: INT, b: STRUCT<c: STRING>>", ["NULL", "struct(1, struct('x'))", "struct(NULL, NULL)"]),
}
_CONSTANTS = {
    "i": ["0", "3", "3.5", "-3.5", "3L", "2147483648", "1e0", "NULL", "-2147483648", "99999999999999999999"],
    "l": ["3", "9223372036854775807", "9223372036854775808", "0.5", "3D", "NULL", "-1"],
    "f": ["0.1", "0.1D", "0", "3.5", "3", "1e30"],
    "d": ["0.1", "0.1D", "0", "-0.0", "3", "1e400D"],
    "n": ["3.5", "3.495", "3", "9999999.99", "10000000", "-9999999.995", "NULL", "3BD"],
    "w": ["3.5000000001", "3.50000000005", "1234567890123456789012345678.5", "0"],
    "s": ["'Ada'", "''", "'Ä'", "'z'", "NULL", "'😀'"],
    "b": ["true", "false", "NULL"],
    "y": ["X'00'", "X'80'", "X''"],
    "t": ["DATE '2024-01-31'", "'2024-01-31'", "DATE '1970-01-01'"],
    "z": [
        "TIMESTAMP '2024-01-31 12:00:00.000001Z'",
        "'1969-12-31 23:59:59.999999Z'",
        "TIMESTAMP '2024-01-31 13:00:00+01:00'",
    ],
    "m": ["TIMESTAMP_NTZ '2024-01-31 12:00:00'", "'1969-12-31 23:59:59'", "'2024-01-31'"],
}
_OPERATORS = ["=", "!=", "<>", "<", "<=", ">", ">=", "==", "<=>"]


@pytest.fixture
def lake(spark: SparkSession, warehouse: Path) -> LocalCatalog:
    found = sqlext.local.open(str(warehouse), {"care": "none"})
    assert isinstance(found, LocalCatalog)
    return found


def _term(rng: random.Random) -> str:
    column = rng.choice([*_CONSTANTS])
    constant = rng.choice(_CONSTANTS[column])
    match rng.randrange(12):
        case 0:
            return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
        case 1:
            listed = ", ".join(rng.choices(_CONSTANTS[column], k=rng.randint(1, 3)))
            return f"{column} {rng.choice(['', 'NOT '])}IN ({listed})"
        case 2:
            low, high = rng.choices(_CONSTANTS[column], k=2)
            return f"{column} {rng.choice(['', 'NOT '])}BETWEEN {low} AND {high}"
        case 3:
            one, other = rng.choice(
                [("i", "l"), ("l", "d"), ("f", "d"), ("i", "n"), ("n", "w"), ("l", "w"), ("i", "f")]
            )
            return f"{one} {rng.choice(_OPERATORS)} {other}"
        case 4:
            pattern = rng.choice(["Ada%", "%a", "%d%", "A%a", "Ada", "%", "a%%", "Ä%"])
            return f"s {rng.choice(['', 'NOT '])}LIKE '{pattern}'"
        case 5:
            return rng.choice(
                ["isnan(d)", "isnan(f)", "b", "NOT b", "b IS TRUE", "b IS NOT FALSE", "startswith(s, 'Ad')"]
            )
        case 6:
            return rng.choice(
                ["length(s) < 4", "char_length(s) = 1", "i % 2 = 1", "l % 7 < 0", "r.a = 1", "r.b.c = 'x'", "r IS NULL",
                 "r.a IS NULL"]
            )  # fmt: skip
        case 7:
            return f"{constant} {rng.choice(_OPERATORS)} {column}"
    return f"{column} {rng.choice(_OPERATORS)} {constant}"


def _condition(rng: random.Random, depth: int = 2) -> str:
    if not depth or rng.random() < 0.3:
        return _term(rng)
    if rng.random() < 0.2:
        return f"NOT ({_condition(rng, depth - 1)})"
    parts = [_condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    return "(" + rng.choice([" AND ", " OR "]).join(parts) + ")"


@pytest.mark.turns(1)
@pytest.mark.parametrize("number", range(6))
def test_random_conditions_select_the_same_rows(
    spark: SparkSession, lake: LocalCatalog, table_name: str, number: int
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    columns = ", ".join(f"{name} {type}" for name, (type, _) in _COLUMNS.items())
    spark.sql(f"CREATE TABLE {table_name} (id INT, {columns})")
    for first in (0, 20, 40):
        rows = [
            f"({first + at}, {', '.join(rng.choice(values) for _, values in _COLUMNS.values())})" for at in range(20)
        ]
        spark.sql(f"INSERT INTO {table_name} VALUES {', '.join(rows)}")
    table = lake.table(table_name.removeprefix("lake."))
    conditions: list[str] = []
    refused = 0
    found: list[list[int]] = []
    while len(conditions) < 200 and refused < 200:
        condition = _condition(rng)
        try:
            found.append(sorted(table.to_arrow(["id"], condition).column("id").to_pylist()))
        except UnsupportedError:
            refused += 1
            continue
        conditions.append(condition)
    assert refused < 150
    selected = ", ".join(f"({condition}) AS c{at}" for at, condition in enumerate(conditions))
    told = spark.sql(f"SELECT id, {selected} FROM {table_name}").collect()
    for at, condition in enumerate(conditions):
        assert found[at] == sorted(row.id for row in told if row[f"c{at}"]), condition
