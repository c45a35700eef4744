"""Text for people, in which no character of a name controls a terminal or changes the order of the others.

Names in a table can contain any character. Results, messages, warnings, labels and the output of the command line pass
`printable`. No other module decides which characters are escaped.
"""

from __future__ import annotations

from deltaskip.lazy_regex import regex

# Control characters, marks and overrides of the direction of text, separators of lines, invisible characters that are
# not part of a script, and surrogates, which no encoding accepts.
_HIDDEN = regex(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


LINES = "\n\t"
"""The characters that texts of several lines keep."""


def printable(text: str, keep: str = "") -> str:
    r"""Return text with escapes such as `\x1b` for control characters, except those in `keep`, and the like."""
    return _HIDDEN.sub(lambda found: found[0] if found[0] in keep else repr(found[0])[1:-1], text)


def printable_json(text: str) -> str:
    """Return JSON with the same value, in which such characters of strings are escaped."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}" if ord(found[0]) < 0x10000 else found[0], text)
