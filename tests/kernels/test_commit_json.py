"""Commits parse as the plain twin parses them, and a line that is cut or no action is refused, never half read."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaskip.kernels.commit_json import FILES_SCHEMA, CommitSyntaxError, ParsedCommits, parse_commits
from tests.each import refuses
from tests.extent import extent, some
from tests.kernels import json_twin as twin
from tests.kernels.json_twin import Number, spell
from tests.looped import looped

texts = st.text(st.characters(), max_size=90) | st.sampled_from(["", "ß", "\ud800", "\U0001f600x\udc00", 'q"\\' * 40])
numbers = st.builds(
    Number,
    st.sampled_from(["0", "-0", "12", "12.0", "1e3", "1.5", "-9223372036854775808", "9223372036854775808", "0e99999"])
    | st.from_regex(r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?", fullmatch=True).map(str),
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(texts, inner), max_size=3).map(tuple),
    max_leaves=8,
)
long_texts = st.integers(-(2**63), 2**63 - 1).map(lambda n: Number(str(n))) | st.just(Number("4.20e1"))
maps = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]) | texts, st.none() | texts | numbers), max_size=5).map(tuple)
vectors = st.fixed_dictionaries(
    {},
    optional={
        "storageType": texts,
        "pathOrInlineDv": st.none() | texts,
        "offset": st.just(Number("7")),
        "sizeInBytes": st.just(Number("2147483647")),
        "cardinality": long_texts,
        "path": anything,
    },
)
well_typed: dict[str, st.SearchStrategy[Any]] = {
    "path": texts, "partitionValues": maps, "size": long_texts, "modificationTime": long_texts,
    "dataChange": st.booleans(),
    "stats": texts | st.dictionaries(texts, anything, max_size=3),
    "tags": maps, "deletionVector": vectors, "baseRowId": long_texts, "defaultRowCommitVersion": long_texts,
    "clusteringProvider": texts, "deletionTimestamp": long_texts, "future": anything,
}  # fmt: skip
members = st.sampled_from(sorted(well_typed)).flatmap(lambda key: st.tuples(st.just(key), st.none() | well_typed[key]))
file_actions = st.tuples(st.lists(members, max_size=9), texts).map(lambda a: (*a[0], ("path", a[1])))
typed_badly = st.sampled_from(sorted(well_typed)).flatmap(lambda key: st.tuples(st.just(key), anything))
any_file_actions = file_actions | st.lists(typed_badly | members, max_size=5).map(tuple) | st.none()
actions = st.sampled_from(["add", "remove"]).flatmap(lambda key: st.tuples(st.just(key), file_actions))
any_actions = st.tuples(st.sampled_from(["add", "remove"]), any_file_actions) | st.tuples(
    st.sampled_from(["txn", "metaData", "caf\u00e9"]) | texts, anything
)
lines = st.lists(actions, min_size=1, max_size=1).map(tuple) | st.lists(any_actions, max_size=4).map(tuple)


@st.composite
def commits(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    """Some commits one after another, most of them valid, and where each begins."""
    choose = random.Random(draw(st.integers(0, 2**32)))
    data = b""
    starts = []
    for commit in draw(st.lists(st.lists(lines, max_size=4), max_size=3)):
        starts.append(len(data))
        data += draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
        ends = ["\n", "\n", "\r\n", " \n\n", "\n \t\r\n"]
        data += "".join(spell(line, choose) + choose.choice(ends) for line in commit).encode()
        if draw(st.booleans()):
            data = data[: max(starts[-1], len(data) - 1)]
    return data, starts


def rows_of(parsed: ParsedCommits) -> list[dict[str, Any]]:
    parsed.files.validate(full=True)
    rows: list[dict[str, Any]] = parsed.files.to_pylist()
    return rows


def assert_like_twin(data: bytes, starts: list[int]) -> None:
    try:
        rows, others = twin.parse_commits(data, starts)
    except twin.BrokenLine as broken:
        with pytest.raises(CommitSyntaxError) as caught:
            parse_commits(data, starts)
        assert (caught.value.commit, caught.value.line) == (broken.commit, broken.line)
        assert starts[broken.commit] <= caught.value.offset <= len(data)
        assert caught.value.reason
        return
    parsed = parse_commits(data, starts)
    assert parsed.files.schema.equals(FILES_SCHEMA)
    assert rows_of(parsed) == [{name: row[name] for name in FILES_SCHEMA.names} for row in rows]
    assert parsed.others == others
    for _, _, _, begin, end in parsed.others:
        json.loads(data[begin:end])


@settings(max_examples=extent(15, 100))
@given(commits())
@example((b'{"add":{"path":"a"},"remove":{"path":"b"},"add":{"path":"c"},"txn":1,"txn":null}', [0]))
@example((b'{"add":{"path":"a","path":"b","stats":"1234","stats":null,"tags":{"a":"b"},"tags":{}}}', [0]))
def test_commits_parse_as_the_twin_parses_them(case: tuple[bytes, list[int]]) -> None:
    assert_like_twin(*case)


DAMAGES = [b"", b'"', b"\\", b"{", b"}", b",", b"\n", b"\xff", b"\x80", b"0"]


@settings(max_examples=extent(20, 100))
@given(commits(), st.data())
def test_damaged_commits_are_refused_where_the_twin_does(case: tuple[bytes, list[int]], data: st.DataObject) -> None:
    text = bytearray(case[0])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 2, 30]))
        text[at : at + length] = data.draw(st.sampled_from(DAMAGES))
    starts = [min(start, len(text)) for start in case[1]] or [0]
    assert_like_twin(bytes(text), starts)


SAMPLE = (
    '\ufeff{"commitInfo":{"timestamp":1,"x":[1,-2.5e-3,true,null,{}]}}\r\n'
    '{"add":{"path":"p\\u00e9\\ud83d\\ude00/\\/ä","partitionValues":{"d":"1","n":null},"size":1e3,"modificationTime":5,'
    '"dataChange":true,"stats":"{\\"numRecords\\":3,\\"minValues\\":{\\"s\\":\\"\\\\\\\\ü\\"}}","tags":{"k":"v"},'
    '"deletionVector":{"storageType":"u","pathOrInlineDv":"ab","offset":1,"sizeInBytes":36,"cardinality":2},'
    '"baseRowId":7,"defaultRowCommitVersion":1,"clusteringProvider":"liquid"}}'
).encode()


@looped("end", range(len(SAMPLE)))
def test_a_commit_that_is_cut_anywhere_within_a_line_is_refused(end: int) -> None:
    whole_lines = {0, 3, SAMPLE.index(b"\r"), SAMPLE.index(b"\r") + 1, SAMPLE.index(b"\n") + 1}
    if end in whole_lines:
        assert parse_commits(SAMPLE[:end], [0]).files.num_rows == 0
        return
    with pytest.raises(CommitSyntaxError, match=r"truncated|object") as caught:
        parse_commits(SAMPLE[:end], [0])
    assert caught.value.offset <= end


@looped("cut_at", range(1, len(SAMPLE), 7))
def test_a_cut_commit_does_not_go_on_in_the_next_one(cut_at: int) -> None:
    assert_like_twin(SAMPLE, [0, cut_at])


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"path": 1}, "add.path is not a string"),
        ({"size": 1}, "add.path is missing"),
        ({"path": None}, "add.path is missing"),
        ({"path": "a", "size": "1"}, "add.size is not a number"),
        ({"path": "a", "size": 1.5}, "add.size is not a 64-bit integer"),
        ({"path": "a", "size": 2**63}, "add.size is not a 64-bit integer"),
        ({"path": "a", "dataChange": "true"}, "add.dataChange is not a boolean"),
        ({"path": "a", "stats": [1]}, "add.stats is not a string"),
        ({"path": "a", "partitionValues": []}, "add.partitionValues is not a JSON object"),
        ({"path": "a", "tags": {"a": {}}}, "add.tags contains a value that is not a string"),
        ({"path": "a", "deletionVector": "u"}, "add.deletionVector is not a JSON object"),
        ({"path": "a", "deletionVector": {"offset": 2**31}}, "add.deletionVector.offset is not a 32-bit integer"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(action: dict[str, Any], reason: str) -> None:
    with pytest.raises(CommitSyntaxError, match=reason) as caught:
        parse_commits(b"\n" + json.dumps({"add": action}).encode(), [0])
    assert (caught.value.commit, caught.value.line, caught.value.reason) == (0, 2, reason)


@pytest.mark.parametrize("depth", [500, 512, 513, 600, 100_000])
def test_nesting_is_bounded(depth: int) -> None:
    data = b'{"txn":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    if depth <= 512:
        assert parse_commits(data, [0]).others == [(0, 1, "txn", 7, len(data) - 1)]
    else:
        refuses(CommitSyntaxError, "nest too deeply", parse_commits, data, [0])


def test_a_map_of_many_entries_keeps_the_last_of_equal_keys() -> None:
    entries = [(f"k{i % 150}", f"v{i}") for i in range(200)]
    data = spell((("add", (("path", "a"), ("tags", tuple(entries)))),), random.Random(1)).encode()
    (row,) = rows_of(parse_commits(data, [0]))
    assert dict(row["tags"]) == dict(entries)
    assert len(row["tags"]) == 150


@settings(max_examples=extent(15, 100))
@given(commits(), st.integers(1, 400))
def test_chunks_hold_the_same_rows_as_one(case: tuple[bytes, list[int]], chunk_bytes: int) -> None:
    try:
        whole = parse_commits(*case)
    except CommitSyntaxError:
        refuses(CommitSyntaxError, None, parse_commits, *case, chunk_bytes=chunk_bytes)
        return
    parts = parse_commits(*case, chunk_bytes=chunk_bytes)
    assert rows_of(parts) == rows_of(whole)
    assert parts.others == whole.others


def test_only_the_columns_asked_for_come_beside_those_that_always_do() -> None:
    parsed = parse_commits(SAMPLE, [0], ("size", "stats"))
    assert parsed.files.schema.names == ["commit", "is_remove", "path", "size", "stats", "deletion_vector"]
    whole = parse_commits(SAMPLE, [0])
    assert rows_of(parsed) == whole.files.select(parsed.files.schema.names).to_pylist()


def test_columns_not_asked_for_are_still_checked_as_json() -> None:
    refuses(CommitSyntaxError, None, parse_commits, b'{"add":{"path":"a","tags":{"a":tru}}}', [0], ("size",))


@pytest.mark.parametrize("data", [bytearray(SAMPLE), memoryview(SAMPLE), pa.py_buffer(SAMPLE)])
def test_any_buffer_will_do(data: Any) -> None:
    assert rows_of(parse_commits(data, [0])) == rows_of(parse_commits(SAMPLE, [0]))


@pytest.mark.parametrize("starts", [[], [1], [0, 5, 4], [0, len(SAMPLE) + 1]])
def test_starts_that_leave_bytes_out_are_refused(starts: list[int]) -> None:
    refuses(ValueError, "ascend", parse_commits, SAMPLE, starts)


def test_unknown_columns_are_refused() -> None:
    refuses(ValueError, "no column 'pth'", parse_commits, b"", [], ("pth",))


def test_every_commit_of_the_corpus_parses_as_the_twin_parses_it(shared: Path) -> None:
    files = sorted((shared / "tables" / "tables").glob("*/_delta_log/*.json"))
    assert len(files) > 500
    for file in some(files, 200):
        assert_like_twin(file.read_bytes(), [0])
