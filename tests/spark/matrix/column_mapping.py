"""Tables whose columns are mapped by name and by id."""

from __future__ import annotations

import pyarrow as pa

from deltaskip.sparkexpr.types.data_types import LONG, STRING, ArrayType, DataType, StructField, StructType
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import table_of


def mapped(name: str, kind: DataType, physical: str, number: int) -> StructField:
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number}
    return StructField(name, kind, True, metadata)


def mapping(session: Session, mode: str) -> None:
    inner = StructType((mapped("z z", LONG, "col-3", 4), mapped("y", STRING, "col-4", 5)))
    fields = (
        mapped("id", LONG, "col-1", 1),
        mapped("s.x", inner, "col-2", 2),
        mapped("list", ArrayType(inner), "col-5", 6),
        mapped("part", STRING, "col-6", 7),
    )
    inside = {"col-3": (pa.int64(), 4), "col-4": (pa.string(), 5)}
    item = pa.struct([pa.field(name, kind, metadata=id_of(number)) for name, (kind, number) in inside.items()])
    stored = pa.schema(
        [
            pa.field("col-1", pa.int64(), metadata=id_of(1)),
            pa.field("col-2", item, metadata=id_of(2)),
            pa.field("col-5", pa.list_(item), metadata=id_of(6)),
        ]
    )
    value = {"col-3": 7, "col-4": "w"}
    rows = pa.Table.from_pylist([{"col-1": i, "col-2": value, "col-5": [value]} for i in (1, 2)], stored)
    properties = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "7"}
    table = table_of(
        session.folder,
        StructType(fields),
        {"a.parquet": rows},
        partition_by=["part"],
        values={"a.parquet": {"col-6": "p"}},
        properties=properties,
    )
    found = table.scan("`s.x`.`z z` = 7 AND id < 2").to_spark(session.spark).collect()
    equal(
        [row.asDict(recursive=True) for row in found],
        [{"id": 1, "s.x": {"z z": 7, "y": "w"}, "list": [{"z z": 7, "y": "w"}], "part": "p"}],
    )


def id_of(number: int) -> dict[str, str]:
    return {"PARQUET:field_id": str(number)}


@case("column mapping by name")
def mapping_by_name(session: Session) -> None:
    mapping(session, "name")


@case("column mapping by id")
def mapping_by_id(session: Session) -> None:
    mapping(session, "id")
