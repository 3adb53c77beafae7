"""Names that a table property may have: known ones, and those of other programs that are no misspelling of a known one.

`peer_properties` lists what sqlext does with each property of Iceberg, Flink, Paimon and Delta. A property that nobody
reads is stored without effect, so a misspelt name would go unnoticed. Secrets are refused, since every reader of a
table gets its metadata in plain text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from sqlext.errors import AnalysisError
from sqlext.peer_properties.delta import DELTA
from sqlext.peer_properties.flink import FLINK
from sqlext.peer_properties.iceberg import ICEBERG
from sqlext.peer_properties.paimon import PAIMON
from sqlext.peer_properties.verdict import Verdict
from sqlext.properties import ALL, FIELDS_PREFIX, PRIMARY_KEY
from sqlext.spec.constraint import CHECK_PREFIX, is_constraint
from sqlext.spec.identity_column import is_identity_state
from sqlext.spec.name_suggestion import suggestion

_LOG = logging.getLogger(__name__)
_VERDICTS = (*ICEBERG, *FLINK, *PAIMON, *DELTA)
_BY_NAME = {verdict.name: verdict for verdict in _VERDICTS if "*" not in verdict.name}
_BY_PATTERN = tuple(verdict for verdict in _VERDICTS if "*" in verdict.name)
# Prefixes before the name of a column or a constraint.
_PREFIXES = (CHECK_PREFIX, FIELDS_PREFIX, *(one.name[:-1] for one in ICEBERG if one.name.endswith(".*")))
# Names that an unknown one may misspell. Those of Paimon and Flink that sqlext does not read are left out: many are
# words that users may choose for properties of their own.
_MEANT = sorted({*ALL, *_PREFIXES, *(one.name for one in ICEBERG if "*" not in one.name)})
# Prefixes under which an unknown name is an error; other names may belong to another program.
_CHECKED = ("write.", "read.", "commit.", "history.", "gc.", "sqlext.")
# Fields of the metadata that Iceberg's Spark catalog shows among the properties, and why they cannot be set.
_TOLD: Mapping[str, str] = {
    "cherry-pick-snapshot-id": "a property cannot change the snapshot of a table",
    "current-schema": "it is derived from the metadata",
    "current-snapshot-id": "a property cannot change the snapshot of a table",
    "current-snapshot-summary": "it is derived from the metadata",
    "current-snapshot-timestamp-ms": "it is derived from the metadata",
    "default-partition-spec": "it is derived from the metadata",
    "default-sort-order": "it is derived from the metadata",
    "format": "it is derived from the metadata",
    "identifier-fields": "the key is part of the schema",
    "snapshot-count": "it is derived from the metadata",
    "sort-order": "it is derived from the metadata",
    "uuid": "it is derived from the metadata",
}
_WAYS_OUT: Mapping[str, str] = {
    "identifier-fields": "PRIMARY KEY in CREATE TABLE",
    "sort-order": "ORDERED BY in CREATE TABLE",
}
# The similarity (`difflib`) from which a name counts as a misspelling.
_A_SLIP = 0.88
_SECRET = re.compile(
    r"(?:^|[.\-_])(?:pass(?:word|wd|phrase)|secret|(?:access|session|sas|auth|oauth2?|bearer)?[.\-_]?token"
    r"|credentials?|(?:access|private|account|api)[.\-_]?key)(?:$|[.\-_])"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def verdict_of(name: str) -> Verdict | None:
    """What sqlext does with a property of Iceberg, its Flink connector, Paimon or Delta; None if none has it."""
    return _BY_NAME.get(name) or next((verdict for verdict in _BY_PATTERN if verdict.is_of(name)), None)


def require_known(names: Iterable[str]) -> None:
    """Raises AnalysisError UNKNOWN_TABLE_PROPERTY for a misspelt name, or an unknown one under a checked prefix."""
    for name in names:
        if name in ALL or name.startswith(_PREFIXES) or verdict_of(name) is not None:
            continue
        slip = get_close_matches(name.lower().replace("_", "-"), _MEANT, n=1, cutoff=_A_SLIP)
        if slip:
            raise AnalysisError("UNKNOWN_TABLE_PROPERTY", name=name, way_out=f"Did you mean {slip[0]}?")
        if name.startswith(_CHECKED):
            way_out = suggestion(name, _MEANT, "Leave it out, or use a prefix of your own.")
            raise AnalysisError("UNKNOWN_TABLE_PROPERTY", name=name, way_out=way_out)


def require_honoured(properties: Mapping[str, str]) -> None:
    """Raises AnalysisError TABLE_PROPERTY_REFUSED for a peer's property that asks for a feature that sqlext lacks.

    Logs a warning for a property without effect.
    """
    for name, value in properties.items():
        verdict = verdict_of(name)
        if verdict is None or name in ALL or verdict.is_idle(value):
            continue
        if verdict.outcome == "refused":
            reason, way_out = verdict.reason, verdict.way_out
            raise AnalysisError("TABLE_PROPERTY_REFUSED", name=name, value=value, reason=reason, way_out=way_out)
        if verdict.outcome == "no effect":
            _LOG.warning("the table property %s = %s has no effect: %s", name, value, verdict.reason)


def require_not_reserved(names: Iterable[str]) -> None:
    """Raises AnalysisError RESERVED_TABLE_PROPERTY for the name of a field of the metadata."""
    for name in names:
        if name in _TOLD:
            way_out = _WAYS_OUT.get(name, "the statement without it")
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=_TOLD[name], way_out=way_out)


def require_no_secrets(names: Iterable[str]) -> None:
    """Raises AnalysisError SECRET_TABLE_PROPERTY for a name that means a password, a token, a credential or a key."""
    for name in names:
        if _SECRET.search(_HUMP.sub("-", name).lower()):
            raise AnalysisError("SECRET_TABLE_PROPERTY", name=name)


def require_changeable(names: Iterable[str]) -> None:
    """Raises AnalysisError RESERVED_TABLE_PROPERTY for a constraint or the key, which ALTER TABLE has clauses for."""
    for name in names:
        if is_constraint(name):
            reason, way_out = "the table's rows would not be checked", "ALTER TABLE … ADD or DROP CONSTRAINT"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)
        if is_identity_state(name):
            reason, way_out = "a value could be given twice", "ALTER TABLE … ALTER COLUMN … SYNC IDENTITY"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)
        if name == PRIMARY_KEY.name:
            reason, way_out = "the key is part of the schema", "it in CREATE TABLE"
            raise AnalysisError("RESERVED_TABLE_PROPERTY", name=name, reason=reason, way_out=way_out)


def require_valid_properties(properties: Mapping[str, str]) -> None:
    """Raises AnalysisError for a name as the four functions called here do, and INVALID_TABLE_PROPERTY for a value."""
    require_no_secrets(properties)
    require_not_reserved(properties)
    require_known(properties)
    require_honoured(properties)
    for name in properties:
        if name in ALL:
            ALL[name].of(properties)
