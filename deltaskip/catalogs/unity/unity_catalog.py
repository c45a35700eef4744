"""A catalog of tables in Unity Catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from deltaskip import arguments, errors
from deltaskip.catalogs.configuration import configured
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace, identifier_of, namespace_of, shown_namespace
from deltaskip.catalogs.located import COMMENT, DescribedTable, LocatedCatalog, TableEntry, elsewhere, withdraw
from deltaskip.catalogs.staged import StagedTable
from deltaskip.catalogs.table_catalog import Ident, no_table
from deltaskip.catalogs.unity.client import OutcomeUnknown, Refused, UnityClient, root_of
from deltaskip.catalogs.unity.commits import ExternalLog, ManagedLog, NewLog, snapshot_version
from deltaskip.catalogs.unity.contract import check_lengths, kept_properties, new_properties
from deltaskip.catalogs.unity.mirror import creation_request
from deltaskip.catalogs.unity.models import Credential, LoadedTable, TableName, external_request
from deltaskip.catalogs.unity.oauth import SECRETS, completed_login, login_token
from deltaskip.fork_safety import new_lock
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.commit_times import commit_time
from deltaskip.records import dataclass
from deltaskip.redaction import options_without_secrets, url_without_secrets
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import CatalogStorage, Storage, is_local, open_storage, parse_location, uri_of
from deltaskip.storage.gate import check_deletable_folder, delete_whole_folder
from deltaskip.storage.kill_points import kill_point
from deltaskip.table.creation import creation, replacement
from deltaskip.table.table import DeltaTable, table_in

_NAME = regex(r"[A-Za-z0-9_@-]{1,255}")
_RENAME = "POST /v1/catalogs/{catalog}/schemas/{schema}/tables/{table}/rename"
_STORAGE_ROOT = "storage_root"
"""Property of a catalog or schema: where the server creates its managed tables. It is set on creation."""
_VIEWS = ("VIEW", "MATERIALIZED_VIEW", "METRIC_VIEW")
# Credentials are renewed before a request that they begin can outlast them.
_MARGIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class _UnityEntry(TableEntry):
    """The server's entry of a table; loaded: None if the server lacks the Delta API."""

    loaded: LoadedTable | None = None
    uuid: str | None = None


