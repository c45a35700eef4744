"""Rows that can be read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pad
import pytest

import deltaskip as ds
from deltaskip.data_files.data import GivenRows
from deltaskip.sparkexpr.types import StructType

NEW = pa.table({"id": [1, 2], "v": [10, 20]})


class Once:
    """An object whose stream is empty when it is asked for a second time."""

    def __init__(self) -> None:
        self.reader = NEW.to_reader()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        # A reader gives an empty stream, not an error, after its rows were read.
        return pa.RecordBatchReader.from_batches(NEW.schema, iter(self.reader)).__arrow_c_stream__(requested_schema)


STREAMS: dict[str, Callable[[], Any]] = {
    "reader": NEW.to_reader,
    "object": Once,
    "scanner": lambda: pad.Scanner.from_batches(iter(NEW.to_batches()), schema=NEW.schema),
}
DOORS: dict[str, Callable[[ds.DeltaTable, Any], object]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "of a predicate": lambda table, rows: table.overwrite(rows, where="id < 4"),
    "of partitions": lambda table, rows: table.overwrite(rows, partitions="dynamic"),
    "of equal keys": lambda table, rows: table.overwrite(rows, on=["id"]),
    "of a condition": lambda table, rows: table.overwrite(
        rows, on="t.id = s.id AND s.v > 10", target_alias="t", source_alias="s"
    ),
    "with new columns": lambda table, rows: table.overwrite(rows, on=["id"], schema_mode="merge"),
    "merge": lambda table, rows: (
        table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete()
        .execute()
    ),
    "write": lambda table, rows: ds.write(table.uri, rows, mode="overwrite"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_stream_writes_the_rows_that_a_table_writes(tmp_path: Path, door: str) -> None:
    found = {}
    for name, rows in {"table": lambda: NEW, **STREAMS}.items():
        table = ds.DeltaTable.create(tmp_path / name, "id BIGINT, v BIGINT", ["id"])
        table.append(pa.table({"id": [1, 5], "v": [0, 0]}))
        DOORS[door](table, rows())
        found[name] = sorted(map(str, ds.DeltaTable(tmp_path / name).scan().to_arrow().to_pylist()))
        assert len(found[name]) >= NEW.num_rows
    assert all(each == found["table"] for each in found.values()), found


def test_a_stream_that_was_read_is_refused_in_place_of_no_rows() -> None:
    rows = GivenRows(NEW.to_reader())
    rows.schema_for(StructType(()))
    assert sum(map(len, rows.batches("t"))) == 2
    with pytest.raises(ds.InvalidArgument, match="data are a stream, which was read already: pass them as a table"):
        [*rows.batches("t")]
    again = GivenRows(NEW)
    again.schema_for(StructType(()))
    assert [sum(map(len, again.batches("t"))) for _ in range(2)] == [2, 2]
