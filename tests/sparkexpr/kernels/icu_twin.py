"""ICU's order as slow Python: pyicu's collators, of the ICU that its own wheel brings."""

from functools import cache

import icu

VERSION = ".".join(icu.ICU_VERSION.split(".")[:2])


@cache
def _collator(locale: str) -> icu.Collator:
    return icu.Collator.createInstance(icu.Locale.forLanguageTag(locale))


def sort_key(locale: str, text: bytes, rtrim: bool) -> bytes:
    """The key of one text, valid or not."""
    trimmed = text.rstrip(b" ") if rtrim else text
    return bytes(_collator(locale).getSortKey(trimmed.decode("utf-8", "replace")))


def compare(locale: str, left: bytes, right: bytes, rtrim: bool) -> int:
    """-1, 0 or 1, by pyicu's own comparison."""
    a, b = ((text.rstrip(b" ") if rtrim else text).decode("utf-8", "replace") for text in (left, right))
    return int(_collator(locale).compare(a, b))


def min_max(locale: str, values: list[bytes | None], rtrim: bool) -> tuple[int, int] | None:
    """Positions of the first least and the first greatest value."""
    least = greatest = None
    for i, value in enumerate(values):
        if value is None:
            continue
        if least is None or greatest is None:
            least = greatest = i
            continue
        low, high = values[least], values[greatest]
        assert low is not None
        assert high is not None
        if compare(locale, value, low, rtrim) < 0:
            least = i
        if compare(locale, value, high, rtrim) > 0:
            greatest = i
    return None if least is None or greatest is None else (least, greatest)
