"""Calls of the functions of patterns, formats and URLs, for the grid of edges (tests/sparkexpr/edges.py)."""

_PATTERNS = ("'^[0-9]'", "'[^0-9]+$'", "'(?i)A|\\\\s'", "''")

NOT_OF_TIMES = tuple(
    f"to_char({{c}}, '{form}')"
    for form in ("S99,999", "$0999D99MI", "9G999PR", ".99S", "hex", "base64", "utf-8", "9" * 38)
)
"""Calls with formats that dates and timestamps do not have."""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "rlike": (*(f"{{c}} RLIKE {pattern}" for pattern in _PATTERNS), "rlike({c}, {c})", "'a' RLIKE {c}"),
    "regexp_count": tuple(f"regexp_count({{c}}, {pattern})" for pattern in _PATTERNS[1:]),
    "regexp_instr": tuple(f"regexp_instr({{c}}, {pattern})" for pattern in _PATTERNS[1:3]),
    "regexp_substr": tuple(f"regexp_substr({{c}}, {pattern})" for pattern in _PATTERNS[1:3]),
    "regexp_extract": ("regexp_extract({c}, '([0-9])(\\\\.)?', 2)", "regexp_extract({c}, '[a-z]', 0)",
        "regexp_extract({c}, '[a-z]')", "regexp_extract('a1', '([a-z])([0-9])', {c})"),
    "regexp_extract_all": ("regexp_extract_all({c}, '([0-9])', 1)", "regexp_extract_all({c}, '', 0)"),
    "regexp_replace": ("regexp_replace({c}, '([0-9])', '<$1>')", "regexp_replace({c}, '[a-e]|$', '\\\\$')",
        "regexp_replace({c}, 'a', '$')", "regexp_replace({c}, '^.', 'x', 2)"),
    "split": ("split({c}, '[05]')", "split({c}, '', 3)", "split({c}, 'a|', 2)", "split('a1b', '1', {c})"),
    "to_char": ("to_char({c}, 'yyyy')", *NOT_OF_TIMES),
    "to_number": ("to_number({c}, 'S9,999D99')", "to_number({c}, '99999999999999999999.99PR')"),
    "try_to_number": ("try_to_number({c}, 'S9,999D99')", "try_to_number({c}, '0')"),
    "format_number": (*(f"format_number({{c}}, {places})" for places in ("0", "2", "-1", "25", "''", "'#.0#'")),
        "format_number(1234567.125BD, {c})"),
    "format_string": (*(f"format_string('{form}', {{c}})" for form in ("%s", "%8s|", "%d", "%,(d", "%x", "%c", "%.3f",
        "%e", "%b")), "format_string({c}, 'a', 1)"),
    "mask": ("mask({c})", "mask({c}, NULL, '*', '#', '-')"),
    "parse_url": ("parse_url({c}, 'PATH')", "parse_url({c}, 'QUERY', 'a')"),
    "try_parse_url": ("try_parse_url({c}, 'PATH')", "try_parse_url('http://a/b', {c})"),
    "assert_true": ("assert_true({c})", "assert_true({c} IS NOT NULL)", "assert_true({c} > 1, 'low')"),
    "like": ("like({c}, 'a#%%', '#')",),
    "ilike": ("ilike({c}, 'A#%%', '#')",),
}  # fmt: skip