class UnityCatalog(LocatedCatalog):
    """The tables of a server of Unity Catalog.

    Namespaces are schemas of one catalog, and tables are named "schema.table"; without `catalog` namespaces are
    catalogs and the schemas in them, and tables are named "catalog.schema.table".

    A table that is created without the property `location` is managed: the server chooses its location, ratifies its
    commits, and deletes its files when it is dropped.

    Args:
        url: URL of the server, such as "https://host:8080".
        catalog: Name of a catalog of the server.
        token: Bearer token of the requests; None if the server needs none.
        storage_options: Options of object stores, as for DeltaTable, in addition to the server's credentials.
        name: Name of the catalog, for messages and SQL. The default is `catalog`, or "unity".
        client_id: Identifier of a client (a service principal) that obtains tokens, instead of `token`.
        client_secret: Secret of the client.
        token_url: URL at which the client obtains tokens. The default is Databricks', /oidc/v1/token of the server.
        scope: Scopes of the tokens, separated by spaces. The default is Databricks', "all-apis".

    Raises:
        InvalidArgument: The URL or the name of the catalog is invalid, or both a token and a client are given.
        CatalogError: The package requests is not installed.
    """

    def __init__(
        self,
        url: str,
        catalog: str | None = None,
        token: str | None = None,
        storage_options: Mapping[str, str] | None = None,
        name: str | None = None,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        token_url: str | None = None,
        scope: str = "all-apis",
    ) -> None:
        self._catalog = arguments.text_or_none("catalog", catalog)
        given = arguments.text_or_none("name", name)
        super().__init__(given or self._catalog or "unity", storage_options)
        own = {"token": token, "client_id": client_id, "client_secret": client_secret, "token_url": token_url}
        texts = {key: arguments.text_or_none(key, text) for key, text in own.items()}
        self._login = {key: text for key, text in texts.items() if text is not None}
        if "client_id" in self._login:
            self._login["scope"] = arguments.unicode_text("scope", scope)
        self._client = UnityClient(arguments.text("url", url), login_token(root_of(url), self._login))

    # Entries

    def table_exists(self, ident: Ident) -> bool:
        name = self._name(identifier_of(ident))
        if name is None:
            return False
        with self._converted():
            try:
                if self._client.has_delta_api(name.catalog):
                    return self._client.table_exists(name)
            except Refused as refused:
                if refused.is_not_found:
                    return False
                raise
            return self._client.find("tables", name.full) is not None

    def find_entry(self, ident: CatalogIdentifier) -> _UnityEntry | None:
        name = self._name(ident)
        if name is None:
            return None
        with self._converted():
            try:
                if not self._client.has_delta_api(name.catalog):
                    return self._older_entry(ident, name)
                loaded = self._client.load_table(name)
            except Refused as refused:
                if refused.is_not_found:
                    return None
                if refused.kind == "UnsupportedTableFormatException":
                    raise errors.UnsupportedFeature(f"The table {ident} is not a Delta table: {refused}") from refused
                raise
        return _UnityEntry(ident, loaded.location, loaded.managed, loaded, loaded.uuid)

    def _older_entry(self, ident: CatalogIdentifier, name: TableName) -> _UnityEntry | None:
        found = self._client.find("tables", name.full)
        if found is None:
            return None
        location, form = found.get("storage_location"), found.get("data_source_format") or "DELTA"
        if form != "DELTA" or not location:
            raise errors.UnsupportedFeature(f"The table {ident} is not a Delta table: it is of the format {form}.")
        return _UnityEntry(ident, location, found.get("table_type") == "MANAGED", None, found.get("table_id"))

    def add_entry(self, entry: TableEntry) -> None:
        name = self._given_name(entry.identifier)
        place = _place(entry.location)
        storage = self._at(place)
        self._register(name, load_snapshot(storage(), storage.root), place, managed=False)

    def remove_entry(self, entry: TableEntry) -> bool:
        with self._converted():
            return self._client.delete_table(self._given_name(entry.identifier))

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        old, wanted = self._given_name(entry.identifier), self._given_name(new)
        if (old.catalog, old.schema) != (wanted.catalog, wanted.schema):
            raise errors.UnsupportedFeature(
                f"Unity Catalog cannot move {entry.identifier} to another namespace, {shown_namespace(new.namespace)}: "
                f"give it a name in its own, or register its location there if it is external."
            )
        endpoints = self._client.endpoints(old.catalog) or frozenset()
        if _RENAME not in endpoints:
            raise errors.UnsupportedFeature(f"The server at {self._client.url} cannot rename {entry.identifier}.")
        with self._converted(new):
            self._client.rename_table(old, wanted.table)

    def new_location(self, ident: CatalogIdentifier) -> str:
        raise errors.InvalidArgument(
            f"The server of the catalog {self.name} chooses the locations of managed tables, and clones cannot be "
            f"managed: write LOCATION '…' to create {ident} as an external table."
        )

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        parts = self._schema_parts(namespace)
        if parts is None:
            return []
        with self._converted():
            return [
                str(each["name"])
                for each in self._client.list_all("tables", catalog_name=parts[0], schema_name=parts[1])
                if (each.get("data_source_format") or "DELTA") == "DELTA" and each.get("table_type") not in _VIEWS
            ]

    # Tables

    def load_table(
        self, ident: Ident, *, version: int | None = None, timestamp: date | str | None = None
    ) -> DeltaTable:
        entry = self.find_entry(identifier_of(ident))
        if entry is None:
            raise no_table(self, identifier_of(ident))
        return self._opened(entry, version, timestamp)

    def drop_table(self, ident: Ident, purge: bool = False) -> bool:
        """See TableCatalog.drop_table; the server deletes the files of a managed table."""
        with_files = arguments.flag("purge", purge)
        wanted = identifier_of(ident)
        name = self._name(wanted)
        if name is None:
            return False
        if not with_files:
            with self._converted():
                try:
                    return self._client.delete_table(name)
                except Refused as refused:
                    if refused.is_not_found:
                        return False
                    raise
        entry = self.find_entry(wanted)
        if entry is None:
            return False
        storage, root = self._storage(entry)
        if not entry.managed:
            check_deletable_folder(storage, root)
        if not self.remove_entry(entry):
            return False
        if not entry.managed:
            delete_whole_folder(storage, root)
        return True

    def register_table(self, ident: Ident, location: str) -> DeltaTable:
        wanted = identifier_of(ident)
        name = self._given_name(wanted)
        self._check_namespace(wanted.namespace)
        self._check_free(wanted)
        place = _place(arguments.path("location", location))
        storage = self._at(place)
        table = load_snapshot(storage(), storage.root)
        check_lengths(table.properties, str(wanted))
        return self._opened(self._register(name, table, place, managed=False))

    def _open(self, entry: TableEntry, version: int | None = None, timestamp: date | str | None = None) -> DeltaTable:
        assert isinstance(entry, _UnityEntry)
        return self._opened(entry, version, timestamp)

    def _opened(
        self, entry: _UnityEntry, version: int | None = None, timestamp: date | str | None = None
    ) -> DeltaTable:
        storage, root = self._storage(entry)
        log = storage.log
        with log.holding() if isinstance(log, ManagedLog) else nullcontext():
            return table_in(storage, root, version, timestamp)

    def _storage(self, entry: _UnityEntry) -> tuple[CatalogStorage, str]:
        """The storage of a table, with the log that the catalog knows, and its location."""
        name, client = self._given_name(entry.identifier), self._client
        below = VendedStorage(entry.location, self.storage_options, lambda: client.credentials(name, entry.uuid or ""))
        with self._converted():
            below()
        root = below.root
        again = partial(self._again, entry)
        if entry.loaded is not None and entry.loaded.managed:
            return CatalogStorage(below, ManagedLog(client, name, entry.loaded, root, below), again), root
        told = None if entry.loaded is None else entry.loaded.uuid
        return CatalogStorage(below, ExternalLog(client, name, told), again), root

    def _again(self, entry: _UnityEntry, secrets: bool) -> tuple[Callable[[], Storage], tuple[str, ...]]:
        """The function that opens the storage of a table in another process, and the names of secrets that it lacks."""
        url, login, options = self._client.url, dict(self._login), dict(self.storage_options or {})
        left_out: tuple[str, ...] = ()
        if not secrets:
            options, left_out = options_without_secrets(options)
            left_out = (*(shown for key, shown in SECRETS.items() if login.pop(key, None) is not None), *left_out)
            url = url_without_secrets(url)
        given = (url, self._catalog, options, self.name)
        return partial(_opened_again, given, login, replace(entry, loaded=None)), left_out

    # Staged tables

    def _staged_create(self, ident: CatalogIdentifier, described: DescribedTable, operation: str) -> StagedTable:
        name = self._given_name(ident)
        self._check_namespace(ident.namespace)
        self._check_free(ident)
        properties = described.definition.properties
        check_lengths(properties, str(ident))
        managed = described.location is None
        storage: Storage
        if described.location is None:
            if not self._client.has_delta_api(name.catalog):
                raise errors.UnsupportedFeature(
                    f"The server at {self._client.url} has no Delta API, by which managed tables are created: give "
                    f"{ident} a place with the property location."
                )
            with self._converted(ident):
                staging = self._client.stage_table(name)
            kill_point("staging table")
            place = staging.location
            properties = new_properties(staging, properties, ident)
            below = VendedStorage(
                staging.location,
                self.storage_options,
                lambda: self._client.staging_credentials(staging.uuid),
                staging.credentials,
            )
            storage = CatalogStorage(below, NewLog(below))
        else:
            place = _place(described.location)
            below = self._at(place)
            storage = below()
        below()
        root = below.root
        transaction = creation(storage, root, replace(described.definition, cluster_by=(), properties=properties))
        transaction.set_operation(operation)
        transaction.set_parameters({"isManaged": "true" if managed else "false"})

        def finish() -> DeltaTable:
            try:
                entry = self._register(name, load_snapshot(storage, root), place, managed)
            except OutcomeUnknown:
                # The server may have the table.
                raise
            except (errors.CatalogError, errors.TableAlreadyExists, errors.NamespaceNotFound):
                withdraw(storage, transaction)
                raise
            return self._opened(entry)

        return StagedTable(ident, transaction, described.order, finish)

    def _staged_replace(self, entry: TableEntry, described: DescribedTable, operation: str) -> StagedTable:
        assert isinstance(entry, _UnityEntry)
        if described.location is not None and _place(described.location) != _place(entry.location):
            raise elsewhere(entry, described.location)
        given = described.definition.properties
        check_lengths(given, str(entry.identifier))
        storage, root = self._storage(entry)
        latest = load_snapshot(storage, root)
        properties = kept_properties(latest, given) if entry.managed else given
        transaction = replacement(latest, replace(described.definition, cluster_by=(), properties=properties))
        transaction.set_operation(operation)
        return StagedTable(entry.identifier, transaction, described.order, lambda: table_in(storage, root))

    def _at(self, location: str) -> VendedStorage:
        """The storage of a location at which the catalog has no table yet."""
        return VendedStorage(location, self.storage_options, lambda: self._client.path_credentials(location))

    def _register(self, name: TableName, table: Snapshot, place: str, managed: bool) -> _UnityEntry:
        """Register a table that has been written; raises TableAlreadyExists and NamespaceNotFound."""
        ident, time = self._identifier(name), commit_time(table) or 0
        if not self._client.has_delta_api(name.catalog):
            with self._converted(ident):
                self._client.create("tables", external_request(name, table, place))
            entry = self._older_entry(ident, name)
            if entry is None:
                raise errors.TableNotFound(f"The catalog {self.name} has no table {ident} any more.")
            return entry
        with self._converted(ident):
            loaded = self._created(name, creation_request(table, place, managed, time))
            kill_point("registered")
            if not managed and table.version > 0:
                loaded = self._client.update_table(name, loaded.uuid, [snapshot_version(table.version, time)])
        return _UnityEntry(ident, loaded.location, managed, loaded, loaded.uuid)

    def _created(self, name: TableName, request: Mapping[str, Any]) -> LoadedTable:
        """Let the server create a table. If the answer is lost, checks whether the table exists before a retry."""
        unknown: OutcomeUnknown | None = None
        for _ in range(_TRIES):
            try:
                return self._client.create_table(name, request)
            except OutcomeUnknown as error:
                unknown = error
            except Refused as refused:
                if unknown is None or not refused.is_taken:
                    raise
            try:
                loaded = self._client.load_table(name)
            except Refused as refused:
                if not refused.is_not_found:
                    raise unknown from refused
                continue
            if _place(loaded.location) == _place(request["location"]):
                return loaded
            raise errors.TableAlreadyExists(f"The catalog {self.name} already has a table {self._identifier(name)}.")
        assert unknown is not None
        raise unknown

    # Namespaces

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        full = self._full(parent)
        with self._converted():
            if not full:
                return [(str(each["name"]),) for each in self._client.list_all("catalogs")]
            if len(full) == 1:
                return [(*parent, str(each["name"])) for each in self._client.list_all("schemas", catalog_name=full[0])]
        return []

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        full = self._full(namespace)
        if not namespace:
            return {}
        if len(full) > 2 or not all(map(_NAME.fullmatch, full)):
            return None
        with self._converted():
            found = self._client.find("catalogs" if len(full) == 1 else "schemas", ".".join(full))
        if found is None:
            return None
        properties = {name: str(value) for name, value in (found.get("properties") or {}).items()}
        return {**properties, **{name: str(found[name]) for name in (COMMENT, _STORAGE_ROOT) if found.get(name)}}

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        full = self._full(namespace)
        check_lengths(properties, shown_namespace(namespace))
        if len(full) > 2:
            raise errors.InvalidArgument(
                f"Unity Catalog has no namespaces in schemas, as {shown_namespace(namespace)} is."
            )
        _check_names(full)
        given = {name: text for name, text in properties.items() if name != _STORAGE_ROOT}
        body: dict[str, Any] = {"name": full[-1], **_described(given)}
        if _STORAGE_ROOT in properties:
            body[_STORAGE_ROOT] = properties[_STORAGE_ROOT]
        with self._converted():
            try:
                if len(full) == 1:
                    self._client.create("catalogs", body)
                else:
                    self._client.create("schemas", {**body, "catalog_name": full[0]})
            except Refused as refused:
                if not refused.is_taken:
                    raise
                raise errors.NamespaceAlreadyExists(
                    f"The catalog {self.name} already has a namespace {shown_namespace(namespace)}."
                ) from refused

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        full = self._full(namespace)
        check_lengths(properties, shown_namespace(namespace))
        properties = {name: text for name, text in properties.items() if name != _STORAGE_ROOT}
        with self._converted():
            self._client.update(
                "catalogs" if len(full) == 1 else "schemas", ".".join(full), {COMMENT: "", **_described(properties)}
            )

    def drop_namespace(self, namespace: str | Sequence[str], cascade: bool = False) -> bool:
        """See TableCatalog.drop_namespace.

        With `cascade` the server drops its contents in one transaction, including views, volumes, functions and models:
        everything or nothing.
        """
        found = namespace_of(namespace)
        if not found or not arguments.flag("cascade", cascade):
            return super().drop_namespace(found, cascade)
        return self.find_namespace(found) is not None and self._delete_namespace(found, with_content=True)

    def remove_namespace(self, namespace: Namespace) -> bool:
        return self._delete_namespace(namespace, with_content=False)

    def _delete_namespace(self, namespace: Namespace, with_content: bool) -> bool:
        full = self._full(namespace)
        with self._converted():
            try:
                return self._client.delete("catalogs" if len(full) == 1 else "schemas", ".".join(full), with_content)
            except Refused as refused:
                if refused.kind != "FAILED_PRECONDITION":
                    raise
                raise errors.NamespaceNotEmpty(
                    f"The namespace {shown_namespace(namespace)} of the catalog {self.name} is not empty: {refused}"
                ) from refused

    # Names

    def _full(self, namespace: Namespace) -> tuple[str, ...]:
        """Catalog and schema of a namespace, for each part that it has."""
        return namespace if self._catalog is None else (self._catalog, *namespace)

    def _schema_parts(self, namespace: Namespace) -> tuple[str, str] | None:
        """Catalog and schema of a namespace that tables can be in; None for others."""
        full = self._full(namespace)
        return (full[0], full[1]) if len(full) == 2 else None

    def _name(self, ident: CatalogIdentifier) -> TableName | None:
        """The three parts of a table's name; None for a name that no table on the server can have."""
        parts = self._schema_parts(ident.namespace)
        if parts is None or not all(map(_NAME.fullmatch, (*parts, ident.name))):
            return None
        return TableName(*parts, ident.name)

    def _given_name(self, ident: CatalogIdentifier) -> TableName:
        """The three parts of the name of a new table. Raises InvalidArgument, and NamespaceNotFound."""
        parts = self._schema_parts(ident.namespace)
        if parts is None:
            form = "catalog.schema.table" if self._catalog is None else "schema.table"
            if len(self._full(ident.namespace)) > 2:
                raise errors.NamespaceNotFound(
                    f"The catalog {self.name} has no namespace {shown_namespace(ident.namespace)}; tables are named "
                    f"{form}."
                )
            raise errors.InvalidArgument(f"The name of a table of the catalog {self.name} must be {form}, not {ident}.")
        _check_names((*parts, ident.name))
        return TableName(*parts, ident.name)

    def _identifier(self, name: TableName) -> CatalogIdentifier:
        namespace = (name.schema,) if self._catalog is not None else (name.catalog, name.schema)
        return CatalogIdentifier(namespace, name.table)

    @contextmanager
    def _converted(self, ident: CatalogIdentifier | None = None) -> Iterator[None]:
        """Convert refusals of the server to the errors of catalogs; ident: the table that is created or renamed."""
        try:
            yield
        except Refused as refused:
            if refused.kind in _NO_NAMESPACE:
                raise errors.NamespaceNotFound(f"The catalog {self.name} has no such namespace: {refused}") from refused
            if refused.kind in _NO_TABLE:
                raise errors.TableNotFound(f"The catalog {self.name} has no such table: {refused}") from refused
            if refused.is_taken and ident is not None:
                raise errors.TableAlreadyExists(f"The catalog {self.name} already has a table {ident}.") from refused
            raise


