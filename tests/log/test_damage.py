"""Damaged logs: an error that names the file and the version, never a wrong answer."""

import json
import os
import threading
from pathlib import Path

import pytest

from deltaskip.errors import CorruptLog, DeltaSkipError, StorageError, VersionNotFound
from deltaskip.log import loading
from tests.each import refuses
from tests.log.builder import PROTOCOL, UUID, TableBuilder, add, log_name, metadata, remove
from tests.noted import noted


@pytest.mark.parametrize(
    "text",
    [
        '{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,"dataChange":tr',
        '{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}',
        "not json\n", "[]\n", '{"add":{"size":1}}\n', '{"add":{"path":"x","size":"big"}}\n',
        '{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}\n',
        '{"metaData":{"id":"x"}}\n', '{"txn":{"version":1}}\n', '{"domainMetadata":{"domain":"d","configuration":7}}\n',
        b"\xff\xfe\n",
    ],
)  # fmt: skip
def test_a_damaged_commit_names_its_file_and_line(five: TableBuilder, text: str | bytes) -> None:
    line = json.dumps(add("good")).encode() + b"\n\n"
    five.raw_commit(5, line + (text.encode() if isinstance(text, str) else text))
    refuses(CorruptLog, r"00000000000000000005\.json \(version 5\), line 3: .*version before 5\.", five.load)
    assert five.paths(4) == ["f0", "f1", "f2", "f3", "f4"]


def test_a_path_that_does_not_decode_is_corrupt(five: TableBuilder) -> None:
    five.commit(add("f%ff"))
    refuses(CorruptLog, "f%ff", five.paths)


@pytest.mark.parametrize("contents", [b"", b"PAR1", b"no parquet at all", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_damaged_checkpoint_gives_way_to_the_commits(five: TableBuilder, contents: bytes) -> None:
    (five.log / log_name(3, "checkpoint.parquet")).write_bytes(contents)
    five.hint('{"version":3}')
    assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]
    five.clean_up(4)
    refuses(CorruptLog, r"00000000000000000003\.checkpoint\.parquet, of the checkpoint of version 3", five.load)


def test_a_damaged_checkpoint_gives_way_to_another_of_its_version(five: TableBuilder) -> None:
    files = [add(f"f{i}") for i in range(4)]
    (five.log / log_name(3, "checkpoint.parquet")).write_bytes(b"damaged")
    five.checkpoint(3, *files[:2], suffix="checkpoint.0000000001.0000000002.parquet")
    five.checkpoint(3, *files[2:], suffix="checkpoint.0000000002.0000000002.parquet")
    five.clean_up(4)
    assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_damaged_checkpoint_gives_way_to_an_older_one(five: TableBuilder) -> None:
    five.checkpoint(1, add("f0"), add("f1"))
    (five.log / log_name(3, "checkpoint.parquet")).write_bytes(b"damaged")
    five.hint('{"version":3}')
    five.clean_up(2)
    assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]
    checkpoint = five.load().segment.checkpoint
    assert checkpoint is not None
    assert checkpoint.version == 1


def test_a_checkpoint_whose_pages_are_damaged_is_named_when_they_are_read(five: TableBuilder) -> None:
    file = five.checkpoint(4, *[add(f"f{i}" * 50) for i in range(200)])
    data = bytearray(file.read_bytes())
    data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)
    file.write_bytes(data)
    five.clean_up(5)
    refuses(CorruptLog, r"00000000000000000004\.checkpoint\.parquet", lambda: five.load().adds())


def test_a_commit_older_than_the_checkpoint_may_be_damaged(five: TableBuilder) -> None:
    five.checkpoint(3, *[add(f"f{i}") for i in range(4)])
    (five.log / log_name(2, "json")).write_text("damaged")
    assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]
    refuses(CorruptLog, r"00000000000000000002\.json", five.load, 2)


@pytest.mark.parametrize(("actions", "lacking"), [([PROTOCOL], "metaData"), ([metadata()], "protocol")])
def test_a_log_without_protocol_or_metadata_says_so(table: TableBuilder, actions: list, lacking: str) -> None:  # type: ignore[type-arg]
    table.commit(*actions)
    refuses(CorruptLog, f"up to version 0 it has no {lacking} action", table.load)


