"""The calls that coming-from.md lists exist, with the arguments that it gives them: deltaskip's and delta-rs' own."""

import ast
import inspect
import re
from collections.abc import Mapping
from typing import Any

import pytest

import deltaskip
from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.table.merge_builder import MergeBuilder
from tests.docs.generated import PAGES

TEXT = (PAGES / "coming-from.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")
OURS: Mapping[str, Any] = {
    "ds": deltaskip, "t": deltaskip.DeltaTable, "scan": deltaskip.TableScan, "cat": deltaskip.TransactionalTableCatalog,
}  # fmt: skip
RETURNED: Mapping[str, Any] = {
    "scan": deltaskip.TableScan, "changes": ChangeScan, "merge": MergeBuilder, "load_table": deltaskip.DeltaTable,
    "DeltaTable": deltaskip.DeltaTable,
}  # fmt: skip


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its first two lines."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[2:]]


def found(node: ast.expr, names: Mapping[str, Any], returned: Mapping[str, Any]) -> Any:
    """What an expression names; None if that depends on values. Calls are bound to the signature."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attr):
            above = found(value, names, returned)
            return None if above is None or isinstance(above, property) else getattr(above, attr)
        case ast.Call(func=func, args=args, keywords=keywords):
            for each in (*args, *(keyword.value for keyword in keywords)):
                found(each, names, returned)
            callee = found(func, names, returned)
            if callee is None:
                return None
            is_method = inspect.isfunction(callee) and isinstance(func, ast.Attribute) and "." in callee.__qualname__
            given = [None] * (len(args) + is_method)
            inspect.signature(callee).bind(*given, **{str(keyword.arg): None for keyword in keywords})
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return returned.get(name, returned["merge"] if name.startswith("when_") else None)
        case ast.Subscript(value=value):
            return found(value, names, returned) and None
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    found(child, names, returned)
            return None


@pytest.mark.parametrize("library", ["delta-spark", "delta-rs", "PyIceberg"])
def test_every_call_of_deltaskip_exists(library: str) -> None:
    shown = [code for _, right in rows(f"From {library}") for code in CODE.findall(right)]
    assert len(shown) > 20
    for code in shown:
        expression = ast.parse(code, mode="eval").body if code != "foreachBatch" else ast.Constant(None)
        found(expression, OURS, RETURNED)


def test_every_call_of_delta_rs_exists() -> None:
    deltalake = pytest.importorskip("deltalake")
    from deltalake.table import TableAlterer, TableMerger, TableOptimizer

    table = deltalake.DeltaTable
    names = {"dt": table, "DeltaTable": table, "write_deltalake": deltalake.write_deltalake}
    names["convert_to_deltalake"] = deltalake.convert_to_deltalake
    parts = {"optimize": TableOptimizer, "alter": TableAlterer}
    for left, _ in rows("From delta-rs"):
        for code in CODE.findall(left):
            part = next((each for each in parts if code.startswith(f"dt.{each}.")), None)
            text = code if part is None else code.replace(f"dt.{part}.", f"{part}.", 1)
            found(ast.parse(text, mode="eval").body, {**names, **parts}, {"merge": TableMerger})
