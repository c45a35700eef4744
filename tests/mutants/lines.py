"""A plugin of pytest that records which lines of the package each test runs; Python 3.12 has what makes that cheap.

A line calls back once a test, so that a run takes little longer than one that records nothing. Each worker writes a
JSON file with the lines of its tests into the folder that `DELTASKIP_MUTANT_LINES` names.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import deltaskip

_PACKAGE = str(Path(deltaskip.__file__).parent) + os.sep
_lines: set[tuple[str, int]] = set()
_by_test: dict[str, dict[str, list[int]]] = {}


def pytest_configure() -> None:
    """Begin to monitor."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # from Python 3.12 on
    tool, events = monitoring.COVERAGE_ID, monitoring.events

    def started(code: CodeType, _: int) -> Any:
        if code.co_filename.startswith(_PACKAGE):
            monitoring.set_local_events(tool, code, events.LINE)
        return monitoring.DISABLE

    def ran(code: CodeType, line: int) -> Any:
        _lines.add((code.co_filename, line))
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "mutants")
    monitoring.register_callback(tool, events.PY_START, started)
    monitoring.register_callback(tool, events.LINE, ran)
    monitoring.set_events(tool, events.PY_START)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record the lines of one test, with its fixtures."""
    _lines.clear()
    sys.monitoring.restart_events()  # type: ignore[attr-defined]
    answer = yield
    by_file: dict[str, list[int]] = defaultdict(list)
    for file, line in _lines.copy():
        by_file["deltaskip/" + file.removeprefix(_PACKAGE)].append(line)
    _by_test[item.nodeid] = by_file
    return answer


def pytest_unconfigure() -> None:
    """Write what was recorded."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    if _by_test:
        Path(os.environ["DELTASKIP_MUTANT_LINES"], f"{worker}.json").write_text(json.dumps(_by_test), encoding="utf-8")
