"""A store or catalog that refuses every commit as one that exists, although nobody has written it."""

import time
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import StorageError
from deltaskip.storage import LocalStorage
from tests.txn.tables import file, make_table

pytestmark = pytest.mark.usefixtures("without_look_ups")


class Refusing(LocalStorage):
    """Storage that answers as a store does which takes every conditional request for one that came too late."""

    def __init__(self, remote: bool, free_after: int = 10**9) -> None:
        super().__init__()
        self.remote = remote
        self.calls, self.free_after = 0, free_after

    def put_if_absent(self, path: str, data: bytes, *after: Any) -> None:
        self.calls += 1
        if self.calls <= self.free_after:
            raise FileExistsError(path)
        super().put_if_absent(path, data, *after)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("remote", [False, True])
def test_a_version_that_is_refused_and_not_there_ends_the_commit(tmp_path: Path, remote: bool) -> None:
    table = make_table(tmp_path / "t")
    storage = Refusing(remote)
    table.snapshot.storage = storage
    transaction = table.transaction()
    transaction.add(file("a"))
    start = time.monotonic()
    with pytest.raises(StorageError, match=r"version 1 is refused as one that exists, .* conditional writes"):
        transaction.commit()
    assert storage.calls == 8 and time.monotonic() - start < 8
    assert ds.DeltaTable(tmp_path / "t").version == 0


def test_a_store_that_was_late_is_asked_again(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    table.snapshot.storage = Refusing(False, 5)
    transaction = table.transaction()
    transaction.add(file("a"))
    assert transaction.commit() == 1


def test_other_writers_are_no_contradiction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The other writer commits while the late one has its turn.
    monkeypatch.setattr("deltaskip.txn.turns._SHORT_SECONDS", 0.01)
    make_table(tmp_path / "t")

    class Late(LocalStorage):
        calls = 0

        def put_if_absent(self, path: str, data: bytes, *after: Any) -> None:
            # Another writer commits first, more often than contradictions are believed.
            self.calls += 1
            if self.calls <= 12:
                other = ds.DeltaTable(tmp_path / "t").transaction()
                other.add(file(f"other-{self.calls}"))
                other.commit()
            super().put_if_absent(path, data, *after)

    late = ds.DeltaTable(tmp_path / "t")
    late.snapshot.storage = Late()
    transaction = late.transaction()
    transaction.add(file("late"))
    assert transaction.commit() == 13
