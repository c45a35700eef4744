"""Steps of strings: prefixes, constants before or after, and results that determine the beginning of their argument.

In UTF-8 order, the strings that start with p are the span [p, successor of p). If the result is a prefix of the
argument x, or x is a prefix of the result:

* f(x) = x up to one of several strings, or all of x. f(x) <= x gives x >= a for f(x) >= a. If f(x) < b but x >= b,
  f(x) is a prefix of b, and x starts with it and one of the strings.
* x is a prefix of f(x), and x <= f(x) gives x < b for f(x) < b. If f(x) >= a but x < a, x is a prefix of a.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages import steps
from deltaskip.sparkexpr.preimages.monotone import injective, truth
from deltaskip.sparkexpr.preimages.ordinals import Domain, Spans, domain_of, following, ordinal_of, span_of_prefix
from deltaskip.sparkexpr.regex import beginning_of
from deltaskip.sparkexpr.types.data_types import STRING

TEXTS = domain_of(STRING) or Domain(b"", b"\xff")
ASCII_IN_ANOTHER_CASE = (
    "\u0130\u212a\xdf\u0131\u017f\u01f0\u1e96\u1e97\u1e98\u1e99\u1e9a\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"
)
"""All characters beyond ASCII whose lower or upper case begins with an ASCII letter."""

# For longer bounds, the set is widened instead of extended by every prefix.
_MOST_BYTES = 200


def left_part(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `left(text, length)`."""
    match call:
        case Call("left", (operand, Literal(int() as length)), type_) if length > 0 and type_ == STRING:
            return operand, (steps.Prefix(TEXTS, length),)
    return None


