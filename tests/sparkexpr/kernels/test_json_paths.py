"""Values at the end of paths in JSON: those that the evaluator of one row finds, or the text is left to it."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.kernels.json_paths import parts, texts_at
from deltaskip.sparkexpr.nodes import Call
from deltaskip.sparkexpr.values.calendar import zone_of
from tests.each import refuses
from tests.extent import extent

NAMES = ("a", "b", "", "\u00e9", 'q"')
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(-1000, 1000, places=3).map(float)
    | st.text('ab"\\/\n\u00e9\U0001f600\x7f', max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)
PATHS = st.lists(st.sampled_from((*NAMES[:2], "\u00e9")) | st.integers(0, 2), max_size=3)
FORMS = ((",", ":"), (" , ", " : "), (",\n", ":\t"))
ODD = (
    '{"a":1,"a":2}', '{"a":null,"a":2}', '{"a":{"b":1},"a":{"a":2}}', '{"a":-0}', '{"a":-0.0}', '{"a":1.50}',
    '{"a":0.001}', '{"a":0.0001}', '{"a":12345678.5}', '{"a":1e3}', '{"a":"\\u0041"}', '{"\\u0061":1}', '{"a":01}',
    '{"a":1}x', '[1] 2', "1 2", "1x", "", " ", "{", '{"a"', '{"a":', '{"a":1', "[", "[1", "[1,", "[1,]", "{,}",
    "{'a':1}", '{"a":NaN}', '{"a":\x01}', '{"a":"\x01"}', "\ufeff{}", '{"a":' + "[" * 70 + "]" * 70 + "}", "null",
    '{"a":' + "1" * 401 + "}", '"a"', "[null]", '{"a":[1, 2.0, {"b" : "x y"}]}', '{"a":123456789012345.25}',
)  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(ODD))
    text = json.dumps(draw(VALUES), separators=draw(st.sampled_from(FORMS)), ensure_ascii=draw(st.booleans()))
    cut = draw(st.integers(0, 12))
    return text[:cut] + text[cut + 1 :] if draw(st.integers(0, 4)) == 0 else text


def alone(name: str, *args: Any) -> Any:
    return FUNCTIONS[name].compute(args, Call(name, ()), zone_of("UTC"))


def path_of(steps: list[str | int]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in steps)


@given(st.lists(st.none() | texts(), max_size=5), PATHS, st.integers(0, 3))
@example(list(ODD), [], 0)
@example(list(ODD), ["a"], 0)
@example(list(ODD), ["a", 2, "b"], 0)
@example(list(ODD), [0], 0)
def test_values_at_the_end_of_a_path(given_texts: list[str | None], steps: list[str | int], start: int) -> None:
    names = pa.array([b"" if isinstance(step, int) else step.encode() for step in steps], pa.binary())
    indices = pa.array([step if isinstance(step, int) else -1 for step in steps], pa.int64())
    array = pa.array([None] * start + given_texts, pa.string())[start:]
    found, kinds = texts_at(array, names, indices)
    found.validate(full=True)
    for text, value, kind in zip(given_texts, found.to_pylist(), kinds.to_pylist(), strict=True):
        if text is None:
            assert (value, kind) == (None, 0)
        elif kind != 255:
            assert value == alone("get_json_object", text, path_of(steps)), text


def test_common_texts_are_not_left() -> None:
    values = [{"a": number, "b": {"c": f"x{number}", "d": [1, 2.5, None]}} for number in range(extent(50, 1))]
    array = pa.array([json.dumps(value) for value in values])
    for steps in (["a"], ["b"], ["b", "c"], ["b", "d", 1], ["z"]):
        names = pa.array([b"" if isinstance(step, int) else step.encode() for step in steps], pa.binary())  # type: ignore[attr-defined]
        indices = pa.array([step if isinstance(step, int) else -1 for step in steps], pa.int64())
        found, kinds = texts_at(array, names, indices)
        assert 255 not in kinds.to_pylist()
        assert found.to_pylist() == [alone("get_json_object", text, path_of(steps)) for text in array.to_pylist()]


@given(st.lists(st.none() | texts(), max_size=5), st.integers(0, 3))
@example(list(ODD), 1)
@example(['{"a":[1,"x\\n",{"b":null}],"":{}, "\u00e9" : 2.50}', "[[],{},null,true,-1]", "{}", "[]"], 0)
def test_what_is_in_objects_and_arrays(given_texts: list[str | None], start: int) -> None:
    """The texts of containers read as JSON are what Python reads; strings are without quotes."""
    array = pa.array([None] * start + given_texts, pa.string())[start:]
    for containers in range(3):
        counts, names, values, value_kinds, kinds = parts(array, containers)
        for each in (counts, names, values, value_kinds, kinds):
            each.validate(full=True)
        of_parts = zip(names.to_pylist(), values.to_pylist(), value_kinds.to_pylist(), strict=True)
        for text, count, kind in zip(given_texts, counts.to_pylist(), kinds.to_pylist(), strict=True):
            if text is None or kind == 255:
                assert count is None and kind == (0 if text is None else 255)
                continue
            whole, _ = json.JSONDecoder(object_pairs_hook=tuple).raw_decode(text.lstrip(" \t\r\n"))
            assert (kind == 5) == isinstance(whole, tuple)
            wanted = list(whole) if kind == 5 else [("", each) for each in whole]
            found = [next(of_parts) for _ in range(count)]
            assert [name for name, _, _ in found] == [name for name, _ in wanted]
            for (_, value, value_kind), (_, each) in zip(found, wanted, strict=True):
                if isinstance(each, str):
                    assert (value, value_kind) == (each, 1)
                elif isinstance(each, list | tuple):
                    assert value_kind == (5 if isinstance(each, tuple) else 6)
                    assert containers > 0 or value == ""
                    assert containers == 0 or json.loads(value, object_pairs_hook=tuple) == each
                else:
                    assert json.loads(value) == each and type(json.loads(value)) is type(each)
        assert next(of_parts, None) is None


def test_steps_that_do_not_fit_are_refused() -> None:
    text = pa.array(["{}"])
    refuses(ValueError, "length", texts_at, text, pa.array([b"a"]), pa.array([], pa.int64()))
    refuses(TypeError, None, texts_at, text, pa.array([b"a"]), pa.array([1], pa.int32()))
    refuses(EvaluationError, None, alone, "get_json_object", '{"a":1}', "$ a")
