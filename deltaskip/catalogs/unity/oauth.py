"""Tokens that a client obtains with its id and secret, without a user: OAuth client credentials.

# RFC 6749, 4.4 Client Credentials Grant, 2.3.1 Client Password, 5 Issuing an Access Token
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from deltaskip.errors import CatalogError, InvalidArgument
from deltaskip.fork_safety import new_lock
from deltaskip.json_text import parse_json
from deltaskip.redaction import keep_secret, redacted

SECRETS = {"token": "the token of the catalog", "client_secret": "the client_secret of the catalog"}
"""Arguments of a login that are secrets, with their names in messages."""

_LOGIN = (*SECRETS, "client_id", "token_url")
# Where a Databricks workspace issues tokens to service principals.
_PATH = "/oidc/v1/token"
_SECONDS = 30.0
# A token is renewed this long before it expires, or after half of its lifetime if that is shorter.
_EARLY_SECONDS = 60.0


def login_token(server: str, login: Mapping[str, str]) -> str | ClientCredentials | None:
    """Return the token of requests, or an object that requests one; None without either.

    Args:
        server: URL of the server, without the path of the API.
        login: The arguments token, client_id, client_secret, token_url and scope that were given.

    Raises InvalidArgument if a client's id or secret is missing, or a token is also given.
    """
    if not login.keys() - {"token"}:
        return login.get("token")
    if "token" in login or "client_id" not in login or "client_secret" not in login:
        raise InvalidArgument("Pass either client_id and client_secret, or a token, to connect to Unity Catalog.")
    url = login.get("token_url") or server + _PATH
    return ClientCredentials(url, login["client_id"], login["client_secret"], login["scope"])


def completed_login(login: Mapping[str, str], configured: Mapping[str, object]) -> Mapping[str, str]:
    """Return the arguments of a login, with the secret from the configuration if they have none."""
    if login.keys() & SECRETS.keys():
        return login
    wanted = ("client_secret",) if "client_id" in login else _LOGIN
    found = {key: text for key in wanted if isinstance(text := configured.get(key), str)}
    whole = {**login, **found}
    return whole if "client_id" not in whole or "client_secret" in whole else {}


class ClientCredentials:
    """The token of a client, which is requested at its first use and renewed before it expires. Threads share it.

    Args:
        url: URL of the token endpoint, such as "https://host/oidc/v1/token".
        client_id: Identifier of the client (of a service principal).
        client_secret: Its secret.
        scope: Scopes to request for the token, separated by spaces; "" requests none.

    Raises:
        InvalidArgument: The URL is invalid, or the identifier or the secret is empty.
    """

    def __init__(self, url: str, client_id: str, client_secret: str, scope: str) -> None:
        if not url.startswith(("https://", "http://")):
            raise InvalidArgument(f"token_url must be a URL such as https://host/oidc/v1/token, not {redacted(url)!r}.")
        if not client_id or not client_secret.strip():
            raise InvalidArgument(f"{'client_secret' if client_id else 'client_id'} must not be empty.")
        self.url, self.client_id, self.secret, self.scope = url, client_id, client_secret.strip(), scope
        keep_secret(self.secret)
        self._lock = new_lock()
        self._token = ""
        self._renew_at = 0.0

    def token(self, session: Any, refused: str | None = None) -> str:
        """Return a token that does not expire soon.

        Args:
            session: A session of the package requests.
            refused: A token that the catalog no longer accepts, so that a new one is requested.

        Raises:
            CatalogError: The server does not issue a token.
        """
        with self._lock:
            if time.monotonic() >= self._renew_at or self._token == refused:
                asked = time.monotonic()
                self._token, seconds = self._asked(session)
                self._renew_at = asked + max(seconds - _EARLY_SECONDS, seconds / 2)
                keep_secret(self._token)
            return self._token

    def _asked(self, session: Any) -> tuple[str, float]:
        """A new token, and the seconds for which it is valid."""
        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        try:
            answer = session.post(
                self.url,
                data=form,
                auth=(quote_plus(self.client_id), quote_plus(self.secret)),
                headers={"Authorization": None},
                timeout=_SECONDS,
                allow_redirects=False,
            )
        except (OSError, ValueError) as error:
            raise CatalogError(
                f"POST {redacted(self.url)}: the token server cannot be reached ({redacted(str(error))}): check "
                f"token_url."
            ) from error
        try:
            found = parse_json(answer.content)
        except ValueError:
            found = {}
        found = found if isinstance(found, dict) else {}
        token, seconds = found.get("access_token"), found.get("expires_in", 3600)
        if answer.status_code != 200 or not isinstance(token, str) or not token.isascii() or not token.isprintable():
            said = redacted(": ".join(str(found[key]) for key in ("error", "error_description") if key in found))
            raise CatalogError(
                f"POST {redacted(self.url)}: {answer.status_code} {said or 'no token'}: the client {self.client_id} "
                f"gets no token; check client_id, client_secret, scope and token_url."
            )
        try:
            return token, max(0.0, float(seconds))
        except (TypeError, ValueError):
            return token, 0.0
