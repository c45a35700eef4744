"""Directories, FIFOs, devices, sockets and links in place of log files, and files of absurd sizes."""

import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip
from deltaskip.errors import CorruptLog, DataFileMissing, DeltaSkipError, StorageError
from deltaskip.log import refresh
from deltaskip.log.deletion_vectors import read_deletion_vectors
from tests.each import refuses
from tests.log.builder import UUID, TableBuilder, add, log_name, remove, sidecar, v2_actions

ALL = ["f0", "f1", "f2", "f3", "f4"]


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


KINDS: dict[str, Callable[[Path], None]] = {
    "directory": Path.mkdir,
    "FIFO": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "device": _link("/dev/zero"),
    "terminal": _link("/dev/tty"),
    "dangling link": _link("nowhere"),
    "link through a file": _link("00000000000000000000.json/below"),
    "loop of links": lambda path: path.symlink_to(path.name),
    "link to a directory": _link("."),
}


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    """Stop a test that waits for a FIFO."""

    def stop(*_: object) -> None:
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def put(kind: str, path: Path) -> None:
    """Replace the file by something of that kind."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)


@pytest.mark.long(gate=15)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hint", [None, '{"version":2}', '{"version":4}'])
def test_the_newest_commit_is_not_passed_over(five: TableBuilder, kind: str, hint: str | None) -> None:
    five.checkpoint(2, *[add(path) for path in ALL[:3]])
    if hint is not None:
        five.hint(hint)
    put(kind, five.log / log_name(4, "json"))
    refuses(CorruptLog, r"4\.json \(version 4\) is a .*, not a regular file; .* before 4\.", five.load)
    assert five.paths(3) == ALL[:4]


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_table_does_not_pass_over_the_next_commit(five: TableBuilder, kind: str) -> None:
    table = deltaskip.DeltaTable(five.path)
    put(kind, five.log / log_name(5, "json"))
    refuses(CorruptLog, r"5\.json \(version 5\) is a ", table.refresh)


@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_before_the_checkpoint_does_not_matter(five: TableBuilder, kind: str) -> None:
    five.checkpoint(2, *[add(path) for path in ALL[:3]])
    put(kind, five.log / log_name(1, "json"))
    assert five.paths() == ALL
    refuses(CorruptLog, r"1\.json \(version 1\) is a ", five.load, 1)


@pytest.mark.long(gate=22)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "suffix",
    [
        "checkpoint.parquet",
        "checkpoint.0000000001.0000000001.parquet",
        f"checkpoint.{UUID}.parquet",
        f"checkpoint.{UUID}.json",
    ],
)
def test_a_checkpoint_gives_way_to_commits_and_is_named_alone(five: TableBuilder, kind: str, suffix: str) -> None:
    put(kind, five.log / log_name(3, suffix))
    assert five.paths() == ALL
    five.clean_up(4)
    refuses(CorruptLog, rf"3\.{suffix}.* (is a .*, not a regular file|is missing)", five.load)


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_of_a_newer_version_is_not_passed_over(five: TableBuilder, kind: str) -> None:
    put(kind, five.log / log_name(7, "checkpoint.parquet"))
    refuses(CorruptLog, r"version [57]", five.load)
    assert five.paths(4) == ALL


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_sidecar_is_named(five: TableBuilder, kind: str, suffix: str) -> None:
    put(kind, five.log / "_sidecars" / "s.parquet")
    write = five.parquet if suffix == "parquet" else five.json_lines
    write(log_name(3, f"checkpoint.{UUID}.{suffix}"), v2_actions(3, sidecar("s.parquet")))
    assert five.paths() == ALL
    five.clean_up(4)
    refuses(CorruptLog, r"s\.parquet, of the checkpoint of version 3, .*(is a|is missing)", five.load)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        log_name(4, "crc"),
        log_name(9, "crc"),
        f"{0:020d}.{4:020d}.compacted.json",
        f"{3:020d}.{9:020d}.compacted.json",
    ],
)
def test_files_that_are_not_needed_are_ignored(five: TableBuilder, kind: str, name: str) -> None:
    put(kind, five.log / name)
    assert (five.load().version, five.paths()) == (4, ALL)


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_folder_itself_is_an_error(tmp_path: Path, kind: str) -> None:
    (tmp_path / "t").mkdir()
    put(kind, tmp_path / "t" / "_delta_log")
    refuses(DeltaSkipError, str(tmp_path), deltaskip.DeltaTable, tmp_path / "t")


@pytest.mark.parametrize("kind", KINDS)
def test_a_deletion_vector_is_named(five: TableBuilder, kind: str) -> None:
    put(kind, five.path / "deletion_vector_00000000-0000-0000-0000-000000000000.bin")
    vector = {"storageType": "u", "pathOrInlineDv": "0" * 20, "offset": 1, "sizeInBytes": 1, "cardinality": 1}
    five.commit(add("v", deletionVector=vector))
    snapshot = five.load()
    vectors = snapshot.adds(["deletion_vector"])["deletion_vector"].combine_chunks()
    with pytest.raises((DataFileMissing, StorageError), match="deletion_vector_0000"):
        read_deletion_vectors(snapshot.storage, snapshot.table_root, vectors)


@pytest.mark.parametrize("name", ["_last_checkpoint", log_name(4, "crc")])
def test_a_hint_without_permission_is_ignored(five: TableBuilder, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (five.log / name).write_text("{}")
    original = os.open

    def refuse(path: str, *arguments: int) -> int:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    assert five.paths() == ALL


HOSTILE = [
    "", "null", "[]", "7", '"x"', "NaN", "{", "[" * 100_000, '{"a":' * 1000, "\ud800", "\0", "\ufeff{}",
    '{"version":NaN}', '{"version":-1}', '{"version":1e3}', '{"version":true}', '{"version":"4"}',
    '{"version":' + "9" * 5000 + "}", '{"version":9223372036854775807}', '{"version":99}', '{"version":2,"version":3}',
    '{"version":{},"size":-1}', '{"numFiles":-1}', '{"numFiles":1e400}', '{"tableSizeBytes":' + "9" * 30 + "}",
    '{"numFiles":"5"}', '{"protocol":[]}', '{"metadata":{"id":1}}', '{"setTransactions":{}}',
    '{"setTransactions":[{"appId":1}]}', '{"domainMetadata":[null]}', '{"inCommitTimestampOpt":99999999999999999999}',
    '{"inCommitTimestampOpt":[]}', '{"protocol":{"minReaderVersion":99}}',
]  # fmt: skip


@pytest.mark.long(gate=42)
@pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning")
@pytest.mark.parametrize("name", ["_last_checkpoint", log_name(4, "crc")])
@pytest.mark.parametrize("text", [*HOSTILE, b"\xff\xfe", b"\xed\xa0\x80"], ids=lambda text: repr(text[:20]))
def test_hostile_hints_are_ignored(five: TableBuilder, name: str, text: str | bytes) -> None:
    (five.log / name).write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    table = deltaskip.DeltaTable(five.path)
    assert (table.version, five.paths()) == (4, ALL)
    assert table.in_commit_timestamp is None
    assert len(table.history()) == 5


@pytest.fixture
def _little_memory() -> Iterator[None]:
    """Limit the address space to 2 GiB more than there is now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def _enlarge(path: Path, size: int = 1 << 40) -> None:
    with path.open("ab") as file:
        file.truncate(size)


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("name", ["_last_checkpoint", log_name(4, "crc"), f"{0:020d}.{4:020d}.compacted.json"])
@pytest.mark.parametrize("size", [100 << 20, 1 << 40])
def test_a_hint_of_a_terabyte_is_ignored(five: TableBuilder, name: str, size: int) -> None:
    _enlarge(five.log / name, size)
    assert five.paths() == ALL


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("size", [300 << 20, 1 << 40])
def test_a_line_of_a_terabyte_is_named(five: TableBuilder, size: int) -> None:
    with (five.log / log_name(4, "json")).open("ab") as file:
        file.write(b'{"add":{"path":"')
    _enlarge(five.log / log_name(4, "json"), size)
    refuses(CorruptLog, r"4\.json \(version 4\), line 2: ", five.load)


