"""Dependencies point one way (docs/architecture.md): each package may import only those named beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "sqlext"

FORMAT = {"error_conditions", "errors", "properties", "spec"}
ALLOWED = {
    "error_conditions": set(),
    "errors": {"error_conditions"},
    "properties": {"errors"},
    "thresholds": {"errors"},
    "name_pattern": set(),
    "peer_properties": {"name_pattern"},
    "property_names": {"errors", "properties", "peer_properties", "spec"},
    "spec": {"errors"},
    "storage": FORMAT,
    "catalog": FORMAT | {"storage", "name_pattern"},
    "scan": FORMAT | {"storage"},
    "commit": FORMAT | {"storage", "scan", "catalog", "version"},
    "write": FORMAT | {"storage"},
    "sql": FORMAT,
    "spark": FORMAT | {"storage", "catalog", "scan", "write", "sql", "thresholds"},
    "command": FORMAT
    | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "property_names", "thresholds"},
    "description": FORMAT | {"storage", "catalog", "scan", "sql", "command"},
    "changelog": FORMAT,
    "local": FORMAT | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command", "thresholds"},
    "procedure": FORMAT | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command", "description"},
    "streaming": FORMAT | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command"},
    "dispatch": FORMAT | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command", "procedure"},
    "spark_session": FORMAT
    | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command", "procedure", "dispatch"}
    | {"any_session", "streaming"},
    "testing": FORMAT
    | {"storage", "catalog", "commit", "sql", "spark", "command", "local", "any_session", "spark_session"},
    "serve": {"errors", "spark", "spark_session"},
    "any_session": {"errors", "catalog"},
    "given_keys": {"errors", "catalog"},
    "rows_by_key": {"catalog", "given_keys", "notebook"},
    "notebook": {"errors", "any_session", "catalog", "description"},
    "terminal": FORMAT
    | {"storage", "catalog", "scan", "write", "commit", "sql", "spark", "command", "description", "local"}
    | {"any_session", "spark_session", "version"},
    "__main__": {"terminal"},
    "procedure_call": {"errors", "any_session"},
    "procedures": {"procedure_call"},
    "version": set(),
    "__init__": {
        "any_session",
        "changelog",
        "errors",
        "local",
        "notebook",
        "procedures",
        "rows_by_key",
        "spark_session",
        "streaming",
        "testing",
        "version",
    },
}
ROOMS = {
    "catalog": ["", "sql", "rest", "catalog_settings"],
    "command": [
        "plan",
        "",
        "changelog",
        "change",
        "compaction",
        "upsert",
        "maintenance",
        "doctor",
        "dml",
        "ddl",
        "view",
    ],
    "commit": ["", "rules", "snapshot", "loop", "actions", "state", "group"],
    "procedure": ["", "history", "foreign", "registry", "call", "described_procedures"],
    "scan": ["filter", "files", "deletes", "", "metadata_tables", "checks"],
    "spark": ["", "shim", "catalog", "scan", "session", "query", "bridge"],
    "spec": ["", "stored_bytes", "avro", "manifests", "metadata"],
    "sql": ["statements", "tokens", "syntax", "", "lowering"],
    "testing": ["", "simulator", "plugin"],
    "write": ["", "existing"],
}
"""The rooms of a package, each of which may import those before it; "" is the package's own folder, but for modules
that are named here like a room."""
NO_SPARK = {
    "error_conditions",
    "errors",
    "properties",
    "name_pattern",
    "peer_properties",
    "property_names",
    "thresholds",
    "spec",
    "storage",
    "catalog",
    "scan",
    "commit",
    "write",
    "sql",
    "description",
}
MOST_FILES = 30
ONE_THING_TWICE = {
    # the text or the lowering of a statement, and what it does
    "changes": {"sql/lowering", "command/changelog"},
    "delete": {"sql/lowering", "command/dml"},
    "merge": {"sql/lowering", "command/dml"},
    "on_conflict": {"sql/lowering", "command/dml"},
    "show_create_table": {"sql", "command/ddl"},
    "undo": {"sql/lowering", "command/dml"},
    "update": {"sql/lowering", "command/dml"},
    # what a command or a procedure prepares, and its commit
    "add_files": {"procedure/foreign", "commit/actions"},
    "changelog_view": {"sql/lowering", "command/changelog"},
    "compaction": {"command/compaction", "commit/actions"},
    "reference_change": {"command/ddl", "commit/actions"},
    # a value, and what applies it
    "row_order": {"spec", "sql/lowering"},
    "schema_change": {"spec", "commit/actions"},
    # what a snapshot consists of, and a procedure that tells it too
    "health": {"procedure", "scan/metadata_tables"},
    # all members of a kind by their names
    "registry": {"procedure", "scan/metadata_tables"},
}
"""Where the modules are that have a name in common."""
MODULES = sorted(ROOT.rglob("*.py"))


def _package(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    package = _package(path)
    for name, _ in _imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] == "sqlext" and len(parts) > 1:
            assert parts[1] == package or parts[1] in ALLOWED[package], f"{package} may not import {name}"
        if parts[0] in ("pyspark", "py4j"):
            assert package not in NO_SPARK, f"{package} may not import {name}"


def _room(parts: Sequence[str], package: str) -> str:
    return parts[0] if parts and parts[0] in ROOMS[package] else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down_among_rooms(path: Path) -> None:
    package, *inside = path.relative_to(ROOT).with_suffix("").parts
    rooms = ROOMS.get(package)
    if rooms is None:
        assert len(inside) < 2, f"{package} has rooms that stand in no order"
        return
    assert len(inside) < 2 or inside[0] in rooms, f"{inside[0]} stands in no order"
    here = rooms.index(_room(inside, package))
    for name, _ in _imports(ast.parse(path.read_text())):
        top, *parts = name.split(".")
        if top == "sqlext" and parts[:1] == [package]:
            assert rooms.index(_room(parts[1:], package)) <= here, f"{path.name} may not import {name}"


@pytest.mark.parametrize("root", [ROOT, Path(__file__).parent], ids=["sqlext", "tests"])
def test_no_folder_is_crowded(root: Path) -> None:
    counts = {folder: len(list(folder.glob("*.py"))) for folder in [root, *root.rglob("*/")]}
    crowded = {str(folder.relative_to(root)): count for folder, count in counts.items() if count > MOST_FILES}
    assert not crowded


def test_a_name_of_modules_means_one_thing() -> None:
    """A name comes twice only for one thing at two layers, such as a statement's lowering and its execution."""
    folders: dict[str, set[str]] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            folders.setdefault(path.stem, set()).add(str(path.parent.relative_to(ROOT)))
    assert {name: found for name, found in folders.items() if len(found) > 1} == ONE_THING_TWICE


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_of_our_own_inside_a_function(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [name for name, _ in _imports(function) if name.split(".")[0] == "sqlext"]
            assert not inner, f"{path.name}:{function.name} imports {inner}"


def test_no_import_cycles() -> None:
    graph = {}
    for path in MODULES:
        name = ".".join(["sqlext", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
        graph[name] = {target for target, _ in _imports(ast.parse(path.read_text())) if target.startswith("sqlext.")}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import cycle: {' -> '.join([*trail, name])}"
        if name in done:
            return
        for target in graph.get(name, ()):
            visit(target, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())


PRIVATE_TO_PYSPARK = re.compile(
    r"\._(j(df|sparkSession|sc|vm|conf|map|c)|gateway|active_spark_context|options|instantiatedSession)\b"
    r"|pyspark\.(java_gateway|sql\.(pandas|classic))"
)
TOUCH_PRIVATE = {"spark/shim/java_objects.py", "spark/bridge/gateway.py"}


def test_private_parts_of_pyspark_are_touched_in_one_place() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in MODULES}
    found = {path for path, text in texts.items() if "pyspark" in text and PRIVATE_TO_PYSPARK.search(text)}
    assert found == TOUCH_PRIVATE
