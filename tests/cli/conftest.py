"""A small table of the demo's shape, and a way to run commands inside the process."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip import demo
from deltaskip.cli import main
from tests.dml.tables import DDL, rows
from tests.maintenance.test_vacuum import put


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's table, made with pyarrow; tests only read it."""
    root = tmp_path_factory.mktemp("data") / "customers"
    demo.make_table(root, demo.write_with_pyarrow)
    return root


@pytest.fixture
def own_customers(customers: Path, tmp_path: Path) -> Path:
    """A log-only copy that a test may damage."""
    root = tmp_path / "customers"
    shutil.copytree(customers / "_delta_log", root / "_delta_log")
    return root


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs `deltaskip` with the arguments (paths too) in this process."""

    def run_command(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Ran(status, captured.out, captured.err)

    return run_command


@pytest.fixture
def emptied(tmp_path: Path) -> Path:
    """A table that lost its rows in version 2, with an orphan."""
    made = ds.DeltaTable.create(tmp_path / "t", DDL)
    made.append(rows(range(9)))
    made.delete()
    put(tmp_path / "t" / "orphan", "x" * 2048)
    return tmp_path / "t"
