"""Reconciliation, against a slow and obvious twin."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.actions import FILE_SCHEMA, canonical_path, dv_ids
from deltaskip.log.replay import EMPTY, after, repeated_key, replay
from tests.extent import extent
from tests.looped import looped

ACTIONS_SCHEMA = pa.schema([("commit", pa.int32()), ("is_remove", pa.bool_()), *FILE_SCHEMA])

# Three spellings of one file, two of another, and a plain one.
PATHS = ["a%20b", "./a%20b", "a b", "/x/y", "file:///x/y", "c"]
Action = tuple[bool, str, str | None]


def table_of(commits: list[list[Action]]) -> pa.Table:
    rows = [
        {"commit": commit, "is_remove": is_remove, "path": path, "deletion_vector": vector(dv), "size": i}
        for commit, actions in enumerate(commits)
        for i, (is_remove, path, dv) in enumerate(actions)
    ]
    return pa.Table.from_pylist(rows, schema=ACTIONS_SCHEMA)


def vector(dv: str | None) -> dict[str, Any] | None:
    if dv is None:
        return None
    where, _, offset = dv.partition("@")
    return {
        "storage_type": "u",
        "path_or_inline_dv": where,
        "offset": int(offset) if offset else None,
        "size_in_bytes": 1,
        "cardinality": 1,
    }


def slow_replay(commits: list[list[Action]], live: dict[str, tuple[str | None, str]]) -> dict[str, Any]:
    """The rules, one action after another, on live files by canonical path."""
    live = dict(live)
    for actions in commits:
        for is_remove, path, dv in actions:
            key = canonical_path(path)
            if is_remove and key in live and live[key][0] == dv:
                del live[key]
        for is_remove, path, dv in actions:
            if not is_remove:
                live[canonical_path(path)] = (dv, path)
    return live


def shown(adds: pa.Table) -> dict[str, tuple[str | None, str]]:
    ids = dv_ids(adds["deletion_vector"]).to_pylist()
    rows = {canonical_path(path): (dv, path) for path, dv in zip(adds["path"].to_pylist(), ids, strict=True)}
    assert len(rows) == len(adds)
    return rows


def with_ids(live: dict[str, tuple[str | None, str]]) -> dict[str, tuple[str | None, str]]:
    return {key: (None if dv is None else f"u{dv}", path) for key, (dv, path) in live.items()}


dv_names = st.sampled_from([None, None, "p", "p@1", "q"])
actions = st.lists(st.tuples(st.booleans(), st.sampled_from(PATHS), dv_names), max_size=5)
logs = st.lists(actions, max_size=6)


@settings(max_examples=extent(50, 100))
@given(logs)
def test_replay_agrees_with_one_action_after_another(commits: list[list[Action]]) -> None:
    assert shown(replay(table_of(commits)).adds) == with_ids(slow_replay(commits, {}))


@settings(max_examples=extent(30, 100))
@given(logs, logs)
def test_two_stretches_put_together_are_the_whole_log(older: list[list[Action]], newer: list[list[Action]]) -> None:
    joined = after(replay(table_of(older)), replay(table_of(newer)))
    assert shown(joined.adds) == with_ids(slow_replay([*older, *newer], {}))


@settings(max_examples=extent(30, 100))
@given(logs, logs, logs)
def test_what_was_superseded_is_known_of_two_stretches_put_together(
    oldest: list[list[Action]], older: list[list[Action]], newer: list[list[Action]]
) -> None:
    base = replay(table_of(oldest)).adds
    joined = after(replay(table_of(older)), replay(table_of(newer)))
    whole = slow_replay([*oldest, *older, *newer], {})
    kept = base.filter(joined.superseded.live_mask(base["path"], base["deletion_vector"]))
    assert {**shown(kept), **shown(joined.adds)} == with_ids(whole)


@looped(
    "commits, live",
    [
        ([[(False, "c", None)], [(True, "c", None)]], {}),
        ([[(False, "c", None)], [(True, "c", None)], [(False, "c", None)]], {"c": None}),
        ([[(False, "c", "p")], [(True, "c", "p"), (False, "c", "q")]], {"c": "uq"}),
        ([[(False, "c", "p")], [(False, "c", "q"), (True, "c", "p")]], {"c": "uq"}),
        ([[(False, "c", None)], [(False, "c", "p"), (True, "c", None)], [(True, "c", "p")]], {}),
        ([[(False, "c", "p")], [(True, "c", "q")]], {"c": "up"}),
        ([[(False, "c", None)], [(True, "c", "p")]], {"c": None}),
        ([[(False, "c", "p")], [(True, "c", None)]], {"c": "up"}),
        ([[(False, "c", "p@1")], [(True, "c", "p")]], {"c": "up@1"}),
        ([[(False, "a%20b", None)], [(True, "a b", None)]], {}),
        ([[(False, "/x/y", None)], [(True, "file:///x/y", None)]], {}),
        ([[(False, "c", None)], [(False, "c", None)]], {"c": None}),
        ([[(True, "c", None), (False, "c", None)]], {"c": None}),
    ],
)
def test_the_newest_reference_of_a_file_decides(commits: list[list[Action]], live: dict[str, str | None]) -> None:
    assert {key: dv for key, (dv, _) in shown(replay(table_of(commits)).adds).items()} == live


def test_live_adds_keep_the_order_of_the_log() -> None:
    commits: list[list[Action]] = [[(False, f"f{i}", None)] for i in (3, 1, 2)]
    assert replay(table_of(commits)).adds["path"].to_pylist() == ["f3", "f1", "f2"]


def test_nothing_is_superseded_by_an_empty_log() -> None:
    assert EMPTY.superseded.live_mask(pa.array(["a", "b"]), None).to_pylist() == [True, True]


def test_files_without_deletion_vectors_need_no_column_of_them() -> None:
    superseded = replay(table_of([[(True, "a", None), (False, "b", "p"), (True, "c", "p")]])).superseded
    paths = pa.array(["a", "b", "c"])
    assert superseded.live_mask(paths, None).to_pylist() == [False, False, True]
    assert superseded.live_mask(pa.chunked_array([paths]), pa.nulls(3, pa.string())).to_pylist() == [False, False, True]


@pytest.mark.parametrize(
    ("commit", "repeated"),
    [
        ([(False, "a", None), (False, "b", None), (True, "c", None), (True, "c", "p")], None),
        ([(True, "a", None), (False, "a", "p")], None),
        ([(False, "a", None), (False, "./a", "p")], "a"),
        ([(True, "a", None), (True, "a", None)], "a"),
        ([(True, "a", "p"), (False, "a", "p")], "a"),
    ],
)
def test_reconciled_actions_have_one_of_a_key(commit: list[Action], repeated: str | None) -> None:
    assert repeated_key(table_of([commit])) == repeated
