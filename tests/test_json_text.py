"""JSON that others wrote."""

import json

import pytest

from deltaskip.json_text import parse_json


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "nul", "01", "[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000,
        "1" * 5000, "-", '"\\ud8"', "\0", b"\xff", b"\xed\xa0\x80", b"\x00\xd8", '{"a":1}x',
    ],
    ids=lambda text: str(text[:20]),
)  # fmt: skip
def test_text_without_a_value_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"\\ud800"', "\ufffd"),
        ('"a\\udfff\\ud800b"', "a\ufffd\ufffdb"),
        ('"\\ud83d\\ude42"', "🙂"),
        (b'{"\\uD800": ["\\ud83d\\ude42", {"x": "\\uDC00"}]}', {"\ufffd": ["🙂", {"x": "\ufffd"}]}),
        ('"\ud800"', "\ufffd"),
        ('"\\\\ud800"', "\\ud800"),
        ('"ü\\u00e9"', "üé"),
    ],
)
def test_a_lone_surrogate_is_the_replacement_character(text: str | bytes, value: object) -> None:
    assert parse_json(text) == value
    json.dumps(parse_json(text), ensure_ascii=False).encode()


def test_options_are_those_of_the_standard_library() -> None:
    assert parse_json("[1, 1.50]", parse_int=str, parse_float=str) == ["1", "1.50"]
