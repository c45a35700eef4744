#!/usr/bin/env bash
# shapely: the error of from_wkt for a long text with letters beyond ASCII.
#
# The guess: from_wkt raises GEOSException (a ShapelyError) for every text that is no WKT, as its documentation says, so that
# `except shapely.errors.ShapelyError` is enough where texts come from users.
# shapely 2.2.0 (GEOS 3.14.1) copies the message of GEOS, which repeats the text, into 1,024 bytes and decodes it: where the
# cut is inside of a letter, UnicodeDecodeError is raised instead, a ValueError that is no ShapelyError. A shorter text, or
# one with a letter more before it, raises GEOSException.
#
# Output seen:
#    100 letters: GEOSException
#    500 letters: UnicodeDecodeError
#    x and 500 letters: GEOSException
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet shapely==2.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import shapely


def raised(text):
    try:
        shapely.from_wkt(text)
    except Exception as error:
        return type(error).__name__
    return "nothing"


found = [
    f"{name}: {raised(text)}"
    for name, text in (("100 letters", "ä" * 100), ("500 letters", "ä" * 500), ("x and 500 letters", "x" + "ä" * 500))
]
print("\n".join(found))
assert [each.split(": ")[1] for each in found] == ["GEOSException", "UnicodeDecodeError", "GEOSException"], found
PYTHON
