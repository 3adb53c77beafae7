"""Answers that stay what they are: to questions about one version of a table, which `table` names in the arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlext.scan.byte_cache import ByteCache
from sqlext.spark.bridge import Question
from sqlext.spark.catalogs import Catalogs
from sqlext.spark.table_handle import TableHandle

_CAPACITY = 32 * 1024 * 1024


class KeptAnswers:
    """Asks a question once for the same arguments, as long as the texts of the last answers fit; errors are not kept.

    A query that is planned again, as a dashboard's are, costs the transport of its answer.
    """

    def __init__(self, question: Question, catalogs: Catalogs, capacity: int = _CAPACITY) -> None:
        self._question = question
        self._catalogs = catalogs
        self._answers: ByteCache[str, str] = ByteCache(capacity)

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        """The answer as JSON; raises what the question does."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        asked = json.dumps([version.contents, arguments], sort_keys=True)

        def load() -> tuple[str, int]:
            answer = self._question(arguments)
            text = answer if isinstance(answer, str) else json.dumps(answer)
            return text, len(asked) + len(text)

        return self._answers.load_once(asked, load)
