"""Each room of the package, and of the tests, has a limit of lines.

A change that makes a room larger raises its number here, and its commit message says why. A change that makes one
smaller lowers it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.test_architecture import PACKAGE, ROOT, tracked_files

SUFFIXES = {".py", ".pyi", ".pyx", ".pxd"}
# The goals: sparkexpr 37,000, the other rooms together 92,000, the tests 75,000.
LIMITS: dict[str, int] = {
    "": 4_000,
    "actions": 1_800,
    "alter": 2_800,
    "catalogs": 5_000,
    "change_feed": 2_350,
    "cli": 4_900,
    "data_files": 3_550,
    "delta": 1_800,
    "dml": 5_200,
    "features": 1_250,
    "kernels": 6_600,
    "log": 8_000,
    "maintenance": 8_050,
    "reading": 6_600,
    "rows": 2_700,
    "schema": 1_100,
    "skipping": 10_500,
    "spark": 14_300,
    "sparkexpr": 42_600,
    "statements": 5_850,
    "stats": 5_650,
    "storage": 3_750,
    "table": 4_950,
    "transforms": 800,
    "txn": 6_000,
}
LIMITS_OF_TESTS: dict[str, int] = {
    "": 6_200,
    "actions": 1_350,
    "alter": 2_050,
    "catalogs": 6_150,
    "change_feed": 1_450,
    "cli": 2_900,
    "contracts": 1_000,
    "data_files": 1_900,
    "delta": 1_400,
    "dml": 3_100,
    "docs": 1_150,
    "features": 700,
    "kernels": 3_350,
    "log": 7_550,
    "maintenance": 5_850,
    "mutants": 450,
    "reading": 6_200,
    "reference": 10_350,
    "rows": 4_000,
    "schema": 450,
    "skipping": 7_550,
    "spark": 14_600,
    "sparkexpr": 17_800,
    "statements": 1_650,
    "stats": 3_200,
    "storage": 2_700,
    "table": 3_200,
    "transforms": 200,
    "txn": 7_300,
}
# How far below its limit a room may be.
SLACK = 200


def lines(folder: Path) -> Counter[str]:
    """The lines of each room below a folder; of modules at the top, together as ""."""
    found = Counter[str]()
    for path in tracked_files():
        if path.suffix in SUFFIXES and path.is_relative_to(folder):
            parts = path.relative_to(folder).parts
            found["" if len(parts) == 1 else parts[0]] += len(path.read_bytes().splitlines())
    return found


def test_no_room_of_the_package_is_larger_than_its_limit() -> None:
    assert_within(lines(PACKAGE), LIMITS)


def test_no_folder_of_tests_is_larger_than_its_limit() -> None:
    assert_within(lines(ROOT / "tests"), LIMITS_OF_TESTS)


def assert_within(found: Counter[str], limits: dict[str, int]) -> None:
    assert found.keys() == limits.keys()
    wrong = {room: (count, limits[room]) for room, count in found.items() if not 0 <= limits[room] - count <= SLACK}
    assert not wrong, f"lines and limits: {wrong}"
