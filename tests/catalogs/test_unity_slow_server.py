"""A server of Unity Catalog that hangs, drips, or lists without an end: every call fails, by name, within its time."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import CatalogError
from tests.each import each, refuses

CALLS: dict[str, Callable[[Any], Any]] = {
    "list_namespaces": lambda cat: cat.list_namespaces(),
    "list_tables": lambda cat: cat.list_tables("s"),
    "table_exists": lambda cat: cat.table_exists("s.t"),
    "load_table": lambda cat: cat.load_table("s.t"),
}
Answer = Callable[[BaseHTTPRequestHandler, int], None]


def answer(text: bytes, status: int = 200, **headers: str) -> Answer:
    def send(request: BaseHTTPRequestHandler, number: int) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    return send


def drip(request: BaseHTTPRequestHandler, number: int) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    try:
        for _ in range(10_000):
            request.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        return


def hang(request: BaseHTTPRequestHandler, number: int) -> None:
    time.sleep(20)


def pages(entries: bool) -> Answer:
    def send(request: BaseHTTPRequestHandler, number: int) -> None:
        found = [{"name": f"s{number}-{i}"} for i in range(50)] if entries else []
        page = {"schemas": found, "tables": found, "next_page_token": f"token {number}"}
        answer(json.dumps(page).encode())(request, number)

    return send


@contextmanager
def server(send: Answer) -> Iterator[str]:
    """The URL of a server that gives one kind of answer."""
    count = 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal count
            count += 1
            send(self, count)

        do_HEAD = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            http.shutdown()
            http.block_on_close = False


def test_a_call_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.client._CALL_SECONDS", 0.1)
    slow: dict[str, Answer] = {
        "hangs": hang,
        "drips": drip,
        "asks for a day": answer(b"", 503, Retry_After="86400"),
        "asks for an hour": answer(b'{"error_code": "TooManyRequestsException"}', 429, Retry_After="3600"),
    }

    def check(name: str) -> None:
        with server(slow[name]) as url:
            catalog: Any = ds.catalog(f"unity:{url}", token="t", catalog="c")

            def fails(call: Callable[[Any], Any]) -> None:
                refuses(CatalogError, r"does not answer|try again later", call, catalog)

            with ThreadPoolExecutor(len(CALLS)) as pool:
                list(pool.map(fails, CALLS.values()))

    each(slow, check)


@pytest.mark.parametrize("entries", [True, False])
def test_a_list_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch, entries: bool) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.client._MOST_LISTED", 1_000)
    with server(pages(entries)) as url:
        catalog: Any = ds.catalog(f"unity:{url}", token="t", catalog="c")
        refuses(CatalogError, "without an end", catalog.list_namespaces)


def test_what_is_no_answer_of_the_api_is_no_empty_list() -> None:
    odd = (b"", b"<html>", b"\xff\xfe{}", b"[1, 2]", b'{"schemas": NaN}')
    answers = [*map(answer, odd), answer(gzip.compress(b'{"schemas": []}')[:12], Content_Encoding="gzip")]

    def check(number: int) -> None:
        with server(answers[number]) as url:
            catalog: Any = ds.catalog(f"unity:{url}", token="t", catalog="c")
            for call in CALLS.values():
                refuses(CatalogError, None, call, catalog)

    each(range(len(answers)), check)


def test_a_black_hole_is_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.client._CALL_SECONDS", 0.2)
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen()
        catalog: Any = ds.catalog(f"unity:http://127.0.0.1:{hole.getsockname()[1]}", token="t", catalog="c")
        refuses(CatalogError, "does not answer", catalog.list_namespaces)
