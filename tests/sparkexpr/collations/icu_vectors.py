"""The vectors of `shared/collation`, and evaluators of the versions that they were made with."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deltaskip.sparkexpr.collations.libraries import icu_library
from deltaskip.sparkexpr.collations.lookup import collation
from deltaskip.sparkexpr.collations.spark_data import IcuCollation
from tests.corpus import SHARED

FOLDER = SHARED / "collation"
ABSENT = "the shared collation vectors are not beside the repository (../shared/collation)"
NAMES = {"de_phonebook": "de-u-co-phonebk"}


@cache
def rows(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of one file; skips the running test where the vectors are absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(ABSENT)
    return tuple(json.loads(line) for line in path.read_bytes().split(b"\n") if line)


def order_files(pattern: str) -> list[Any]:
    """The order files whose names match, as parameters; one skipped parameter where the vectors are absent."""
    found = sorted(path.name for path in (FOLDER / "order").glob(pattern))
    return found or [pytest.param("absent", marks=pytest.mark.skip(reason=ABSENT))]


def collation_of(path: str | Path) -> str:
    """The collation that an order file is named after."""
    return Path(path).name.removesuffix(".jsonl").rsplit(".", 1)[1]


def strings() -> dict[int, bytes]:
    """The strings that the order files number."""
    return {row["id"]: bytes.fromhex(row["utf8_hex"]) for row in rows("strings.jsonl")}


def icu(name: str, version: str) -> IcuCollation:
    """The collation in exactly that version; skips the running test where no library of the version is here."""
    if icu_library(version) is None:
        pytest.skip(f"no ICU library of version {version} is in this environment")
    found = collation(f"icu.{NAMES.get(name, name)}.{version}")
    assert isinstance(found, IcuCollation)
    return found
