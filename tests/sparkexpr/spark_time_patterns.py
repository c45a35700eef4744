"""Times that Spark writes and reads by patterns: `python -m tests.sparkexpr.spark_time_patterns`.

The answers of Spark 4.1 in ANSI mode are in spark_time_patterns.json.gz. Texts to be read are those of TEXTS, and
others that differ from them in a character.
"""

import random
from functools import cache
from pathlib import Path
from typing import Any

from deltaskip.sparkexpr.types.data_types import TIMESTAMP
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.stored import read_stored, session, write_stored

FILE = Path(__file__).with_name("spark_time_patterns.json.gz")
ERROR = "error"
"""Spark refuses the pattern, or the text."""

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu", "Australia/Lord_Howe", "+05:30")
# Years 1900 to 1901 have offsets with seconds.
INSTANTS = [*EDGES[TIMESTAMP], *(-2_208_990_000_000_000 + step * 977_000_000 for step in range(20))]

WRITTEN = (
    *("G y M d E H:m:s.S", "GGGG yy MM dd EEEE hh:mm:ss.SSS a", "yyy LLL MMM D DDD", "yyyy LLLL MMMM DD kk K"),
    *("yyyyy q QQ QQQ QQQQ KK k h", "yyyyyy-MM-dd", "y", "yy", "yyyy", "X x Z O", "XX xx ZZ OOOO", "XXX xxx ZZZZ"),
    *("XXXX xxxx ZZZZZ", "XXXXX xxxxx SSSSSSSSS", "VV", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "''", "''''", "'a''b' yyyy"),
    *("[yyyy[-MM]] 'x", "yyyy]", "{", "YYYY", "yyyyyyy", "MMMMM", "ddd", "DDDD", "aa", "HHH", "SSSSSSSSSS", "VVV",
        "OO"),
    *("ZZZZZZ", "XXXXXX", "b", "j", "n", "N", "A", "B", "p", "c", "", "GGG yyy", "EEEEE", "LLLLL", "yyyy'"),
    *("'G' yyyy", "t", "é yyyy", "|~!@$%^&*()_+=-<>?,./;:", "u", "U", "zzzzz"),
)  # fmt: skip
TEXTS: dict[str, str] = {
    "yyyy-MM-dd": (
        "2024-01-02|+12345-01-02|12345-01-02|-0044-01-02|-44-01-02|0000-01-01|-0000-01-01|2024-1-2|"
        "2024-02-30|2023-02-29|+2024-01-02"
    ),
    "yyyyMMdd": "20240102|2024010|202401021|+202401021|+1202401021|-20240102|2024a102",
    "y-M-d": "2024-1-2|24-12-31|024-012-031|+24-1-2|-5-3-4|-0-1-1|2024--1-2|2024-13-1",
    "yyMMdd": "240102|990102|2401021",
    "yy": "24|-4|4|245",
    "yyy-MM": "024-01|24-01|12345-02|+12345-02",
    "yyyyyy-MM-dd": "002024-01-02",
    "yyyy": "2024|+20245|20245| 2024|2024 ",
    "MM": "02|2|13|00",
    "dd": "31|32",
    "DDD": "001|1|365|366|000",
    "D": "1|0365|-1|366",
    "yyyy-DDD": "2024-366|2023-366|2023-001",
    "yyyy-MM-dd D": "2024-01-02 2|2024-01-02 3",
    "MM D": "02 32|01 32|02 400",
    "dd D": "01 32|02 32",
    "G yyyy": "AD 2024|BC 0001|bc 0045|ad 0000|XX 2024",
    "yyyy[ G]": "2024|2024 BC",
    "GGGG y": "Anno Domini 5|Before Christ 5",
    "G": "AD|BC",
    "MMM d, yyyy": "Jan 2, 2024|may 3, 2024|MAY 3, 2024|January 2, 2024",
    "MMMM d yyyy": "January 2 2024|May 1 2024|Jan 2 2024|SEPTEMBER 5 2020",
    "LLL yyyy": "Feb 2024",
    "LLLL": "march",
    "LL": "03",
    "L": "3|03",
    "HH:mm:ss": "01:02:03|24:00:00|23:59:60|1:02:03|01:02",
    "H:m:s": "1:2:3|01:02:03|-1:2:3",
    "kk:mm": "24:01|00:01|01:00",
    "hh:mm a": "12:00 AM|12:00 pm|01:30 PM|13:00 PM|00:10 AM",
    "KK a": "00 AM|11 PM|12 PM",
    "hh": "12|01",
    "KK": "11",
    "a": "AM|pm|P",
    "a mm": "PM 30",
    "HH a": "13 PM|13 AM|01 AM",
    "HH hh": "13 01|13 02|01 01",
    "HH hh a": "13 01 PM|13 01 AM",
    "HH:ss a": "13:05 AM|13:05 PM",
    "HH kk": "13 13|13 14|00 24",
    "HH hh ss": "13 02 10",
    "mm": "59|60",
    "ss": "59|60",
    "HH mm SSS": "01 02 5|01 02 5678",
    "SSS": "5|123|1234|000",
    "S": "5|55",
    "HHmmssS": "0102035|01020355",
    "HHmmss.SSSSSS": "010203.5|010203.123456|010203.1234567|010203.",
    "yyyyMMddHHmmss": "20240102030405|2024010203040",
    "yyyyMMddHHmmssSSS": "20240102030405123",
    "yMMdd": "20240102|240102|4010",
    "yyyyMd": "202412|2024112",
    "HHm": "015|0155|1",
    "yyyy-MM-dd HH:mm:ss X": (
        "2024-01-02 03:04:05 Z|2024-01-02 03:04:05 z|2024-01-02 03:04:05 +01|2024-01-02 03:04:05 +0130|"
        "2024-01-02 03:04:05 +01:30|2024-01-02 03:04:05 +19|2024-01-02 03:04:05 -18|2024-01-02 03:04:05 +24"
    ),
    "yyyy XX": "2024 +0130|2024 Z|2024 +01|2024 -0000",
    "yyyy XXX": "2024 +01:30|2024 Z|2024 +0130|2024 +01:60",
    "yyyy XXXX": "2024 +013015|2024 +0130|2024 +01301",
    "yyyy XXXXX": "2024 +01:30:15|2024 +01:30|2024 +18:00:01",
    "yyyy x": "2024 +00|2024 +0000|2024 +01|2024 Z|2024 +0015",
    "yyyy xx": "2024 +0000|2024 +0100",
    "yyyy xxx": "2024 +00:00|2024 -01:00",
    "yyyy xxxx": "2024 +0000|2024 +010203",
    "yyyy xxxxx": "2024 +00:00|2024 +01:02:03",
    "yyyy Z": "2024 +0000|2024 -0800|2024 -08:00",
    "yyyy ZZZ": "2024 +0100",
    "yyyy ZZZZZ": "2024 +01:00|2024 Z|2024 +01:00:10",
    "XHH": "+0105|+010205|+01 05",
    "yyyy-MM-dd['T'HH:mm[:ss]]": "2024-01-02|2024-01-02T03:04|2024-01-02t03:04:05|2024-01-02T03|2024-01-02T03:04:0",
    "[yyyy-MM-dd][yyyy/MM/dd]": "2024-01-02|2024/01/02||2024-01-022024/01/02|2024-01-022024/01/03",
    "yyyy''MM": "2024'01",
    "yyyy'abc'MM": "2024abc01|2024ABC01",
    "yyyy'T''x'MM": "2024T'x01|2024Tx01",
    "''yyyy": "'2024|2024",
    "yyyy'": "2024|2024'",
    "'": "|'",
    "''": "'|",
    "": "|a",
    "yyyy-MM-dd yyyy": "2024-01-02 2024|2024-01-02 2023",
    "M/d/yy h:mm a": "1/2/24 3:04 PM",
    "dd/MM/yyyy": "31/12/2024|31/12/24",
    "Eyyyy": "Mon2024",
    "q": "1",
    "F": "1",
    "YYYY": "2024",
    "yyyyyyy": "2024",
    "dd[MM": "0102|01",
    "dd]": "01",
    "yyyyMMM": "2024Jan|12024Jan",
    "MMMyyyy": "Jan2024",
    "hhmm": "0130|130",
    "yyyy.MM": "2024.01",
    "éyyyy": "é2024|É2024",
    "ddyyyy": "022024|02+12024",
    "dyyyy": "22024|022024",
    "Mdd": "102|1202|12",
    "SSyyyy": "122024",
    "ssSS": "0512|051",
    "yyyy.S'": "2024.1|2024.1'",
    "S''": "1|1'",
    "''S": "1|'1",
    "S''yyyy": "1'2024|12024",
    "S'a''b'yyyy": "1a'b2024|1ab2024",
    "S''''yyyy": "1'2024|1''2024",
    "'S'yyyy": "S2024",
    "yyyy HHSSS": "2024 01123",
}
"""Patterns, and texts between bars."""


