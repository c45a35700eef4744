"""The notebook runs from its first cell to its last, and is stored without what a run has left in it."""

import json
import sys
from typing import Any

import pytest

from tests.docs.generated import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "first-steps.ipynb"
PICTURED = ("orders", "scan", "scan.explain()", "scan.metrics", "orders.history()")


def cells() -> list[dict[str, Any]]:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_cells_have_neither_outputs_nor_numbers_and_explain_each_step() -> None:
    found = cells()
    code = [cell for cell in found if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in found}) == len(found)
    assert found[0]["cell_type"] == "markdown"


@pytest.mark.spark
def test_every_cell_runs_and_objects_are_shown_as_html(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    # A shell takes the place of these.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "displayhook", sys.displayhook)
    shell = shells.InteractiveShell()
    shell.history_manager.enabled = False
    shown = {}
    for cell in cells():
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            result = shell.run_cell(source)
            assert result.success, source
            last = source.splitlines()[-1]
            if last in PICTURED:
                shown[last] = shell.display_formatter.format(result.result)[0]["text/html"]
    assert set(shown) == set(PICTURED)
    assert "<img" in shown["scan.explain()"]
