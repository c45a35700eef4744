"""Makes deltaskip/sparkexpr/collations/lowercase_tables.py from the ICU libraries that it is given.

    python -m tests.sparkexpr.collations.make_lowercase_tables LIBRARY_OR_JAR... > lowercase_tables.py

Each argument is a libicuuc of ICU4C (`libicudata` is taken from the same folder) or the icu4j jar of a version, as
pyicu-wheels, icu4py, the system and Maven Central (com.ibm.icu:icu4j) have them. Every version is asked for the simple
lower case of every code point; versions that agree share a table. A jar needs `java` with its compiler.
"""

import ctypes
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

Table = dict[int, int]
Run = tuple[int, int, int, int]

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
LINE_WIDTH = 116

JAVA = """
import com.ibm.icu.lang.UCharacter;
import com.ibm.icu.util.VersionInfo;
public class Lower {
    public static void main(String[] args) {
        System.out.println(VersionInfo.ICU_VERSION + " " + UCharacter.getUnicodeVersion());
        for (int c = 0; c < 0x110000; c++)
            if (UCharacter.toLowerCase(c) != c) System.out.println(c + " " + UCharacter.toLowerCase(c));
    }
}
"""


def from_library(path: Path) -> tuple[str, str, Table]:
    """(ICU version, Unicode version, code point → lower case where they differ) of an ICU4C libicuuc."""
    for data in sorted(path.parent.glob(path.name.replace("libicuuc", "libicudata").split("-")[0].split(".")[0] + "*")):
        if re.search(r"\.so\.\d+", data.name) and data.name.split(".so.")[1] == path.name.split(".so.")[1]:
            ctypes.CDLL(str(data))
    library = ctypes.CDLL(str(path))
    major = re.search(r"\.so\.(\d+)", path.name)
    assert major is not None, f"{path} does not say its version"
    lower = getattr(library, f"u_tolower_{major[1]}")
    lower.argtypes, lower.restype = [ctypes.c_int32], ctypes.c_int32
    table = {c: lowered for c in CODE_POINTS if (lowered := lower(c)) != c}
    return _version(library, f"u_getVersion_{major[1]}"), _version(library, f"u_getUnicodeVersion_{major[1]}"), table


def from_jar(path: Path) -> tuple[str, str, Table]:
    """The same of an icu4j jar, through `java`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Lower.java"
        source.write_text(JAVA)
        command = ["java", "-cp", str(path), str(source)]
        first, *rest = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    icu, unicode = (".".join(version.split(".")[:2]) for version in first.split())
    return icu, unicode, {int(c): int(lower) for c, lower in map(str.split, rest)}


def runs_of(table: Table) -> list[Run]:
    """(first, last, step, difference): longest stretches of code points one or two apart with one difference."""
    runs: list[Run] = []
    for c in sorted(table):
        difference = table[c] - c
        if runs:
            first, last, step, same = runs[-1]
            gap = c - last
            if same == difference and (gap == step or (first == last and gap in (1, 2))):
                runs[-1] = (first, c, gap, same)
                continue
        runs.append((c, c, 1, difference))
    return runs


def text_of(runs: list[Run]) -> str:
    """`41-5a+20` for every code point, `100-12e/2+1` for every other one, `178-79` for one alone; hexadecimal."""
    words = []
    for first, last, step, difference in runs:
        stretch = f"{first:x}" if first == last else f"{first:x}~{last:x}" + ("/2" if step == 2 else "")
        words.append(f"{stretch}{difference:+x}")
    return " ".join(words)


def module_of(found: list[tuple[str, str, Table]]) -> str:
    """The source of the data module."""
    tables: dict[str, Table] = {}
    versions: dict[str, str] = {}
    for icu, unicode, table in sorted(found, key=lambda f: [int(part) for part in f[0].split(".")]):
        same = next((name for name, known in tables.items() if known == table), None)
        assert icu not in versions or versions[icu] == same, f"two libraries of {icu} differ"
        if same is None:
            tables[unicode] = table
        versions[icu] = same or unicode
    lines = [
        '"""ICU\'s simple lower case mappings for each version of Unicode.',
        "",
        "make_lowercase_tables.py of the tests writes it from libraries of these versions; spark_order reads it.",
        '"""',
        "",
        "# ICU version: the first version of Unicode with its table.",
        "UNICODE_OF = {",
        *(f'    "{icu}": "{unicode}",' for icu, unicode in versions.items()),
        "}",
        "",
        "# Mappings added by each table: ranges of code points (`/2`: every second one) and the offset to the",
        "# lower case, in hexadecimal.",
        "ADDED = {",
    ]
    before: Table = {}
    for unicode, table in tables.items():
        assert before.keys() <= table.keys(), f"{unicode} lacks code points of an earlier table"
        added = {c: lower for c, lower in table.items() if before.get(c) != lower}
        lines += [f'    "{unicode}": """', *_wrapped(text_of(runs_of(added))), '""",']
        before = table
    return "\n".join([*lines, "}", ""])


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > LINE_WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def _version(library: ctypes.CDLL, symbol: str) -> str:
    numbers = (ctypes.c_uint8 * 4)()
    getattr(library, symbol)(numbers)
    return f"{numbers[0]}.{numbers[1]}"


def main(arguments: list[str]) -> None:
    """Print the module; a summary goes to standard error."""
    found = [from_jar(Path(a)) if a.endswith(".jar") else from_library(Path(a)) for a in arguments]
    print(json.dumps([(icu, unicode, len(table)) for icu, unicode, table in found]), file=sys.stderr)
    sys.stdout.write(module_of(found))


if __name__ == "__main__":
    main(sys.argv[1:])