def substring_steps(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `substring(text, 1, length)` and `substring(text, 1)`."""
    if call.type != STRING:
        return None
    match call.args:
        case (operand, Literal(0 | 1), Literal(int() as length)) if length > 0:
            return operand, (steps.Prefix(TEXTS, length),)
        case (operand, Literal(0 | 1)):
            return operand, ()
    return None


def concatenated(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `concat` of constants around one operand, or of constants before the first operand."""
    if call.type != STRING:
        return None
    first = next((place for place, arg in enumerate(call.args) if not isinstance(arg, Literal)), None)
    if first is None or type_of(call.args[first]) != STRING:
        return None
    texts = [arg.value if isinstance(arg, Literal) else "" for arg in call.args]
    if not all(isinstance(text, str) for text in texts):
        return None
    before = steps.Prepend(TEXTS, "".join(map(str, texts[:first])).encode())
    rest = call.args[first + 1 :]
    behind = "".join(map(str, texts[first + 1 : len(texts) - len(_without_constants(rest))])).encode()
    if _without_constants(rest):
        return call.args[first], (before, _followed(behind)) if before.text else (_followed(behind),)
    if not behind:
        return call.args[first], (before,)
    cut = steps.Invertible(TEXTS, TEXTS, lambda text: text[: -len(behind)] if text.endswith(behind) else None)
    return call.args[first], (cut, before)


def _without_constants(args: Sequence[Node]) -> Sequence[Node]:
    """The arguments without the constants at the beginning."""
    return args[next((place for place, arg in enumerate(args) if not isinstance(arg, Literal)), len(args)) :]


def start_of(at: int = 0, least: int | None = None) -> steps.Preimage:
    """Return the preimage of a function whose result is the argument `at` followed by any text.

    least: If given, the next argument must be a constant of at least this value.
    """

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        if len(call.args) <= at or call.type != STRING or type_of(call.args[at]) != STRING:
            return None
        if least is not None:
            match call.args[at + 1]:
                case Literal(int() as number) if number >= least:
                    pass
                case _:
                    return None
        return call.args[at], (_followed(b""),)

    return inverted


def _followed(behind: bytes) -> steps.Enclosed:
    """The step of a function whose result is the argument, or begins with the argument and `behind`."""

    def around(low: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        if len(low) > _MOST_BYTES:
            yield low[:0], stop
            return
        single = stop == following(low)
        if not (single and behind):
            yield low, stop
        for length in range(len(low)):
            if not single or low[length:].startswith(behind):
                yield low[:length], following(low[:length])

    return steps.Enclosed(TEXTS, around)


def up_to_delimiter(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `split_part(text, delimiter, 1)` and `substring_index(text, delimiter, count)`."""
    match call:
        case Call("split_part", (operand, Literal(str() as delimiter), Literal(1))) if delimiter:
            pass
        case Call("substring_index", (operand, Literal(str() as delimiter), Literal(int() as count))):
            if count < 1 or not delimiter:
                return None
        case _:
            return None
    return operand, (_up_to([delimiter.encode()]),)


def trimmed_steps(at_start: bool, at_end: bool, text_first: bool) -> steps.Preimage:
    """Return the preimage of `trim`, `ltrim`, `rtrim` and `btrim` for blanks or constant characters."""

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        operand, characters = call.args[0], " "
        if len(call.args) > 1:
            operand, given = call.args if text_first else call.args[::-1]
            if not isinstance(given, Literal) or not isinstance(given.value, str):
                return None
            characters = given.value
        removed = [character.encode() for character in dict.fromkeys(characters)]
        return operand, (_up_to(removed if at_end else (), removed if at_start else ()),)

    return inverted


def _up_to(ends: Sequence[bytes], left_out: Sequence[bytes] = ()) -> steps.Enclosed:
    """The step of a function whose result is its argument up to one of the strings `ends`, or all of its argument.

    An argument that begins with a string of `left_out` may have any result.
    """

    def around(low: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        yield from map(span_of_prefix, left_out)
        if len(stop) > _MOST_BYTES:
            yield low, TEXTS.stop
            return
        yield low, stop
        for length in range(len(stop)):
            if ends and stop[:length] >= low:
                yield from (span_of_prefix(stop[:length] + end) for end in ends)

    return steps.Enclosed(TEXTS, around)


def extreme(greatest: bool) -> steps.Preimage:
    """Return the preimage of `greatest` or `least` with one operand and constants."""

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        operands = [arg for arg in call.args if not isinstance(arg, Literal)]
        domain = domain_of(call.type)
        if len(operands) != 1 or domain is None or call.type is None:
            return None
        known = [arg.value for arg in call.args if isinstance(arg, Literal) and arg.value is not None]
        limits = [ordinal_of(call.type, value) for value in known]
        if None in limits:
            return None
        if not limits:
            return operands[0], (steps.Enclosed(domain, lambda low, stop: ((low, stop),), exact=True),)
        limit = max(limits) if greatest else min(limits)
        below, above = (domain.low, following(limit)), (limit, domain.stop)

        def around(low: Any, stop: Any) -> Iterator[tuple[Any, Any]]:
            if low <= limit < stop:
                yield below if greatest else above
            beyond = above if greatest else below
            yield max(low, beyond[0]), min(stop, beyond[1])

        return operands[0], (steps.Enclosed(domain, around, exact=True),)

    return inverted


def matched(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `rlike(text, pattern)` if the pattern requires a prefix."""
    match call.args:
        case (operand, Literal(str() as pattern)) if beginning := beginning_of(pattern):
            return operand, (truth(TEXTS, (span_of_prefix(beginning.encode()),)),)
    return None


def found_at(text: int, part: int) -> steps.Preimage:
    """Return the preimage of the position of a constant in a string. It is 1 if the string begins with the constant."""

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        wanted = call.args[part]
        if len(call.args) != 2 or not isinstance(wanted, Literal) or not isinstance(wanted.value, str):
            return None
        begins = span_of_prefix(wanted.value.encode())
        return call.args[text], (
            steps.Enclosed(TEXTS, lambda low, stop: (begins,) if low >= 1 and stop <= 2 else TEXTS.all),
        )

    return inverted


def found_in_set(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `find_in_set(word, words)` with constant `words`."""
    match call.args:
        case (operand, Literal(str() as words)):
            parts = [word.encode() for word in words.split(",")]
        case _:
            return None

    def around(low: int, stop: int) -> Spans:
        if low <= 0:
            return TEXTS.all
        return tuple((part, following(part)) for part in parts[low - 1 : stop - 1])

    return operand, (steps.Enclosed(TEXTS, around),)


def _of_first(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    def first(code: int) -> bytes:
        """The least string whose first character has the code."""
        if code <= 0:
            return b""
        if code > 0x10FFFF:
            return b"\xff"
        return chr(0xE000 if 0xD800 <= code < 0xE000 else code).encode()

    return call.args[0], (steps.Enclosed(TEXTS, lambda low, stop: ((first(low), first(stop)),), exact=True),)


FIRST_CHARACTER: steps.Preimage = _of_first
"""The preimage of `ascii`, the code of the first character, or 0 for an empty string."""

REVERSED: steps.Preimage = injective(lambda text, call: text[::-1])
"""The preimage of `reverse`."""


@cache
def _sources(upper: bool) -> dict[int, tuple[bytes, ...]]:
    """For each ASCII character that a case conversion yields, the characters that become it."""
    found: dict[int, list[bytes]] = {code: [] for code in range(128)}
    for text in (*map(chr, range(128)), *ASCII_IN_ANOTHER_CASE):
        first = ord((text.upper() if upper else text.lower())[0])
        if first < 128:
            found[first].append(text.encode())
    return {code: tuple(sources) for code, sources in found.items()}


def cased_text(upper: bool) -> steps.Preimage:
    """Return the preimage of `lower` or `upper`, by the ASCII characters at the beginning of the result."""

    def around(low: bytes, stop: bytes) -> Spans:
        common = 0
        last = low if stop in (following(low), span_of_prefix(low)[1]) else stop
        while common < min(len(low), len(last), 3) and low[common] == last[common] < 128:
            common += 1
        if not common:
            return TEXTS.all
        heads: list[bytes] = [b""]
        done: list[bytes] = []
        for code in low[:common]:
            longer: list[bytes] = []
            for source in _sources(upper)[code]:
                # A character that is not ASCII may become several characters.
                (longer if len(source) == 1 else done).extend(head + source for head in heads)
            heads = longer
        return tuple(map(span_of_prefix, (*heads, *done)))

    def inverted(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
        return call.args[0], (steps.Enclosed(TEXTS, around),)

    return inverted
