"""Calls of the functions of one family, for the grid of edges (tests/sparkexpr/edges.py)."""

from deltaskip.sparkexpr import types as t

_CHARSETS = ("UTF-8", "us-ascii", "ISO-8859-1", "UTF-16", "utf-16be", "UTF-16LE", "UTF-32", "latin1")
_COUNTS = ("0", "1", "-1", "2", "3", "2147483647", "-2147483648")

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "initcap": ("initcap({c})", "initcap(concat('a b', {c}))"),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), ("{0}({c})", "{0}('a7', {c})", "{0}({c}, 'a7a')", "{0}('', {c})",
        "{0}('\u00e9x', {c})")),
    "btrim": ("btrim({c})", "btrim({c}, 'a7')", "btrim('a7a', {c})"),
    "overlay": (
        *(f"overlay({{c}}, 'XY', {k})" for k in _COUNTS),
        *(f"overlay({{c}}, 'X', {k})" for k in ("2, 0", "2, 1", "1, -3", "2, 2147483647", "-2147483648, 5")),
        "overlay('abcd', {c}, 2)",
        "overlay('abcd', {c}, 2, 1)",
        "overlay('abcd', 'X', {c})",
        "overlay('abcd', 'X', 2, {c})",
        "overlay({c}, x'5859', 2)",
        "overlay({c}, x'58', -1, 0)",
    ),
    "locate": tuple(f"locate({k})" for k in ("'a', {c}", "{c}, 'a'", "'', {c}", "'\U0001f600', {c}", "'a', {c}, 2",
        "'a', {c}, 0", "'', {c}, 5", "'y', {c}, 3", "'y', {c}, 2147483647", "{c}, 'ba', 2", "'a', 'banana', {c}",
        "'a', {c}, NULL")),
    "position": ("position('a', {c})", "position('a', {c}, 2)", "position({c}, 'aa', 2)"),
    "find_in_set": ("find_in_set({c}, 'a,,7,ab')", "find_in_set('a', {c})", "find_in_set('', {c})",
        "find_in_set('7', concat('b,', {c}, ',7'))", "find_in_set('a,', {c})"),
    "elt": ("elt({c}, 'a', 'b')", "elt(1, {c}, 'b')", "elt(2, x'ff', {c})", "elt(2, {c})", "elt(NULL, {c})"),
    "levenshtein": ("levenshtein({c}, 'a7')", "levenshtein('\U0001f600', {c})", "levenshtein({c}, {c})",
        "levenshtein({c}, 'ab', 1)", "levenshtein({c}, 'ab', 0)", "levenshtein({c}, 'ab', -1)",
        "levenshtein('kitten', 'sitting', {c})", "levenshtein({c}, NULL, 1)"),
    "soundex": ("soundex({c})", "soundex(concat('Ash', {c}))", "soundex(concat('bwb h', {c}, 'Honeyman'))"),
    "luhn_check": ("luhn_check({c})", "luhn_check(concat('18', {c}, '0'))"),
    "space": ("space({c} % 5)",),
    "quote": ("quote({c})", "quote(concat({c}, '\\'x\\\\'))"),
    "encode": (*tuple(f"encode({{c}}, '{k}')" for k in _CHARSETS), "encode('a', {c})"),
    "decode": (*tuple(f"decode({{c}}, '{k}')" for k in _CHARSETS), "decode(x'61', {c})", "decode({c}, 'a', 1, 2)"),
    "unhex": ("unhex({c})", "unhex(concat('aF', {c}))"),
    "unbase64": ("unbase64({c})", "unbase64(concat({c}, 'YQ=='))", "unbase64(concat('YW', {c}, '='))"),
    **dict.fromkeys(("to_binary", "try_to_binary"), ("{0}({c})", "{0}({c}, 'UTF-8')", "{0}({c}, 'base64')",
        "{0}({c}, NULL)")),
    "ascii": ("ascii({c})", "ascii(concat('\U0001f600', {c}))"),
    "hex": ("hex({c})",),
    "crc32": ("crc32({c})",),
    **dict.fromkeys(("contains", "endswith", "startswith"), (
        *(f"{{0}}({{c}}, {k})" for k in ("'a'", "''", "'%'", "'\U0001f600'", "x'ff'", "x''", "NULL")),
        "{0}('aab', {c})", "{0}(x'61ff', {c})")),
    "replace": (*(f"replace({{c}}, {k}, {v})" for k, v in (("'a'", "'b'"), ("''", "'x'"), ("'\U0001f600'", "''"),
        ("'aa'", "'a'"), ("'a'", "'xyz'"))), "replace({c}, 'a')", "replace('a7a', {c}, 'zz')"),
    "reverse": ("reverse({c})",),
    **dict.fromkeys(("lpad", "rpad"), (*("{0}({c}, 3, 'xy')", "{0}({c}, 3)", "{0}({c}, 0, 'x')", "{0}({c}, 5, '')",
        "{0}({c}, 5, x'0102')"), *("{0}('ab', {c} % 5, 'xy')", "{0}('a', 4, {c})", "{0}({c}, -1)",
        "{0}({c}, 5, x'')"))),
    "translate": ("translate({c}, 'ab', 'x')", "translate({c}, 'aa', 'bc')",
        "translate({c}, '\u00e9a7', '\U0001f600')"),
    "substring_index": (*(f"substring_index({{c}}, 'a', {k})" for k in ("1", "-1", "2", "0", "-2", "1.5")),
        *("substring_index({c}, '', 1)", "substring_index('a7a7a', {c}, 2)", "substring_index('aaaa', 'aa', {c})")),
    "split_part": (*(f"split_part({{c}}, 'a', {k})" for k in ("1", "-1", "2", "0", "-2", "2147483647")),
        *("split_part({c}, '', 1)", "split_part({c}, '', -1)", "split_part('a7a', {c}, 2)",
        "split_part('a.b', '.', {c})")),
    "substring": (
        *(
            f"substring({{c}}, {k})"
            for k in (
                *("0", "1", "-1", "2", "0, 1", "1, 1", "1, 2", "-2, 1", "2, 2147483647", "-2147483648, 2147483647"),
                *("1, -1", "1, 2147483647", "0, 2147483647", "2147483647, 2147483647", "-1, 2147483647", "-3, 2"),
                *("-100, 100", "0, 2", "1, 0"),
            )
        ),
        "substring('a\U0001f600cd', {c})",
        "substring('abcd', {c}, 2)",
        "substring('abcd', -3, {c})",
    ),
    **dict.fromkeys(("left", "right"), (*(f"{{0}}({{c}}, {k})" for k in ("0", "1", "2", "-1", "2147483647",
        "-2147483648", "1.5")), "{0}('abcd', {c})")),
    "repeat": (*(f"repeat({{c}}, {k})" for k in ("2", "0", "-1", "1.5")), "repeat('ab', {c} % 5)"),
    "sha2": tuple(f"sha2({{c}}, {k})" for k in ("0", "224", "256", "384", "512", "1")),
    "concat_ws": (*("concat_ws('-', {c}, 'x', {c})", "concat_ws({c}, 'a', 'b')", "concat_ws('-', {c})",
        "concat_ws('-')"), "concat_ws('', NULL, {c})"),
    "collation": ("collation({c})",),
    "typeof": ("typeof({c})",),
}  # fmt: skip

