"""Servers on this machine with the interfaces of Google Cloud Storage and Azure's blobs, as far as tables need them."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from email.utils import formatdate
from pathlib import Path
from xml.sax.saxutils import escape

from tests.storage.slow_s3 import SlowS3, _Handler


class _Google(_Handler):
    """The XML interface, which is that of S3 but for the condition of a write."""

    def _store(self, file: Path, key: str, data: bytes) -> None:
        if self.headers.get("x-goog-if-generation-match") == "0":
            self.headers["If-None-Match"] = "*"
        super()._store(file, key, data)


class _Azure(_Handler):
    """Blobs that are written by one request each."""

    def _store(self, file: Path, key: str, data: bytes) -> None:
        if self.headers.get("If-None-Match") == "*" and file.exists():
            self._error(409, "BlobAlreadyExists")
            return
        super()._store(file, key, data)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        # A blob is created, and its deletion accepted.
        created = {("PUT", 200): 201, ("DELETE", 204): 202}
        super()._answer(created.get((self.command, status), status), body, **headers)

    def _facts(self, file: Path) -> dict[str, str]:
        return {**super()._facts(file), "x-ms-version-id": "1"}

    def _list(self, bucket: Path, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries = []
        for path in sorted(bucket.rglob("*")):
            name = path.relative_to(bucket).as_posix() + ("/" if path.is_dir() else "")
            rest = name.removeprefix(prefix) if name.startswith(prefix) else ""
            if not rest or (delimiter and "/" in rest.rstrip("/")):
                continue
            if path.is_dir():
                entries.append(f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>" if delimiter else "")
                continue
            status = path.stat()
            facts = {
                "Last-Modified": formatdate(status.st_mtime, usegmt=True),
                "Content-Length": str(status.st_size),
                "Content-Type": "application/octet-stream",
                "Etag": self._facts(path)["ETag"],
            }
            inner = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in facts.items())
            entries.append(f"<Blob><Name>{escape(name)}</Name><Properties>{inner}</Properties></Blob>")
        body = f"<EnumerationResults><Blobs>{''.join(entries)}</Blobs><NextMarker/></EnumerationResults>"
        self._answer(200, body.encode())


@contextmanager
def _served(handler: type[_Handler], folder: Path) -> Iterator[str]:
    server = SlowS3(0, folder, 0, 1e12)
    server.RequestHandlerClass = handler
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def google(folder: Path) -> AbstractContextManager[str]:
    """Serve the buckets in a folder; the value is the address."""
    return _served(_Google, folder)


def azure(folder: Path) -> AbstractContextManager[str]:
    """Serve the containers in a folder; the value is the address."""
    return _served(_Azure, folder)
