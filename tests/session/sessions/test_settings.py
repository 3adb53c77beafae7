"""The settings of a session as `attach` reads them, before the JVM has the shim."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.spark.shim.java_objects import settings_of

# What a list of settings in one text could be divided by, and what a text in JSON has to escape.
ODD = {
    "own.unit": "\x1f",
    "own.units": "a\x1fb -> c\x1fown.unit -> d",
    "own.key -> own.unit": "e",
    "own -> ": " -> ",
    "own.control": "\x00\x01\x1e\x7f\x85\u2028\u2029",
    "own.lines": "a\r\nb\tc",
    "own.json": '{"a": "\\"}',
    "own.none": "",
    "own.ключ 🗝": "значение 🔑",
}


def test_settings_may_be_any_text(spark: SparkSession) -> None:
    own = spark.newSession()
    for name, value in ODD.items():
        own.conf.set(name, value)
    found = settings_of(own)
    assert {name: found[name] for name in ODD} == ODD
    assert found == own.conf.getAll
    assert not ODD.keys() & settings_of(spark).keys()
