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
    "": 4_050,
    "actions": 1_750,
    "alter": 2_750,
    "catalogs": 5_000,
    "change_feed": 2_400,
    "cli": 4_500,
    "data_files": 3_850,
    "delta": 1_800,
    "dml": 5_360,
    "features": 1_300,
    "kernels": 6_950,
    "log": 8_800,
    "maintenance": 8_250,
    "reading": 7_360,
    "rows": 2_700,
    "schema": 1_150,
    "skipping": 11_000,
    "spark": 15_250,
    "sparkexpr": 40_350,
    "statements": 6_970,
    "stats": 5_950,
    "storage": 3_750,
    "table": 5_000,
    "transforms": 800,
    "txn": 5_950,
}
LIMITS_OF_TESTS: dict[str, int] = {
    "": 6_330,
    "actions": 1_250,
    "alter": 2_000,
    "catalogs": 5_760,
    "change_feed": 1_550,
    "cli": 2_800,
    "contracts": 1_200,
    "data_files": 2_250,
    "delta": 1_350,
    "dml": 3_100,
    "docs": 1_150,
    "features": 650,
    "kernels": 3_300,
    "log": 7_250,
    "maintenance": 6_000,
    "mutants": 450,
    "reading": 6_950,
    "reference": 9_400,
    "rows": 3_750,
    "schema": 400,
    "skipping": 7_950,
    "spark": 14_800,
    "sparkexpr": 16_350,
    "statements": 1_870,
    "stats": 3_300,
    "storage": 2_700,
    "table": 3_150,
    "transforms": 200,
    "txn": 6_600,
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
