"""The bar of long work: shown after a second to somebody who sees it, and nowhere else."""

import io
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import progress
from deltaskip.progress import SWITCH, Progress, other_display


class Terminal(io.StringIO):
    """A text file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setattr(progress, "_AFTER_SECONDS", 0.0)
    return Terminal()


def read(seen: io.StringIO, label: str = "Reading [bold]t[/nothing]") -> None:
    with redirect_stderr(seen), Progress(label, 1_000) as bar:
        bar.advance(400)
        bar.advance(600)


def test_a_terminal_shows_label_and_bytes(terminal: Terminal) -> None:
    read(terminal)
    assert "Reading [bold]t[/nothing]" in terminal.getvalue()
    assert "kB" in terminal.getvalue()


def test_one_bar_is_shown_at_a_time(terminal: Terminal) -> None:
    with redirect_stderr(terminal), Progress("outer", 10) as outer:
        outer.advance(1)
        read(terminal, "inner")
        outer.advance(9)
    assert "outer" in terminal.getvalue()
    assert "inner" not in terminal.getvalue()
    read(terminal, "next")
    assert "next" in terminal.getvalue()


def test_a_bar_ends_with_an_error_in_the_work(terminal: Terminal) -> None:
    with pytest.raises(ZeroDivisionError), redirect_stderr(terminal), Progress("failing", 10) as bar:
        bar.advance(1)
        raise ZeroDivisionError
    read(terminal, "next")
    assert "next" in terminal.getvalue()


def test_nothing_is_shown_before_a_second_is_over(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_AFTER_SECONDS", 1_000.0)
    read(terminal)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_beside_another_display(terminal: Terminal) -> None:
    with other_display():
        read(terminal)
    assert terminal.getvalue() == ""
    read(terminal, "next")
    assert "next" in terminal.getvalue()


def wait_for(seen: Terminal, text: str) -> None:
    end = time.monotonic() + 60
    while text not in seen.getvalue() and time.monotonic() < end:
        time.sleep(0.002)
    assert text in seen.getvalue()


def test_work_that_reports_nothing_is_shown_meanwhile(terminal: Terminal) -> None:
    with redirect_stderr(terminal), Progress("blocking", unit="files", blocks=True):
        wait_for(terminal, "0 files")


def test_work_of_a_thread_is_shown_while_its_result_is_awaited(terminal: Terminal) -> None:
    with redirect_stderr(terminal), Progress("far away") as bar, ThreadPoolExecutor() as pool:
        assert bar.result(pool.submit(lambda: wait_for(terminal, "far away") or 5)) == 5


def append(table: ds.DeltaTable) -> None:
    table.append(pa.table({"id": [1, 2, 3]}))


LONG_WORK = {
    "Writing sales": append,
    "Planning sales": lambda table: table.scan("id = 1").paths(),
    "Reading sales": lambda table: table.scan("id = 1").to_arrow(),
    "Optimizing sales": lambda table: table.optimize(),
    "Vacuuming sales": lambda table: table.vacuum(dry_run=True),
    "Verifying sales": lambda table: table.verify(),
    "Opening sales": lambda table: ds.DeltaTable(table.checkpoint().path.partition("/_delta_log")[0]),
}


@pytest.mark.parametrize("label", LONG_WORK)
def test_long_work_on_tables_is_shown_in_terminals_and_nowhere_else(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    act: Callable[[ds.DeltaTable], object] = LONG_WORK[label]
    table = ds.DeltaTable.create(tmp_path / "sales", "id BIGINT")
    append(table)
    append(table)
    log = io.StringIO()
    with redirect_stderr(log):
        act(table)
    assert log.getvalue() == ""
    with redirect_stderr(terminal):
        act(ds.DeltaTable(tmp_path / "sales"))
    assert label in terminal.getvalue()
    monkeypatch.setattr(progress, "_AFTER_SECONDS", 1_000.0)
    before = terminal.getvalue()
    with redirect_stderr(terminal):
        act(ds.DeltaTable(tmp_path / "sales"))
    assert terminal.getvalue() == before


@pytest.mark.parametrize("environment", [{SWITCH: "0"}, {"TERM": "dumb"}])
def test_nothing_is_shown_where_it_is_turned_off(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    read(terminal)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_in_logs(terminal: Terminal) -> None:
    log = io.StringIO()
    read(log)
    assert log.getvalue() == ""


@pytest.mark.parametrize(
    ("shell", "widgets", "shown"),
    [("ZMQInteractiveShell", "", True), ("ZMQInteractiveShell", None, False), ("TerminalInteractiveShell", "", False)],
)
def test_notebooks_with_widgets_see_bars(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, shell: str, widgets: str | None, shown: bool
) -> None:
    kind: Any = type(shell, (), {})
    monkeypatch.setattr("importlib.util.find_spec", lambda _: widgets)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kind()))
    with redirect_stderr(io.StringIO()):
        assert progress._has_viewer() == shown
