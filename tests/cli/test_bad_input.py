"""Bad input: one sentence on standard error that names what is wrong, exit status 2, nothing written."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.cli.conftest import Ran, Run
from tests.corpus import CorpusTable, each_table
from tests.looped import looped
from tests.noted import raising

COMMANDS = ("files", "explain", "inspect", "history")


def sentence_of(ran: Ran) -> str:
    """The one sentence that a refused command printed."""
    assert ran.status in (1, 2), ran
    assert ran.out == ""
    assert ran.err.startswith("deltaskip: error: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "internal error" not in ran.err
    assert "Traceback" not in ran.err
    return ran.err.removeprefix("deltaskip: error: ").rstrip("\n")


def tree(root: Path) -> list[tuple[str, int, int]]:
    """Every file and folder below the root, with size and time of change."""
    found = [(path, path.stat()) for path in sorted(root.rglob("*"))]
    return [(str(path), status.st_size, status.st_mtime_ns) for path, status in found]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_without_a_table_is_named(run: Run, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "nowhere"
    assert str(missing) in sentence_of(run(command, missing))
    assert not missing.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_folder_is_no_table_and_stays_empty(run: Run, tmp_path: Path, command: str) -> None:
    assert str(tmp_path) in sentence_of(run(command, tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_log_folder_is_no_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert str(tmp_path) in sentence_of(run("files", tmp_path))
    assert list((tmp_path / "_delta_log").iterdir()) == []


def test_a_file_instead_of_a_folder_is_no_table(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    file.write_bytes(b"PAR1")
    assert str(file) in sentence_of(run("files", file))


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything: the block runs as nobody instead."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("part", ["folder", "commit"])
def test_what_may_not_be_read_is_named(run: Run, customers: Path, own_customers: Path, part: str) -> None:
    run("files", customers)  # everything that the command imports is loaded before privileges are dropped
    for parent in own_customers.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    log = own_customers / "_delta_log"
    closed = log if part == "folder" else log / f"{0:020}.json"
    before = closed.stat().st_mode
    closed.chmod(0)
    try:
        with without_privileges():
            ran = run("files", own_customers)
    finally:
        closed.chmod(before)
    assert "ermission" in sentence_of(ran)
    assert str(own_customers) in ran.err


def _truncate(log: Path) -> None:
    commit = log / f"{0:020}.json"
    commit.write_text(commit.read_text(encoding="utf-8")[:-200], encoding="utf-8")


def _garble(log: Path) -> None:
    (log / f"{0:020}.json").write_bytes(b"\x00\xff\xfe not JSON")


def _leave_a_gap(log: Path) -> None:
    (log / f"{2:020}.json").write_text('{"commitInfo":{}}\n', encoding="utf-8")


def _empty_the_commit(log: Path) -> None:
    (log / f"{0:020}.json").write_bytes(b"")


def _damage_a_checkpoint(log: Path) -> None:
    (log / f"{0:020}.json").rename(log / f"{1:020}.json")
    (log / f"{0:020}.checkpoint.parquet").write_bytes(b"PAR1 no Parquet PAR1")


@pytest.mark.parametrize("damage", [_truncate, _garble, _leave_a_gap, _empty_the_commit, _damage_a_checkpoint])
def test_a_damaged_log_is_named_and_left_alone(run: Run, own_customers: Path, damage: Callable[[Path], None]) -> None:
    damage(own_customers / "_delta_log")
    before = tree(own_customers)
    assert str(own_customers) in sentence_of(run("files", own_customers))
    assert tree(own_customers) == before


@looped("where", ["id >", "id = = 5", "(id = 5", "id BETWEEN 5", "SELECT 1", "'", ""])
def test_a_predicate_that_is_no_sql_is_refused(run: Run, customers: Path, where: str) -> None:
    assert sentence_of(run("files", customers, "--where", where))


@pytest.mark.parametrize(
    ("where", "nearest"), [("nam = 'x'", "name"), ("amonut > 5", "amount"), ("DAYS IS NULL", "day")]
)
def test_an_unknown_column_comes_with_the_nearest_name(run: Run, customers: Path, where: str, nearest: str) -> None:
    for command in ("files", "explain"):
        assert nearest in sentence_of(run(command, customers, "--where", where))


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unsupported_feature_is_named(run: Run, own_customers: Path, command: str) -> None:
    log = own_customers / "_delta_log" / f"{0:020}.json"
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timeTravelBackwards"],
            "writerFeatures": ["timeTravelBackwards"],
        }
    }
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if not line.startswith('{"protocol"')]
    log.write_text("\n".join([json.dumps(protocol), *lines]), encoding="utf-8")
    assert "timeTravelBackwards" in sentence_of(run(command, own_customers))


@looped("version", ["1", "99999999999999999999", "9223372036854775807"])
def test_a_version_that_is_not_there_is_refused(run: Run, customers: Path, version: str) -> None:
    assert version in sentence_of(run("files", customers, "--version", version))


@looped("version", ["-1", "latest", "1.5", ""])
def test_a_version_that_is_no_version_is_refused(run: Run, customers: Path, version: str) -> None:
    assert "version" in sentence_of(run("files", customers, f"--version={version}"))


@looped("timestamp", ["1999-01-01", "2026-13-45", "yesterday", "", "2999-01-01T00:00:00Z"])
def test_a_timestamp_that_finds_nothing_is_refused(run: Run, customers: Path, timestamp: str) -> None:
    assert sentence_of(run("files", customers, "--timestamp", timestamp))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version", "0", "--timestamp", "2026-01-01"),
        ("--json", "--paths"),
        ("-o", "novalue"),
        ("--limit", "-1"),
        ("--no-such-option",),
        ("second-table",),
    ],
)
def test_options_that_make_no_sense_are_refused(run: Run, customers: Path, arguments: tuple[str, ...]) -> None:
    assert "deltaskip files --help" in sentence_of(run("files", customers, *arguments))


def test_a_predicate_without_its_option_is_told_where_it_stands(run: Run, customers: Path) -> None:
    for command in ("head", "files", "explain", "delete"):
        assert "(id = 1): a predicate stands after --where. See" in sentence_of(run(command, customers, "id = 1"))
    for command in ("restore", "head", "clone"):
        given = ("x", "3") if command == "clone" else ("3",)
        assert "(3): a version stands after --version. See" in sentence_of(run(command, customers, *given))


def test_an_unknown_scheme_is_refused(run: Run) -> None:
    assert "carrier-pigeon" in sentence_of(run("files", "carrier-pigeon://loft/table"))


def test_a_missing_table_argument_is_refused(run: Run) -> None:
    assert "TABLE" in sentence_of(run("files"))


def test_an_unknown_command_is_refused(run: Run) -> None:
    assert "fils" in sentence_of(run("fils"))


def test_debug_adds_the_traceback(run: Run, tmp_path: Path) -> None:
    for arguments in (("files", tmp_path, "--debug"), ("--debug", "files", tmp_path)):
        ran = run(*arguments)
        assert ran.status == 1
        assert "Traceback" in ran.err
        assert "TableNotFound" in ran.err
        assert ran.err.splitlines()[-1].startswith("deltaskip: error: ")


def test_a_fault_of_ours_is_told_from_bad_input(run: Run, customers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.table.table.DeltaTable.scan", raising(ZeroDivisionError("by zero")))
    ran = run("files", customers)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "deltaskip: error: internal error: ZeroDivisionError: by zero (--debug prints the traceback)\n"


def test_control_characters_of_a_table_do_not_reach_the_terminal(run: Run, own_customers: Path) -> None:
    log = own_customers / "_delta_log" / f"{0:020}.json"
    text = log.read_text(encoding="utf-8").replace("part-00000.parquet", "part-%1B[31m.parquet", 1)
    log.write_text(text, encoding="utf-8")
    ran = run("files", own_customers)
    assert ran.status == 0
    assert "\x1b" not in ran.out
    assert r"part-\x1b[31m.parquet" in ran.out


@each_table("reject")
def test_refusals_of_tables_are_one_sentence(run: Run, table: CorpusTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.log.loading._PAUSES_FOR_A_STRAY", 5)
    before = tree(table.path)
    assert table.name in sentence_of(run("files", table.path))
    assert tree(table.path) == before


@pytest.mark.long
@each_table("read", "snapshot-only")
def test_every_readable_table_can_be_listed_and_inspected(run: Run, table: CorpusTable) -> None:
    listing = run("files", table.path, "--json")
    assert listing.status == 0, listing.err
    assert json.loads(listing.out)["total_files"] == table.versions[0]["num_files"]
    found = run("inspect", table.path, "--json")
    assert found.status == 0, found.err
    assert json.loads(found.out)["files"] == table.versions[0]["num_files"]
    assert run("inspect", table.path).status == 0
    assert run("history", table.path, "--json").status == 0


def test_the_help_says_in_a_line_what_each_command_does() -> None:
    code = "from deltaskip.cli import main; main(['--help'])"
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True
    )
    told = ran.stdout.partition("Commands:\n")[2].splitlines()
    assert len(told) > 25 and all(line.endswith(".") and not line.endswith("...") for line in told), told


def test_letters_that_the_output_lacks_are_escaped(tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    ds.write(table, pa.table({"s": ["é"]}))
    code = f"import sys; from deltaskip.cli import main; sys.exit(main(['head', {table!r}]))"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert r"\xe9" in ran.stdout and not ran.stderr


def test_habits_of_other_programs_are_answered(run: Run, customers: Path) -> None:
    for given, said in (
        (("orders", "head"), "No such command 'orders'. A command stands first, as in deltaskip head TABLE."),
        (("schema", customers), "No such command 'schema': write deltaskip describe."),
        (("hed", customers), "No such command 'hed'. Did you mean 'head'? A command stands first,"),
        (("head", "-5", customers), "No such option: -5. The number of rows stands after -n."),
        (("vacuum", customers, "168"), "(168): a retention stands after --retention."),
        (("--where", "id = 1", "head", customers), "No such option: --where. Options of a command stand after it."),
        (("changes", customers, "0", "1"), "(0 1): a version stands after --start."),
        (("head", customers, "--columns", "id"), "No such option '--columns'. Did you mean '--column'? See 'deltaskip"),
        (("head", customers, "--select", "id"), "No such option: --select. Did you mean --column?"),
        (("head", customers, "-c", "id"), "No such option: -c. Did you mean --column?"),
        (("head", customers, "--version", "x"), "Invalid value for '--version': 'x' is not a whole number."),
        (("create", "new"), "Missing argument 'DDL': the columns are one text in quotes after the table, as 'id"),
        (("create", "new", "--schema", "id INT"), "the columns are one text in quotes after the table, as 'id BIGINT"),
        (("append", "nowhere", "x.csv"), "no such path. Check the path, or create a table with deltaskip create and"),
        (("head", customers, "--where", "id = :n"), "pass --param n=VALUE, or"),
    ):
        assert said in sentence_of(run(*given)), given


def test_a_csv_file_without_names_is_named(run: Run, customers: Path, tmp_path: Path) -> None:
    (tmp_path / "no header.csv").write_text("1,2026-01-01\n2,2026-01-02\n")
    said = sentence_of(run("append", customers, tmp_path / "no header.csv"))
    assert "The first line of" in said and "no header.csv has no name of a column of the table, but '1'" in said


def test_columns_are_separated_by_commas_or_repeated(run: Run, customers: Path) -> None:
    together, alone = (run("head", customers, *given, "--format", "csv") for given in (
        ("--column", "id,name"), ("--column", "id", "--column", "name")))  # fmt: skip
    assert together.status == 0 and together.out == alone.out and together.out.startswith('"id","name"')
