"""Number formats such as `$99,999.00S`, for to_char and to_number.

# Spark 4.1, ToNumberParser.scala
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.types.data_types import DecimalType

_TOKENS = regex(r"[09]+|[.D]|[,G]|\$|S|MI|PR", re.DOTALL)
_MOST_DIGITS = 38
# The ASCII characters that are white space in Java.
_SPACES = r"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_BLANK = regex(f"[{_SPACES}]+")
_GROUPED = regex(f"[0-9,{_SPACES}]*")


@dataclass(frozen=True, slots=True)
class _Digits:
    """Up to `count` digits, or exactly `count` digits."""

    count: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Digits and the separators (None) between them."""

    tokens: tuple[_Digits | None, ...]

    @property
    def digits(self) -> list[_Digits]:
        return [token for token in self.tokens if token is not None]

    @property
    def count(self) -> int:
        """The number of digits."""
        return sum(token.count for token in self.digits)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format. Its tokens are groups of digits, and ".", "$", "S", "MI", "<" and ">"."""

    tokens: tuple[_Group | str, ...]
    whole: int
    scale: int

    @property
    def type(self) -> DecimalType:
        """The type of the numbers that are read."""
        return DecimalType(self.whole + self.scale, self.scale)

    def read(self, text: str) -> Decimal | None:
        """The number that a string in this format represents; None if the string does not match the format."""
        if not text.isascii():
            raise Undecided(f"The number in {shown(text)} is left to Spark: it is not ASCII.")
        reading = _NumberText(text)
        for token in self.tokens:
            if not (reading.group(token) if isinstance(token, _Group) else reading.sign(token)):
                return None
        if reading.at < len(text) or reading.opened != reading.closed or not (reading.whole or reading.part):
            return None
        if len(reading.whole.lstrip("0")) > self.whole:
            raise Undecided(f"The number in {shown(text)} is left to Spark: it has more digits than its type.")
        figures = (reading.whole + reading.part.ljust(self.scale, "0")).lstrip("0") or "0"
        return Decimal((int(reading.negative and figures != "0"), tuple(map(int, figures)), -self.scale))

    def written(self, number: Decimal) -> str:
        """The number as a string. If the format has too few digits, every digit becomes `#`."""
        before, _, after = f"{number.copy_abs():f}".partition(".")
        before, after = before.lstrip("0"), after.rstrip("0")
        if len(before) > self.whole or len(after) > self.scale:
            before, after = "#" * self.whole, "#" * self.scale
        writing = _Writing(number < 0, before.rjust(self.whole), after.ljust(self.scale, "0"))
        for token in self.tokens:
            if isinstance(token, _Group):
                writing.group(token)
            else:
                writing.sign(token)
        writing.strip_point()
        text = "".join(writing.found)
        return text if text not in ("", "+", "-") else "0"


class _NumberText:
    """Reads a string by the tokens of a format."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.whole = self.part = ""
        self.negative = self.pointed = self.opened = self.closed = False

    def sign(self, token: str) -> bool:
        """Read a token other than digits; return whether the string matches the format up to this token."""
        character = self.text[self.at : self.at + 1]
        wanted = {".": ".", "$": "$", "S": "+-", "MI": "-", "<": "<", ">": ">"}[token]
        if not character or character not in wanted:
            # Only the dollar sign is required, unless the string has ended.
            return token != "$" or not character
        self.at += 1
        match token:
            case ".":
                self.pointed = True
            case "S" | "MI":
                self.negative ^= character == "-"
            case "<":
                self.opened = True
            case ">":
                if not self.opened:
                    return False
                self.closed = True
                self.negative = not self.negative
        return True

    def group(self, group: _Group) -> bool:
        """Read a group of digits; return whether the digits between the separators fit the format."""
        found = _GROUPED.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        figures = [_BLANK.sub("", each) for each in found[0].split(",")]
        if self.pointed:
            self.part += "".join(figures)
        else:
            self.whole += "".join(figures)
        sizes = [len(each) for each in figures]
        wanted = group.digits[::-1]
        sizes.reverse()
        if len(sizes) > len(wanted):
            return False
        sizes += [0] * (len(wanted) - len(sizes))
        return all(
            size == digits.count if digits.exact else size <= digits.count
            for size, digits in zip(sizes, wanted, strict=True)
        )


