"""Calls of the functions of dates and times, for the grid of edges (tests/sparkexpr/edges.py)."""

_PATTERNS = (
    *("yyyy-MM-dd", "yyyy", "yyyy-MM-dd HH:mm:ss", "MM-dd", "yyyyMMdd", "dd/MM/yyyy HH"),
    "G y D E a h k K S Q",
    "EEEE, LLLL qqq XXX xx ZZZZ O",
    "yyyyyy yy MMM hh:mm:ss.SSSSSS",
    "YYYY",
)
_READ = ("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "y-M-d[ H:m:s]", "yyyy-MM-dd HH:mm:ss.SSSSSS", "YYYY")
_OVERLAP, _GAP = "TIMESTAMP'2024-10-27 00:30:00Z'", "TIMESTAMP'2024-03-30 01:30:00Z'"

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "date_format": tuple(f"date_format({{c}}, '{pattern}')" for pattern in _PATTERNS),
    "from_unixtime": ("from_unixtime({c})", "from_unixtime({c}, 'yyyy-MM-dd')", "from_unixtime({c}, 'E h a')"),
    "to_timestamp": tuple(f"to_timestamp({{c}}, '{pattern}')" for pattern in _READ),
    "to_timestamp_ntz": tuple(f"to_timestamp_ntz({{c}}, '{pattern}')" for pattern in _READ[:3]),
    "try_to_timestamp": ("try_to_timestamp({c})", *(f"try_to_timestamp({{c}}, '{pattern}')" for pattern in _READ)),
    "to_date": tuple(f"to_date({{c}}, '{pattern}')" for pattern in _READ[:2]),
    "try_to_date": ("try_to_date({c})", "try_to_date({c}, 'yyyy-MM-dd')"),
    "unix_timestamp": ("unix_timestamp({c})", *(f"unix_timestamp({{c}}, '{pattern}')" for pattern in _READ[2:])),
    "to_unix_timestamp": ("to_unix_timestamp({c})", "to_unix_timestamp({c}, 'yyyy-MM-dd')"),
    "date_part": tuple(f"date_part('{field}', {{c}})" for field in ("SECOND", "YEAROFWEEK", "dow_iso", "HOURS",
        "MSEC")),
    "convert_timezone": ("convert_timezone('Europe/Berlin', 'America/Los_Angeles', {c})",
        "convert_timezone('Australia/Lord_Howe', {c})", "convert_timezone('x', 'UTC', {c})"),
    **dict.fromkeys(("make_timestamp", "try_make_timestamp"), ("{0}({c}, 2, 29, 1, 2, 3.5)",
        "{0}(2024, {c}, {c}, 0, 0, 0)", "{0}(2024, 10, 27, 2, 30, {c})", "{0}(2024, 3, 31, {c}, 59, 60)",
        "{0}(1900, 1, 1, 1, {c}, 0, 'Asia/Kathmandu')")),
    **dict.fromkeys(("make_timestamp_ntz", "try_make_timestamp_ntz"), ("{0}({c}, 2, 29, 1, 2, 3.5)",
        "{0}(2024, 10, 27, 2, 30, {c})")),
    "timestampadd": (
        *(
            f"timestampadd({what}, {{c}})"
            for what in ("MONTH, 1", "DAY, -1", "HOUR, 25", "MICROSECOND, 7", "YEAR, -400")
        ),
        *(f"timestampadd({unit}, {{c}}, {_GAP})" for unit in ("QUARTER", "DAY", "HOUR", "MICROSECOND")),
        f"timestampadd(WEEK, {{c}}, {_OVERLAP})",
        "timestampadd(MONTH, {c}, DATE'2024-01-31')",
        "timestampadd(DAYOFYEAR, {c}, TIMESTAMP_NTZ'2024-03-30 02:30:00')",
    ),
    "timestampdiff": (*(f"timestampdiff({unit}, {{c}}, {_OVERLAP})" for unit in ("MONTH", "DAY", "HOUR",
        "MILLISECOND")), *(f"timestampdiff({unit}, {_GAP}, {{c}})" for unit in ("YEAR", "QUARTER", "WEEK",
        "MICROSECOND"))),
    "add_interval": ("{c} + INTERVAL '1' DAY", "{c} - INTERVAL '1' MONTH", "{c} + INTERVAL '1 02:00:00' DAY TO SECOND",
        "{c} - INTERVAL '30' MINUTES", "{c} + make_interval(0, 1, 0, 1, 1)", "make_interval(-1, 0, 0, -1) + {c}",
        "{c} + make_dt_interval(-1, 0, 0, -0.5)"),
    "months_between": ("months_between({c}, TIMESTAMP'2024-02-29 12:00:00Z')",
        f"months_between({_OVERLAP}, {{c}}, false)", "months_between(DATE'2024-01-31', {c})"),
    "next_day": (*(f"next_day({{c}}, '{day}')" for day in ("MO", "friday", "x")), "next_day(DATE'2024-01-01', {c})"),
}  # fmt: skip

ZONED = frozenset(("from_unixtime", "make_timestamp", "try_make_timestamp", "timestampadd"))
"""Functions of numbers whose values depend on the time zone."""
