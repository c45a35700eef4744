"""Names of the files of the log."""

import pytest

from deltaskip.log.file_names import Kind, commit_name, parse_log_file, version_prefix
from deltaskip.storage import FileInfo
from tests.looped import looped

V = "00000000000000000007"


def parsed(name: str) -> tuple[object, ...] | None:
    file = parse_log_file(FileInfo(name, f"/t/_delta_log/{name}", 1, 2))
    return None if file is None else (file.kind, file.version, file.end, file.part, file.parts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{V}.json", (Kind.COMMIT, 7, -1, 0, 0)),
        (f"{V}.crc", (Kind.CHECKSUM, 7, -1, 0, 0)),
        (f"{V}.checkpoint.parquet", (Kind.CLASSIC_CHECKPOINT, 7, -1, 0, 0)),
        (f"{V}.checkpoint.0000000002.0000000003.parquet", (Kind.CHECKPOINT_PART, 7, -1, 2, 3)),
        (f"{V}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet", (Kind.UUID_PARQUET_CHECKPOINT, 7, -1, 0, 0)),
        (f"{V}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", (Kind.UUID_JSON_CHECKPOINT, 7, -1, 0, 0)),
        (f"{V}.00000000000000000009.compacted.json", (Kind.COMPACTION, 7, 9, 0, 0)),
    ],
)
def test_a_name_of_the_log_is_taken_apart(name: str, expected: tuple[object, ...]) -> None:
    assert parsed(name) == expected


@looped(
    "name",
    [
        "_last_checkpoint", ".00000000000000000007.json.crc", "._00000000000000000007.json", "7.json",
        "0000000000000000007.json", "000000000000000000007.json", "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٧.json",
        "+0000000000000000007.json", "99999999999999999999.json", f"{V}.json.tmp", f"{V}.JSON", f"{V}.checkpoint",
        f"{V}.checkpoint..parquet", f"{V}.checkpoint.0000000004.0000000003.parquet",
        f"{V}.checkpoint.0000000000.0000000003.parquet", f"{V}.checkpoint.1.3.parquet",
        f"{V}.00000000000000000006.compacted.json", f"{V}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", f"{V}", "",
    ],
)  # fmt: skip
def test_any_other_name_is_passed_over(name: str) -> None:
    assert parsed(name) is None


def test_names_are_zero_padded_to_twenty_digits() -> None:
    assert commit_name(7) == f"{V}.json"
    assert version_prefix(7) == V
