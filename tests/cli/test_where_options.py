"""Options of the commands that take a predicate: repeated conditions, parameters, strictness, collation versions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_bad_input import sentence_of


def kept(run: Run, table: Path, *options: str) -> int:
    ran = run("files", table, *options, "--json")
    assert ran.status == 0, ran.err
    count: int = json.loads(ran.out)["kept_files"]
    return count


DAY = ("--where", "day = '2026-01-04'")


@pytest.mark.parametrize("command", [("files",), ("explain",), ("stats", "--recompute", "--dry-run")])
def test_repeated_conditions_must_all_hold(run: Run, customers: Path, command: tuple[str, ...]) -> None:
    one = run(command[0], customers, *command[1:], "--where", "day = '2026-01-04' AND id < 70000", "--json")
    two = run(command[0], customers, *command[1:], *DAY, "--where", "id < 70000 -- few", "--json")
    assert (one.status, two.status) == (0, 0), two.err
    assert json.loads(one.out).keys() == json.loads(two.out).keys()
    for key in ("kept_files", "files"):
        assert json.loads(one.out).get(key) == json.loads(two.out).get(key)


def test_an_or_in_one_condition_does_not_reach_the_other(run: Run, customers: Path) -> None:
    either = "day = '2026-01-04' OR day = '2026-01-05'"
    assert kept(run, customers, "--where", either, *DAY) == kept(run, customers, *DAY)
    assert "line 1" in sentence_of(run("files", customers, "--where", "id = 1) OR (id = 2", *DAY))


@pytest.mark.parametrize(
    ("condition", "params"),
    [
        ("day = :day", ["day=2026-01-04"]),
        ("day = :day", [":day=DATE'2026-01-04'"]),
        ("day = :day AND id > :id", ["day=2026-01-04", "id=-1"]),
        ("day IN (:day)", ["day=2026-01-04", "day=2026-01-04"]),
        ("day = '2026-01-04' AND :yes", ["yes=true"]),
        ("day = '2026-01-04' AND name != :name", ["name='5'"]),
        ("day = '2026-01-04' AND amount > :amount", ["amount=-1.5"]),
    ],
)
def test_parameters_have_the_type_of_their_text(run: Run, customers: Path, condition: str, params: list[str]) -> None:
    options = [option for param in params for option in ("--param", param)]
    assert kept(run, customers, "--where", condition, *options) == kept(run, customers, *DAY)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--where", "id = :x"], ":x"),
        (["--where", "id = :x", "--param", "y=5"], ":x"),
        (["--where", "id = 1", "--param", "y=5"], ":y"),
        (["--where", "id = 1", "--where", "id = 2", "--param", "y=5"], ":y"),
        (["--param", "y=5"], "--where"),
        (["--where", "id = :x", "--param", "x"], "NAME=VALUE"),
        (["--where", "id = 'abc'"], "'abc'"),
        (["--where", "id = 1", "--collation-version", "abc"], "'abc'"),
        (["--where", "length(name) = 1", "--strict"], "length(name) = 1"),
    ],
)
@pytest.mark.parametrize("command", ["files", "explain"])
def test_what_does_not_fit_is_named(run: Run, customers: Path, command: str, options: list[str], part: str) -> None:
    assert part in sentence_of(run(command, customers, *options))


def test_without_ansi_mode_constants_may_fail(run: Run, customers: Path) -> None:
    assert kept(run, customers, "--where", "id = 'abc'", "--no-ansi") == 200


def test_other_collation_versions_do_not_prune(run: Run, customers: Path) -> None:
    name = ("--where", "name = 'MÜLLER 0500'")
    assert kept(run, customers, *name) < kept(run, customers, *name, "--collation-version", "1.0") == 200


def test_the_package_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "deltaskip", "--version"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout[:10]) == (0, "deltaskip ")
