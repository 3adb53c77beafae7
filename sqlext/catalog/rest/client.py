"""Requests to a REST catalog server: configuration, authentication, and classification of responses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any
from urllib.parse import quote

from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.errors import AnalysisError, StorageError, UnsupportedError

Json = dict[str, Any]

_CONNECT_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 120.0
_TOKENS = "v1/oauth/tokens"
# A token is replaced this long before it expires.
_TOKEN_MARGIN_S = 30.0
_TOO_MANY_REQUESTS = 429
_BUSY_ATTEMPTS = 5
_BUSY_WAIT_S = 1.0
_MOST_BUSY_WAIT_S = 60.0
_UNIT_SEPARATOR = "\x1f"
_SECRETS = ("token", "credential")


class Refusal(Exception):
    """The server refused. `kind` is its error type, such as NoSuchTableException.

    The refusal is of the last delivery: if a proxy delivered the request twice, the first may have succeeded.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        self.status = status
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}" if kind else message)


class NotAllowed(StorageError):
    """The server denied access; otherwise as `Refusal`."""


class NoAnswer(Exception):
    """No response, an unreadable one or a server failure: the request may have succeeded."""


@contextmanager
def understanding() -> Iterator[None]:
    """Context of reading a response: raises NoAnswer if it violates the protocol."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NoAnswer(f"its answer cannot be read, {type(error).__name__}") from error


class RestClient:
    """A client of one server; `settings` are the catalog's, with the server's defaults and overrides.

    Requests raise `Refusal`, `NotAllowed` or `NoAnswer`, and StorageError CATALOG_UNREACHABLE or CATALOG_LOGIN_FAILED
    if they were not sent.
    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Requests the server's configuration. Raises AnalysisError CATALOG_OPTION_REQUIRED without `uri`."""
        try:
            import httpx
        except ImportError:
            raise UnsupportedError("PACKAGE_REQUIRED", feature="A REST catalog", package="httpx") from None
        if "uri" not in options:
            raise AnalysisError("CATALOG_OPTION_REQUIRED", name=name, option="uri")
        self._httpx = httpx
        self._name = name
        self._options = dict(options)
        self._clock = clock
        self._sleep = sleep
        self._lock = Lock()
        self._uri = options["uri"].rstrip("/")
        headers = {key.removeprefix("header."): value for key, value in options.items() if key.startswith("header.")}
        timeout = httpx.Timeout(_ANSWER_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
        # A cache in between must not return a table as it was before its last commit.
        asked = {"X-Iceberg-Access-Delegation": "vended-credentials", "Cache-Control": "no-cache"}
        headers = {**asked, **headers}
        self._http = httpx.Client(timeout=timeout, headers=headers, follow_redirects=False)
        self._token: str | None = options.get("token")
        self._token_ends: float | None = None
        warehouse = options.get("warehouse")
        config = self.ask("GET", "v1/config", parameters={"warehouse": warehouse} if warehouse else {}, prefixed=False)
        with understanding():
            self.settings: Mapping[str, str] = {
                **(config.get("defaults") or {}),
                **options,
                **(config.get("overrides") or {}),
            }
            self._uri = self.settings["uri"].rstrip("/")
            self.endpoints: frozenset[str] = frozenset(config.get("endpoints") or ())

    def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
        prefixed: bool = True,
    ) -> Json:
        """The JSON object of the response, {} if it is empty. `path` is percent-encoded."""
        return object_in(self._content(self._answered(method, path, body, parameters, prefixed)))

    def ask_content(self, method: str, path: str, body: Json | None = None) -> bytes:
        """As `ask`, not yet parsed."""
        return self._content(self._answered(method, path, body, None, prefixed=True))

    def tell(
        self, method: str, path: str, body: Json | None = None, *, parameters: Mapping[str, str] | None = None
    ) -> None:
        """Requests a change whose response in the protocol is 204 without content. Raises NoAnswer for a success with
        content, which may be a proxy's page."""
        answer = self._answered(method, path, body, parameters, prefixed=True)
        if self._content(answer):
            raise NoAnswer("its answer has a content where none is due")

    def _answered(
        self, method: str, path: str, body: Json | None, parameters: Mapping[str, str] | None, prefixed: bool
    ) -> Any:
        prefix = self.settings.get("prefix") if prefixed else None
        where = f"v1/{prefix}/{path}" if prefix else f"v1/{path}" if prefixed else path
        answer = self._send(method, where, body, parameters)
        if answer.status_code in (401, 419) and "credential" in self._options:
            # The token has expired early.
            self._token = None
            answer = self._sent_again(answer, method, where, body, parameters)
        for _ in range(_BUSY_ATTEMPTS):
            if not _is_busy(method, answer):
                break
            self._sleep(_wait_s(answer))
            answer = self._sent_again(answer, method, where, body, parameters)
        return answer

    def exists(self, path: str) -> bool:
        try:
            self.ask("HEAD", path)
        except Refusal as refusal:
            if refusal.status == 404:
                return False
            raise
        return True

    def pages(self, path: str, field: str, parameters: Mapping[str, str] | None = None) -> Iterator[Any]:
        """The entries of a list, of all its pages."""
        asked = dict(parameters or {})
        while True:
            answer = self.ask("GET", path, parameters=asked)
            with understanding():
                found = list(answer.get(field) or ())
            yield from found
            if not answer.get("next-page-token"):
                return
            asked["pageToken"] = answer["next-page-token"]

    def namespace_path(self, namespace: tuple[str, ...]) -> str:
        """The levels as one segment of a path."""
        return quote(self.joined(namespace), safe="")

    def joined(self, namespace: tuple[str, ...]) -> str:
        return _UNIT_SEPARATOR.join(namespace)

    # requests

    def _send(self, method: str, path: str, body: Json | None, parameters: Mapping[str, str] | None) -> Any:
        token = self._current_token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._transported(method, path, json=body, params=parameters, headers=headers)

    def _sent_again(
        self, before: Any, method: str, path: str, body: Json | None, parameters: Mapping[str, str] | None
    ) -> Any:
        """The response to the repeated request; `before`, the first response, if it cannot be sent again."""
        try:
            return self._send(method, path, body, parameters)
        except StorageError:
            return before

    def _transported(self, method: str, path: str, **given: Any) -> Any:
        given = {key: value for key, value in given.items() if value is not None}
        address = path if "://" in path else f"{self._uri}/{path}"
        try:
            return self._http.request(method, address, **given)
        except (self._httpx.ConnectError, self._httpx.ConnectTimeout, self._httpx.PoolTimeout) as error:
            raise self._unreachable(self._asked_at(path), error) from None
        except (self._httpx.InvalidURL, self._httpx.UnsupportedProtocol) as error:
            raise self._unreachable(self._asked_at(path), error) from None
        except self._httpx.RequestError as error:
            # The connection was lost in the response, or the response cannot be decompressed.
            raise NoAnswer(str(error) or type(error).__name__) from error

    def _content(self, answer: Any) -> bytes:
        status = answer.status_code
        if 200 <= status < 300:
            content: bytes = answer.content
            return content
        kind, message = self._reason(answer)
        if status in (401, 403, 419):
            raise NotAllowed("CATALOG_LOGIN_FAILED", name=self._name, reason=f"{status}, {message}")
        if 300 <= status < 400:
            raise Refusal(status, kind, f"{status}, it leads to {answer.headers.get('Location', 'nowhere')}; set uri")
        if status >= 500 or status == _TOO_MANY_REQUESTS:
            raise NoAnswer(f"{status}, {message}")
        raise Refusal(status, kind, message if kind else f"{status} {message}")

    def _reason(self, answer: Any) -> tuple[str, str]:
        """Type and message of an error, in one line."""
        try:
            error = answer.json()["error"]
            kind, message = str(error.get("type")), str(error.get("message"))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            kind, message = "", str(answer.reason_phrase)
        return kind, self._without_secrets(" ".join(message.partition("\n")[0].split()))

    def _asked_at(self, path: str) -> str:
        """The server that is asked for `path`: that of a token may be another than the catalog's."""
        return path if "://" in path else self._uri

    def _unreachable(self, server: str, error: Exception) -> StorageError:
        reason = self._without_secrets(f"{server}: {str(error).rstrip('.') or type(error).__name__}")
        return StorageError("CATALOG_UNREACHABLE", name=self._name, reason=reason)

    def _without_secrets(self, text: str) -> str:
        for secret in filter(None, (self._options.get(name) for name in _SECRETS)):
            for part in {secret, secret.partition(":")[2]} - {""}:
                text = text.replace(part, "***")
        return text

    # OAuth2

    def _current_token(self) -> str | None:
        """The current token, or a new one for the catalog's `credential` if it has expired."""
        credential = self._options.get("credential")
        if credential is None:
            return self._token
        with self._lock:
            ended = self._token_ends is not None and self._clock() > self._token_ends - _TOKEN_MARGIN_S
            if self._token is None or ended:
                self._token, self._token_ends = self._new_token(credential)
            return self._token

    def _new_token(self, credential: str) -> tuple[str, float | None]:
        """A token by the client credentials flow, and when it expires; a credential is `id:secret` or a secret."""
        id, separator, secret = credential.partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": id if separator else "",
            "client_secret": secret if separator else id,
            "scope": self._options.get("scope", "catalog"),
        }
        form = {key: value for key, value in form.items() if value}
        for name in ("audience", "resource"):
            if name in self._options:
                form[name] = self._options[name]
        path = self._options.get("oauth2-server-uri", _TOKENS)
        try:
            answer = self._transported("POST", path, data=form)
        except NoAnswer as error:
            raise self._unreachable(self._asked_at(path), error) from None
        if answer.status_code != 200:
            given = f"{self._asked_at(path)} gives no token for the credential, {answer.status_code}"
            reason = self._without_secrets(given)
            raise StorageError("CATALOG_LOGIN_FAILED", name=self._name, reason=reason)
        try:
            with understanding():
                found = object_in(answer.content)
                ends = found.get("expires_in")
                return str(found["access_token"]), None if ends is None else self._clock() + float(ends)
        except NoAnswer as error:
            raise self._unreachable(self._asked_at(path), error) from None


