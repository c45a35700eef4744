"""Leaves come out of JSON texts as the plain twin takes them, and a text that is cut gives none."""

import contextlib
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.kernels.commit_json import CommitSyntaxError, parse_commits
from deltaskip.kernels.stats_json import count_comparisons, extract_double, extract_int64, extract_leaves
from tests.extent import extent, some
from tests.kernels import json_twin as twin
from tests.kernels.json_twin import INVALID, MISSING, NUMBER, Number, spell
from tests.looped import looped

keys = st.sampled_from(["a", "b", "minValues", 'q"\\', "\u00fc\U0001f600", "", "a\n"])
texts = st.text(st.characters(), max_size=80) | st.sampled_from(["", "}", '"{', "\ud800x", "[\\" * 40])
numbers = st.builds(
    Number,
    st.sampled_from(["0", "-0", "-0.0", "12.0", "NaN", "Infinity", "-Infinity", "1e400", "1e-400", "9007199254740993"])
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**64), 2**64).map(str)
    | st.from_regex(r"-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,22})?([eE][-+]?[0-9]{1,3})?", fullmatch=True).map(str),
)
scalars = st.none() | st.booleans() | numbers | texts
objects = st.recursive(scalars, lambda inner: st.lists(st.tuples(keys, inner), max_size=5).map(tuple), max_leaves=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(keys, inner), max_size=5).map(tuple),
    max_leaves=25,
)
paths = st.lists(st.lists(keys, min_size=1, max_size=3).map(tuple), min_size=1, max_size=5)