# The texts of many doubles depend on the version of Java.
_FEW = (t.STRING, t.BINARY, t.INTEGER)
_COUNTED = (*_FEW, t.LONG, t.DOUBLE, t.DecimalType(5, 2), t.BOOLEAN)
_SHOWN = (*_FEW, t.BOOLEAN, t.DATE, t.TIMESTAMP_NTZ, t.DecimalType(20, 2))

ONLY: dict[str, tuple[t.DataType, ...]] = {
    **dict.fromkeys(("overlay", "elt", "locate", "split_part", "levenshtein"), _COUNTED),
    **dict.fromkeys(("repeat", "lpad", "rpad", "space"), _COUNTED),
    **dict.fromkeys(("initcap", "reverse", "ascii", "quote", "replace", "concat_ws", "translate"), _SHOWN),
    **dict.fromkeys(("trim", "ltrim", "rtrim", "btrim", "substring_index", "soundex", "luhn_check"), _FEW),
    **dict.fromkeys(("find_in_set", "position", "contains", "endswith", "startswith", "encode", "decode"), _FEW),
    **dict.fromkeys(("unhex", "unbase64", "to_binary", "try_to_binary"), _FEW),
    **dict.fromkeys(("is_valid_utf8", "make_valid_utf8", "validate_utf8", "try_validate_utf8"), _FEW),
}
"""The types of the columns of which a function is called; of every type if it is not named here."""