_TRIES = 4
_NO_NAMESPACE = (
    "NoSuchSchemaException", "NoSuchCatalogException", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "NOT_FOUND",
)  # fmt: skip
_NO_TABLE = ("NoSuchTableException", "TABLE_NOT_FOUND")


def _opened_again(
    given: tuple[str, str | None, Mapping[str, str], str], login: Mapping[str, str], entry: _UnityEntry
) -> Storage:
    """The storage of a pickled table, whose catalog may be configured in this process."""
    url, catalog, options, name = given
    login = completed_login(login, configured(name) or {})
    opened = UnityCatalog(url, catalog, storage_options=options, name=name, **login)
    now = opened.find_entry(entry.identifier)
    if now is None:
        raise errors.TableNotFound(f"The catalog {name} has no table {entry.identifier}.")
    if now.uuid != entry.uuid or now.location != entry.location:
        raise errors.TableNotFound(
            f"The table {entry.identifier} was replaced by another table in its catalog since it was pickled: load it "
            f"again by its name."
        )
    return opened._storage(now)[0]


def _place(location: str) -> str:
    """A location in the server's spelling: the URI of a local path, and other locations unchanged."""
    found = parse_location(location)
    return uri_of(found) if is_local(found) else found


def _check_names(parts: Iterable[str]) -> None:
    for part in parts:
        if _NAME.fullmatch(part) is None:
            raise errors.InvalidArgument(
                f"A name in Unity Catalog has at most 255 letters, digits and the characters _ - @, not {part!r}."
            )


