"""Lines of commits from columns: the same text as from one action after the other."""

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.actions import AddFile, DeletionVectorDescriptor, RemoveFile, to_line, to_lines
from deltaskip.actions import lines as module
from deltaskip.actions.action_fields import ADD_FIELDS, REMOVE_FIELDS, ActionFields
from tests.extent import extent

ODD = st.sampled_from(['"', "\\", "\n", "\x7f", "\x00", "é\u2028", "", ","])
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6) | ODD
MAPS = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
SMALL = st.integers(-(1 << 31), (1 << 31) - 1)
VECTORS = st.builds(
    DeletionVectorDescriptor,
    storage_type=TEXTS, path_or_inline_dv=TEXTS, size_in_bytes=SMALL, cardinality=NUMBERS, offset=st.none() | SMALL,
)  # fmt: skip
REMOVES = st.builds(
    RemoveFile,
    path=TEXTS, data_change=st.booleans(), deletion_timestamp=st.none() | NUMBERS,
    extended_file_metadata=st.none() | st.booleans(), partition_values=st.none() | MAPS, size=st.none() | NUMBERS,
    stats=st.none() | TEXTS, tags=st.none() | MAPS, deletion_vector=st.none() | VECTORS,
    base_row_id=st.none() | NUMBERS, default_row_commit_version=st.none() | NUMBERS,
)  # fmt: skip
ADDS = st.builds(
    AddFile,
    path=TEXTS, partition_values=MAPS, size=NUMBERS, modification_time=NUMBERS, data_change=st.booleans(),
    stats=st.none() | TEXTS, tags=st.none() | MAPS, deletion_vector=st.none() | VECTORS,
)  # fmt: skip


def columns_of(fields: ActionFields, actions: list[Any]) -> pa.Table:
    """The actions as rows."""

    def plain(value: Any) -> Any:
        if isinstance(value, DeletionVectorDescriptor):
            return {name: getattr(value, name) for name in value.__slots__}
        return list(value.items()) if isinstance(value, dict) else value

    columns = [pa.array([plain(getattr(a, f.name)) for a in actions], f.type) for f in fields.fields]
    return pa.table(columns, names=[f.name for f in fields.fields])


@settings(max_examples=extent(25, 400))
@given(st.sampled_from([2, 1000]), st.lists(REMOVES, max_size=5), st.lists(ADDS, max_size=5))
def test_lines_are_those_of_single_actions(batch_rows: int, removes: list[RemoveFile], adds: list[AddFile]) -> None:
    before = module._BATCH_ROWS
    module._BATCH_ROWS = batch_rows
    try:
        for fields, actions in ((REMOVE_FIELDS, removes), (ADD_FIELDS, adds)):
            found = b"".join(to_lines(fields, columns_of(fields, actions)))
            assert found.decode() == "".join(f"{to_line(action)}\n" for action in actions)
    finally:
        module._BATCH_ROWS = before


def test_columns_that_are_not_there_are_not_in_the_lines() -> None:
    table = pa.table({"path": ["a", "b"], "data_change": [True, False]})
    assert b"".join(to_lines(REMOVE_FIELDS, table)) == (
        b'{"remove":{"path":"a","dataChange":true}}\n{"remove":{"path":"b","dataChange":false}}\n'
    )
