"""Bounds that delta-spark wrote before a type was widened, in each form of its checkpoints and of ours."""

from pathlib import Path

import pytest

import deltaskip as ds
from tests.reference.conftest import answers_of
from tests.reference.widened_bounds import FORMS

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")]


def wrong(table: ds.DeltaTable, expected: dict[str, int]) -> list[tuple[str, int, int]]:
    """Predicates whose rows, or count from the log, are not those of delta-spark."""
    found = []
    for where, count in expected.items():
        scan = table.scan(where)
        rows = len(scan.to_arrow())
        try:
            proved = scan.count(read=False)
        except ds.NotProvable:
            proved = rows
        if {rows, proved} != {count}:
            found.append((where, count, rows))
    return found


@pytest.mark.long
def test_no_row_is_lost_at_a_bound_of_a_narrower_type(tmp_path: Path) -> None:
    answers = answers_of("tests.reference.widened_bounds", tmp_path / "answers.json", first=[tmp_path])
    for form in FORMS:
        assert list((tmp_path / form / "_delta_log").glob("*10.checkpoint*")), form
        table = ds.DeltaTable(tmp_path / form)
        assert wrong(table, answers[form]) == [], form
        # Our own checkpoint of what that one says, alone and with the text.
        for as_json in ("false", "true"):
            text = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": as_json}
            table.alter(*(ds.SetProperty(name, value) for name, value in text.items()))
            table.checkpoint()
            table = ds.DeltaTable(tmp_path / form)
            assert wrong(table, answers[form]) == [], (form, as_json)
        assert len(table.scan("f > 100 AND f < 1e6").files()) < table.snapshot.num_files
        # What a whole-file proof would delete.
        before = answers[form]["f = 0.10000000149011612D"]
        assert before == 1
        table.delete("f = 0.10000000149011612D")
        assert len(table.scan("f = 0.10000000149011612D").to_arrow()) == 0
