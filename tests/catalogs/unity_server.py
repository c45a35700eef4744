"""A small server of Unity Catalog's Delta API, as strict as the open one (0.7): its state is in memory."""

import json
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, unquote_plus, urlsplit
from uuid import uuid4

import pyarrow as pa
import pytest
from unitycatalog import client

from deltaskip.catalogs.unity import UnityCatalog
from tests.catalogs.unity_rules import (
    DOMAINS,
    ENDPOINTS,
    FEATURES,
    FIXED,
    NAME,
    REQUIREMENTS,
    SUGGESTED,
    SUGGESTED_FEATURES,
    TABLE_ID,
    UPDATES,
    Lost,
    Refusal,
    Table,
    check_columns,
    check_contract,
    check_domains,
    check_model,
    check_sent,
    check_updates,
    committed,
    delta,
    derive,
    invalid,
    is_replay,
    now,
    once,
    partition_names,
)

API = "/api/2.1/unity-catalog"
PAGE = 50


class UnityServer:
    """The state of a server, and what tests let it do.

    Attributes:
        requests: Method and path of each request.
        bodies: Bodies of updates of tables, oldest first.
        permitted: Maintenance operations that clients may run.
        disturb: Called with "before" or "after" the work of a request, its method, path and body; may raise Refusal
            or Lost.
        delta_api: Whether the server is new enough to have the Delta API.
        token: Bearer token that requests need; None for none.
        clients: Secrets of the clients that get tokens at /oidc/v1/token, by their identifiers.
        token_seconds: How long such a token holds; None if the answer does not say.
        issued: The tokens that were given, of which the server takes the last one.
        storage_root: URI below which it puts managed tables, with the options to open it.
        credentials: What the server gives for every place; it expires at expires_ms.
        path_credentials: Whether it gives them also for places without a table, which the open server does not.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.storage_root = root.as_uri()
        self.storage_options: dict[str, str] | None = None
        self.lock = threading.RLock()
        self.catalogs: dict[str, dict[str, Any]] = {}
        self.schemas: dict[tuple[str, str], dict[str, Any]] = {}
        self.tables: dict[tuple[str, str, str], Table] = {}
        self.staged: dict[str, Table] = {}
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.permitted: list[str] = []
        self.disturb: Callable[[str, str, str, Any], None] = lambda *_: None
        self.delta_api = True
        self.token: str | None = None
        self.clients: dict[str, str] = {}
        self.token_seconds: float | None = 3600
        self.issued: list[str] = []
        self.credentials: dict[str, Any] = {}
        self.expires_ms: int | None = None
        self.path_credentials = False
        self.url = ""

    def table(self, name: str) -> Table:
        """A table by its full name."""
        catalog, schema, table = name.split(".")
        return self.tables[catalog, schema, table]

    def count(self, method: str, ending: str = "") -> int:
        """Number of requests of a method whose path ends so."""
        return sum(each[0] == method and each[1].endswith(ending) for each in self.requests)

    # Answers of the Delta API

    def config(self, query: Mapping[str, str]) -> Any:
        if not query.get("catalog") or not query.get("protocol-versions"):
            raise Refusal(400, "BadRequestException", "Missing query parameters")
        self._catalog(query["catalog"])
        return {"endpoints": ENDPOINTS, "protocol-version": "1.0"}

    def stage(self, catalog: str, schema: str, body: Any) -> Any:
        check_model(delta.DeltaCreateStagingTableRequest, body)
        self._schema(catalog, schema)
        if (catalog, schema, body["name"]) in self.tables:
            raise Refusal(409, "AlreadyExistsException", f"Table already exists: {body['name']}")
        if not NAME.fullmatch(body["name"]):
            raise invalid("Name cannot contain a period, space, forward-slash, or control characters")
        uuid = str(uuid4())
        location = f"{self.storage_root}/__unitystorage/tables/{uuid}"
        self.staged[location] = Table(uuid, location, True, body["name"], storage_options=self.storage_options)
        return {
            "table-id": uuid,
            "table-type": "MANAGED",
            "location": location,
            "storage-credentials": [self._credential(location, "READ_WRITE")],
            "required-protocol": {
                "min-reader-version": 3,
                "min-writer-version": 7,
                "reader-features": [name for name, both in FEATURES.items() if both],
                "writer-features": list(FEATURES),
            },
            "suggested-protocol": {
                "reader-features": [name for name, both in SUGGESTED_FEATURES.items() if both],
                "writer-features": list(SUGGESTED_FEATURES),
            },
            "required-properties": {**FIXED, TABLE_ID: uuid},
            "suggested-properties": SUGGESTED,
        }

    def create(self, catalog: str, schema: str, body: Any) -> Any:
        check_model(delta.DeltaCreateTableRequest, body)
        check_columns(body["columns"])
        check_model(delta.DeltaProtocol, body["protocol"])
        if "domain-metadata" in body:
            check_model(delta.DeltaDomainMetadataUpdates, body["domain-metadata"])
        check_sent(body["properties"])
        self._schema(catalog, schema)
        name = (catalog, schema, body["name"])
        if name in self.tables:
            raise Refusal(409, "AlreadyExistsException", f"Table already exists: {'.'.join(name)}")
        managed = body["table-type"] == "MANAGED"
        if managed:
            table = self.staged.get(body["location"].rstrip("/"))
            if table is None:
                raise Refusal(404, "NoSuchTableException", f"Staging table not found: {body['location']}")
            check_contract(body["protocol"], body.get("domain-metadata") or {}, body["properties"], table.uuid)
            if not table.has(f"{0:020}.json"):
                raise invalid("not a Delta table")
        else:
            if any(each.location == body["location"] for each in self.tables.values()):
                raise invalid("location overlaps with another table")
            table = Table(str(uuid4()), body["location"], False)
        table.name, table.comment, table.columns = body["name"], body.get("comment"), body["columns"]
        table.partition_columns = partition_names(body["columns"], body.get("partition-columns") or [])
        table.properties = dict(body["properties"])
        derive(table.properties, body["protocol"], body.get("domain-metadata") or {})
        table.properties["delta.lastUpdateVersion"] = "0"
        table.properties["delta.lastCommitTimestamp"] = str(body["last-commit-timestamp-ms"])
        table.created = now()
        self.staged.pop(table.location, None)
        self.tables[name] = table
        return self.load(*name)

    def load(self, catalog: str, schema: str, name: str) -> Any:
        table = self._table(catalog, schema, name)
        return {
            "metadata": {
                "etag": table.etag,
                "table-type": "MANAGED" if table.managed else "EXTERNAL",
                "table-uuid": table.uuid,
                "location": table.location,
                "created-time": table.created,
                "updated-time": table.created + table.updates,
                "columns": table.columns,
                "partition-columns": table.partition_columns,
                "properties": table.properties,
                "last-commit-version": int(table.properties["delta.lastUpdateVersion"]),
                "last-commit-timestamp-ms": int(table.properties["delta.lastCommitTimestamp"]),
            },
            **({"commits": table.commits[::-1], "latest-table-version": table.latest} if table.managed else {}),
            "allowed-maintenance-operations": self.permitted,
        }

    def update(self, catalog: str, schema: str, name: str, body: Any) -> Any:
        check_model(delta.DeltaUpdateTableRequest, body)
        requirements = once(body["requirements"], "type", REQUIREMENTS)
        updates = once(body["updates"], "action", UPDATES)
        if "assert-table-uuid" not in requirements:
            raise invalid("assert-table-uuid requirement is required.")
        if not updates:
            raise invalid("At least one update is required.")
        check_updates(updates)
        self.bodies.append(body)
        table = self._table(catalog, schema, name)
        if requirements["assert-table-uuid"]["uuid"] != table.uuid:
            raise Refusal(409, "UpdateRequirementConflictException", "assert-table-uuid failed")
        commit = updates.get("add-commit", {}).get("commit")
        is_stale = requirements.get("assert-etag", {}).get("etag", table.etag) != table.etag
        if is_stale and (commit is None or not is_replay(table, commit)):
            raise Refusal(409, "UpdateRequirementConflictException", "assert-etag failed")
        commits, latest = table.commits, table.latest
        if commit is not None or "set-latest-backfilled-version" in updates:
            if not table.managed:
                raise invalid("add-commit and set-latest-backfilled-version require a MANAGED Delta table.")
            published = updates.get("set-latest-backfilled-version", {}).get("latest-published-version")
            if commit is not None and is_replay(table, commit):
                return self.load(catalog, schema, name)
            commits, latest = committed(table, commit, published)
        elif table.managed:
            raise invalid("a managed table changes by commits")
        if "update-metadata-snapshot-version" in updates and table.managed:
            raise invalid("update-metadata-snapshot-version is only supported for EXTERNAL Delta tables")
        self._apply(table, updates, commit)
        table.commits, table.latest = commits, latest
        table.updates += 1
        return self.load(catalog, schema, name)

    def _apply(self, table: Table, updates: Mapping[str, Any], commit: Any) -> None:
        columns = updates.get("set-columns", {}).get("columns", table.columns)
        partitions = updates.get("set-partition-columns", {}).get("partition-columns", table.partition_columns)
        partitions = partition_names(columns, partitions)
        properties = dict(table.properties)
        protocol = updates.get("set-protocol", {}).get("protocol")
        domains = updates.get("set-domain-metadata", {}).get("updates", {})
        if protocol is not None:
            for key in [key for key in properties if key.startswith("delta.feature.")]:
                del properties[key]
        derive(properties, protocol, domains)
        properties.update(updates.get("set-properties", {}).get("updates", {}))
        for key in updates.get("remove-properties", {}).get("removals", ()):
            properties.pop(key, None)
        for domain in updates.get("remove-domain-metadata", {}).get("domains", ()):
            properties.pop(DOMAINS[domain], None)
        features = {key.removeprefix("delta.feature.") for key in properties if key.startswith("delta.feature.")}
        check_domains(features, domains)
        if protocol is not None and table.managed:
            check_contract(protocol, domains, properties, table.uuid)
        done = updates.get("update-metadata-snapshot-version")
        if done is not None:
            properties["delta.lastUpdateVersion"] = str(done["last-commit-version"])
            properties["delta.lastCommitTimestamp"] = str(done["last-commit-timestamp-ms"])
        if commit is not None and len(updates) > 1 + ("set-latest-backfilled-version" in updates):
            properties["delta.lastUpdateVersion"] = str(commit["version"])
            properties["delta.lastCommitTimestamp"] = str(commit["timestamp"])
        table.columns, table.partition_columns, table.properties = columns, partitions, properties
        if "set-table-comment" in updates:
            table.comment = updates["set-table-comment"]["comment"]

    def delete(self, catalog: str, schema: str, name: str) -> None:
        table = self._table(catalog, schema, name)
        del self.tables[catalog, schema, name]
        if table.managed:
            table.delete()

    def rename(self, catalog: str, schema: str, name: str, body: Any) -> None:
        check_model(delta.DeltaRenameTableRequest, body)
        table = self._table(catalog, schema, name)
        if (catalog, schema, body["new-name"]) in self.tables:
            raise Refusal(409, "AlreadyExistsException", f"Table already exists: {body['new-name']}")
        self.tables[catalog, schema, body["new-name"]] = self.tables.pop((catalog, schema, name))
        table.name = body["new-name"]
        table.updates += 1

    def vend(self, location: str, query: Mapping[str, str]) -> Any:
        if query.get("operation") not in ("READ", "READ_WRITE"):
            raise Refusal(400, "BadRequestException", "operation")
        return {"storage-credentials": [self._credential(location, query["operation"])]}

    def _credential(self, location: str, operation: str) -> Any:
        return {
            "prefix": location,
            "operation": operation,
            "config": dict(self.credentials),
            "expiration-time-ms": self.expires_ms,
        }

    # Answers of the older API

    def older(self, method: str, parts: list[str], query: Mapping[str, str], body: Any) -> Any:
        """Catalogs, schemas and tables of the older API, whose errors are in another form."""
        kind = parts[0]
        if kind == "catalogs":
            return self._catalogs(method, parts[1:], query, body)
        if kind == "schemas":
            return self._schemas(method, parts[1:], query, body)
        if kind == "tables":
            return self._tables(method, parts[1:], query, body)
        if parts == ["temporary-table-credentials"] and method == "POST":
            check_model(client.GenerateTemporaryTableCredential, body)
            return {"expiration_time": self.expires_ms}
        raise Refusal(404, "NOT_FOUND", "/".join(parts))

    def _catalogs(self, method: str, rest: list[str], query: Mapping[str, str], body: Any) -> Any:
        match method, rest:
            case "GET", []:
                return self._page("catalogs", [self.catalogs[name] for name in sorted(self.catalogs)], query)
            case "POST", []:
                check_model(client.CreateCatalog, body)
                if not NAME.fullmatch(body["name"]):
                    raise Refusal(400, "INVALID_ARGUMENT", "Name cannot contain a period")
                if body["name"] in self.catalogs:
                    raise Refusal(400, "CATALOG_ALREADY_EXISTS", "Catalog already exists")
                self.catalogs[body["name"]] = {**body, "id": str(uuid4())}
                return self.catalogs[body["name"]]
            case "GET", [name]:
                return self._catalog(name, older=True)
            case "PATCH", [name]:
                check_model(client.UpdateCatalog, body)
                self._catalog(name, older=True).update(body)
                return self.catalogs[name]
            case "DELETE", [name]:
                self._catalog(name, older=True)
                for key in [key for key in self.schemas if key[0] == name] if query.get("force") == "true" else []:
                    self._schemas("DELETE", [".".join(key)], query, body)
                if any(key[0] == name for key in self.schemas):
                    raise Refusal(400, "FAILED_PRECONDITION", "Cannot delete catalog with schemas")
                del self.catalogs[name]
                return {}
        raise Refusal(404, "NOT_FOUND", "catalogs")

    def _schemas(self, method: str, rest: list[str], query: Mapping[str, str], body: Any) -> Any:
        match method, rest:
            case "GET", []:
                self._catalog(query["catalog_name"], older=True)
                found = [self.schemas[key] for key in sorted(self.schemas) if key[0] == query["catalog_name"]]
                return self._page("schemas", found, query)
            case "POST", []:
                check_model(client.CreateSchema, body)
                self._catalog(body["catalog_name"], older=True)
                key = (body["catalog_name"], body["name"])
                if not NAME.fullmatch(body["name"]):
                    raise Refusal(400, "INVALID_ARGUMENT", "Name cannot contain a period")
                if key in self.schemas:
                    raise Refusal(400, "SCHEMA_ALREADY_EXISTS", "Schema already exists")
                self.schemas[key] = {**body, "full_name": ".".join(key), "schema_id": str(uuid4())}
                return self.schemas[key]
        full = tuple(rest[0].split("."))
        if len(full) != 2:
            raise Refusal(400, "INVALID_ARGUMENT", f"Invalid schema name: {rest[0]}")
        self._catalog(full[0], older=True)
        if full not in self.schemas:
            raise Refusal(404, "SCHEMA_NOT_FOUND", f"Schema not found: {rest[0]}")
        match method:
            case "GET":
                return self.schemas[full]
            case "PATCH":
                check_model(client.UpdateSchema, body)
                self.schemas[full].update(body)
                return self.schemas[full]
            case "DELETE":
                for each in [key for key in self.tables if key[:2] == full] if query.get("force") == "true" else []:
                    self.delete(*each)
                if any(key[:2] == full for key in self.tables):
                    raise Refusal(400, "FAILED_PRECONDITION", "Cannot delete schema with tables")
                del self.schemas[full]
                return {}
        raise Refusal(404, "NOT_FOUND", "schemas")

    def _tables(self, method: str, rest: list[str], query: Mapping[str, str], body: Any) -> Any:
        match method, rest:
            case "GET", []:
                self._schema(query["catalog_name"], query["schema_name"], older=True)
                wanted = (query["catalog_name"], query["schema_name"])
                found = [self._info(key) for key in sorted(self.tables) if key[:2] == wanted]
                return self._page("tables", found, query)
            case "POST", []:
                check_model(client.CreateTable, body)
                for each in body["columns"]:
                    check_model(client.ColumnInfo, each)
                key = (body["catalog_name"], body["schema_name"], body["name"])
                self._schema(*key[:2], older=True)
                if key in self.tables:
                    raise Refusal(400, "TABLE_ALREADY_EXISTS", "Table already exists")
                table = Table(str(uuid4()), body["storage_location"], False, body["name"], body.get("comment"))
                table.properties = {"delta.lastUpdateVersion": "0", "delta.lastCommitTimestamp": "0"}
                self.tables[key] = table
                return self._info(key)
        key = tuple(rest[0].split("."))
        if len(key) != 3 or key not in self.tables:
            raise Refusal(404, "TABLE_NOT_FOUND", f"Table not found: {rest[0]}")
        if method == "DELETE":
            self.delete(*key)
            return {}
        return self._info(key)

    def _info(self, key: tuple[str, str, str]) -> Any:
        table = self.tables[key]
        found = {
            "name": key[2],
            "catalog_name": key[0],
            "schema_name": key[1],
            "table_type": "MANAGED" if table.managed else "EXTERNAL",
            "data_source_format": "DELTA",
            "storage_location": table.location,
            "table_id": table.uuid,
            "comment": table.comment,
        }
        check_model(client.TableInfo, found)
        return found

    def _page(self, what: str, found: list[Any], query: Mapping[str, str]) -> Any:
        start = int(query.get("page_token") or 0)
        page = {what: found[start : start + PAGE]}
        return {**page, **({"next_page_token": str(start + PAGE)} if start + PAGE < len(found) else {})}

    # What there is

    def _catalog(self, name: str, older: bool = False) -> dict[str, Any]:
        if name not in self.catalogs:
            raise Refusal(404, "CATALOG_NOT_FOUND" if older else "NoSuchCatalogException", f"Catalog not found: {name}")
        return self.catalogs[name]

    def _schema(self, catalog: str, schema: str, older: bool = False) -> None:
        self._catalog(catalog, older)
        if (catalog, schema) not in self.schemas:
            kind = "SCHEMA_NOT_FOUND" if older else "NoSuchSchemaException"
            raise Refusal(404, kind, f"Schema not found: {catalog}.{schema}")

    def _table(self, catalog: str, schema: str, name: str) -> Table:
        self._schema(catalog, schema)
        if (catalog, schema, name) not in self.tables:
            raise Refusal(404, "NoSuchTableException", f"Table not found: {catalog}.{schema}.{name}")
        return self.tables[catalog, schema, name]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the body waits until the client acknowledges the headers, 40 ms later.
    disable_nagle_algorithm = True
    state: UnityServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _give_token(self) -> None:
        """Give a token to a client. # RFC 6749, 4.4.2, 4.4.3, 5.2"""
        state = self.state
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        given = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        name, _, secret = (unquote_plus(part) for part in given.partition(":"))
        found: dict[str, Any]
        if form.get("grant_type") != ["client_credentials"] or form.get("scope") != ["all-apis"]:
            status, found = 400, {"error": "invalid_request"}
        elif state.clients.get(name) != secret:
            status, found = 401, {"error": "invalid_client", "error_description": f"{secret} is wrong"}
        else:
            state.issued.append(f"token-{len(state.issued)}-{uuid4().hex}")
            status, found = 200, {"access_token": state.issued[-1], "token_type": "Bearer"}
            if state.token_seconds is not None:
                found["expires_in"] = state.token_seconds
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _may(self) -> bool:
        """Whether the request has a token that is needed."""
        given = self.headers.get("Authorization")
        if self.state.clients:
            return given in [f"Bearer {token}" for token in self.state.issued[-1:]]
        return self.state.token is None or given == f"Bearer {self.state.token}"

    def _answer(self, method: str) -> None:
        if self.path == "/oidc/v1/token":
            self._give_token()
            return
        state, parts = self.state, urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(length)
        body = json.loads(sent) if length and self.headers.get_content_type() == "application/json" else None
        path = parts.path.removeprefix(API)
        names = [unquote(part) for part in path.split("/")[1:]]
        is_delta = names[0] == "delta"
        try:
            if not parts.path.startswith(API):
                raise Refusal(404, "NOT_FOUND", self.path)
            if not self._may():
                raise Refusal(401, "NotAuthorizedException" if is_delta else "UNAUTHENTICATED", "token")
            state.disturb("before", method, path, body)
            with state.lock:
                state.requests.append((method, path))
                status, found = self._routed(method, names, query, body, is_delta)
            state.disturb("after", method, path, body)
        except Lost:
            self.close_connection = True
            return
        except Refusal as refusal:
            status, found = refusal.status, _error(refusal, is_delta)
        except Exception as error:  # a test sees it as the message of the error
            status, found = 400, _error(Refusal(400, "BadRequestException", f"the test server: {error!r}"), is_delta)
        text = b"" if found is None or method == "HEAD" else json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _routed(self, method: str, names: list[str], query: Any, body: Any, is_delta: bool) -> tuple[int, Any]:
        state = self.state
        if not is_delta:
            return 200, state.older(method, names, query, body)
        if not state.delta_api:
            raise Refusal(404, "", "no such path")
        match method, names[2:]:
            case "GET", ["config"]:
                return 200, _checked(delta.DeltaCatalogConfig, state.config(query))
            case "POST", ["catalogs", catalog, "schemas", schema, "staging-tables"]:
                return 200, state.stage(catalog, schema, body)
            case "POST", ["catalogs", catalog, "schemas", schema, "tables"]:
                return 200, _checked(delta.DeltaLoadTableResponse, state.create(catalog, schema, body))
            case "GET", ["catalogs", catalog, "schemas", schema, "tables", name]:
                return 200, _checked(delta.DeltaLoadTableResponse, state.load(catalog, schema, name))
            case "HEAD", ["catalogs", catalog, "schemas", schema, "tables", name]:
                state.load(catalog, schema, name)
                return 204, None
            case "POST", ["catalogs", catalog, "schemas", schema, "tables", name]:
                return 200, _checked(delta.DeltaLoadTableResponse, state.update(catalog, schema, name, body))
            case "DELETE", ["catalogs", catalog, "schemas", schema, "tables", name]:
                state.delete(catalog, schema, name)
                return 204, None
            case "POST", ["catalogs", catalog, "schemas", schema, "tables", name, "rename"]:
                state.rename(catalog, schema, name, body)
                return 204, None
            case "GET", ["catalogs", catalog, "schemas", schema, "tables", name, "credentials"]:
                return 200, state.vend(state._table(catalog, schema, name).location, query)
            case "GET", ["staging-tables", uuid, "credentials"]:
                table = next((each for each in state.staged.values() if each.uuid == uuid), None)
                if table is None:
                    raise Refusal(404, "NoSuchTableException", "staging table")
                return 200, state.vend(table.location, {"operation": "READ_WRITE"})
            case "GET", ["temporary-path-credentials"] if state.path_credentials:
                return 200, state.vend(query["location"], query)
        # Advertised, and yet answered so: temporary-path-credentials.
        raise Refusal(404, "NotFoundException", "/".join(names))


