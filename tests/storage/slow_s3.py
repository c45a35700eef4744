"""An S3 server on this machine that is as far away as one wants: each request waits, and bytes come slowly.

    python -m tests.storage.slow_s3 PORT FOLDER [--milliseconds 30] [--megabytes-per-second 100]

Objects of a bucket are the files below FOLDER/BUCKET. Supported is what clients of Delta tables ask for: GET with
ranges, HEAD, PUT (conditional, too), multipart uploads, DELETE, deletes in bulk, and ListObjectsV2. `GET /-/counts`
answers with the number of requests by method, the bytes of all bodies, and the most requests that were in flight at
once, and begins to count anew.
"""

import argparse
import json
import threading
import time
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_PAGE = 1000


class SlowS3(ThreadingHTTPServer):
    """The server, with its distance and what it has counted."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, folder: Path, seconds: float, bytes_per_second: float) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.folder, self.seconds, self.bytes_per_second = folder, seconds, bytes_per_second
        self.lock, self.writing = threading.Lock(), threading.Lock()
        self.uploads: dict[str, _Upload] = {}
        # Faults. cut: what is sent of the bytes of an object, by its key. after_put: the status that is answered after
        # an object was stored, 0 for a connection that ends without one, None for none. takes_conditions: of PUT.
        self.cut: Callable[[str, bytes], bytes] = lambda _key, data: data
        self.after_put: Callable[[str], int | None] = lambda _key: None
        self.takes_conditions = True
        self.begin()

    def begin(self) -> None:
        """Count from zero."""
        self.counts: Counter[str] = Counter()
        self.bytes = self.now = self.most = 0
        self.log: list[str] = []


class _Upload:
    """An upload in parts: a file that parts are written to in their order, as soon as all before them are there."""

    def __init__(self, file: Path) -> None:
        self.file, self._lock = file, threading.Lock()
        self._early: dict[int, bytes] = {}
        self._next = 1

    def put(self, number: int, part: bytes) -> None:
        """Add a part."""
        with self._lock:
            self._early[number] = part
            with self.file.open("ab", buffering=0) as stream:
                while self._next in self._early:
                    stream.write(self._early.pop(self._next))
                    self._next += 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SlowS3
    disable_nagle_algorithm = True

    def _any(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        begun = time.monotonic()
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if bucket == "-":
            self._counts()
            return
        server = self.server
        with server.lock:
            server.counts["LIST" if self.command == "GET" and not key else self.command] += 1
            server.bytes += len(sent)
            server.now += 1
            server.most = max(server.most, server.now)
            server.log.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
        try:
            if "partNumber" in query and query["uploadId"] in server.uploads:
                server.uploads[query["uploadId"]].put(int(query["partNumber"]), sent)
            # This includes the time in which this process has received and written them.
            time.sleep(max(0, begun + server.seconds + len(sent) / server.bytes_per_second - time.monotonic()))
            getattr(self, f"_{self.command.lower()}")(server.folder / bucket, key, query, sent)
        finally:
            with server.lock:
                server.now -= 1

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any

    def _counts(self) -> None:
        server = self.server
        with server.lock:
            told = {"requests": dict(server.counts), "bytes": server.bytes, "at_once": server.most, "log": server.log}
            server.begin()
        self._answer(200, json.dumps(told).encode())

    def _get(self, bucket: Path, key: str, query: dict[str, str], _: bytes) -> None:
        if not key:
            self._list(bucket, query)
            return
        file = bucket / key
        if not file.is_file():
            self._error(404, "NoSuchKey")
            return
        size, first, last = file.stat().st_size, 0, file.stat().st_size - 1
        wanted = self.headers.get("Range", "")
        if wanted:
            begin, _, end = wanted.removeprefix("bytes=").partition("-")
            first = int(begin) if begin else max(0, size - int(end))
            last = min(last, int(end)) if begin and end else last
            if first >= size:
                self._error(416, "InvalidRange")
                return
        with file.open("rb") as stream:
            stream.seek(first)
            data = stream.read(last - first + 1)
        data = self.server.cut(key, data)
        ranged = {"Content-Range": f"bytes {first}-{last}/{size}"} if wanted else {}
        self._answer(206 if wanted else 200, data, **self._facts(file), **ranged)

    def _head(self, bucket: Path, key: str, _query: dict[str, str], _: bytes) -> None:
        file = bucket / key
        if file.is_file():
            self._answer(200, b"", **self._facts(file), **{"Content-Length": str(file.stat().st_size)})
        else:
            self._answer(404, b"")

    def _put(self, bucket: Path, key: str, query: dict[str, str], sent: bytes) -> None:
        if "partNumber" in query:
            if query["uploadId"] not in self.server.uploads:
                self._error(404, "NoSuchUpload")
                return
            self._answer(200, b"", ETag=f'"{query["partNumber"]}"')
            return
        self._store(bucket / key, key, sent)

    def _post(self, bucket: Path, key: str, query: dict[str, str], sent: bytes) -> None:
        if "uploads" in query:
            upload = uuid.uuid4().hex
            self.server.uploads[upload] = _Upload(self.server.folder / upload)
            inner = f"<Bucket>{bucket.name}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
            self._answer(200, f"<InitiateMultipartUploadResult>{inner}</InitiateMultipartUploadResult>".encode())
        elif "uploadId" in query:
            file = bucket / key
            with self.server.writing:
                if self.headers.get("If-None-Match") == "*" and file.exists():
                    self._error(412, "PreconditionFailed")
                    return
                file.parent.mkdir(parents=True, exist_ok=True)
                self.server.uploads.pop(query["uploadId"]).file.replace(file)
            inner = f"<Bucket>{bucket.name}</Bucket><Key>{escape(key)}</Key><ETag>1</ETag>"
            body = f"<CompleteMultipartUploadResult>{inner}</CompleteMultipartUploadResult>"
            self._answer(200, body.encode(), **self._facts(file))
        elif "delete" in query:
            for part in sent.decode().split("<Key>")[1:]:
                (bucket / unquote(part.partition("</Key>")[0])).unlink(missing_ok=True)
            self._answer(200, b"<DeleteResult></DeleteResult>")
        else:
            self._error(400, "InvalidRequest")

    def _delete(self, bucket: Path, key: str, query: dict[str, str], _: bytes) -> None:
        upload = self.server.uploads.pop(query.get("uploadId", ""), None)
        (upload.file if upload else bucket / key).unlink(missing_ok=True)
        self._answer(204, b"")

    def _store(self, file: Path, key: str, data: bytes) -> None:
        with self.server.writing:
            conditional = self.headers.get("If-None-Match") == "*" and self.server.takes_conditions
            if conditional and file.exists():
                self._error(412, "PreconditionFailed")
                return
            file.parent.mkdir(parents=True, exist_ok=True)
            # A reader gets the whole object, or the whole one before it.
            written = file.with_name(f".{file.name}.part")
            written.write_bytes(data)
            written.replace(file)
        status = self.server.after_put(key)
        if status == 0:
            self.close_connection = True
        elif status is not None:
            self._error(status, "Fault")
        else:
            self._answer(200, b"", **self._facts(file))

    def _list(self, bucket: Path, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        folder = bucket / prefix.rpartition("/")[0]
        files = folder.rglob("*") if not delimiter else folder.glob("*")
        found: dict[str, Path | None] = {}
        for path in files if folder.is_dir() else ():
            name = path.relative_to(bucket).as_posix()
            if path.is_dir() and delimiter:
                name += "/"
            if name.startswith(prefix) and (path.is_file() or delimiter):
                found[name] = path if path.is_file() else None
        names = sorted(found)
        names = names[bisect_right(names, query.get("continuation-token") or query.get("start-after", "")) :]
        page, more = names[:_PAGE], len(names) > _PAGE
        entries = []
        for name in page:
            path = found[name]
            if path is None:
                entries.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
                continue
            status = path.stat()
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(status.st_mtime))
            entries.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{when}</LastModified><ETag>"
                f"{escape(self._facts(path)['ETag'])}</ETag><Size>{status.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            )
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        head = f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
        cut = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}"
        self._answer(200, f"<ListBucketResult>{head}{cut}{''.join(entries)}</ListBucketResult>".encode())

    def _facts(self, file: Path) -> dict[str, str]:
        status = file.stat()
        return {
            "ETag": f'"{md5(f"{file}{status.st_mtime_ns}".encode()).hexdigest()}"',
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
        }

    def _error(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        with self.server.lock:
            self.server.bytes += len(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            time.sleep(len(body) / self.server.bytes_per_second)
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def main() -> None:
    """Run the server."""
    parser = argparse.ArgumentParser(prog="python -m tests.storage.slow_s3")
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--milliseconds", type=float, default=30)
    parser.add_argument("--megabytes-per-second", type=float, default=100)
    chosen = parser.parse_args()
    server = SlowS3(chosen.port, chosen.folder, chosen.milliseconds / 1000, chosen.megabytes_per_second * 1e6)
    server.serve_forever()


if __name__ == "__main__":
    main()
