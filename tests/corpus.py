"""The real Delta tables that lie in `shared/tables` beside the repository, with what a reader must get from each.

Their format is described in the README there. Everything is read lazily, so that importing this module costs nothing
and works where the corpus is absent; ask `present()` before iterating, or use the `shared` fixture.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.extent import WHOLE
from tests.looped import looped

SHARED = Path(__file__).resolve().parents[2] / "shared"
ABSENT = "the shared corpus is not beside the repository (../shared/tables)"


@dataclass(frozen=True, slots=True)
class CorpusTable:
    """One table of the manifest: where it lies, and its manifest entry as parsed JSON."""

    name: str
    path: Path
    entry: dict[str, Any]

    @property
    def expect(self) -> str:
        """'read', 'snapshot-only', 'reject' or 'reject-or-read'."""
        return str(self.entry["expect"])

    @property
    def versions(self) -> list[dict[str, Any]]:
        """Expected versions, the latest first; empty for rejected tables."""
        return list(self.entry["versions"])

    @property
    def exercises(self) -> frozenset[str]:
        """Tags of what the table exercises."""
        return frozenset(self.entry["exercises"])


def present() -> bool:
    """Whether the corpus is there."""
    return (SHARED / "tables" / "manifest.json").is_file()


@cache
def tables() -> tuple[CorpusTable, ...]:
    """Every table of the manifest in its order; empty where the corpus is absent."""
    if not present():
        return ()
    folder = SHARED / "tables"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return tuple(CorpusTable(t["name"], folder / "tables" / t["name"], t) for t in manifest["tables"])


def table(name: str) -> CorpusTable:
    """The table of that name; skips the running test where the corpus is absent."""
    if not present():
        pytest.skip(ABSENT)
    return next(t for t in tables() if t.name == name)


def _any_table(_table: CorpusTable) -> bool:
    return True


@cache
def skipping_cases() -> tuple[dict[str, Any], ...]:
    """Every case of skipping.json; empty where the corpus is absent."""
    if not present():
        return ()
    text = (SHARED / "tables" / "skipping.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)["cases"])


def skipping_params() -> list[Any]:
    """The cases of each version in skipping.json, with 'name@version' as id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for case in skipping_cases():
        found.setdefault(f"{case['table']}@{case['version']}", []).append(case)
    return _params([(name, (cases,)) for name, cases in found.items()])


def table_params(*expect: str, where: Callable[[CorpusTable], bool] = _any_table) -> list[Any]:
    """Tables whose `expect` is one of those given (all when none is), as parameters with the name as id.

    One skipped parameter stands for them where the corpus is absent. where: which tables, by their entry.
    """
    return _params([(t.name, (t,)) for t in _chosen(expect, where)])


def _in_the_gate(times: int | None, tables: list[CorpusTable]) -> list[CorpusTable]:
    """Few tables: of all that the tables exercise, each by `times` of them. All in the whole run, or if it is None."""
    if WHOLE or times is None:
        return tables
    rest = list(tables)
    tags = [tag for t in rest for tag in t.exercises]
    needed = {tag: min(times, tags.count(tag)) for tag in tags}
    chosen: list[CorpusTable] = []
    while any(needed.values()):
        best = max(rest, key=lambda t: sum(needed[tag] > 0 for tag in t.exercises))
        rest.remove(best)
        chosen.append(best)
        needed |= {tag: needed[tag] - 1 for tag in best.exercises if needed[tag]}
    return chosen


def has_rows(table: CorpusTable) -> bool:
    """Whether the reference has rows of the latest version."""
    return "count" in (table.versions[0].get("rows") or {})


def params_with_rows(times: int) -> list[Any]:
    """As table_params, tables that can be read and have rows; in the gate few of them, as of `_in_the_gate`."""
    return _params([(t.name, (t,)) for t in _in_the_gate(times, _chosen(("read",), has_rows))])


def each_table(
    *expect: str, where: Callable[[CorpusTable], bool] = _any_table, gate: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: one test of the tables of table_params, each of which is its `table`.

    gate: how often all that the tables exercise comes in the gate; None for every table.
    """
    return _each("table", _in_the_gate(gate, _chosen(expect, where)), lambda table: table.name)


def versions(*expect: str, where: Callable[[dict[str, Any]], bool] = bool) -> list[tuple[CorpusTable, dict[str, Any]]]:
    """(table, expected version) pairs of the tables whose `expect` is one of those given.

    where: which versions, by what is expected of them.
    """
    return [(t, v) for t in _chosen(expect, _any_table) for v in t.versions if where(v)]


def each_version(
    *expect: str, where: Callable[[dict[str, Any]], bool] = bool, gate: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: one test of the pairs of `versions`, which are its `table` and `version`.

    gate: how often all that the tables exercise comes in the gate, each by the latest version; None for every version.
    """
    pairs = versions(*expect, where=where)
    if not WHOLE and gate is not None:
        latest = {table.name: (table, version) for table, version in reversed(pairs)}
        pairs = [latest[table.name] for table in _in_the_gate(gate, [table for table, _ in latest.values()])]
    return _each("table, version", pairs, version_name)


def _each(names: str, values: list[Any], name: Callable[[Any], object]) -> Callable[..., Callable[..., None]]:
    if not present():
        return pytest.mark.skip(reason=ABSENT)
    return looped(names, values, name)


def version_name(pair: tuple[CorpusTable, dict[str, Any]]) -> str:
    """What a failure calls a pair of `versions`."""
    return f"{pair[0].name}@{pair[1]['version']}"


def _chosen(expect: tuple[str, ...], where: Callable[[CorpusTable], bool]) -> list[CorpusTable]:
    return [t for t in tables() if (not expect or t.expect in expect) and where(t)]


def absent(width: int = 1) -> list[Any]:
    """The one skipped parameter that stands for those which only the corpus gives; width: values of a parameter."""
    return [pytest.param(*[None] * width, id="absent", marks=pytest.mark.skip(reason=ABSENT))]


def _params(named: list[tuple[str, tuple[Any, ...]]], width: int = 1) -> list[Any]:
    if not present():
        return absent(width)
    return [pytest.param(*values, id=name) for name, values in named]
