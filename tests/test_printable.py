"""Names, values and locations with control characters: no text for people contains one of them as it is."""

import contextlib
import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli.commands import main
from deltaskip.errors import DeltaSkipError
from deltaskip.printable import printable, printable_json
from deltaskip.progress import LOGGER, Progress
from tests.each import each
from tests.looped import looped

# A color, a title of the window, a C1 introducer, an override of direction, an isolate, a carriage return and DEL.
NAMES = ("\x1b[31mred", "\x1b]0;t\x07", "\x9b2J", "\u202eabc", "\u2066x\u2069", "a\rb", "d\x7f")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def _silent(text: object) -> None:
    found = _CONTROLS.search(str(text))
    assert found is None, f"{found[0]!r} in {text!r}"


def _message(call: Callable[[], object]) -> str:
    with pytest.raises(DeltaSkipError) as raised:
        call()
    return str(raised.value)


def _table(folder: Path, name: str) -> ds.DeltaTable:
    """A table in which everything that has a name has this one."""
    quoted = f"`c{name}`"
    table = ds.DeltaTable.create(
        folder / f"t{name}",
        f"id BIGINT, {quoted} BIGINT COMMENT 'c', `p{name}` STRING, s STRUCT<`f{name}`: INT>",
        partition_by=[f"p{name}"],
        properties={"delta.columnMapping.mode": "name", f"own{name}": name, "delta.enableChangeDataFeed": "true"},
        comment=f"about {name}",
    )
    table.append(
        pa.table({"id": [1, 2], f"c{name}": [3, 4], f"p{name}": [name, "x"], "s": [{f"f{name}": 1}, None]}),
        txn=(f"app{name}", 1),
        user_metadata=name,
    )
    table.alter(ds.AddConstraint(f"k{name}"[:20], f"{quoted} > 0"))
    return table


def _results(table: ds.DeltaTable, name: str) -> Iterator[Any]:
    scan = table.scan(f"`c{name}` > 3 AND `p{name}` <> 'y'")
    scan.to_arrow()
    yield from (table, table.schema, table.detail(), table.history(), table.history()[0], table.stats(), table.snapshot)
    yield from (table.stats().columns[1], table.recompute_plan(), table.properties)
    yield from (scan, scan.explain(), *scan.explain().leaves, scan.metrics, table.changes(0), table.collations())
    yield from (ds.col(f"c{name}") > 3, table.optimize(dry_run=True), table.vacuum(dry_run=True), table.checkpoint())
    yield from (table.delete(f"`c{name}` = 3", dry_run=True), table.update({f"c{name}": 9}))
    yield from (ds.AddColumn(f"x{name}", "INT"), table.recompute_stats())
    yield table.merge(scan.to_arrow(), on="id")


def _refused(table: ds.DeltaTable, name: str, folder: Path) -> Iterator[Callable[[], object]]:
    row = {"id": [1], f"c{name}": [3], f"p{name}": ["x"], "s": [None]}
    yield lambda: table.scan(f"`z{name}` = 1").files()
    yield lambda: table.scan(f"`c{name}` = DATE'2024-01-01'").files()
    yield lambda: table.scan(columns=[f"z{name}"])
    yield lambda: table.append(pa.table({**row, f"new{name}": [1]}))
    yield lambda: table.append(pa.table({**row, f"c{name}": ["text"]}))
    yield lambda: table.append(pa.table({**row, f"c{name}": [-1]}))
    yield lambda: table.update({f"z{name}": 1})
    yield lambda: table.alter(ds.DeleteColumn(f"z{name}"))
    yield lambda: table.optimize(zorder_by=[f"p{name}"])
    yield lambda: ds.DeltaTable(folder / f"nothing{name}")
    yield lambda: ds.DeltaTable(table.uri, version=99)
    yield lambda: ds.DeltaTable.create(folder / "n", f"`a{name}` INT, `a{name}` INT")
    yield lambda: ds.catalog(f"warehouse:{folder}/w").load_table(f"`db`.`t{name}`")
    yield lambda: table.alter(ds.SetProperty("delta.appendOnly", name))
    yield lambda: table.alter(ds.SetProperty(f"delta.x{name}", "1"))
    yield lambda: table.recompute_stats(columns=[f"z{name}"])
    yield lambda: table.overwrite(pa.table(row), where=f"`z{name}` = 1")