@cache
def answers() -> dict[str, Any]:
    """`written`: by zone and pattern, the texts of INSTANTS; `read`: by pattern and text, the microseconds in UTC."""
    found: dict[str, Any] = read_stored(FILE)
    return found


def texts() -> dict[str, list[str]]:
    """The texts of each pattern."""
    chance = random.Random(5)
    found: dict[str, list[str]] = {}
    for pattern, given in TEXTS.items():
        each = given.split("|")
        for text in [*each] * 3:
            if text:
                at, how = chance.randrange(len(text)), chance.random()
                inserted = chance.choice("0123456789-+: /.aZJP'") if how < 0.6 else ""
                each.append(text[:at] + inserted + text[at + (0 if how < 0.3 else 1) :])
        found[pattern] = list(dict.fromkeys(each))
    return found


def collect(spark: Any) -> dict[str, Any]:
    """The answers of a session."""
    written: dict[str, dict[str, Any]] = {}
    for zone in ZONES:
        spark.conf.set("spark.sql.session.timeZone", zone)
        rows = ", ".join(f"({n}, timestamp_micros({micros}))" for n, micros in enumerate(INSTANTS))
        spark.sql(f"SELECT * FROM VALUES {rows} AS v(n, t)").createOrReplaceTempView("instants")
        written[zone] = {
            pattern: _answer(spark, f"SELECT date_format(t, {_quoted(pattern)}) FROM instants ORDER BY n")
            for pattern in WRITTEN
        }
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    read = {}
    for pattern, given in texts().items():
        rows = ", ".join(f"({n}, {_quoted(text)})" for n, text in enumerate(given))
        query = f"SELECT unix_micros(try_to_timestamp(s, {_quoted(pattern)})) FROM VALUES {rows} AS v(n, s) ORDER BY n"
        found = _answer(spark, query)
        read[pattern] = found if found == ERROR else dict(zip(given, found, strict=True))
    return {"written": written, "read": read}


def _answer(spark: Any, query: str) -> Any:
    try:
        return [row[0] for row in spark.sql(query).collect()]
    except Exception:
        return ERROR


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main() -> None:
    """Record the answers."""
    spark = session()
    spark.conf.set("spark.sql.ansi.enabled", "true")
    write_stored(FILE, collect(spark))


if __name__ == "__main__":
    main()
