"""Writing to an S3-compatible server: conditional creation, and files sent from disk."""

import os
from pathlib import Path

from deltaskip.storage import Storage
from tests.each import in_threads, refuses
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]


def test_an_object_is_created_once(store: tuple[Storage, str]) -> None:
    storage, root = store
    storage.put_if_absent(f"{root}/x", b"first")
    refuses(FileExistsError, "x", storage.put_if_absent, f"{root}/x", b"second")
    assert storage.read(f"{root}/x") == b"first"


def test_of_many_writers_of_one_object_one_succeeds(store: tuple[Storage, str]) -> None:
    storage, root = store
    won: list[bytes] = []

    def write(number: int) -> None:
        try:
            storage.put_if_absent(f"{root}/x", b"%d" % number)
        except FileExistsError:
            return
        won.append(b"%d" % number)

    in_threads(write, range(8))
    assert won == [storage.read(f"{root}/x")]


def test_a_published_file_is_the_object(store: tuple[Storage, str]) -> None:
    storage, root = store
    content = os.urandom(12 << 20)
    with storage.publish(f"{root}/_sidecars/big") as name:
        Path(name).write_bytes(content)
    assert storage.read(f"{root}/_sidecars/big") == content
    storage.delete(f"{root}/_sidecars/big")
    assert storage.list_from(f"{root}/_sidecars", "") == []
