"""A sample of `python -m tests.log.mutations`, which reads damaged copies of tables in limited processes."""

from pathlib import Path

from tests.extent import extent
from tests.log.mutations import run


def test_damaged_tables_raise_only_deltaskip_errors_and_never_hang(tmp_path: Path) -> None:
    assert run(range(extent(2, 40)), tmp_path) == []
