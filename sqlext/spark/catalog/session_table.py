"""Tables of Spark's own session catalog: which there are, their locations and partition folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.spark.shim.java_objects import java_session, jvm
from sqlext.sql.tokens.quoting import quote_identifier


@dataclass(frozen=True, slots=True)
class SessionTable:
    """`name` is database and table, `kind` is MANAGED, EXTERNAL or VIEW, `provider` the data source in lower case.

    `partitions` are folders with the values of the partition columns, if the catalog has them; None if only the folder
    names below `location` give them.
    """

    name: tuple[str, str]
    kind: str
    provider: str
    location: str
    partition_columns: tuple[str, ...]
    partitions: tuple[tuple[str, Mapping[str, str]], ...] | None


def session_table(spark: SparkSession, name: Sequence[str]) -> SessionTable:
    """The table of a name of one or two parts. Raises Spark's error if it does not exist."""
    state = java_session(spark).sessionState()
    scala = jvm(spark).scala
    identifier = _parsed(state, name)
    table = state.catalog().getTableMetadata(identifier)
    as_java = scala.jdk.javaapi.CollectionConverters.asJava
    partitions = None
    if table.tracksPartitionsInCatalog():
        listed = as_java(state.catalog().listPartitions(identifier, scala.Option.apply(None)))
        partitions = tuple((_path(one.location()), dict(as_java(one.spec()))) for one in listed)
    provider = table.provider()
    location = table.storage().locationUri()
    found = table.identifier()
    return SessionTable(
        name=(found.database().get(), found.table()),
        kind=table.tableType().name(),
        provider=str(provider.get()).lower() if provider.isDefined() else "",
        location=_path(location.get()) if location.isDefined() else "",
        partition_columns=tuple(as_java(table.partitionColumnNames())),
        partitions=partitions,
    )


class SparkNames:
    """The names in Spark's own session catalog, which all sessions of the application share; `SessionNames`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def table_exists(self, identifier: TableIdentifier) -> bool:
        """Whether a table or view, but no temporary one, has the name."""
        if len(identifier.namespace) != 1:
            return False
        state = java_session(self._spark).sessionState()
        return bool(state.catalog().tableExists(_parsed(state, (*identifier.namespace, identifier.name))))

    def namespace_exists(self, namespace: Namespace) -> bool:
        """Whether there is such a database."""
        state = java_session(self._spark).sessionState()
        return len(namespace) == 1 and bool(state.catalog().databaseExists(namespace[0]))


def _parsed(state: Any, name: Sequence[str]) -> Any:
    """The `TableIdentifier` of Spark."""
    return state.sqlParser().parseTableIdentifier(".".join(quote_identifier(part) for part in name))


def _path(uri: Any) -> str:
    """The location of a `java.net.URI`, without percent-encoding."""
    scheme, path = uri.getScheme(), str(uri.getPath())
    return path if scheme in (None, "file") else f"{scheme}://{uri.getAuthority() or ''}{path}"