def object_in(content: bytes) -> Json:
    """The JSON object of a response, {} if it is empty. Raises NoAnswer for anything else."""
    if not content:
        return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is no JSON") from None
    if not isinstance(found, dict):
        raise NoAnswer("its answer is no JSON object")
    return found


def _is_busy(method: str, answer: Any) -> bool:
    """Whether to retry later: after 429, and reads after 503 with `Retry-After`; a change may have been made then."""
    if answer.status_code == 503:
        return method in ("GET", "HEAD") and "Retry-After" in answer.headers
    return bool(answer.status_code == _TOO_MANY_REQUESTS)


def _wait_s(answer: Any) -> float:
    """The server's `Retry-After`, within limits."""
    said = answer.headers.get("Retry-After", "")
    return min(float(said) if said.isdigit() else _BUSY_WAIT_S, _MOST_BUSY_WAIT_S)


def table_path(client: RestClient, namespace: tuple[str, ...], name: str, kind: str = "tables") -> str:
    """The path of a table or view."""
    return f"namespaces/{client.namespace_path(namespace)}/{kind}/{quote(name, safe='')}"


def names_in(namespace: Namespace, found: Iterable[Any]) -> tuple[TableIdentifier, ...]:
    """The tables or views of a list that are directly in the namespace, sorted."""
    with understanding():
        names = sorted(str(one["name"]) for one in found if tuple(one["namespace"]) == namespace)
    return tuple(TableIdentifier(namespace, name) for name in names)
