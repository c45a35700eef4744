"""Random templates of format_string, texts of mask and URLs, as calls in SQL."""

import random

_VALUES = ["1", "-5", "0", "1234567", "-128Y", "300S", "9223372036854775807L", "true", "'ab'", "'é😀'", "''", "NULL"]
_VALUES += ["1.5D", "-0.5D", "0D", "1234.5675D", "1e10D", "float('0.1')", "1.50BD", "-12.345BD", "65", "128512"]
_VALUES += ["CAST(NULL AS INT)", "CAST(NULL AS STRING)", "CAST(NULL AS DOUBLE)", "0.0000001BD", "double('NaN')"]
_PARTS = ["a", "Z", "1", "%41", "%C3%A9", "%", "%4", "+", " ", "~", "*", "é", "/", "?", "&", "=", "-", "_", ".", "%zz"]
_HOSTS = ["spark.apache.org", "a", "a-b.c", "127.0.0.1", "1.2.3.400", "a_b", "[::1]", "", "h.", "9a", "a.9", "-a"]
_PATHS = ["", "/", "/a/b", "/a%20b", "/é", "/a b", "a", "//x", "/a;b:c@d", "/[x]"]
_QUERIES = ["", "?", "?query=1", "?a=1&b=2&a=3", "?x&y=", "?a=[1]", "?a=b=c", "?q=%zz", "?ab=1&b=2"]
_SCHEMES = ["http://", "https://", "ftp://", "file://", "file:", "mailto:", "", "//", "1x://", "a+b://", ":", "http:"]


def format_call(chance: random.Random) -> str:
    """A call of format_string."""
    values = [chance.choice(_VALUES) for _ in range(chance.choice([1, 1, 2, 3]))]
    template = "".join(_specifier(chance) for _ in range(chance.choice([1, 1, 2])))
    return f"format_string({quoted(template)}, {', '.join(values)})"


def _specifier(chance: random.Random) -> str:
    flags = chance.choice(["", "", "", "-", "0", "+", " ", ",", "(", "#", "+,", "-+"])
    width = chance.choice(["", "", "5", "12"])
    precision = chance.choice(["", "", "", ".2", ".0", ".10"])
    kind = chance.choice("sssdddxXocbfffeEn%S")
    begin = chance.choice(["", "", "", "x", "é "])
    return f"{begin}%{chance.choice(['', '', '', '1$'])}{flags}{width}{precision}{kind}"


def other_call(chance: random.Random) -> str:
    """A call of a function of URLs, or of mask."""
    text = "".join(chance.choice(_PARTS) for _ in range(chance.randrange(6)))
    kind = chance.random()
    if kind < 0.3:
        return f"{chance.choice(['url_encode', 'url_decode', 'try_url_decode'])}({quoted(text)})"
    if kind < 0.4:
        masks = [chance.choice(["'Q'", "NULL", "'*'", "'é'"]) for _ in range(chance.randrange(5))]
        return f"mask({', '.join([quoted('aB1 é-😀ßǅ٣' + text), *masks])})"
    user = chance.choice(["", "", "", "u@", "u:p@", "@", "u%40@"])
    port = chance.choice(["", "", ":80", ":", ":x", ":123456789012"])
    end = chance.choice(["", "", "#ref", "#", "#a#b", "#a b"])
    url = chance.choice(_SCHEMES) + user + chance.choice(_HOSTS) + port + chance.choice(_PATHS)
    url += chance.choice(_QUERIES) + end
    part = chance.choice(["HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host", "X"])
    key = f", '{chance.choice(['a', 'b', 'query', 'a.'])}'" if chance.random() < 0.3 else ""
    return f"{chance.choice(['parse_url', 'try_parse_url'])}({quoted(url)}, '{'QUERY' if key else part}'{key})"


def quoted(text: str) -> str:
    """A literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
