"""The table of properties in docs/properties.md, from the rows of `sqlext.peer_properties`.

`PYTHONPATH=. python3 tests/property_table.py` writes it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlext.peer_properties.delta import DELTA
from sqlext.peer_properties.flink import FLINK
from sqlext.peer_properties.iceberg import ICEBERG
from sqlext.peer_properties.paimon import PAIMON
from sqlext.peer_properties.verdict import Verdict

DOCS = Path(__file__).resolve().parents[1] / "docs" / "properties.md"
_BEGIN = "<!-- the tables below are made by tests/property_table.py -->\n"
_PEERS = (("Iceberg", ICEBERG), ("Flink's connector of Iceberg", FLINK), ("Paimon", PAIMON), ("Delta", DELTA))


def tables() -> str:
    """One table a peer, with a row for each reason."""
    return "".join(f"\n## {name}\n\n{_table(verdicts)}" for name, verdicts in _PEERS)


def _table(verdicts: Sequence[Verdict]) -> str:
    lines = ["| properties | |", "|---|---|"]
    for said in dict.fromkeys((one.outcome, one.reason, one.way_out) for one in verdicts):
        outcome, reason, way_out = said
        names = [one for one in verdicts if (one.outcome, one.reason, one.way_out) == said]
        told = outcome + (f": {reason}" if reason else "") + (f". {way_out}" if way_out else "")
        lines.append(f"| {', '.join(map(_named, names))} | {told} |")
    return "\n".join(lines) + "\n"


def _named(verdict: Verdict) -> str:
    idle = f" (but `{'`, `'.join(verdict.idle)}`)" if verdict.idle else ""
    return f"`{verdict.name}`{idle}"


def written(text: str) -> str:
    """The page with its tables made anew."""
    return text[: text.index(_BEGIN) + len(_BEGIN)] + tables()


if __name__ == "__main__":
    DOCS.write_text(written(DOCS.read_text()))
