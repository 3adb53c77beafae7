"""Bugs of REST catalogs that the simulator must find, each as a patch of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from simulator.planted.commits import token_is_not_looked_for, validates_the_first_attempt_only
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.rest.client import NoAnswer as NoReply
from sqlext.catalog.rest.client import RestClient
from sqlext.catalog.rest.metadata_difference import requirements
from sqlext.catalog.rest.rest_catalog import RestCatalog
from sqlext.errors import CommitConflict, CommitStateUnknown, CorruptionError, StorageError

Patch = AbstractContextManager[Any]


def _a_failure_of_the_server_counts_as_refused() -> Patch:
    content = RestClient._content

    def planted(self: Any, answer: Any) -> Any:
        try:
            return content(self, answer)
        except NoReply:
            raise StorageError("CATALOG_FAILURE", name="lake", reason="the server has failed") from None

    return patch.object(RestClient, "_content", planted)


def _a_lost_reply_counts_as_refused() -> Patch:
    commit = RestCatalog.commit

    def planted(self: Any, identifier: Any, base: Any, updated: Any) -> Any:
        try:
            return commit(self, identifier, base, updated)
        except CommitStateUnknown:
            raise StorageError("CATALOG_FAILURE", name="lake", reason="no answer") from None

    return patch.object(RestCatalog, "commit", planted)


def _only_the_table_is_required() -> Patch:
    def planted(base: Any) -> Any:
        return requirements(base)[:1]

    return patch("sqlext.catalog.rest.rest_catalog.requirements", planted)


def _a_commit_that_the_server_refused_counts_as_landed() -> Patch:
    commit = RestCatalog.commit

    def planted(self: Any, identifier: Any, base: Any, updated: Any) -> Any:
        try:
            return commit(self, identifier, base, updated)
        except CommitStateUnknown as unknown:
            if isinstance(unknown.refusal, CommitConflict):
                return LoadedTable(identifier, updated, "file:///nowhere/v1.metadata.json")
            raise

    return patch.object(RestCatalog, "commit", planted)


def _a_refusal_settles_a_commit() -> Patch:
    """One that was delivered twice, too."""
    commit = RestCatalog.commit

    def planted(self: Any, identifier: Any, base: Any, updated: Any) -> Any:
        try:
            return commit(self, identifier, base, updated)
        except CommitStateUnknown as unknown:
            raise _as_refused(unknown) from None

    return patch.object(RestCatalog, "commit", planted)


def _as_refused(unknown: CommitStateUnknown) -> Exception:
    """What is no lost race ends the commit."""
    if isinstance(unknown.refusal, CommitConflict):
        return StorageError("CATALOG_FAILURE", name="lake", reason="refused")
    return unknown.refusal or unknown


@contextmanager
def _any_newer_version_overtakes() -> Iterator[None]:
    """And the attempt that was staged last is taken for the one that has landed."""
    with (
        patch.object(RestCatalog, "may_still_land", lambda self, change, current: False),
        patch("sqlext.commit.loop.transaction._is_as_staged", lambda metadata, sent: True),
    ):
        yield


def _several_tables_that_were_refused_have_not_landed_in_part() -> Patch:
    def planted(catalog: Any, changes: Any, answer: Any, send: Any, checks: Any) -> Any:
        raise getattr(answer, "refusal", None) or answer

    return patch("sqlext.catalog.pending_catalog.settled", planted)


def _an_answer_that_cannot_be_read_counts_as_refused() -> Patch:
    loaded = RestCatalog._loaded

    def planted(self: Any, identifier: Any, answer: Any) -> Any:
        try:
            return loaded(self, identifier, answer)
        except (NoReply, CorruptionError):
            raise StorageError("CATALOG_FAILURE", name="lake", reason="unreadable") from None

    return patch.object(RestCatalog, "_loaded", planted)


BUGS_OF_SERVERS: Mapping[str, Callable[[], Patch]] = {
    "a failure of the server counts as refused": _a_failure_of_the_server_counts_as_refused,
    "a commit whose reply is lost counts as refused": _a_lost_reply_counts_as_refused,
    "a commit requires the table, whatever its version": _only_the_table_is_required,
    "a commit that the server refused counts as landed": _a_commit_that_the_server_refused_counts_as_landed,
    "what a server refuses has not landed": _a_refusal_settles_a_commit,
    "any newer version overtakes a request": _any_newer_version_overtakes,
    "several tables that were refused have not landed in part": (
        _several_tables_that_were_refused_have_not_landed_in_part
    ),
    "an answer that cannot be read counts as refused": _an_answer_that_cannot_be_read_counts_as_refused,
    "the token of a commit without an answer is not looked for": token_is_not_looked_for,
    "a retry is not validated": validates_the_first_attempt_only,
}
"""As `BUGS`, where the catalog is behind a REST server."""
