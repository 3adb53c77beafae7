"""The commands of `sqlext`, with their arguments, options and exit codes.

0 is success, 1 an error or damage that was found, 2 a command line that is not understood.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from sqlext.errors import SqlextError
from sqlext.storage.clock import system_clock
from sqlext.terminal.named_catalog import named_catalog
from sqlext.terminal.output import print_error, print_line
from sqlext.version import __version__

TRACEBACK = "SQLEXT_TRACEBACK"
"""The environment variable by which an error that is not sqlext's own is raised with its traceback."""

app = typer.Typer(
    help="Looks at tables of Iceberg: in a warehouse folder, a database, a REST catalog, or at a path.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Catalog = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        "-c",
        envvar="SQLEXT_CATALOG",
        help="A warehouse folder or s3:// location, a database (sqlite:///…, postgresql://…) or a REST server.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        envvar="SQLEXT_OPTIONS",
        metavar="KEY=VALUE",
        help="An option of the catalog, as in spark.sql.catalog.<name>.KEY. Can be given several times.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name", envvar="SQLEXT_CATALOG_NAME", help="The catalog's name in SQL; 'lake', or that in the database."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Table = Annotated[str, typer.Argument(help="A name such as db.orders, or the folder or metadata file of a table.")]
Version = Annotated[str | None, typer.Option("--version", help="A snapshot's id, a branch or a tag.")]
At = Annotated[str | None, typer.Option("--at", help="A time, as 2026-01-31T12:00:00 in UTC.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=0, help="The most that are shown; 0 shows all.")]


def _shows(module: str) -> Any:
    """The module that shows what a command asks for, imported then: the imports of all are half of a command's time."""
    return import_module(f"sqlext.terminal.{module}")


def _print_version(asked: bool) -> None:
    if asked:
        print_line(f"sqlext {__version__}")
        raise typer.Exit


@app.callback()
def program(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """What stands before a command."""


@app.command()
def tables(
    namespace: Annotated[str | None, typer.Argument(help="Only tables in this namespace and below it.")] = None,
    details: Annotated[bool, typer.Option("--details", "-l", help="Also rows, sizes and last commits.")] = False,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """List tables and views."""
    named = named_catalog(catalog, option or (), name)
    _shows("listed_tables").print_tables(named, named.namespace(namespace), details=details, as_json=as_json)


@app.command(short_help="Show all that is known of a table.")
def describe(
    table: Table,
    limit: Limit = 10,
    version: Version = None,
    at: At = None,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Show columns, key, partitions, properties, timeline, files, dead rows, and what care would do."""
    named = named_catalog(catalog, option or (), name).table(table, version, at)
    # As many snapshots as there are, if all are asked for.
    most = limit or len(named.metadata.snapshots)
    _shows("described").print_description(named, system_clock(), most, as_json=as_json)


@app.command(short_help="List snapshots.")
def history(
    table: Table,
    limit: Limit = 50,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """List snapshots: who made them, what they did, rows in and out."""
    named = named_catalog(catalog, option or (), name).table(table)
    _shows("described").print_history(named, limit or None, as_json=as_json)


@app.command(short_help="Measure files, deletes and metadata.")
def health(
    table: Table,
    version: Version = None,
    at: At = None,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Measure files, deletes and metadata, and tell what care would do."""
    named = named_catalog(catalog, option or (), name).table(table, version, at)
    _shows("described").print_health(named, system_clock(), as_json=as_json)


@app.command()
def files(
    table: Table,
    limit: Limit = 100,
    version: Version = None,
    at: At = None,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """List data and delete files."""
    named = named_catalog(catalog, option or (), name).table(table, version, at)
    _shows("listed_files").print_files(named, limit or None, as_json=as_json)


@app.command(short_help="Find, and mend, what is wrong.")
def fsck(
    table: Annotated[str | None, typer.Argument(help="A table; all of the catalog without it.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what loses no more than is lost.")] = False,
    data_files: Annotated[bool, typer.Option("--data-files", help="Read the footers of data files too.")] = False,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Find what is wrong with a table; the exit code is 1 if anything is."""
    named = named_catalog(catalog, option or (), name)
    examined = _shows("examined")
    if not examined.print_examination(named, table, data_files=data_files, repair=repair, as_json=as_json):
        raise typer.Exit(1)


@app.command()
def changes(
    table: Table,
    start: Annotated[str | None, typer.Option("--from", help="After this snapshot, branch or tag.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Up to this snapshot, branch or tag.")] = None,
    net: Annotated[bool, typer.Option("--net", help="The difference, not each step.")] = False,
    limit: Limit = 100,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Show the rows that snapshots changed."""
    named = named_catalog(catalog, option or (), name).table(table)
    _shows("row_difference").print_changes(named, start, end, limit or None, net=net, as_json=as_json)


@app.command()
def cat(
    table: Table,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Only these, separated by commas, as in SQL.")
    ] = None,
    limit: Limit = 20,
    version: Version = None,
    at: At = None,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Show rows."""
    rows = _shows("table_rows")
    named = named_catalog(catalog, option or (), name).table(table, version, at)
    rows.print_table_rows(named, rows.column_names(columns or ""), limit or None, as_json=as_json)


@app.command(short_help="Run a statement in Spark.")
def sql(
    statement: Annotated[str, typer.Argument(help="One statement; the catalog is the current one.")],
    limit: Limit = 100,
    catalog: Catalog = None,
    option: Options = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Run a statement in Spark, which takes some seconds to start."""
    spark = _shows("spark_statement")
    if not spark.print_statement(named_catalog(catalog, option or (), name), statement, limit or None, as_json=as_json):
        raise typer.Exit(1)


def main() -> None:
    """Runs the command line. Errors are a line on standard error, and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown as escapes.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SqlextError as error:
        print_error(f"{error.condition}: {error.message}")
        sys.exit(1)
    except BrokenPipeError:
        # The reader has seen enough; Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        print_error(f"{type(error).__name__}: {error} ({TRACEBACK}=1 shows where)")
        sys.exit(1)