def spelled(values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return st.tuples(values, st.integers(0, 2**32)).map(lambda v: spell(v[0], random.Random(v[1])))


def arrow(rows: list[str | None], large: bool = False) -> pa.Array:
    """The texts behind an offset, as a slice has them."""
    return pa.array(['{"a":', *rows, "tail"], pa.large_string() if large else pa.string())[1:-1]


def assert_like_twin(rows: list[str | None], wanted: list[tuple[str, ...]], large: bool = False) -> None:
    leaves = extract_leaves(arrow(rows, large), wanted)
    assert len(leaves) == len(wanted)
    for path, leaf in zip(wanted, leaves, strict=True):
        leaf.text.validate(full=True)
        found = list(zip(leaf.kind.to_pylist(), leaf.text.to_pylist(), strict=True))
        assert found == [twin.leaf(row, path) for row in rows]


@settings(max_examples=extent(40, 100))
@given(st.lists(st.none() | spelled(values), max_size=6), paths, st.booleans())
def test_leaves_are_as_the_twin_takes_them(rows: list[str | None], wanted: list[tuple[str, ...]], large: bool) -> None:
    assert_like_twin(rows, wanted, large)


@settings(max_examples=extent(25, 100))
@given(st.lists(spelled(st.lists(st.tuples(st.just("a"), numbers), max_size=2).map(tuple)), max_size=6))
def test_numbers_come_out_as_longs_and_doubles(rows: list[str]) -> None:
    expected = [twin.leaf(row, ("a",)) for row in rows]
    ((longs, long_kinds),) = extract_int64(arrow([*rows]), [("a",)])
    ((doubles, double_kinds),) = extract_double(arrow([*rows]), [("a",)])
    assert long_kinds.to_pylist() == double_kinds.to_pylist() == [kind for kind, _ in expected]
    assert longs.to_pylist() == [None if text is None else twin.believed_integral(text) for _, text in expected]
    for (_, text), found in zip(expected, doubles.to_pylist(), strict=True):
        if text is None:
            assert found is None
        else:
            assert (repr(found), math.copysign(1, found)) == (repr(float(text)), math.copysign(1, float(text)))


DAMAGES = ["", '"', "\\", "}", ",", "\n", "0", "\0", "-"]


@given(spelled(objects), st.data())
def test_damage_outside_skipped_values_makes_every_leaf_of_the_row_invalid(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.sampled_from([0, 1, 2, 30]))
    damaged = text[:at] + data.draw(st.sampled_from(DAMAGES)) + text[at + length :]
    wanted = data.draw(paths)
    leaves = extract_leaves(arrow([damaged, text]), wanted)
    assert [leaf.kind.to_pylist()[1] for leaf in leaves] == [twin.leaf(text, path)[0] for path in wanted]
    kinds = {leaf.kind.to_pylist()[0] for leaf in leaves}
    assert INVALID not in kinds or kinds == {INVALID}
    if twin.leaf(damaged, ("a",))[0] != INVALID or damaged.count("{") + damaged.count("[") < 2:
        assert_like_twin([damaged], wanted)


SAMPLE = (
    '{"numRecords":3,"minValues":{"s":"ä\\"}\\\\","n":-1.5e3,"deep":{"x":[1,{"y":"]"}],"z":"\\u00e9"}},'
    '"maxValues":{"s":"{[","n":NaN,"deep":{"x":null}},"nullCount":{"s":0,"n":1,'
    '"deep":{"x":2,"pad":"' + "x" * 150 + '"}},"tightBounds":true}'
)


@looped(
    "end, wanted",
    itertools.product(
        range(len(SAMPLE)), [[("numRecords",)], [("minValues", "deep", "z"), ("nullCount", "n"), ("none",)]]
    ),
)
def test_a_text_that_is_cut_gives_no_leaf(end: int, wanted: list[tuple[str, ...]]) -> None:
    for leaf in extract_leaves(pa.array([SAMPLE[:end]]), wanted):
        assert leaf.kind.to_pylist() == [INVALID]
        assert leaf.text.null_count == 1
    for values, kinds in extract_int64(pa.array([SAMPLE[:end], SAMPLE]), wanted):
        assert kinds.to_pylist()[0] == INVALID != kinds.to_pylist()[1]
        assert values.is_valid().to_pylist()[0] is False


def test_the_whole_sample_gives_its_leaves() -> None:
    minima = [("minValues", "s"), ("minValues", "deep", "z"), ("minValues", "deep")]
    leaves = extract_leaves(pa.array([SAMPLE]), [*minima, ("maxValues", "n"), ("tightBounds",)])
    assert [leaf.text.to_pylist() for leaf in leaves] == [['ä"}\\'], ["é"], [None], ["NaN"], ["true"]]
    assert [leaf.kind.to_pylist() for leaf in leaves] == [[2], [2], [5], [3], [4]]


@pytest.mark.parametrize(
    "text",
    [
        '{"m":{"a":1,"a":1}}', '{"m":{"a":1},"m":{"b":2}}', '{"m":{"a":1},"m":null}', '{"m":7,"m":{"a":1}}',
        '{"m":{"a":1},"\\u006d":{"a":1}}',
    ],
)  # fmt: skip
def test_a_leaf_below_a_repeated_key_counts_as_missing(text: str) -> None:
    (leaf,) = extract_leaves(pa.array([text, '{"m":{"a":1}}']), [("m", "a")])
    assert leaf.kind.to_pylist() == [MISSING, NUMBER]
    assert leaf.text.to_pylist() == [None, "1"]


def wide_text(columns: int, first: int = 0) -> str:
    return json.dumps({"minValues": {f"c{k}": k for k in range(first, columns)}, "nullCount": {}})


@pytest.mark.parametrize("step", [1, 2, 500])
def test_wide_objects_give_their_leaves(step: int) -> None:
    paths = [("minValues", f"c{k}") for k in range(0, 2000, step)]
    rows = [wide_text(2000), wide_text(1000), wide_text(2000, 700), None, wide_text(2000)]
    leaves = extract_int64(pa.array(rows), paths)
    for (_, name), (values, _) in zip(paths, leaves, strict=True):
        k = int(name[1:])
        upper = k if k < 1000 else None
        assert values.to_pylist() == [k, upper, k if k >= 700 else None, None, k]


@pytest.mark.parametrize("wanted", [1, 100, 2000, 4000])
def test_the_work_on_a_key_does_not_grow_with_the_keys_wanted(wanted: int) -> None:
    texts = pa.array([wide_text(2000)] * 10)
    paths = [("minValues", f"c{k}") for k in range(wanted)]
    assert count_comparisons(texts, paths) < 3 * (2000 * len(texts) + wanted)


@pytest.mark.parametrize("depth", [400, 512, 513, 5000])
@pytest.mark.parametrize("key", ["wanted", "unwanted"])
def test_nesting_is_bounded(depth: int, key: str) -> None:
    text = f'{{"{key}":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    assert_like_twin([text], [("wanted",)])


def test_a_path_as_deep_as_can_be_is_followed() -> None:
    path = ("k",) * 511
    (leaf,) = extract_leaves(pa.array(['{"k":' * 511 + "7" + "}" * 511]), [path])
    assert leaf.text.to_pylist() == ["7"]


@pytest.mark.parametrize("paths", [[()], [("k",) * 513]])
def test_paths_without_keys_or_with_too_many_are_refused(paths: list[tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="1 to 512 keys"):
        extract_leaves(pa.array(["{}"]), paths)


def test_the_same_path_may_be_asked_for_twice() -> None:
    first, second = extract_leaves(pa.array(['{"a":"x"}']), [("a",), ("a",)])
    assert first.text.equals(second.text)


@pytest.mark.parametrize("stats", [pa.array([], pa.string()), pa.array([None], pa.large_string())])
def test_no_text_gives_no_value(stats: pa.Array) -> None:
    ((values, kinds),) = extract_int64(stats, [("a",)])
    assert values.null_count == len(values) == len(stats)
    assert kinds.to_pylist() == [MISSING] * len(stats)


def test_a_text_that_is_not_utf8_is_invalid_where_it_is_looked_at() -> None:
    stats = pa.array([b'{"a":"\xff"}', b'{"a":"x"}'])
    (leaf,) = extract_leaves(stats, [("a",)])
    assert leaf.kind.to_pylist() == [INVALID, 2]


def test_statistics_of_the_corpus_come_out_as_the_twin_takes_them(shared: Path) -> None:
    files = sorted((shared / "tables" / "tables").glob("*/_delta_log/*.json"))
    texts: set[str] = set()
    for file in files:
        with contextlib.suppress(CommitSyntaxError):  # the corpus has damaged commits too
            texts.update(parse_commits(file.read_bytes(), [0], ("stats",)).files["stats"].drop_null().to_pylist())
    assert len(texts) > 500
    wanted: set[tuple[str, ...]] = {("numRecords",), ("tightBounds",), ("minValues",)}
    for text in texts:
        for group in ("minValues", "maxValues", "nullCount"):
            wanted.update((group, key) for key in json.loads(text).get(group) or ())
    assert_like_twin(some(sorted(texts), 100), some(sorted(wanted), 60))
