"""A secret of every provider of credentials: whatever fails, no message, traceback, log, repr or file shows it."""

import io
import json
import logging
import threading
import traceback
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import stats
from deltaskip.catalogs.unity import client
from deltaskip.cli import main
from deltaskip.doors import Redacted, door
from deltaskip.redaction import is_secret_name, keep_secret, redacted
from deltaskip.storage import remote_opening

SECRET = "sEcr3t/With+Odd=Characters~9f27"
KEY = b64encode(b"sEcr3t of an account, in base64, as Azure has them").decode()
TOKEN = "dapi-sEcr3t-0123456789abcdef"
SPELLINGS = {
    spelling
    for text in (SECRET, KEY, TOKEN)
    for spelling in (text, quote(text), quote(text, safe=""), quote_plus(text), b64encode(text.encode()).decode())
}
ANSWERS: list[tuple[int, str, bytes]] = [
    (200, "application/json", b"{}"), (200, "application/json", b'{"tables": 5, "metadata": [], "endpoints": [{}]}'),
    (200, "application/json", b'[1]'), (200, "text/html", b"<html>%s</html>"), (200, "text/plain", b""),
    (401, "application/json", b'{"error_code": "UNAUTHENTICATED", "message": "no such token: %s"}'),
    (403, "text/xml", b"<Error><Code>Denied</Code><Message>%s</Message></Error>"), (404, "text/plain", b"%s"),
    (400, "text/plain", b"bad header %s"), (500, "application/json", b'{"error": {"type": 5, "message": "%s"}}'),
    (302, "text/plain", b"%s"), (418, "application/json", b'{"error": "%s"'), (0, "", b""),
]  # fmt: skip


