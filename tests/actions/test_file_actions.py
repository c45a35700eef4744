"""Rows of FILE_SCHEMA as actions and back."""

import pyarrow as pa
import pytest

from deltaskip import actions

FULL = actions.AddFile(
    "a%20b",
    {"p": "1", "q": None},
    5,
    6,
    True,
    '{"numRecords":1}',
    {"t": None, "u": "v"},
    actions.DeletionVectorDescriptor("u", "x", 4, 5, 6),
    7,
    8,
    "liquid",
)
PLAIN = actions.AddFile("b", {}, 0, 0, False)


def row(add: actions.AddFile) -> dict[str, object]:
    dv = add.deletion_vector
    return {
        **{name: getattr(add, name) for name in actions.FILE_SCHEMA.names},
        "partition_values": list(add.partition_values.items()),
        "tags": None if add.tags is None else list(add.tags.items()),
        "deletion_vector": None if dv is None else {name: getattr(dv, name) for name in dv.__dataclass_fields__},
    }


def test_rows_are_the_adds_that_they_came_from() -> None:
    adds = [FULL, PLAIN] * 3000
    assert list(actions.add_actions(pa.Table.from_pylist([row(add) for add in adds], actions.FILE_SCHEMA))) == adds


def test_a_row_that_does_not_say_whether_data_changes_may_change_it() -> None:
    [add] = actions.add_actions(pa.Table.from_pylist([{**row(PLAIN), "data_change": None}], actions.FILE_SCHEMA))
    assert add.data_change


@pytest.mark.parametrize("add", [FULL, PLAIN])
def test_a_tombstone_says_all_that_its_add_said(add: actions.AddFile) -> None:
    remove = actions.remove_of(add, 9, data_change=False)
    assert (remove.deletion_timestamp, remove.data_change, remove.extended_file_metadata) == (9, False, True)
    kept = ("path", "partition_values", "size", "stats", "tags", "deletion_vector", "base_row_id")
    assert all(getattr(remove, name) == getattr(add, name) for name in kept)
    assert remove.default_row_commit_version == add.default_row_commit_version
    assert actions.parse_action({"remove": remove.to_json()}) == remove


def test_other_statistics_leave_the_rest_as_it_was() -> None:
    again = actions.with_stats(FULL, None)
    assert (again.stats, again.data_change) == (None, False)
    assert again.to_json() == {k: v for k, v in FULL.to_json().items() if k != "stats"} | {"dataChange": False}
