"""Files of a catalog whose server vends credentials for each table; the location determines which are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from sqlext.storage.allowed_locations import AllowedLocations
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import is_below, is_object, same_place
from sqlext.storage.object_store import ObjectStoreIO, S3Credential, S3Settings
from sqlext.storage.scheme_io import SchemeIO, s3_settings

_ENDS = "s3.session-token-expires-at-ms"
Renewal = Callable[[], Mapping[str, str]]


class VendedIO(SchemeIO):
    """As `SchemeIO`, with separate settings for each folder passed to `learn`.

    A pickled copy has the credentials of that moment, and does not renew them.
    """

    def __init__(
        self,
        settings: S3Settings,
        allowed: AllowedLocations | None = None,
        known: Mapping[str, S3Settings] | None = None,
    ) -> None:
        super().__init__(settings, allowed)
        self._settings = settings
        self._known: dict[str, S3Settings] = dict(known or {})
        self._stores: dict[str, ObjectStoreIO] = {}

    def __reduce__(self) -> tuple[object, ...]:
        known = {folder: replace(settings, renew=None) for folder, settings in self._known.items()}
        return VendedIO, (self._settings, self.allowed, known), {"_around": self._around}

    def learn(self, folder: str, options: Mapping[str, str], renew: Renewal) -> bool:
        """Uses the credentials in `options` below `folder`; False if they are known or the folder is local."""
        if not is_object(folder):
            return False
        given = with_expiry(options)
        known = self._known.get(same_place(folder))
        if known is not None and known.credential == given.credential:
            return False

        def renewed() -> S3Credential:
            credential = with_expiry(renew()).credential
            if credential is None:
                raise ValueError("the server hands out no keys any more")
            return credential

        ends = given.credential is not None and given.credential.expires_at is not None
        self._known[same_place(folder)] = replace(given, renew=renewed if ends else None)
        self._stores.pop(same_place(folder), None)
        return True

    def _of(self, location: str) -> FolderIO:
        if not is_object(location):
            return self.local
        place = same_place(location)
        folders = [folder for folder in self._known if folder == place or is_below(folder, place)]
        if not folders:
            return self.objects
        nearest = max(folders, key=len)
        if nearest not in self._stores:
            self._stores[nearest] = ObjectStoreIO(self._known[nearest])
        return self._stores[nearest]


def with_expiry(options: Mapping[str, str]) -> S3Settings:
    """The settings in a server's response, with the expiry of its credentials if stated."""
    settings = s3_settings(options)
    if settings.credential is None or _ENDS not in options:
        return settings
    ends = datetime.fromtimestamp(int(options[_ENDS]) / 1000, timezone.utc)
    return replace(settings, credential=replace(settings.credential, expires_at=ends))