@pytest.mark.usefixtures("_little_memory")
def test_a_checkpoint_of_a_terabyte_gives_way_to_the_commits(five: TableBuilder) -> None:
    _enlarge(five.checkpoint(3, *[add(path) for path in ALL[:4]]))
    assert five.paths() == ALL


def test_a_large_commit_is_read_in_pieces(five: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    txns = [{"txn": {"appId": f"a{i}", "version": i}} for i in range(9)]
    five.commit(*[add(f"g{i:03d}") for i in range(100)], *txns, add("last"))
    five.commit(add("end"))
    whole = five.load()
    for most, piece in ((10, 7), (300, 64), (900, 1000)):
        monkeypatch.setattr("deltaskip.settings.options.log_bytes", most)
        monkeypatch.setattr("deltaskip.settings.options.log_bytes", most)
        monkeypatch.setattr("deltaskip.settings.options.log_piece_bytes", piece)
        read = five.load()
        assert read.adds().equals(whole.adds())
        assert (read.txns, read.metadata) == (whole.txns, whole.metadata)
    with (five.log / log_name(5, "json")).open("a") as file:
        file.write("\n{]")
    refuses(CorruptLog, r"5\.json \(version 5\), line 112: ", five.load)


def test_files_of_very_long_commits_are_kept_if_asked_for(five: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    txns = [{"txn": {"appId": f"a{i}", "version": i}} for i in range(9)]
    five.commit(*[add(f"g{i:04d}") for i in range(3000)], *txns, {"commitInfo": {"operation": "WRITE", "txnId": "5"}})
    whole = five.load()
    expected = whole.adds()
    monkeypatch.setattr("deltaskip.settings.options.log_held_bytes", 1)
    for most, piece in ((1 << 20, 1 << 20), (1000, 300)):
        monkeypatch.setattr("deltaskip.settings.options.log_bytes", most)
        monkeypatch.setattr("deltaskip.settings.options.log_piece_bytes", piece)
        before = pa.total_allocated_bytes()
        read = five.load()
        assert pa.total_allocated_bytes() - before < 3000  # one byte for each add would be too much
        assert (read.txns, read.metadata, read.tail.info) == (whole.txns, whole.metadata, whole.tail.info)
        assert read.tail.info is not None and read.tail.info.txn_id == "5"
        assert read.adds().equals(expected)
    five.commit(remove("g0001"), add("end"))
    newer = refresh(read)
    assert newer.adds().equals(five.load().adds()) and newer.num_files == 3000 + len(ALL)
    monkeypatch.undo()
    assert newer.adds().equals(five.load().adds())
    with (five.log / log_name(7, "json")).open("w") as file:
        file.write('{"add":{"path":"x","size":"long"}}')
    monkeypatch.setattr("deltaskip.settings.options.log_held_bytes", 1)
    damaged = five.load()
    refuses(CorruptLog, r"7\.json \(version 7\), line 1: ", damaged.adds)
