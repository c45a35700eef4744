"""`_last_checkpoint`: its checksum, and that nothing it says can be wrong enough to matter."""

import hashlib
import json
from typing import Any

import pytest

from deltaskip.errors import VersionNotFound
from deltaskip.log.last_checkpoint import canonical_form, checksum, parse_hint
from deltaskip.log.loading import load_snapshot
from tests import corpus
from tests.log.builder import CountingStorage, TableBuilder, add
from tests.looped import looped

# PROTOCOL, Last Checkpoint File Checksum: the specification's own vector.
VECTOR = (
    """{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", """
    """"k5": ["v5", "v6", "v7"]}]}}"""
)


def test_the_specification_s_vector_has_its_checksum() -> None:
    fields = json.loads(VECTOR)
    assert canonical_form(fields) == (
        '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
        '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7"'
    )
    assert checksum(fields) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"a": 10, "b": {"y": None, "x": "https://delta.io"}}, '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null'),
        ({"k": [None, "hi ho", True]}, '"k"+0=null,"k"+1="hi%20ho","k"+2=true'),
        ({"é~-._": "é"}, '"%C3%A9~-._"="%C3%A9"'),
        ({"k3": 23, "checksum": "x", "k1": "v1"}, '"k1"="v1","k3"=23'),
        ({"a": {"checksum": "kept"}}, '"a"+"checksum"="kept"'),
    ],
)
def test_the_canonical_form_follows_the_specification_s_rules(fields: dict[str, Any], expected: str) -> None:
    assert canonical_form(fields) == expected


def test_every_checksum_of_the_corpus_holds(shared: Any) -> None:
    checked = 0
    for table in corpus.tables():
        hint = table.path / "_delta_log" / "_last_checkpoint"
        if hint.exists() and b'"checksum"' in hint.read_bytes():
            assert parse_hint(hint.read_bytes()) is not None, table.name
            checked += 1
    assert checked > 20


def test_a_number_is_its_own_canonical_form_however_it_is_written() -> None:
    good = hashlib.md5(b'"ratio"=1.50,"version"=3', usedforsecurity=False).hexdigest()
    assert parse_hint(b'{"version":3,"ratio":1.50,"checksum":"%s"}' % good.encode()) == (3, None)


@looped(
    "text",
    [
        "", "{", "[]", "null", '"7"', '{"size":3}', '{"version":"3"}', '{"version":-3}', '{"version":3.0}',
        '{"version":true}', '{"version":99999999999999999999999}', '{"version":3,"version":3}',
        '{"version":3,"checksum":"0123456789abcdef0123456789abcdef"}', '{"version":3,"checksum":7}',
        '{"version":3,"x":"\\ud800","checksum":"0"}', "[" * 100_000,
        '{"version":3,"a":' + "[" * 5000 + "]" * 5000 + ',"checksum":"0"}',
    ],
)  # fmt: skip
def test_a_damaged_hint_is_no_hint(text: str) -> None:
    assert parse_hint(text.encode()) is None


def test_bytes_that_are_no_text_are_no_hint() -> None:
    assert parse_hint(b"\xff\xfe{") is None


HINTS = {
    "missing": None, "empty": "", "cut": '{"version":', "right": '{"version":4}', "stale": '{"version":2}',
    "names a version without a checkpoint": '{"version":3}', "names an incomplete checkpoint": '{"version":5}',
    "ahead of the table": '{"version":900}',
    "wrong checksum": '{"version":4,"checksum":"00000000000000000000000000000000"}',
    "wrong parts": '{"version":4,"parts":17}', "far beyond any number": '{"version":9223372036854775807}',
}  # fmt: skip


@pytest.fixture
def checkpointed(table: TableBuilder) -> TableBuilder:
    """Commits 0 to 6, checkpoints at 2 and 4, an incomplete one at 5."""
    for version in range(7):
        table.commit(add(f"f{version}"))
    table.checkpoint(2, *[add(f"f{i}") for i in range(3)])
    table.checkpoint(4, *[add(f"f{i}") for i in range(5)])
    table.checkpoint(5, add("wrong"), suffix="checkpoint.0000000001.0000000002.parquet")
    return table


@pytest.mark.long(gate=28)
@pytest.mark.parametrize("hint", HINTS.values(), ids=HINTS)
@pytest.mark.parametrize("version", [None, 0, 1, 3, 4, 6])
def test_no_hint_changes_an_answer(checkpointed: TableBuilder, hint: str | None, version: int | None) -> None:
    if hint is not None:
        checkpointed.hint(hint)
    latest = 6 if version is None else version
    assert checkpointed.load(version).version == latest
    assert checkpointed.paths(version) == [f"f{i}" for i in range(latest + 1)]


@pytest.mark.parametrize("hint", HINTS.values(), ids=HINTS)
def test_no_hint_changes_an_error(checkpointed: TableBuilder, hint: str | None) -> None:
    if hint is not None:
        checkpointed.hint(hint)
    with pytest.raises(VersionNotFound, match="versions 0 to 6 can be opened"):
        checkpointed.load(7)


def test_a_hint_that_is_a_folder_is_no_hint(checkpointed: TableBuilder) -> None:
    (checkpointed.log / "_last_checkpoint").mkdir()
    assert checkpointed.load().version == 6


def test_a_right_hint_spares_the_listing_of_earlier_commits(checkpointed: TableBuilder) -> None:
    checkpointed.hint('{"version":4}')
    storage = CountingStorage()
    assert load_snapshot(storage, str(checkpointed.path)).version == 6
    [(start_name, _)] = storage.listed
    assert start_name == "00000000000000000004"