@looped("name", NAMES)
def test_results_and_their_html(tmp_path: Path, name: str) -> None:
    table = _table(tmp_path, name)
    for result in _results(table, name):
        for text in (repr(result), str(result), getattr(result, "_repr_html_", str)()):
            _silent(text)
    explain = table.scan(f"`c{name}` > 3").explain()
    explain.save_plot(tmp_path / "p.svg")
    _silent((tmp_path / "p.svg").read_text())


@looped("name", NAMES)
def test_errors_and_warnings(tmp_path: Path, name: str) -> None:
    table = _table(tmp_path, name)
    for call in _refused(table, name, tmp_path):
        _silent(_message(call))
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        table.scan(f"`c{name}` = NULL").files()
        table.append(table.scan().to_arrow().slice(0, 0), txn=(f"app{name}", 1))
    assert issued
    for each_one in issued:
        _silent(each_one.message)


def test_records_of_the_log_and_labels_of_progress(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def check(name: str) -> None:
        caplog.clear()
        table = _table(tmp_path, name)
        table.scan(f"`c{name}` > 3").to_arrow()
        table.recompute_stats()
        assert caplog.records
        _silent(caplog.text)
        _silent(Progress(f"Reading {name}")._label)

    with caplog.at_level(logging.DEBUG, LOGGER.name):
        each(NAMES, check)


COMMANDS = (
    "describe T", "describe T --json", "history T", "history T --json", "files T", "files T --paths", "files T --json",
    "stats T", "stats T --json", "head T", "head T --format csv", "head T --format json", "explain T --where W",
    "explain T --where W --json", "changes T --start 0", "inspect T", "vacuum T --dry-run", "optimize T --dry-run",
    "checkpoint T", "delete T --where W --dry-run", "head T --where Z", "alter T --drop-column Z", "create T",
    "sql Q", "collations T", "diff T 0 1", "restore T --version 1 --dry-run", "head T --columns Z", "append T F",
    "query V",
)  # fmt: skip


@pytest.mark.parametrize("terminal", [False, True])
def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    def check(name: str) -> None:
        table = _table(tmp_path, name)
        (tmp_path / f"f{name}.csv").write_text(f'id,"c{name}","z{name}"\n1,2,3\n')
        place = str(tmp_path / f"t{name}")
        words = {
            "T": place, "W": f"`c{name}` > 3", "Z": f"`z{name}` = 1", "F": str(tmp_path / f"f{name}.csv"),
            "Q": f"DESCRIBE DETAIL delta.`{place}`", "V": f"SELECT count(*) AS `n{name}` FROM '{place}'",
        }  # fmt: skip
        for command in COMMANDS:
            out, err = _ran([words.get(word, word) for word in command.split()], terminal)
            if terminal or "--paths" not in command:
                # Values of a CSV, and paths for programs, are those of the table, except in a terminal.
                _silent(out.partition("\n")[0] if "csv" in command and not terminal else out)
            _silent(err)
        assert table.version == 2

    def _ran(arguments: list[str], terminal: bool) -> tuple[str, str]:
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        out.isatty = lambda: terminal
        err = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
        return out.buffer.getvalue().decode(), err.getvalue()

    each(NAMES, check)


def test_a_file_has_the_names_of_the_table_and_json_has_the_same_value(tmp_path: Path) -> None:
    for name in NAMES:
        place = str(_table(tmp_path, name).uri)
        assert main(["head", place, "--format", "csv", "--output", str(tmp_path / "o.csv")]) == 0
        assert f"c{name}" in (tmp_path / "o.csv").read_bytes().decode().replace('"', "")
        text = json.dumps({name: name}, ensure_ascii=False)
        assert json.loads(printable_json(text)) == {name: name}


def test_control_characters_are_escaped_but_those_that_are_kept() -> None:
    assert printable("a\x1b[31mü\n") == r"a\x1b[31mü\n"
    assert printable("a\nb", "\n") == "a\nb"


def test_letters_of_every_script_stay() -> None:
    for text in ("Preis\u00a0€", "می\u200cخواهم", "👩\u200d💻", "\u3000名前", "שם", "naïve", "a\tb"):
        assert printable(text, "\t") == text
