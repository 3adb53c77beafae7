"""Programs that end with an error, for conditions that no recorded statement ends with. None of them starts a JVM."""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from textwrap import dedent

from sqlext.errors import SqlextError

BEFORE = """
import sqlext.local
lake = sqlext.local.open("./warehouse")
lake.create_namespace("db")
"""
"""What runs before each of them."""

_DATABASE = """
        base = sqlext.local.open("sqlite:./tables.db", {"warehouse": "./files"}, name="base")
        base.create_namespace("db")"""
PROGRAMS: dict[str, str] = {
    "CATALOG_FAILURE": """
        from pathlib import Path

        Path("tables.db").write_text("This is no database, but a text that somebody has put in its place.")
        sqlext.local.open("sqlite:./tables.db", {"warehouse": "./files"}, name="base")
    """,
    "CATALOG_OPTION_INVALID": 'sqlext.local.open("./warehouse", {"group-commit": "always"})',
    "CATALOG_OPTION_REFUSED": 'sqlext.local.open("./warehouse", {"warehose": "./elsewhere"})',
    "CATALOG_OPTION_REQUIRED": 'sqlext.local.open({"type": "jdbc", "warehouse": "./warehouse"}, name="base")',
    "CHANGES_NOT_BEHIND": """
        t = lake.create_table("CREATE TABLE db.t (id INT)")
        t.append([{"id": 1}])
        t.append([{"id": 2}])
        first, last = (one["snapshot_id"] for one in t.metadata("history").to_pylist())
        t.changes(last, first)
    """,
    "CORRUPT_FILE": """
        from pathlib import Path

        lake.create_table("CREATE TABLE db.t (id INT)")
        Path("warehouse/db/t/metadata/v1.metadata.json").write_text("no JSON")
        lake.table("db.t").schema
    """,
    "FILE_NOT_FOUND": """
        from pathlib import Path

        t = lake.create_table("CREATE TABLE db.t (id INT)")
        t.append([{"id": 1}])
        for file in Path("warehouse/db/t/data").glob("*.parquet"):
            file.unlink()
        t.to_arrow()
    """,
    "INVALID_LOCATION": 'sqlext.local.open("file:warehouse")',
    "INVALID_RETENTION": """
        lake.create_table(
            "CREATE TABLE db.t (id INT, at STRING)"
            " TBLPROPERTIES ('record-level.expire-time'='7 d', 'record-level.time-field'='at')"
        )
    """,
    "INVALID_ROWKIND_FIELD": """
        lake.create_table("CREATE TABLE db.t (id INT, op INT, PRIMARY KEY (id)) TBLPROPERTIES ('rowkind.field'='op')")
    """,
    "LOCAL_NEEDS_SPARK": """
        t = lake.create_table("CREATE TABLE db.t (id INT, v STRING)")
        t.to_arrow(where="upper(v) = 'A'")
    """,
    "LOCAL_ROWS_REFUSED": 'lake.create_table("CREATE TABLE db.t (id INT)").append([{"id": "seven"}])',
    "LOCAL_TIME_WITHOUT_ZONE": """
        from datetime import datetime

        lake.create_table("CREATE TABLE db.t (id INT)").to_arrow(as_of=datetime(2026, 1, 31))
    """,
    "LOCATION_IN_USE": f"""
        import os
{_DATABASE}
        base.create_table("CREATE TABLE db.a (id INT)")
        base.create_table(f"CREATE TABLE db.b (id INT) LOCATION '{{os.getcwd()}}/files/db/a'")
    """,
    "LOCATION_NOT_ALLOWED": """
        import os

        options = {"warehouse": "./files", "allowed-locations": f"{os.getcwd()}/more"}
        base = sqlext.local.open("sqlite:./tables.db", options, name="base")
        base.create_namespace("db")
        base.create_table(f"CREATE TABLE db.t (id INT) LOCATION '{os.getcwd()}/elsewhere'")
    """,
    "PATH_OUTSIDE_WAREHOUSE": """
        import os

        os.mkdir("elsewhere")
        os.symlink("../../elsewhere", "warehouse/db/t")
        lake.create_table("CREATE TABLE db.t (id INT)")
    """,
    "PATH_TABLE_READ_ONLY": f"""{_DATABASE}
        base.create_table("CREATE TABLE db.t (id INT)")
        sqlext.local.open("./files/db/t").append([{{"id": 1}}])
    """,
    "ROW_KIND_TWICE": """
        lake.create_table("CREATE TABLE db.t (k INT, op STRING, PRIMARY KEY (k)) TBLPROPERTIES ('rowkind.field'='op')")
        lake.table("db.t").upsert([{"k": 1, "op": "+I", "_row_kind": "-D"}])
    """,
    "TOO_DEEPLY_NESTED": """lake.create_table(f"CREATE TABLE db.t (v {'ARRAY<' * 61}INT{'>' * 61})")""",
    "UNSUPPORTED_LOCATION": 'sqlext.local.open("gs://bucket/warehouse")',
}


def program(name: str) -> str:
    """The text of a program."""
    return dedent(PROGRAMS[name]).strip()


@cache
def message(name: str) -> str:
    """What a program ends with, in a folder of its own that is called /home/ada, and with ids as `<id>`."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(BEFORE + program(name), name, "exec"), {})
        except SqlextError as error:
            return _steady(str(error), os.path.realpath(folder))
        finally:
            os.chdir(here)
    raise AssertionError(f"the example of {name} ends without an error")


def _steady(text: str, folder: str) -> str:
    text = text.replace(folder, "/home/ada")
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{15,}", "<id>", text)
