"""The HTTP client of Unity Catalog: requests of its Delta API and its older API, and their errors.

# Unity Catalog, api/delta.yaml 1.0 and api/all.yaml
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from deltaskip.catalogs.unity.models import Credential, LoadedTable, StagingTable, TableName, entry
from deltaskip.catalogs.unity.oauth import ClientCredentials
from deltaskip.errors import CatalogError, DeltaSkipError, InvalidArgument
from deltaskip.extras import install_command
from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.redaction import keep_secret, redacted
from deltaskip.version import engine_info

_API = "/api/2.1/unity-catalog"
_PROTOCOL = "1.0"
_TRIES = 5
_CONNECT_SECONDS = 10.0
# For one call, including its repetitions.
_CALL_SECONDS = 30.0
_PIECE_BYTES = 1 << 16
_LONGEST_ANSWER = 256 << 20
_MOST_LISTED = 1_000_000
_EMPTY_PAGES = 100
_HINTS = {401: "; check the token", 429: "; try again later", 503: "; try again later"}
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0

T = TypeVar("T")
Method = Literal["GET", "HEAD", "POST", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of the server."""

    status_code: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


class Refused(CatalogError):
    """The server refused a request.

    Attributes:
        status: Status of the HTTP answer.
        kind: Name of the error, such as "NoSuchTableException" or "SCHEMA_NOT_FOUND"; "" if the answer has none.
    """

    def __init__(self, message: str, status: int, kind: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind

    @property
    def is_not_found(self) -> bool:
        """Whether something that the request names does not exist."""
        return self.status == 404

    @property
    def is_taken(self) -> bool:
        """Whether the object to create exists. # UC REST answers with status 400, the Delta API with 409."""
        return self.kind == "AlreadyExistsException" or self.kind.endswith("ALREADY_EXISTS")


class OutcomeUnknown(CatalogError):
    """The connection or the server failed, and it is unknown whether the server has carried out the request."""


class UnityClient:
    """Sends requests to a server of Unity Catalog. It can be used by several threads.

    Args:
        url: URL of the server, such as "https://host:8080", with or without the path of the API.
        token: Bearer token, or client credentials that obtain one; surrounding white space is stripped. None if the
            server needs no token.

    Raises:
        InvalidArgument: The URL is invalid, or the token cannot be sent in a header.
        CatalogError: The package requests is not installed.
    """

    def __init__(self, url: str, token: str | ClientCredentials | None = None) -> None:
        self.url = root_of(url)
        try:
            import requests
        except ImportError as error:
            raise CatalogError(f"Unity Catalog needs the package requests: {install_command('unity')}.") from error
        self._requests = requests
        self._session = requests.Session()
        self._session.headers.update({"Accept": "application/json", "User-Agent": engine_info().replace(" ", "/")})
        self._client = token if isinstance(token, ClientCredentials) else None
        if isinstance(token, str):
            self._session.headers["Authorization"] = f"Bearer {_header_text(token)}"
        self._endpoints: dict[str, frozenset[str] | None] = {}

    # The Delta API

    def endpoints(self, catalog: str) -> frozenset[str] | None:
        """Return the requests of the Delta API that the server knows; None if it does not have this API.

        Raises Refused if the catalog does not exist.
        """
        if catalog not in self._endpoints:
            query = {"catalog": catalog, "protocol-versions": _PROTOCOL}
            try:
                answer = self._get("/delta/v1/config", query)
            except Refused as refused:
                # An older server does not know the path; a newer one names what is missing.
                if not refused.is_not_found or refused.kind in ("NoSuchCatalogException", "CATALOG_NOT_FOUND"):
                    raise
                self._endpoints[catalog] = None
            else:
                version = answer.get("protocol-version")
                if version != _PROTOCOL:
                    raise CatalogError(
                        f"{self.url}{_API} speaks version {version} of the Delta API, but deltaskip version "
                        f"{_PROTOCOL}: use a newer deltaskip."
                    )
                self._endpoints[catalog] = self._read(_endpoints, answer)
        return self._endpoints[catalog]

    def has_delta_api(self, catalog: str) -> bool:
        """Whether the server has the Delta API. Raises Refused if the catalog does not exist."""
        return self.endpoints(catalog) is not None

    def load_table(self, name: TableName) -> LoadedTable:
        """Return a table. Raises Refused."""
        return self._read(LoadedTable.of, self._get(_table(name)))

    def table_exists(self, name: TableName) -> bool:
        """Return whether there is a table of this name."""
        return _found(lambda: self._send("HEAD", _table(name), again=True)) is not None

    def stage_table(self, name: TableName) -> StagingTable:
        """Return the location of a new table that the catalog will manage. Raises Refused.

        If the answer is lost, the request is repeated: the first location stays empty and has no name.
        """
        path, body = f"{_schema(name)}/staging-tables", {"name": name.table}
        return self._read(StagingTable.of, self._send("POST", path, body=body, again=True))

    def create_table(self, name: TableName, request: Mapping[str, Any]) -> LoadedTable:
        """Register a table that has been written. Raises Refused, and OutcomeUnknown."""
        return self._read(LoadedTable.of, self._post(f"{_schema(name)}/tables", {"name": name.table, **request}))

    def update_table(
        self, name: TableName, uuid: str, updates: Sequence[Mapping[str, Any]], etag: str | None = None
    ) -> LoadedTable:
        """Make updates of a table, all of them or none. Raises Refused, and OutcomeUnknown.

        Args:
            name: Name of the table.
            uuid: Identifier that the table must have.
            updates: The updates.
            etag: Entity tag that the table must have; None for any.
        """
        requirements = [{"type": "assert-table-uuid", "uuid": uuid}]
        if etag is not None:
            requirements.append({"type": "assert-etag", "etag": etag})
        body = {"requirements": requirements, "updates": list(updates)}
        return self._read(LoadedTable.of, self._post(_table(name), body))

    def delete_table(self, name: TableName) -> bool:
        """Delete a table, and return whether there was one."""
        path = _table(name) if self.has_delta_api(name.catalog) else f"/tables/{quote(name.full, safe='')}"
        return self._deleted(path, {})

    def rename_table(self, name: TableName, new: str) -> None:
        """Rename a table within its schema. Raises Refused."""
        self._post(f"{_table(name)}/rename", {"new-name": new})

    def credentials(self, name: TableName, uuid: str) -> tuple[Credential, ...]:
        """Return credentials of a table's storage, for writing if the user may; () if the server has none."""
        try:
            return _found(lambda: self._credentials(name, uuid, "READ_WRITE")) or ()
        except Refused as refused:
            if refused.status != 403:
                raise
            return _found(lambda: self._credentials(name, uuid, "READ")) or ()

    def _credentials(self, name: TableName, uuid: str, operation: str) -> tuple[Credential, ...]:
        if self.has_delta_api(name.catalog):
            return self._read(_credentials, self._get(f"{_table(name)}/credentials", {"operation": operation}))
        body = {"table_id": uuid, "operation": operation}
        return (self._read(Credential.of_older, self._post("/temporary-table-credentials", body)),)

    def staging_credentials(self, uuid: str) -> tuple[Credential, ...]:
        """Return credentials of the location of a table that is being created. Raises Refused."""
        answer = self._get(f"/delta/v1/staging-tables/{quote(uuid, safe='')}/credentials")
        return self._read(_credentials, answer)

    def path_credentials(self, location: str) -> tuple[Credential, ...]:
        """Return credentials of a path at which a table will be created; () if the server has none."""
        query = {"location": location, "operation": "READ_WRITE"}
        answer = _found(lambda: self._get("/delta/v1/temporary-path-credentials", query))
        return () if answer is None else self._read(_credentials, answer)

    # The older API: catalogs, schemas, and the names of tables

    def list_all(self, what: Literal["catalogs", "schemas", "tables"], **of: str) -> Iterator[Mapping[str, Any]]:
        """Yield all catalogs, the schemas of a catalog, or the tables of a schema. Raises Refused."""
        query: dict[str, str] = dict(of)
        known: set[str] = set()
        empty = total = 0
        while True:
            answer = self._get(f"/{what}", query)
            token = answer.get("next_page_token")
            found = self._read(lambda page: [entry(each) for each in page.get(what) or ()], answer)
            total, empty = total + len(found), 0 if found else empty + 1
            if token in known or empty > _EMPTY_PAGES or total > _MOST_LISTED:
                reason = "it repeats a page" if token in known else f"{total:,} so far"
                raise CatalogError(f"GET {self.url}{_API}/{what}: the server lists {what} without an end: {reason}.")
            yield from found
            if not token:
                return
            known.add(token)
            query["page_token"] = str(token)

    def find(self, what: Literal["catalogs", "schemas", "tables"], name: str) -> Mapping[str, Any] | None:
        """Return a catalog, schema or table by its full name; None if there is none."""
        return _found(lambda: self._read(entry, self._get(f"/{what}/{quote(name, safe='')}")))

    def create(self, what: Literal["catalogs", "schemas", "tables"], body: Mapping[str, Any]) -> None:
        """Create a catalog, schema or external table. Raises Refused."""
        self._post(f"/{what}", body)

    def update(self, what: Literal["catalogs", "schemas"], name: str, body: Mapping[str, Any]) -> None:
        """Change a catalog or schema. Raises Refused."""
        self._send("PATCH", f"/{what}/{quote(name, safe='')}", body=body)

    def delete(self, what: Literal["catalogs", "schemas"], name: str, with_content: bool = False) -> bool:
        """Delete a catalog or schema, and return whether there was one.

        Args:
            what: The kind of object, as the paths of the API spell it.
            name: Its full name.
            with_content: Whether the server also deletes its contents, in one transaction; otherwise it must be empty.
        """
        return self._deleted(f"/{what}/{quote(name, safe='')}", {"force": str(with_content).lower()})

    # Requests

    def _read(self, of: Callable[[Mapping[str, Any]], T], answer: Mapping[str, Any]) -> T:
        """The content of an answer. Raises CatalogError if its form is not the API's."""
        try:
            return of(answer)
        except DeltaSkipError:
            raise
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            raise CatalogError(
                f"An answer of the server at {self.url} does not have the form of Unity Catalog's API: "
                f"{redacted(str(error))}. Check that the URL is that of Unity Catalog."
            ) from error

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        return self._send("GET", path, query=query, again=True)

    def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._send("POST", path, body=body)

    def _deleted(self, path: str, query: Mapping[str, str]) -> bool:
        return _found(lambda: self._send("DELETE", path, query=query)) is not None

    def _send(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        again: bool = False,
    ) -> Mapping[str, Any]:
        """Send a request, and return the object of its answer; {} if it has none.

        Args:
            method: HTTP method.
            path: Path below the path of the API.
            query: Parameters of the URL.
            body: Object of the body.
            again: Whether the request is idempotent, so that it is repeated if the connection or the server fails.
        """
        # The path does not contain the name of a new object.
        of = f" of {body['name']}" if method == "POST" and body is not None and "name" in body else ""
        where = redacted(f"{method} {self.url}{_API}{path}{'?' if query else ''}{urlencode(query or {})}{of}")
        until, renewed = time.monotonic() + _CALL_SECONDS, False
        attempt = -1
        while True:
            attempt += 1
            last = attempt + 1 >= _TRIES
            token = None if self._client is None else self._client.token(self._session)
            try:
                answer = self._answer(method, path, query, body, until, token)
            # requests does not wrap all errors of urllib3 and Python, such as for a redirected or unusual answer.
            except (self._requests.exceptions.RequestException, OSError, ValueError, LookupError) as error:
                if _was_never_sent(error) or again:
                    if last or not _pause(attempt, until):
                        raise _unreachable(where, error) from error
                    continue
                raise OutcomeUnknown(f"{where}: the connection failed ({_reason(error)}).") from error
            if 200 <= answer.status_code < 300:
                return _object(where, answer, method == "GET")
            refused = _refused(where, answer)
            if refused.status == 401 and self._client is not None and not renewed:
                # The token may have been revoked before it expires.
                renewed = bool(self._client.token(self._session, token))
                continue
            failed = refused.status >= 500 and refused.status != 501
            if refused.kind == "TooManyRequestsException" or (again and failed):
                if last or not _pause(attempt, until, answer.headers.get("Retry-After")):
                    raise refused
            elif method == "POST" and failed:
                raise OutcomeUnknown(str(refused)) from refused
            else:
                raise refused

    def _answer(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        until: float,
        token: str | None,
    ) -> _Answer:
        """The answer to a request, read until a time of the clock `time.monotonic`."""
        given = self._session.request(
            method,
            f"{self.url}{_API}{path}",
            params=query,
            json=body,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=(_CONNECT_SECONDS, max(1.0, until - time.monotonic())),
            allow_redirects=False,
            stream=True,
        )
        content = bytearray()
        with given:
            try:
                while piece := given.raw.read1(_PIECE_BYTES, decode_content=True):
                    content += piece
                    if len(content) > _LONGEST_ANSWER or time.monotonic() > until:
                        raise self._requests.exceptions.ReadTimeout("its answer does not end")
            except self._requests.packages.urllib3.exceptions.HTTPError as error:
                raise self._requests.exceptions.ConnectionError(str(error)) from error
        return _Answer(given.status_code, given.reason or "", given.headers, bytes(content))


def _found(ask: Callable[[], T]) -> T | None:
    """The answer to a request; None if what it names does not exist."""
    try:
        return ask()
    except Refused as refused:
        if refused.is_not_found:
            return None
        raise


def root_of(url: str) -> str:
    """Return the URL of a server without the path of the API. Raises InvalidArgument for text that is not a URL."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidArgument(
            f"The URL of Unity Catalog must have the form https://host:8080, not {redacted(url)!r}."
        ) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidArgument(f"The URL of Unity Catalog must have the form https://host:8080, not {redacted(url)!r}.")
    keep_secret(parts.password)
    return url.rstrip("/").removesuffix(_API).rstrip("/")


def _header_text(token: str) -> str:
    """The token for a header. Raises InvalidArgument, without showing the token, if it cannot be in a header."""
    text = token.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        wrong = "must have ASCII characters only, without spaces or line ends in it" if text else "must not be empty"
        raise InvalidArgument(f"The token of Unity Catalog {wrong}; it is not shown here.")
    keep_secret(text)
    return text


def _endpoints(answer: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(answer.get("endpoints") or ())


def _credentials(answer: Mapping[str, Any]) -> tuple[Credential, ...]:
    return tuple(Credential.of(each) for each in answer.get("storage-credentials") or ())


def _schema(name: TableName) -> str:
    return f"/delta/v1/catalogs/{quote(name.catalog, safe='')}/schemas/{quote(name.schema, safe='')}"


def _table(name: TableName) -> str:
    return f"{_schema(name)}/tables/{quote(name.table, safe='')}"


def _object(where: str, answer: _Answer, asked: bool) -> Mapping[str, Any]:
    """The JSON object of a response. asked: Whether there must be one; otherwise {} stands for plain text."""
    if not asked and not answer.content:
        return {}
    try:
        found = parse_json(answer.content)
    except ValueError:
        found = None
    if found is None and answer.status_code == 200 and not asked:
        return {}
    if not isinstance(found, dict):
        raise CatalogError(f"{where}: the answer is not a JSON object.")
    return found


def _refused(where: str, answer: _Answer) -> Refused:
    """The error of an answer, in the form of the Delta API or of the older API."""
    try:
        found = parse_json(answer.content) if answer.content else {}
    except ValueError:
        found = {}
    found = found if isinstance(found, dict) else {}
    inner = found.get("error")
    error: dict[str, Any] = inner if isinstance(inner, dict) else {}
    kind = error.get("type") or found.get("error_code") or ""
    message = str(error.get("message") or found.get("message") or answer.reason or "").strip().rstrip(".")
    hint = _HINTS.get(answer.status_code, "")
    return Refused(f"{where}: {answer.status_code} {kind}: {message}{hint}.", answer.status_code, str(kind))


def _unreachable(where: str, error: Exception) -> CatalogError:
    return CatalogError(
        f"{where}: the server of the catalog cannot be reached, or does not answer ({_reason(error)}): check that it "
        f"runs there."
    )


def _was_never_sent(error: BaseException) -> bool:
    """Whether no connection to the server was made."""
    seen: BaseException | None = error
    while seen is not None:
        if type(seen).__name__ in ("NewConnectionError", "ConnectTimeout", "ConnectTimeoutError"):
            return True
        reason = getattr(seen.args[0] if seen.args else None, "reason", None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    return False


def _reason(error: BaseException) -> str:
    """The last cause of an error of the library, in one line."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return redacted((str(error).splitlines() or [type(error).__name__])[0]) or type(error).__name__


def _pause(attempt: int, until: float, wanted: str | None = None) -> bool:
    """Sleep before the next attempt, for the number of seconds that the server requests, if any.

    until: The deadline of the call. Returns False, without sleeping, if it is too late for another attempt.
    """
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0**attempt)
    try:
        seconds = max(0.0, float(wanted or ""))
    except ValueError:
        seconds = random.uniform(longest / 2, longest)
    if not time.monotonic() + seconds < until:
        return False
    time.sleep(seconds)
    return True
