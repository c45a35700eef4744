"""Values that JSON of a log should not have: wrong types, numbers and texts beyond their range, too deep nesting."""

import json
import random
from typing import Any


class Raw(str):
    """JSON text to write as it is."""

    __slots__ = ()


_DEEP = Raw("[" * 100_000 + "]" * 100_000)
_DEEP_OBJECT = Raw('{"a":' * 100_000 + "1" + "}" * 100_000)
_DEEP_SCHEMA = '{"type":"array","containsNull":true,"elementType":' * 20_000 + '"long"' + "}" * 20_000
_NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 7,
    2**31 - 1,
    2**31,
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    10**400,
    1.5, -0.0, 1e308,
    Raw("NaN"),
    Raw("Infinity"),
    Raw("-Infinity"),
    Raw("1e999999999"),
    Raw("1" * 5000),
    Raw("1.0"),
    Raw("-"),
    Raw("1e-400"),
    Raw("01"),
)  # fmt: skip
_TEXTS: tuple[Any, ...] = (
    "", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "\ufeff", "x" * 100_000, "null", "true", "NaN", "-0", "1e400",
    "1" * 5000, "9223372036854775808", "-9223372036854775809", "1.7976931348623157e309", "../../etc/passwd", "%", "%zz",
    "%ff", "%00", "/", "//", "file:///etc/passwd", "file://host/x", "s3://bucket/x", "unknown:x", "http://[",
    "a/../../..", "🙂", "0" * 20, "!" * 20, '"', "`", "'", "{", "[", "{}", "[]", "99999-01-01", "0000-00-00",
    "2020-13-45", "2020-01-01T99:99:99Z", "infinity", "id", "name", "part", "ICU.de_DE.77.1", "SPARK.UTF8_LCASE",
    "ICU.", "..", "delta.", "true ", "interval 1", "interval 99999999999999999999 days", _DEEP_SCHEMA,
    '{"type":"struct","fields":[]}', '{"type":"struct"}',
    '{"type":"struct","fields":[{"name":"id","type":"nope","nullable":true,"metadata":{}}]}', "decimal(99,99)",
    "decimal(0,0)",
)  # fmt: skip
_OTHERS: tuple[Any, ...] = (
    None, True, False,
    [],
    {},
    [[]],
    [None],
    {"": None},
    [{}],
    {"a": 1},
    _DEEP, _DEEP_OBJECT,
    [1, "a"],
)  # fmt: skip


def hostile(rng: random.Random) -> Any:
    """One of the values."""
    return rng.choice(rng.choice((_NUMBERS, _TEXTS, _TEXTS, _OTHERS)))


def dumped(value: Any) -> str:
    """JSON text with raw parts; objects as lists of pairs keep a key twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{dumped(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value)
