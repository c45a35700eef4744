"""Temporary credentials of Unity Catalog: taken for object stores, renewed before they expire, not asked for files."""

import time
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.catalogs.unity.models import Credential
from deltaskip.catalogs.unity.unity_catalog import VendedStorage
from deltaskip.errors import CatalogError
from deltaskip.storage.remote import ObjectStorage
from tests.catalogs.unity_server import Refusal, UnityServer, server
from tests.dml.tables import ids_of
from tests.storage.s3 import endpoint, s3_options

__all__ = ["endpoint", "s3_options", "server"]

COLUMNS = "id BIGINT, name STRING"
KEYS = {"s3.access-key-id": "vended", "s3.secret-access-key": "secret", "s3.session-token": "token"}


def credential(prefix: str, expires_ms: int | None = None, **config: str) -> Credential:
    return Credential.of(
        {"prefix": prefix, "operation": "READ", "config": config or KEYS, "expiration-time-ms": expires_ms}
    )


def test_a_managed_table_in_an_object_store_is_read_and_written_with_the_server_s_credentials(
    server: UnityServer, s3_options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    server.storage_root, server.storage_options = f"s3://bucket/{uuid4()}", s3_options
    server.credentials, server.path_credentials = KEYS, True
    own = {name: text for name, text in s3_options.items() if "key" not in name}
    cat = UnityCatalog(server.url, "main", storage_options=own)
    table = cat.create_table("db.t", COLUMNS)
    options = table.snapshot.storage.options  # type: ignore[attr-defined]
    assert (options["aws_access_key_id"], options["aws_session_token"]) == ("vended", "token")
    for each in (table, cat.create_table("db.e", COLUMNS, properties={"location": f"s3://bucket/{uuid4()}/e"})):
        each.append(pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]}))
        each.delete("id = 1")
    assert ids_of(cat.load_table("db.t")) == [2] == ids_of(cat.load_table("db.e"))
    assert server.table("main.db.t").commits == []
    assert cat.drop_table("db.t") and cat.drop_table("db.e", purge=True)


def test_files_need_no_credentials(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "main")
    cat.create_table("db.t", COLUMNS)
    cat.load_table("db.t")
    assert server.count("GET", "/credentials") == 0


def test_empty_credentials_without_an_end_are_none(server: UnityServer) -> None:
    assert credential("file:///t", None, **{"s3.access-key-id": ""}).options == {}
    storage = VendedStorage("s3://b/t", {"aws_skip_signature": "true"}, lambda: pytest.fail("asked"))
    assert isinstance(storage(), ObjectStorage)


def asked(answers: list[list[Credential]], location: str = "s3://b/t") -> VendedStorage:
    return VendedStorage(location, {"aws_region": "eu-west-1"}, lambda: answers.pop(0))


def test_credentials_are_renewed_before_they_expire() -> None:
    pytest.importorskip("obstore")
    now = time.time_ns() // 1_000_000
    answers = [[credential("s3://b/t", now + 30_000)], [credential("s3://b/t", now + 3_600_000)], []]
    storage = asked(answers)
    first, second = storage(), storage()
    assert first is not second and second is storage() and len(answers) == 1


def test_the_most_specific_prefix_is_taken_and_others_are_not() -> None:
    pytest.importorskip("obstore")
    inner = credential("s3://b/t/", **{"s3.access-key-id": "inner", "s3.secret-access-key": "s"})
    outer = credential("s3://b", **{"s3.access-key-id": "outer", "s3.secret-access-key": "s"})
    other = credential("s3://b/t/deeper/than/this", **{"s3.access-key-id": "no", "s3.secret-access-key": "s"})
    storage = asked([[outer, inner, other]])()
    assert storage.options == {  # type: ignore[attr-defined]
        "aws_access_key_id": "inner", "aws_secret_access_key": "s", "aws_region": "eu-west-1",
    }  # fmt: skip


def test_a_reader_who_may_not_write_gets_credentials_for_reading(server: UnityServer) -> None:
    UnityCatalog(server.url, "main").create_table("db.t", COLUMNS)
    name = "/delta/v1/catalogs/main/schemas/db/tables/t/credentials"
    operations: list[str] = []

    def deny(when: str, method: str, path: str, body: Any) -> None:
        if when == "before" and path == name:
            operations.append(path)
            if len(operations) == 1:
                raise Refusal(403, "PermissionDeniedException", "no MODIFY")

    server.disturb = deny
    cat = UnityCatalog(server.url, "main")
    from deltaskip.catalogs.unity.models import TableName

    [found] = cat._client.credentials(TableName("main", "db", "t"), "")
    assert (found.options, found.expires_ms, len(operations)) == ({}, None, 2)

    def nothing(when: str, method: str, path: str, body: Any) -> None:
        raise Refusal(403, "PermissionDeniedException", "no SELECT")

    server.disturb = nothing
    with pytest.raises(CatalogError, match="no SELECT"):
        cat._client.credentials(TableName("main", "db", "t"), "")


def test_a_server_without_the_request_has_no_credentials(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "main")
    assert cat._client.path_credentials("s3://b/t") == ()


def test_credentials_of_the_older_api_have_other_names() -> None:
    found = Credential.of_older(
        {
            "aws_temp_credentials": {"access_key_id": "a", "secret_access_key": "b", "session_token": "c"},
            "expiration_time": 5,
        }
    )
    expected = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c"}
    assert (found.options, found.expires_ms) == (expected, 5)
    assert Credential.of_older({"azure_user_delegation_sas": {"sas_token": "x"}}).options == {
        "azure_storage_sas_key": "x"
    }
    assert Credential.of_older({"gcp_oauth_token": {"oauth_token": "y"}}).options == {"google_bearer_token": "y"}