def _checked(model: Any, answer: Any) -> Any:
    check_model(model, answer)
    return answer


def _error(refusal: Refusal, is_delta: bool) -> Any:
    if is_delta and refusal.kind:
        answer = {"error": {"message": str(refusal), "type": refusal.kind, "code": refusal.status}}
        check_model(delta.DeltaErrorResponse, answer)
        return answer
    details = [{"@type": "google.rpc.ErrorInfo", "reason": refusal.kind}]
    return {"error_code": refusal.kind, "message": str(refusal), "details": details}


@contextmanager
def unity_server(root: Path) -> Iterator[UnityServer]:
    """A running server with the catalog `main` and the schema `main.db`."""
    state = UnityServer(root)
    state.catalogs["main"] = {"name": "main", "id": str(uuid4())}
    state.schemas["main", "db"] = {"name": "db", "catalog_name": "main", "full_name": "main.db"}
    handler = type("Handler", (_Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UnityServer]:
    """A server for one test."""
    with unity_server(tmp_path / "storage") as running:
        yield running


@pytest.fixture
def cat(server: UnityServer) -> UnityCatalog:
    """Its catalog `main`."""
    return UnityCatalog(server.url, "main")


COLUMNS = "id BIGINT, name STRING"


def rows(*ids: int) -> pa.Table:
    """Rows of COLUMNS."""
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{each}" for each in ids]})
