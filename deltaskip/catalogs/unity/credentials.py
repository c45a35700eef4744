"""The storage of a table of Unity Catalog, with the temporary credentials that its server gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from deltaskip.catalogs.unity.models import Credential
from deltaskip.storage import Storage, is_local, open_storage

# Credentials are renewed before a request that they begin can outlast them.
_MARGIN_MS = 60_000


class VendedStorage:
    """Opens the storage of a location, and opens it again with new credentials before its credentials expire.

    Local files, and storages for which the user has given credentials, need none from the server.

    Args:
        location: Path or URI of the table.
        options: Storage options of the user, which come before those of the server.
        ask: Asks the server for credentials.
        given: Credentials that the server has given already.
    """

    def __init__(
        self,
        location: str,
        options: Mapping[str, str] | None,
        ask: Callable[[], Sequence[Credential]],
        given: Sequence[Credential] | None = None,
    ) -> None:
        self._location = location
        self._options = dict(options or {})
        self._ask = ask
        self._lock = Lock()
        self._storage: Storage | None = None
        self._expires_ms: int | None = None
        self._given = given
        self.root = ""

    def __call__(self) -> Storage:
        """Return the storage."""
        with self._lock:
            now = time.time_ns() // 1_000_000
            if self._storage is None or (self._expires_ms is not None and now + _MARGIN_MS >= self._expires_ms):
                self._storage, self.root = open_storage(self._location, self._opened_with() or None)
            return self._storage

    def _opened_with(self) -> dict[str, str]:
        """The options to open the storage with."""
        self._expires_ms = None
        _, root = open_storage(self._location) if self._location.startswith("file:") else (None, self._location)
        if is_local(root) or any(name in self._options for name in _OWN):
            return self._options
        given, self._given = (self._ask() if self._given is None else self._given), None
        # s3a and s3 are one store.
        key = self._location.partition("://")[2]
        matching = [each for each in given if key.startswith(each.prefix.partition("://")[2].rstrip("/"))]
        if not matching:
            return self._options
        # The API: "Clients should choose the most specific prefix."
        chosen = max(matching, key=lambda each: len(each.prefix))
        self._expires_ms = chosen.expires_ms if chosen.options else None
        return {**chosen.options, **self._options}


_OWN = (
    "aws_access_key_id", "access_key_id", "aws_skip_signature", "skip_signature", "azure_storage_account_key",
    "azure_storage_sas_key", "azure_storage_token", "google_service_account", "google_service_account_key",
    "google_bearer_token", "google_skip_signature",
)  # fmt: skip
"""Options by which a user gives credentials of his own."""
