"""Which options a catalog may have: those that sqlext reads, and Iceberg's that change nothing here.

Any other option is refused, so that none is accepted and dropped. A REST catalog may have more, as its server may know
names that sqlext does not; there one is refused that looks misspelt, or that Iceberg's client reads and sqlext's not.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.errors import AnalysisError
from sqlext.spec.name_suggestion import nearest

_OF_ALL = (
    "type",
    "warehouse",
    "default-namespace",
    "allowed-locations",
    "undrop-retention",
    "group-commit",
    "group-commit.min-file-size-bytes",
    "s3.endpoint",
    "s3.path-style-access",
    "client.region",
    "s3.region",
    "s3.access-key-id",
    "s3.secret-access-key",
    "s3.session-token",
)
_OF_DATABASES = (
    "uri",
    "jdbc.user",
    "jdbc.password",
    "jdbc.sslmode",
    "jdbc.sslrootcert",
    "jdbc.sslcert",
    "jdbc.sslkey",
    "jdbc.init-catalog-tables",
    "jdbc.schema-version",
)
_OF_SERVERS = ("uri", "token", "credential", "scope", "audience", "resource", "oauth2-server-uri", "prefix")

_TABLE_DEFAULTS, _HEADERS = "table-default.", "header."
# No server knows these, such as s3.sse.type, which asks for encryption, or rest.sigv4-enabled.
_OF_CLIENTS = ("s3.", "rest.", "client.")

READ: Mapping[str, tuple[str, ...]] = {
    "filesystem": _OF_ALL,
    "sql": (*_OF_ALL, *_OF_DATABASES),
    "rest": (*_OF_ALL, *_OF_SERVERS),
}
"""The options that each kind of catalog reads, beside `table-default.<property>` and, of a REST catalog,
`header.<name>`."""

# Iceberg's that tune its caches, pools, locks and metrics: none of them changes what statements do.
_WITHOUT_EFFECT = (
    "app-id",
    "app-name",
    "cache-enabled",
    "cache.",
    "client-pool-cache-keys",
    "client.pool.",
    "clients",
    "io-impl",
    "io.manifest.cache",
    "lock-impl",
    "lock.",
    "metrics-reporter-impl",
    "rest-metrics-reporting-enabled",
    "user",
)
# Iceberg's that would change what statements do.
_REFUSED = {
    "catalog-impl": ("a Java class cannot be called", "Choose by the option type: hadoop, jdbc or rest."),
    "encryption.": ("files are not written encrypted", "Encrypt the storage."),
    "hadoop.": ("it has no Hadoop settings of its own", "Set spark.hadoop.* instead."),
    "table-override.": ("a table may have other properties than the default", "Set table-default.* instead."),
    "unique-table-location": ("the name of a table decides its folder", "Name a LOCATION in CREATE TABLE."),
    "view-default.": ("views get only the properties of their CREATE VIEW", "Write it there."),
    "view-override.": ("views get only the properties of their CREATE VIEW", "Write it there."),
}


def require_known_options(name: str, kind: str, options: Mapping[str, str]) -> None:
    """Raises AnalysisError CATALOG_OPTION_REFUSED for an option of the catalog `name` that would be dropped; `kind` is
    one of `READ`."""
    known = READ[kind]
    open_ended = (_TABLE_DEFAULTS, _HEADERS) if kind == "rest" else (_TABLE_DEFAULTS,)
    for option in options:
        lowered = option.lower()
        if lowered in known or lowered.startswith(open_ended) or _begins(lowered, _WITHOUT_EFFECT):
            continue
        refusal = next((said for head, said in _REFUSED.items() if _begins(lowered, (head,))), None)
        if refusal is None:
            near = nearest(lowered, known)
            if kind == "rest" and near is None and not lowered.startswith(_OF_CLIENTS):
                continue
            refusal = ("there is no such option", f"Did you mean {near}?" if near else f"It takes {', '.join(known)}.")
        reason, way_out = refusal
        raise AnalysisError("CATALOG_OPTION_REFUSED", name=name, option=option, reason=reason, way_out=way_out)


def _begins(option: str, heads: tuple[str, ...]) -> bool:
    """Whether the option is one of the names, or begins with one that ends in a dot."""
    return any(option == head or (head.endswith((".", "cache")) and option.startswith(head)) for head in heads)