class _Writing:
    """Writes a number by the tokens of a format."""

    def __init__(self, negative: bool, before: str, after: str) -> None:
        self.negative = negative
        self.found: list[str] = []
        self.before = iter(before)
        self.after = iter(after)
        self.pointed = False

    def sign(self, token: str) -> None:
        """Write a token other than digits."""
        match token:
            case ".":
                if self.found and self.found[-1] == " ":
                    self.found[-1] = "0"
                self.found.append(".")
                self.pointed = True
            case "$":
                self.found.append("$")
            case "S":
                self.strip_point()
                self.before_spaces("-" if self.negative else "+")
            case "MI" if self.negative:
                self.strip_point()
                self.before_spaces("-")
            case "MI":
                self.found.append(" ")
            case "<":
                self.found += ["<"] if self.negative else []
            case _:
                self.strip_point()
                if self.negative:
                    self.before_spaces(">")
                else:
                    self.found += "  "

    def group(self, group: _Group) -> None:
        for token in group.tokens:
            if token is None:
                if self.found and self.found[-1].isdigit():
                    self.found.append(",")
                else:
                    self.space()
                continue
            for _ in range(token.count):
                character = next(self.after if self.pointed else self.before)
                if character != " ":
                    self.found.append(character)
                elif token.exact:
                    self.found.append("0")
                else:
                    self.space()

    def before_spaces(self, character: str) -> None:
        """Write a character before the spaces at the end."""
        at = len(self.found)
        while at and self.found[at - 1] == " ":
            at -= 1
        self.found.insert(at, character)

    def space(self) -> None:
        """Write a space before the signs at the end."""
        at = len(self.found)
        while at and self.found[at - 1] in "+-<":
            at -= 1
        self.found.insert(at, " ")

    def strip_point(self) -> None:
        """Replace a decimal point without digits after it by a space."""
        if "." in self.found:
            at = self.found.index(".")
            if self.found[at + 1 : at + 2] in ([], [" "]):
                self.found[at] = " "


@lru_cache(maxsize=256)
def number_format(text: str) -> NumberFormat | None:
    """The parsed format; None if Spark refuses it, or only Spark can use it."""
    if not text.isascii():
        return None
    upper = text.upper()
    raw = _TOKENS.findall(upper)
    if "".join(raw) != upper:
        return None
    tokens: list[_Group | str] = []
    group: list[_Digits | None] = []
    pointed = False
    for token in raw:
        if token[0] in "09":
            group.append(_Digits(len(token), token[0] == "0" and not pointed))
        elif token in ",G":
            group.append(None)
        else:
            tokens += [_Group(tuple(group))] if group else []
            group = []
            pointed |= token in ".D"
            if token == "PR":
                tokens.insert(0, "<")
            tokens.append(">" if token == "PR" else "." if token == "D" else token)
    tokens += [_Group(tuple(group))] if group else []
    return _checked(tuple(tokens))


def _checked(tokens: tuple[_Group | str, ...]) -> NumberFormat | None:
    order = "".join("9" if isinstance(token, _Group) else token[0] for token in tokens)
    if not re.fullmatch(r"<?[SM]?\$?9?\.?9?\$?[SM>]?", order) or "9" not in order:
        return None
    if any(order.count(sign) > 1 for sign in ".SM$") or "$" in order[order.index("9") :]:
        return None
    point = order.find(".")
    if "$" in order and 0 <= point < order.index("$"):
        return None
    whole = scale = 0
    for at, token in enumerate(tokens):
        if not isinstance(token, _Group):
            continue
        after = 0 <= point < at
        pairs = zip((None, *token.tokens), (*token.tokens, None), strict=True)
        if (after and None in token.tokens) or (None, None) in pairs:
            return None
        whole, scale = (whole, scale + token.count) if after else (whole + token.count, scale)
    return NumberFormat(tokens, whole, scale) if whole + scale <= _MOST_DIGITS else None