def test_an_error_about_version_0_does_not_advise_an_earlier_one(table: TableBuilder) -> None:
    table.raw_commit(0, "{")
    with pytest.raises(CorruptLog) as raised:
        table.load()
    assert "before 0" not in str(raised.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("target", ["_delta_log", "_delta_log/00000000000000000002.json"])
def test_a_file_without_permission_is_named(five: TableBuilder, target: str) -> None:
    path = five.path / target
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        refuses(StorageError, r"No permission to read .*_delta_log", five.load)
    finally:
        path.chmod(mode)


def test_files_of_others_in_the_log_are_passed_over(five: TableBuilder) -> None:
    for name in ("_commits", "_staged_commits", "_sidecars", "00000000000000000009", ".tmp"):
        (five.log / name).mkdir()
    for name in (".00000000000000000002.json.crc", "._00000000000000000007.json", "info.txt", "0000.json.tmp"):
        (five.log / name).write_text("x")
    (five.log / "_staged_commits" / f"{log_name(5, UUID)}.json").write_text(json.dumps(add("staged")))
    (five.log / "00000000000000000008.json.tmp").symlink_to(five.log / "nowhere")
    assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_cleaned_up_version_says_so(five: TableBuilder) -> None:
    five.checkpoint(3, add("f0"))
    five.clean_up(3)
    refuses(VersionNotFound, "versions 3 to 4 can be opened; earlier commits have been cleaned up", five.load, 1)


def test_every_error_is_one_sentence_naming_the_table(five: TableBuilder, tmp_path: Path) -> None:
    (five.log / log_name(1, "json")).unlink()
    with pytest.raises(DeltaSkipError) as raised:
        five.load()
    text = str(raised.value)
    assert str(five.path) in text
    assert text.endswith(".")
    assert "\n" not in text


class TestCompaction:
    """A log compaction in place of commits that are gone."""

    def test_a_reconciled_one_stands_in_for_them(self, table: TableBuilder) -> None:
        table.commit(add("a"), add("b", dv="p"))
        table.commit(add("c"), remove("a"))
        table.commit(add("b", dv="q"), remove("b", dv="p"), {"txn": {"appId": "x", "version": 9}})
        table.commit(add("d"))
        expected = table.paths()
        table.json_lines(
            f"{1:020d}.{2:020d}.compacted.json",
            [{"txn": {"appId": "x", "version": 9}}, add("c"), remove("a"), add("b", dv="q"), remove("b", dv="p")],
        )
        for version in (1, 2):
            (table.log / log_name(version, "json")).unlink()
        assert table.paths() == expected == ["b", "c", "d"]
        assert table.load().txns["x"].version == 9

    @pytest.mark.parametrize(
        "actions",
        [
            [remove("a"), add("a")],
            [add("a"), add("./a", dv="p")],
            [metadata(), metadata()],
            [{"txn": {"appId": "x", "version": 1}}, {"txn": {"appId": "x", "version": 2}}],
        ],
    )
    def test_one_that_is_not_reconciled_is_refused(self, five: TableBuilder, actions: list) -> None:  # type: ignore[type-arg]
        name = f"{1:020d}.{2:020d}.compacted.json"
        five.json_lines(name, actions)
        assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]
        (five.log / log_name(2, "json")).unlink()
        refuses(CorruptLog, f"{name} holds several actions", five.load)

    def test_a_damaged_one_does_not_matter_while_the_commits_are_there(self, five: TableBuilder) -> None:
        (five.log / f"{0:020d}.{4:020d}.compacted.json").write_text("damaged")
        assert five.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_of_very_many_damaged_checkpoints_some_are_tried(five: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        (five.log / f"{4:020}.checkpoint.{number:036}.parquet").write_bytes(b"PAR1")
    opened = noted(monkeypatch, loading, "open_checkpoint", lambda *given: given)
    assert five.load().version == 4
    assert len(opened) == 100


def test_a_commit_that_its_writer_took_back_is_no_damage(table: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that had opened a dropped table may commit to the next one at its path, and deletes that commit."""
    monkeypatch.undo()  # the pauses are those of the package
    table.commit(add("f0"))
    stray = table.log / log_name(8, "json")
    stray.write_text('{"commitInfo":{}}\n')
    refuses(CorruptLog, r"0001\.json \(version 1\) is missing", table.load)
    taken_back = threading.Timer(0.15, stray.unlink)
    taken_back.start()
    assert table.load().version == 0
    taken_back.join()


def test_a_commit_of_indented_json_says_that_an_action_is_one_line(five: TableBuilder) -> None:
    five.raw_commit(5, json.dumps(add("f5"), indent=2).encode() + b"\n")
    refuses(CorruptLog, r"0005\.json \(version 5\), line 1: .*Delta has one action a line; ", five.load)