def _described(properties: Mapping[str, str]) -> dict[str, Any]:
    """Comment and properties of a namespace in the form of the API."""
    own = {name: text for name, text in properties.items() if name != COMMENT}
    return {"properties": own, **({COMMENT: properties[COMMENT]} if COMMENT in properties else {})}


class VendedStorage:
    """Opens the storage of a location, and opens it again with new credentials before its credentials expire.

    Local files, and storages with credentials of the user, need none from the server.

    Args:
        location: Path or URI of the table.
        options: Storage options of the user, which take precedence over the server's.
        ask: Requests credentials from the server.
        given: Credentials that the server has already issued.
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
        self._lock = new_lock()
        self._storage: Storage | None = None
        self._expires_ms: int | None = None
        self._given = given
        self.root = ""

    def __call__(self) -> Storage:
        """Return the storage."""
        with self._lock:
            now = current_ms()
            if self._storage is None or (self._expires_ms is not None and now + _MARGIN_MS >= self._expires_ms):
                self._storage, self.root = open_storage(self._location, self._opened_with() or None)
            return self._storage

    def _opened_with(self) -> dict[str, str]:
        """The options with which the storage is opened."""
        self._expires_ms = None
        _, root = open_storage(self._location) if self._location.startswith("file:") else (None, self._location)
        if is_local(root) or any(name in self._options for name in _OWN):
            return self._options
        given, self._given = (self._ask() if self._given is None else self._given), None
        # s3a and s3 are the same store.
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
"""Options by which a user passes credentials."""