class Echo(ThreadingHTTPServer):
    """Answers every request alike, with what was sent to it in the answer's text; status 0 closes the connection."""

    answer = ANSWERS[0]
    echoed = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Echo

    def _do(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, kind, form = self.server.answer
        if not status:
            self.connection.close()
            return
        sent = f"{self.path} {self.headers.get('Authorization', '')} {self.server.echoed}".encode()
        body = form.replace(b"%s", sent.replace(b'"', b"'"))
        self.send_response(status, f"because of {self.server.echoed}")
        headers = {"Content-Type": kind, "Location": f"/{quote(self.server.echoed)}", "Content-Length": len(body)}
        for name, text in headers.items():
            self.send_header(name, str(text))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = _do

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    monkeypatch.setattr(client, "_pause", lambda *_: None)
    monkeypatch.setattr(remote_opening, "RETRIES", {"max_retries": 0, "retry_seconds": 1})
    running = Echo()
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def chain(error: BaseException | None) -> Iterator[BaseException]:
    if error is not None:
        yield error
        yield from chain(error.__cause__)
        yield from chain(error.__context__)


def shown_by(act: Callable[[], object]) -> tuple[str, ds.DeltaSkipError | None]:
    """Everything that a call shows: output, logs, warnings, and the error with all that it hangs on."""
    out, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level, raised = root.level, None
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    texts = []
    try:
        with redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            texts.append(repr(act()))
    except ds.DeltaSkipError as error:
        raised = error
        texts += [str(error), *traceback.format_exception(error)]
        for each in chain(error):
            texts += [str(each), repr(each), repr(each.args), *traceback.format_exception(each)]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    texts += [out.getvalue(), log.getvalue(), *(str(each.message) for each in caught)]
    return "\n".join(texts), raised


def without_secret(act: Callable[[], object], *named: str) -> ds.DeltaSkipError | None:
    text, raised = shown_by(act)
    found = [each for each in SPELLINGS if each in text]
    assert not found, text
    if raised is not None:
        assert "\n" not in str(raised) and all(name in str(raised) for name in named), str(raised)
        assert not isinstance(raised, ds.UnexpectedError), str(raised)
    return raised


def unity(url: str, **options: Any) -> list[Callable[[], object]]:
    def cat() -> ds.TableCatalog:
        return ds.catalog(url, **{"catalog": "main", **options})

    return [
        lambda: cat().table_exists("s.t"), lambda: cat().load_table("s.t"), lambda: cat().create_table("s.t", "a INT"),
        lambda: list(cat().list_tables("s")), lambda: list(cat().list_namespaces()), lambda: cat().drop_table("s.t"),
        lambda: cat().create_namespace("s"), lambda: cat().sql(None, "SHOW TABLES IN s"), cat,
    ]  # fmt: skip


def test_unity_shows_no_token_of_any_server(server: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "deltaskip.toml").write_text(
        f'[catalog.filed]\nuri = "unity:http://{server.host}"\ntoken = "{TOKEN}\\n"\n'
    )
    monkeypatch.setenv("DELTASKIP_CATALOG__SET__URI", f"unity:http://{server.host}")
    monkeypatch.setenv("DELTASKIP_CATALOG__SET__TOKEN", f" {TOKEN}\r\n")
    providers = [
        (TOKEN, unity(f"unity:http://{server.host}", token=TOKEN)), (TOKEN, unity("filed")), (TOKEN, unity("set")),
        (SECRET, unity(f"unity:http://user:{quote(SECRET, safe='')}@{server.host}")),
    ]  # fmt: skip
    refused = 0
    for answer in ANSWERS:
        server.answer = answer
        for server.echoed, doors in providers:
            refused += sum(without_secret(each) is not None for each in doors)
    assert refused > 200


def test_a_token_that_no_request_can_have_is_refused_by_name() -> None:
    for token in (f"{TOKEN}\nx", f"{TOKEN}€", f"{TOKEN} x", f"{TOKEN}\0", " \n", f"x\r\nX-Admin: {TOKEN}"):
        for each in unity("unity:http://127.0.0.1:1", token=token):
            assert isinstance(without_secret(each, "token"), ds.InvalidArgument)


def test_urls_of_databases_show_no_password(tmp_path: Path) -> None:
    urls = [
        f"postgresql+psycopg2://user:{quote(SECRET, safe='')}@127.0.0.1:1/db",
        f"postgresql+psycopg2://127.0.0.1:1/db?user=u&password={quote(SECRET, safe='')}",
        f"postgresql+psycopg2://u:{quote(SECRET, safe='')}@127.0.0.1:1/db?sslmode={TOKEN}&options=x",
        f"nosuch+driver://u:{quote(SECRET, safe='')}@h/db", f"sqlite:///{tmp_path}/none/x.db?token={TOKEN}",
        f"sqlite:///{tmp_path}?password={TOKEN}", f"u:{quote(SECRET, safe='')}@h/db", f"postgresql://u:{TOKEN}@[::1/db",
    ]  # fmt: skip
    refused = 0
    for url in urls[:2] + urls[3:]:
        for make in (f"sql:{url}", f"wrong:{url}", f"unity:{url}"):
            for act in ("table_exists", "load_table", "drop_table"):
                refused += without_secret(lambda: getattr(ds.catalog(make), act)("a.b")) is not None  # noqa: B023
    assert refused > 50


OPTIONS: list[tuple[str, dict[str, str]]] = [
    ("s3://bucket/t", {"aws_access_key_id": "AKIAKEY", "aws_secret_access_key": SECRET}),
    ("s3://bucket/t", {"access_key_id": "AKIAKEY", "secret_access_key": f"{SECRET}\n", "session_token": TOKEN}),
    ("s3a://bucket/t", {"AWS_ACCESS_KEY_ID": "AKIAKEY", "AWS_SECRET_ACCESS_KEY": SECRET, "aws_session_token": TOKEN}),
    ("s3://bucket/t", {"aws_secret_access_key": f"{SECRET}\n{TOKEN}", "aws_access_key_id": "AKIAKEY"}),
    ("s3://bucket/t", {"aws_secret_acess_key": SECRET, "aws_access_key_id": "AKIAKEY"}),
    ("az://box/t", {"azure_storage_account_name": "acc", "azure_storage_account_key": KEY}),
    ("az://box/t", {"account_name": "acc", "account_key": f"{KEY} "}),
    ("abfss://box@acc.dfs.core.windows.net/t", {"azure_storage_sas_key": f"sv=1&sig={quote(SECRET, safe='')}"}),
    ("az://box/t", {"azure_storage_account_name": "acc", "sas_token": f"?sv=1&sig={quote(SECRET, safe='')}"}),
    ("az://box/t", {"azure_storage_account_name": "acc", "bearer_token": TOKEN}),
    ("az://box/t", {"account_name": "acc", "client_id": "i", "client_secret": SECRET, "tenant_id": "t"}),
    ("az://box/t", {"azure_storage_account_name": "acc", "azure_storage_account_key": f"no base64 {SECRET}"}),
    ("gs://bucket/t", {"google_service_account_key": json.dumps({"private_key": SECRET, "private_key_id": TOKEN})}),
    ("gs://bucket/t", {"google_service_account_key": f'{{"private_key": "{SECRET}'}),
    ("gs://bucket/t", {"google_bearer_token": TOKEN}),
    ("https://127.0.0.1:1/t", {"proxy_url": f"http://u:{quote(SECRET, safe='')}@127.0.0.1:1"}),
]  # fmt: skip


def test_storage_options_are_not_shown_whatever_the_store_answers(server: Echo) -> None:
    pytest.importorskip("obstore")
    refused = 0
    for answer in (ANSWERS[3], ANSWERS[6], ANSWERS[8], ANSWERS[9], ANSWERS[-1]):
        server.answer = answer
        for uri, given in OPTIONS:
            kind = {"s3": "aws_", "s3a": "aws_", "az": "azure_", "abfss": "azure_"}.get(uri.partition(":")[0])
            here = {f"{kind}endpoint": f"http://{server.host}"} if kind else {}
            options = {**given, **here, "allow_http": "true", "timeout": "5s"}
            # The library reaches these only over the network.
            reaches = kind is not None and "client_secret" not in given
            server.echoed = " ".join(each for name, each in given.items() if is_secret_name(name)).strip()
            server.echoed = server.echoed.replace("\n", " ").strip()
            for act in (
                lambda: ds.DeltaTable(uri, storage_options=options),  # noqa: B023
                lambda: ds.DeltaTable.create(uri, "a INT", storage_options=options),  # noqa: B023
                lambda: ds.catalog(f"warehouse:{uri}", storage_options=options).list_tables("a"),  # noqa: B023
            ):
                if reaches or answer is ANSWERS[3]:
                    refused += without_secret(act) is not None
    assert refused > 100


def test_secrets_in_uris_are_refused_and_not_shown(tmp_path: Path) -> None:
    signed = [
        f"https://host/t?sv=1&sig={quote(SECRET, safe='')}", f"s3://bucket/t?X-Amz-Signature={TOKEN}&X-Amz-Date=1",
        f"s3://bucket/t?X-Amz-Security-Token={quote(SECRET, safe='')}", f"https://host/t?token={TOKEN}",
        f"gs://bucket/t?X-Goog-Signature={TOKEN}", f"s3://key:{quote(SECRET, safe='')}@bucket/t",
        f"https://u:{TOKEN}@host/t", f"abfss://box@acc.dfs.core.windows.net/t?sig={quote(SECRET, safe='')}",
        f"s3://bucket/t%3Fsig%3D{TOKEN}",
    ]  # fmt: skip
    table = ds.DeltaTable.create(tmp_path / "t", "a INT")
    for uri in signed:
        for act in (
            lambda: ds.DeltaTable(uri), lambda: ds.DeltaTable.create(uri, "a INT"),  # noqa: B023
            lambda: ds.DeltaTable.exists(uri), lambda: ds.catalog(f"warehouse:{uri}"),  # noqa: B023
            lambda: table.clone(uri), lambda: stats.compute([uri], pa.schema([("a", pa.int32())])),  # noqa: B023
        ):  # fmt: skip
            assert isinstance(without_secret(act, "storage_options"), ds.StorageError)
        out = io.StringIO()
        with redirect_stderr(out):
            for more in ([], ["--debug"]):
                assert main(["files", uri, *more]) != 0
        assert not [each for each in SPELLINGS if each in out.getvalue()], out.getvalue()
    assert no_file_holds_a_secret(tmp_path)


def no_file_holds_a_secret(folder: Path) -> bool:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return bool(files) and not [path for path in files for each in SPELLINGS if each.encode() in path.read_bytes()]


def test_no_file_of_a_table_and_no_repr_holds_an_option(tmp_path: Path) -> None:
    options = {"aws_secret_access_key": SECRET, "azure_storage_account_key": KEY, "google_bearer_token": TOKEN}
    cat = ds.catalog(f"warehouse:{tmp_path / 'wh'}", storage_options=options)
    cat.create_namespace("db")
    table = cat.create_table("db.t", "a BIGINT, b STRING")
    table.append(pa.table({"a": [1, 2], "b": ["x", "y"]}))
    table.delete("a = 1")
    table.checkpoint()
    scan = table.scan("a > 1")
    for each in (
        cat, table, scan, scan.explain(), table.history(), table.detail(), table.changes, scan.to_arrow,
        table.optimize(), table.clone(tmp_path / "clone"),
    ):  # fmt: skip
        html = each._repr_html_() if hasattr(each, "_repr_html_") else ""
        assert not [spelling for spelling in SPELLINGS if spelling in f"{each!r} {each} {html}"]
    assert no_file_holds_a_secret(tmp_path)


def test_the_forms_of_secrets_are_hidden_and_other_texts_stay() -> None:
    hidden = [
        "https://h/p?X-Amz-Signature=abcdef0123&x=1", "password=hunter22", "AccountKey=abc+def/ghi==;Endpoint=x",
        "fs.s3a.secret.key=abcdefgh", "Authorization: Basic dXNlcjpwYXNz", "sent Basic dXNlcjpwYXNzd29yZA==",
        "'Bearer abcdef\\n'", "Bearer abcdefgh",
        'x {"private_key": "abc def"}', "postgresql://u:p%40ss@h/db", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
        "fs.azure.account.key.acc.dfs.core.windows.net=abcdef", "SharedAccessSignature=sv=1",
    ]  # fmt: skip
    for text in hidden:
        assert "***" in redacted(text), text
        for part in ("abcdef", "hunter22", "p%40ss", "dXNlcjpwYXNz", "abc def", "eyJzdWIi", "\nabc\n"):
            assert part not in redacted(text), (text, redacted(text))
    for text in (
        "set aws_access_key_id and aws_secret_access_key, or aws_skip_signature=true", "/data/t/key=5/part-0.parquet",
        "The token must be text.", "abfss://box@acc.dfs.core.windows.net/t", "hdfs://host:8020/user/a@b/c",
        "Bearer token of the requests", "s3://bucket/token=1/secret=2/part-0.parquet", "key = 5 AND token > 'a'",
    ):  # fmt: skip
        assert redacted(text) == text
    assert is_secret_name("fs.s3a.secret.key") and is_secret_name("spark.hadoop.fs.azure.account.key.x.y")
    assert not is_secret_name("aws_skip_signature") and not is_secret_name("azure_federated_token_file")


def test_the_errors_below_a_public_error_hold_no_secret() -> None:
    keep_secret(SECRET)

    @door
    def fails(how: int) -> None:
        try:
            raise OSError(5, f"refused {SECRET}", f"/x?sig={TOKEN}")
        except OSError as error:
            error.add_note(f"note {quote(SECRET, safe='')}")
            if how == 0:
                raise
            if how == 1:
                raise ds.StorageError(f"Cannot read: {error}") from error
            raise ds.StorageError(f"Cannot read: {error}") from None

    for how in range(3):
        raised = without_secret(lambda: fails(how))  # noqa: B023
        assert isinstance(raised, ds.StorageError)
        assert how == 2 or isinstance(raised.__cause__, Redacted)
