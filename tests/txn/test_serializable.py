"""Random transactions that overlap: whatever is committed is what it would have been, had they run one by one."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.actions import add_actions
from deltaskip.errors import CommitConflict
from deltaskip.txn.transaction import Transaction
from tests.extent import extent
from tests.txn.tables import actions, append, file, gone, make_table

pytestmark = pytest.mark.usefixtures("without_look_ups")

WRITERS, IDS = 3, 60


@dataclass(frozen=True, slots=True)
class Operation:
    """What a transaction does to the files that may hold rows with low <= id <= high.

    kind: "append" reads nothing and adds a file of those ids; "delete" removes the files; "replace" removes them and
    adds one; "count" adds a file whose bounds tell how many there are; "record" sets a domain that tells it; "rewrite"
    writes each again without changing data.
    """

    kind: str
    low: int
    high: int

    def run(self, txn: Transaction, name: str) -> None:
        """Put the actions into the transaction."""
        if self.kind == "append":
            txn.add(file(name, self.low, self.high))
            return
        found = self.found(txn)
        if self.kind == "count":
            txn.add(file(name, 1000 + len(found), 1000 + len(found)))
            return
        if self.kind == "record":
            txn.set_domain(f"count-{name}", str(len(found)))
            return
        old = {add.path: add for add in add_actions(txn.snapshot.adds())}
        txn.remove(*(gone(path, data_change=self.kind != "rewrite") for path in found))
        if self.kind == "rewrite":
            # The same bounds: a file of others would have rows where others have read that there are none.
            txn.add(*(replace(old[path], path=f"{name}-{i}", data_change=False) for i, path in enumerate(found)))
        elif self.kind == "replace" and found:
            rows = sum(json.loads(old[path].stats or "{}")["numRecords"] for path in found)
            txn.add(file(name, self.low, self.high, rows))

    def found(self, txn: Transaction) -> list[str]:
        """The files it works on."""
        files = txn.read(f"id BETWEEN {self.low} AND {self.high}").files(columns=["path"])
        return sorted(files["path"].to_pylist())

    def wanted(self, table: ds.DeltaTable, name: str) -> tuple[list[str], list[tuple[str, Any]], list[str]]:
        """Removed and added files, and what domains are set to, had it run on this version alone."""
        txn = table.transaction()
        self.run(txn, name)
        intent = txn.changes.intent()
        return (
            sorted(remove.path for remove in intent.removes.values()),
            sorted((add.path, add.stats) for add in intent.adds.values()),
            [domain.configuration for domain in intent.domains.values()],
        )


bounds = st.integers(0, IDS)
operations = st.builds(
    lambda kind, a, b: Operation(kind, min(a, b), max(a, b)),
    st.sampled_from(["append", "append", "delete", "replace", "count", "record", "rewrite"]),
    bounds,
    bounds,
)
# Which writer takes its next step, beginning a transaction or committing it, and what it begins.
schedules = st.lists(st.tuples(st.integers(0, WRITERS - 1), operations), min_size=4, max_size=30)


def play(folder: Path, schedule: Sequence[tuple[int, Operation]]) -> dict[int, tuple[Operation, str]]:
    """Run the schedule; by version the operation that it is, and the name of its file."""
    committed: dict[int, tuple[Operation, str]] = {}
    running: dict[int, tuple[Transaction, Operation, str]] = {}
    for number, (writer, operation) in enumerate(schedule):
        if writer not in running:
            txn = ds.DeltaTable(folder).transaction(operation=operation.kind)
            operation.run(txn, f"f{number}")
            if txn.changes.intent().actions:
                running[writer] = txn, operation, f"f{number}"
            continue
        txn, done, name = running.pop(writer)
        try:
            committed[txn.commit()] = done, name
        except CommitConflict:
            assert ds.DeltaTable(folder).version == max(committed, default=1)
    return committed


@settings(max_examples=extent(12, 40), deadline=None)
@given(schedules)
def test_every_commit_is_what_it_would_be_alone(schedule: Sequence[tuple[int, Operation]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "t")
        table = make_table(folder, {"delta.checkpointInterval": "4"}, ["domainMetadata"])
        append(table, *(file(f"start-{low}", low, low + 14) for low in range(0, IDS, 15)))
        for version, (operation, name) in play(folder, schedule).items():
            if operation.kind == "rewrite":
                # It changes no row, so rows that came meanwhile may stay outside.
                continue
            removed, added, set_to = operation.wanted(ds.DeltaTable(folder, version=version - 1), name)
            assert sorted(remove["path"] for remove in actions(folder, version, "remove")) == removed
            assert sorted((add["path"], add["stats"]) for add in actions(folder, version, "add")) == added
            assert [domain["configuration"] for domain in actions(folder, version, "domainMetadata")] == set_to
