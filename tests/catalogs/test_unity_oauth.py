"""A client of Unity Catalog that gets its tokens with an id and a secret: asked for once, renewed, never shown."""

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.errors import CatalogError, InvalidArgument, StorageError
from tests.catalogs.unity_server import UnityServer, unity_server
from tests.each import each, refuses

CLIENT: dict[str, Any] = {"client_id": "robot:1", "client_secret": "s3cr3t +/%&of a robot"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UnityServer]:
    with unity_server(tmp_path / "storage") as running:
        running.clients = {CLIENT["client_id"]: CLIENT["client_secret"]}
        yield running


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds of the clock by which tokens end, and by which calls do."""
    now = [1000.0]
    monkeypatch.setattr("deltaskip.catalogs.unity.oauth.time.monotonic", lambda: now[0])
    yield now


def test_a_token_is_asked_for_once_and_serves_all_requests(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "main", **CLIENT)
    table = cat.create_table("db.t", "id BIGINT")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: cat.load_table("db.t").version, range(8))) == [0] * 8
    assert table.refresh().version == 0 and len(server.issued) == 1


@pytest.mark.parametrize(
    ("seconds", "still", "renewed"),
    [(3600, 3500, 3541), (40, 19, 21), (None, 3500, 3541)],
    ids=["hour", "short", "unsaid"],
)
def test_a_token_is_renewed_before_it_ends(
    server: UnityServer, clock: list[float], seconds: float | None, still: float, renewed: float
) -> None:
    server.token_seconds = seconds
    cat = UnityCatalog(server.url, "main", **CLIENT)
    start = clock[0]
    for after, tokens in ((0, 1), (still, 1), (renewed, 2)):
        clock[0] = start + after
        assert cat.namespace_exists("db")
        assert len(server.issued) == tokens


def test_a_token_that_the_server_has_withdrawn_is_renewed_once(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "main", **CLIENT)
    assert cat.namespace_exists("db")
    server.issued.append("another client's")
    cat.create_table("db.t", "id BIGINT")
    assert len(server.issued) == 3


def test_what_is_refused_is_said_without_the_secret(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "main", client_id="robot:1", client_secret="another secret")
    with pytest.raises(CatalogError, match=r"POST http://\S+/oidc/v1/token: 401 invalid_client.*robot:1") as caught:
        cat.list_namespaces()
    assert "another secret" not in str(caught.value) and "client_secret" in str(caught.value)
    nowhere = UnityCatalog(server.url, "main", **CLIENT, token_url=f"{server.url}/elsewhere")
    refuses(CatalogError, r"POST http://\S+/elsewhere: 404", nowhere.list_namespaces)
    gone = UnityCatalog(server.url, "main", **CLIENT, token_url="http://127.0.0.1:9/token")
    refuses(CatalogError, r"POST http://127\.0\.0\.1:9/token: the token server cannot be reached", gone.list_namespaces)


def test_a_client_is_whole_and_has_no_token_of_its_own() -> None:
    def check(given: dict[str, str]) -> None:
        with pytest.raises(InvalidArgument, match="client_id and client_secret") as caught:
            UnityCatalog("http://127.0.0.1:9", "main", **given)
        assert "the secret" not in str(caught.value)

    each(
        [
            {"client_id": "a"},
            {"client_secret": "the secret"},
            {"token_url": "http://127.0.0.1:9/token"},
            {"client_id": "a", "client_secret": "the secret", "token": "t"},
        ],
        check,
    )
    for wrong in ({"token_url": "host/token"}, {"client_id": ""}, {"client_secret": " "}):
        refuses(InvalidArgument, next(iter(wrong)), UnityCatalog, "http://127.0.0.1:9", "main", **{**CLIENT, **wrong})


def test_a_client_can_be_configured_and_pickled(server: UnityServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"URI": f"unity:{server.url}", "CATALOG": "main", **CLIENT}.items():
        monkeypatch.setenv(f"DELTASKIP_CATALOG__UC__{name.upper()}", text)
    cat = ds.catalog("uc")
    table = cat.create_table("db.t", "id BIGINT")
    pickled, whole = pickle.dumps(table), pickle.dumps(table.with_secrets())
    assert b"of a robot" not in pickled and b"of a robot" in whole
    assert pickle.loads(pickled).refresh().version == 0
    monkeypatch.delenv("DELTASKIP_CATALOG__UC__CLIENT_SECRET")
    assert pickle.loads(whole).refresh().version == 0
    refuses(StorageError, "does not contain the client_secret of the catalog", lambda: pickle.loads(pickled).refresh())


def test_errors_name_the_whole_url(server: UnityServer) -> None:
    host = server.url.removeprefix("http://")
    server.clients, server.token = {}, "needed"
    cat = UnityCatalog(f"http://me:pass-of-me@{host}", "main", token="wrong-token")
    with pytest.raises(CatalogError, match=rf"GET http://me:\*\*\*@{host}/api/2\.1/unity-catalog/\S+.*401") as caught:
        cat.list_tables("db")
    assert "pass-of-me" not in str(caught.value) and "wrong-token" not in str(caught.value)
    cat = UnityCatalog(server.url, "main", token="wrong-token")
    with pytest.raises(CatalogError, match=rf"GET {server.url}/api/2\.1/unity-catalog/delta/v1/config\?catalog=main&"):
        cat.load_table("db.t")


def test_the_older_api_shows_the_comment_of_a_table(server: UnityServer, tmp_path: Path) -> None:
    server.clients = {}
    cat = UnityCatalog(server.url, "main")
    for name, properties in (("m", {}), ("e", {"location": str(tmp_path / "e")})):
        table = cat.create_table(f"db.{name}", "id BIGINT", properties={**properties, "comment": "first"})
        shown = [cat._client.find("tables", f"main.db.{name}")["comment"]]
        for change in (ds.SetComment("second"), ds.SetComment(None)):
            table.alter(change)
            shown.append(cat._client.find("tables", f"main.db.{name}")["comment"])
        assert shown == ["first", "second", ""]
