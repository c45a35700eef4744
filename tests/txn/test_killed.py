"""kill -9 at every step of a commit leaves a table that opens with the old or the new version."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import deltaskip as ds
from tests.extent import extent
from tests.txn.killed import copied, replacing, steps_of
from tests.txn.tables import append, file, gone, make_table, paths

pytestmark = pytest.mark.usefixtures("without_look_ups")

OLD, NEW = ["a", "b"], ["b", "new"]


SETTINGS = {
    "commit": ({"delta.checkpointInterval": "100"}, ()),
    "classic checkpoint": ({"delta.checkpointInterval": "2"}, ()),
    "V2 checkpoint": ({"delta.checkpointInterval": "2", "delta.checkpointPolicy": "v2"}, ("v2Checkpoint",)),
    "clean-up": ({"delta.checkpointInterval": "2"}, ()),
}


def begun(stop: int, folder: str, table: str) -> Callable[[], object]:
    return replacing(copied(stop, folder, table)).commit


@pytest.fixture(scope="module", params=extent(["clean-up"], SETTINGS))
def killed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """The folder of the copies, at which step the writer of each was killed, and what it was about."""
    folder = tmp_path_factory.mktemp("killed")
    properties, features = SETTINGS[request.param]
    make_table(folder / "table", properties, features)
    append(ds.DeltaTable(folder / "table"), file("a"), file("b"))
    if request.param == "clean-up":
        ds.DeltaTable(folder / "table").checkpoint()
        for log_file in (folder / "table" / "_delta_log").iterdir():
            os.utime(log_file, (1_000_000_000, 1_000_000_000))
    (folder / "copies").mkdir()
    return folder / "copies", steps_of(begun, folder / "copies", folder / "table"), request.param


def test_every_step_is_tried(killed: tuple[Path, list[str], str]) -> None:
    _, steps, about = killed
    assert steps[:2] == ["prepared", "opened"]
    assert {"written", "synced", "linked", "tidied", "named", "committed"} <= set(steps)
    assert ("deleted" in steps) == (about == "clean-up")
    if about != "commit":
        assert {"row group written", "checkpoint written", "hint written"} <= set(steps[steps.index("committed") :])


def test_the_table_opens_with_the_old_or_the_new_version(killed: tuple[Path, list[str], str]) -> None:
    folder, steps, _ = killed
    linked = steps.index("linked")
    for stop in range(len(steps)):
        copy = folder / str(stop)
        expected = (1, OLD) if stop < linked else (2, NEW)
        assert (ds.DeltaTable(copy).version, paths(copy)) == expected, steps[stop]


@pytest.mark.long(gate=1)
def test_the_next_writer_goes_on_as_if_nothing_had_happened(killed: tuple[Path, list[str], str]) -> None:
    folder, steps, _ = killed
    for stop in range(len(steps)):
        copy = folder / str(stop)
        table = ds.DeltaTable(copy)
        table.checkpoint()
        txn = table.transaction(read="true")
        txn.remove(gone("b"))
        txn.add(file(f"next-{stop}"))
        assert txn.commit() == txn.snapshot.version + 1
        assert f"next-{stop}" in paths(copy)
        assert "b" not in paths(copy)
