"""Whatever a store answers and the options contain, an error is one or two sentences with the location and the cure."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import deltaskip
from deltaskip.cli import main
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage import Storage, object_options, open_storage, remote_opening
from deltaskip.storage.remote_errors import backend_errors
from tests.each import refuses
from tests.looped import looped

obstore = pytest.importorskip("obstore")

KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
REGION = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>\n<Message>a\nb</Message></Error>"
ANSWERS = [
    (200, ""), (200, "<html>no xml"), (301, "<Error><Code>PermanentRedirect</Code></Error>"), (304, ""), (400, REGION),
    (400, "bad"), (401, ""), (403, "<Error><Code>InvalidAccessKeyId</Code></Error>"), (403, ""), (404, ""),
    (404, "<Error><Code>NoSuchBucket</Code></Error>"), (405, ""), (409, "conflict"), (412, ""), (416, ""),
    (500, "x\ny"), (501, ""), (503, "<Error><Code>SlowDown</Code></Error>"),
]  # fmt: skip
ACTS: dict[str, Callable[[Storage, str], object]] = {
    "list": lambda storage, path: storage.list_from(path, ""),
    "read": lambda storage, path: storage.read(path),
    "range": lambda storage, path: storage.read_range(path, 0, 3),
    "size": lambda storage, path: storage.size(path),
    "exists": lambda storage, path: storage.exists(path),
    "create": lambda storage, path: storage.put_if_absent(path, b"x"),
    "put": lambda storage, path: storage.put(path, b"x"),
    "delete": lambda storage, path: storage.delete(path),
}


class Server(ThreadingHTTPServer):
    """Answers every request alike, and remembers what was asked with which authorization."""

    status, body = 200, ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str]] = []
        self.by_path: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def _answer(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        known = self.server.by_path.get(self.path)
        body = (known if known is not None else self.server.body).encode()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200 if known is not None else self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PROPFIND = _answer

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def few_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_opening, "RETRIES", {"max_retries": 1, "retry_seconds": 2})


def is_plain(error: BaseException, *named: str) -> None:
    """One line of one or two sentences below DeltaSkipError, with everything that it must name."""
    text = str(error)
    assert isinstance(error, DeltaSkipError), repr(error)
    assert "\n" not in text and "Debug" not in text and "Generic" not in text and "{" not in text, text
    assert len(text) < 400 and text.count(". ") <= 1, text
    for name in named:
        assert name in text, text
    assert "secret" not in text.replace("aws_secret_access_key", "")


@pytest.mark.long
@looped("status, body", ANSWERS)
def test_every_answer_of_a_store_is_a_sentence(server: Server, status: int, body: str) -> None:
    options = {**KEYS, "aws_endpoint": server.url, "allow_http": "true"}
    storage, root = open_storage("s3://bucket/my table", options)
    server.status, server.body = status, body
    for act, run in ACTS.items():
        try:
            run(storage, f"{root}/_delta_log/x")
        except BaseException as error:
            is_plain(error, "s3://bucket/my table")
            assert act in ("create", "put") or not isinstance(error, FileExistsError), act
        else:
            assert status in (200, 404), act
    with pytest.raises(DeltaSkipError) as raised:
        deltaskip.DeltaTable("s3://bucket/my table", storage_options=options)
    is_plain(raised.value, "s3://bucket/my table")


def listing(number: int, keys: int) -> str:
    """A page of a listing, which another one follows."""
    entries = "".join(
        f"<Contents><Key>t/_delta_log/{number * keys + i:020d}.json</Key><Size>9</Size><ETag>1</ETag>"
        "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for i in range(keys)
    )
    token = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{number}</NextContinuationToken>"
    return f"<ListBucketResult><Name>bucket</Name><KeyCount>{keys}</KeyCount>{token}{entries}</ListBucketResult>"


def test_a_listing_without_an_end_is_refused(server: Server) -> None:
    storage, root = open_storage("s3://bucket/t", {**KEYS, "aws_endpoint": server.url, "allow_http": "true"})
    server.status = 200
    for keys in (0, 500):
        server.body = listing(1, keys)
        limit = deltaskip.options.changed(listing_seconds=1)
        with limit, pytest.raises(StorageError, match="has not listed it within 1 seconds"):
            storage.list_from(root, "")
    with pytest.raises(StorageError, match="repeats its listing"):
        for _ in storage.list_below(root):  # type: ignore[attr-defined]
            pass


def test_errors_name_their_cure(server: Server) -> None:
    storage, root = open_storage("s3://bucket/t", {**KEYS, "aws_endpoint": server.url, "allow_http": "true"})
    for status, body, cure in [
        (403, "<Error><Code>AccessDenied</Code></Error>", "No permission .*403 Forbidden, AccessDenied.*credentials"),
        (400, REGION, "another region; set aws_region=eu-west-1"),
        (301, "", "another region; set aws_region"),
        (404, "", "the bucket or container of s3://bucket does not exist"),
        (503, "<Error><Code>SlowDown</Code></Error>", "503 Service Unavailable, SlowDown; try again later"),
        (200, "<html>", "does not answer as an object store"),
    ]:
        server.status, server.body = status, body
        refuses(StorageError, cure, storage.list_from, f"{root}/_delta_log", "")


LOCAL = {**KEYS, "aws_endpoint": "http://127.0.0.1:1", "allow_http": "true"}
WRONG = [
    ("s3://b/t", {**KEYS, "aws_reegion": "x"}, "'aws_reegion'; did you mean 'aws_region'?"),
    ("s3://b/t", {**KEYS, "acces_key_id": "x"}, "did you mean 'aws_access_key_id'?"),
    ("s3://b/t", {**KEYS, "alow_http": "x"}, "did you mean 'allow_http'?"),
    ("s3://b/t", {**KEYS, "zzzz": "x"}, "options of such a table are, among others, aws_region"),
    ("https://127.0.0.1:1/t", {"zzz": "x"}, "accepts allow_http"),
    ("https://127.0.0.1:1/t", {"aws_region": "x"}, "one of s3:// locations"),
    ("s3://b/t", {**KEYS, "aws_bucket": "other"}, "the URI names the bucket"),
    ("s3:///x", KEYS, "names no bucket; write s3://BUCKET/PATH"),
    ("s3://my bucket/x", KEYS, "is not the URI of a bucket"),
    ("s3://b/t", {**KEYS, "aws_endpoint": "http://127.0.0.1:1"}, "plain HTTP.*allow_http=true"),
    ("s3://b/t", {**LOCAL, "allow_http": "false"}, "plain HTTP.*allow_http=true"),
    ("http://127.0.0.1:1/t", {}, "plain HTTP.*allow_http=true"),
    ("s3://b/t", LOCAL, "127.0.0.1:1 does not respond; check the endpoint"),
    ("s3://b/t", {**LOCAL, "aws_endpoint": "nonsense"}, "the endpoint is not a URI"),
    ("s3://b/t", {**LOCAL, "aws_endpoint": "::::"}, "the endpoint is not a URI"),
    ("s3://b/t", {**LOCAL, "aws_endpoint": "http://x:99999999"}, "the endpoint is not a URI"),
    ("s3://b/t", {**LOCAL, "allow_http": "maybe"}, "value of the storage option 'allow_http' is not a boolean"),
    ("s3://b/t", {**LOCAL, "timeout": "soon"}, "value of the storage option 'timeout' is not a duration"),
    ("s3://b/t", {**LOCAL, "proxy_url": "::"}, "the proxy is not a URI"),
    ("s3://b/t", {"aws_access_key_id": "a"}, "SecretAccessKey"),
    ("gs://b/t", {"google_service_account": "/nope.json"}, "/nope.json"),
    ("gs://b/t", {"google_service_account_key": "{}"}, "service account"),
    ("gs:///t", {"google_skip_signature": "true"}, "names no bucket"),
    ("gcs://b/t", {}, "write gs://BUCKET/PATH"),
    ("s3n://b/t", {}, "write s3://BUCKET/PATH"),
    ("wasbs://c@a.blob.core.windows.net/t", {}, "write abfss://CONTAINER@ACCOUNT"),
    ("az://c/t", {}, "azure_storage_account_name"),
    ("abfss://c@a.dfs.core.windows.net/t", {"azure_storage_account_key": "nope!"}, "Invalid Access Key"),
    ("memory:///t", {}, "memory:///t"),
]


@looped("uri, options, cure", WRONG)
def test_a_wrong_uri_or_option_is_refused_with_its_cure(
    uri: str, options: dict[str, str], cure: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DeltaSkipError, match=cure) as raised:
        deltaskip.DeltaTable(uri, storage_options=options)
    is_plain(raised.value, uri.partition("//")[0])
    arguments = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    assert main(["files", uri, *arguments]) != 0
    assert capfd.readouterr().err.count("\n") == 1


KINDS = {"s3": "s3://b/t", "gs": "gs://b/t", "az": "abfss://c@a.dfs.core.windows.net/t"}
NAMES = [(kind, name) for kind, names in object_options._NAMES.items() for name in names]


@looped("kind, name", NAMES)
def test_an_option_that_is_suggested_is_one_that_obstore_has(kind: str, name: str) -> None:
    full = object_options._PREFIXES[kind] + name
    wrong = full[:-2] + full[-1]
    with pytest.raises(StorageError, match=f"{wrong!r}; did you mean") as raised:
        open_storage(KINDS[kind], {wrong: "x"})
    assert full in str(raised.value)
    with pytest.raises(obstore.exceptions.BaseError) as unknown:
        obstore.store.from_url("s3://b" if kind == "s3" else KINDS[kind], config={full: "\0", "no_such": "x"})
    assert full not in str(unknown.value)


def test_every_exception_of_obstore_becomes_one_of_ours() -> None:
    names = [name for name in dir(obstore.exceptions) if name.endswith("Error")]
    assert len(names) > 10
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    text = "Generic S3 error: a\n\nDebug source:\nX {\n}"
    for error in [*(getattr(obstore.exceptions, name)(text) for name in names), panic(text)]:
        with pytest.raises(DeltaSkipError) as raised, backend_errors("s3://b/t"):
            raise error
        is_plain(raised.value, "s3://b/t")
    for foreign in (KeyboardInterrupt, ZeroDivisionError):
        with pytest.raises(foreign), backend_errors("s3://b/t"):
            raise foreign


WITHOUT_KEYS = ["s3://b/t", "s3a://b/t", "gs://b/t", "abfss://c@a.dfs.core.windows.net/t"]


@pytest.mark.parametrize("uri", WITHOUT_KEYS)
def test_without_credentials_a_table_is_refused(uri: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(object_options, "_METADATA", ("127.0.0.1", 1))
    start = time.monotonic()
    with pytest.raises(StorageError, match=r"There are no credentials for .* set (aws|google|azure)_") as raised:
        deltaskip.DeltaTable(uri)
    is_plain(raised.value, uri)
    assert time.monotonic() - start < 10


def test_the_role_of_an_instance_gives_credentials(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    role = {
        "AccessKeyId": "of-the-role", "SecretAccessKey": "x", "Token": "y", "Expiration": "2099-01-01T00:00:00Z",
        "Code": "Success", "LastUpdated": "2026-01-01T00:00:00Z", "Type": "AWS-HMAC",
    }  # fmt: skip
    server.by_path = {
        "/latest/api/token": "token",
        "/latest/meta-data/iam/security-credentials/": "role",
        "/latest/meta-data/iam/security-credentials/role": json.dumps(role),
    }
    server.status = 404
    options = {"aws_endpoint": server.url, "aws_metadata_endpoint": server.url, "allow_http": "true"}
    refuses(StorageError, "does not exist", deltaskip.DeltaTable, "s3://bucket/t", storage_options=options)
    assert any(path.startswith("/bucket") and "of-the-role" in signed for path, signed in server.asked)


def test_a_store_without_signatures_needs_no_credentials(server: Server) -> None:
    server.status = 404
    options: dict[str, Any] = {"aws_endpoint": server.url, "aws_skip_signature": "true", "allow_http": "true"}
    refuses(StorageError, "does not exist", deltaskip.DeltaTable, "s3://bucket/t", storage_options=options)
