"""Which options a catalog may have: those that sqlext reads, and Iceberg's that change nothing here.

Any other option is refused, so that none is accepted and dropped. A REST catalog may have more, as its server may know
names that sqlext does not; there one is refused that looks misspelt, or that Iceberg's client reads and sqlext's not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from sqlext.catalog.dropped_table import UNDROP_RETENTION
from sqlext.errors import AnalysisError
from sqlext.name_pattern import is_named_by
from sqlext.spec.name_suggestion import nearest
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS

GROUP_COMMIT = "group-commit"
"""Which processes' commits to a table may be grouped."""
GROUP_COMMIT_MIN_FILE_SIZE = "group-commit.min-file-size-bytes"
"""Appended data files below this size are merged when their commits are grouped."""
CARE = "care"
"""Which new tables look after themselves if their CREATE TABLE does not say."""
CARE_FOR_KEYED, NO_CARE = "keyed", "none"
TABLE_DEFAULT = "table-default."
"""Before the name of a property: its value in new tables that do not set it."""
LIBPQ_SETTINGS = ("user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey")
"""Settings of JDBC drivers, behind `jdbc.`, that libpq has under the same names."""

_OF_ALL = (
    "type",
    "warehouse",
    "default-namespace",
    ALLOWED_LOCATIONS,
    UNDROP_RETENTION,
    CARE,
    GROUP_COMMIT,
    GROUP_COMMIT_MIN_FILE_SIZE,
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
    *(f"jdbc.{setting}" for setting in LIBPQ_SETTINGS),
    "jdbc.init-catalog-tables",
    "jdbc.schema-version",
)
_OF_SERVERS = ("uri", "token", "credential", "scope", "audience", "resource", "oauth2-server-uri", "prefix")

_HEADERS = "header."
# No server knows these, such as s3.sse.type, which asks for encryption, or rest.sigv4-enabled.
_OF_CLIENTS = ("s3.", "rest.", "client.")

READ: Mapping[str, tuple[str, ...]] = {
    "filesystem": _OF_ALL,
    "sql": (*_OF_ALL, *_OF_DATABASES),
    "rest": (*_OF_ALL, *_OF_SERVERS),
}
"""The options that each kind of catalog reads, beside `table-default.<property>` and, of a REST catalog,
`header.<name>`."""
PLACE = "filesystem"
"""The kind whose options are those of the store of a table that is named by its place."""

# Of Iceberg's names below one may be a pattern, see `name_pattern`.
# These tune its caches, pools, locks and metrics: none of them changes what statements do.
_WITHOUT_EFFECT = (
    "app-id",
    "app-name",
    "cache-enabled",
    "cache.*",
    "client-pool-cache-keys",
    "client.pool.*",
    "clients",
    "io-impl",
    "io.manifest.cache-enabled",
    "io.manifest.cache.*",
    "lock-impl",
    "lock.*",
    "metrics-reporter-impl",
    "rest-metrics-reporting-enabled",
    "user",
)
# These would change what statements do.
_REFUSED = {
    "catalog-impl": ("a Java class cannot be called", "Choose by the option type: hadoop, jdbc or rest."),
    "encryption.*": ("files are not written encrypted", "Encrypt the storage."),
    "hadoop.*": ("it has no Hadoop settings of its own", "Set spark.hadoop.* instead."),
    "table-override.*": ("a table may have other properties than the default", "Set table-default.* instead."),
    "unique-table-location": ("the name of a table decides its folder", "Name a LOCATION in CREATE TABLE."),
    "view-default.*": ("views get only the properties of their CREATE VIEW", "Write it there."),
    "view-override.*": ("views get only the properties of their CREATE VIEW", "Write it there."),
}

_KEY_ID, _SECRET, _TOKEN = "s3.access-key-id", "s3.secret-access-key", "s3.session-token"
# Of these each needs the others of its row: half a key would be dropped for that of the environment.
_TOGETHER = ((_KEY_ID, _SECRET), (_SECRET, _KEY_ID), (_TOKEN, _KEY_ID))


def _is_flag(value: str) -> bool:
    return value.strip().lower() in ("true", "false")


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value.strip())
        return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_VALUES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "s3.endpoint": (_is_address, "a URL, such as https://s3.example.org:9000"),
    "s3.path-style-access": (_is_flag, "true or false"),
    "jdbc.init-catalog-tables": (_is_flag, "true or false"),
    "jdbc.schema-version": (lambda value: value.strip().upper() in ("V0", "V1"), "V0 or V1"),
}


def require_known_values(name: str, kind: str, options: Mapping[str, str]) -> None:
    """Raises AnalysisError CATALOG_OPTION_INVALID for a value that would be taken for another, and
    CATALOG_OPTION_REQUIRED for a part of a key."""
    for option, (is_known, allowed) in _VALUES.items():
        if option in options and not is_known(options[option]):
            value = options[option]
            raise AnalysisError("CATALOG_OPTION_INVALID", name=name, option=option, value=value, allowed=allowed)
    # A server may give the other part.
    for given, needed in () if kind == "rest" else _TOGETHER:
        if options.get(given) and not options.get(needed):
            raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name, option=needed)


def require_known_options(name: str, kind: str, options: Mapping[str, str]) -> None:
    """Raises AnalysisError CATALOG_OPTION_REFUSED for an option of the catalog `name` that would be dropped; `kind` is
    one of `READ`."""
    known = READ[kind]
    open_ended = (TABLE_DEFAULT, _HEADERS) if kind == "rest" else (TABLE_DEFAULT,)
    for option in options:
        lowered = option.lower()
        if lowered in known or lowered.startswith(open_ended):
            continue
        if any(is_named_by(one, lowered) for one in _WITHOUT_EFFECT):
            continue
        refusal = next((said for one, said in _REFUSED.items() if is_named_by(one, lowered)), None)
        if refusal is None:
            near = nearest(lowered, known)
            if kind == "rest" and near is None and not lowered.startswith(_OF_CLIENTS):
                continue
            refusal = ("there is no such option", f"Did you mean {near}?" if near else f"It takes {', '.join(known)}.")
        reason, way_out = refusal
        raise AnalysisError("CATALOG_OPTION_REFUSED", name=name, option=option, reason=reason, way_out=way_out)
