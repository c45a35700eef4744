"""Commits that the validator accepts, read by delta-spark: the table has the rows that it must have."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import AddFile, DeletionVectorDescriptor, add_actions, remove_of
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.sparkexpr.types import INTEGER, LONG, STRING, StructType, schema_to_json
from deltaskip.stats import compute
from tests.extent import some
from tests.reference.conftest import answers_of, require_delta_spark
from tests.reference.rows import digest, plain_rows
from tests.txn.tables import make_table
from tests.txn.validation.cases import changed, column, mapped

pytestmark = [pytest.mark.reference, pytest.mark.spark]

TEN = pa.table({"id": pa.array(range(10), pa.int64()), "name": [f"n{i}" for i in range(10)]})
PLAIN = StructType((column("id"), column("name", STRING)))
Rows: TypeAlias = pa.Table


def written(table: ds.DeltaTable, path: str, rows: Rows, schema: StructType | None = None, **members: Any) -> AddFile:
    """A file of these rows, and its add with statistics."""
    location = Path(table.snapshot.root, path)
    location.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, location)
    mode = table.snapshot.mapping_mode
    [found] = compute([str(location)], schema or table.schema, mapping_mode=mode).to_pylist()
    usual = {"partition_values": {}, "data_change": True, "stats": found["stats"], "modification_time": 1}
    return AddFile(path, size=location.stat().st_size, **{**usual, **members})


def commit(table: ds.DeltaTable, *acts: Any, operation: str = "WRITE", parameters: Any = None) -> int:
    """Commit adds, and what functions do to the transaction."""
    txn = table.refresh().transaction(operation=operation, parameters=parameters)
    for act in acts:
        if isinstance(act, AddFile):
            txn.add(act)
        else:
            act(txn)
    version = txn.commit()
    table.refresh()
    return version


def removal(table: ds.DeltaTable, path: str, data_change: bool = True) -> Any:
    """Remove the active file."""
    [found] = [add for add in add_actions(table.refresh().snapshot.adds()) if add.path == path]
    return lambda txn: txn.remove(remove_of(found, 5, data_change))


def inline(*rows: int) -> DeletionVectorDescriptor:
    """A deletion vector in the log."""
    data = encode(pa.array(rows, pa.int64()))
    return DeletionVectorDescriptor("i", z85_encode(data + b"\0" * (-len(data) % 4)), len(data), len(rows))


def not_null(folder: Path) -> Rows:
    """Rows beside a column that is NOT NULL, which may be null later."""
    table = make_table(folder, schema=StructType((column("id", LONG, False), column("name", STRING))))
    commit(table, written(table, "a", TEN))
    commit(table, changed(PLAIN))
    more = pa.table({"id": pa.array([None], pa.int64()), "name": ["x"]})
    commit(table, written(table, "b", more))
    return pa.concat_tables([TEN, more])


def spellings(folder: Path) -> Rows:
    """Removes and adds of paths that the log spells otherwise."""
    table = make_table(folder, schema=PLAIN)
    commit(table, written(table, "a", TEN), written(table, "b", TEN))
    a = written(table, "a", TEN)
    commit(table, replace(a, path=f"file:{folder}/a", data_change=False), operation="COMPUTE STATS")
    [b] = [add for add in add_actions(table.snapshot.adds()) if add.path == "b"]
    commit(table, lambda txn: txn.remove(replace(remove_of(b, 5), path="./%62")))
    return TEN


def delete_by_vector(folder: Path) -> Rows:
    """A delete by deletion vectors, twice, beside a constraint."""
    old = written(make_table(folder / "rows", schema=PLAIN), "a", TEN)
    properties = {"delta.enableDeletionVectors": "true", "delta.constraints.c": "id >= 0"}
    features = ["deletionVectors", "checkConstraints"]
    add = {"add": replace(old, path=f"file:{folder}/rows/a").to_json()}
    table = make_table(folder, properties, features, PLAIN, actions=[add])
    [active] = add_actions(table.snapshot.adds())
    wide = active.stats.replace("{", '{"tightBounds":false,', 1) if active.stats else None
    first = replace(active, deletion_vector=inline(1, 2), stats=wide)
    commit(table, removal(table, first.path), first, operation="DELETE")
    commit(table, removal(table, first.path), replace(first, deletion_vector=inline(1, 2, 9)), operation="DELETE")
    return TEN.take([0, 3, 4, 5, 6, 7, 8])


def compaction(folder: Path) -> Rows:
    """Two files, one with deleted rows, become one without data change."""
    table = make_table(folder, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"], PLAIN)
    commit(table, written(table, "a", TEN, deletion_vector=inline(0)), written(table, "b", TEN.slice(0, 3)))
    rows = pa.concat_tables([TEN.slice(1), TEN.slice(0, 3)])
    one = written(table, "c", rows, data_change=False)
    commit(table, removal(table, "a", False), removal(table, "b", False), one, operation="OPTIMIZE")
    return rows


def widened(folder: Path) -> Rows:
    """An int becomes a long, as delta.typeChanges records; old and new files are read."""
    old = StructType((column("id", INTEGER), column("name", STRING)))
    table = make_table(folder, {"delta.enableTypeWidening": "true"}, ["typeWidening"], old)
    narrow = TEN.set_column(0, "id", TEN["id"].cast(pa.int32()))
    commit(table, written(table, "a", narrow))
    change = {"fromType": "integer", "toType": "long"}
    commit(table, changed(StructType((column("id", LONG, delta__typeChanges=[change]), column("name", STRING)))))
    wide = pa.table({"id": pa.array([1 << 40], pa.int64()), "name": ["wide"]})
    commit(table, written(table, "b", wide))
    return pa.concat_tables([TEN, wide])


def mapped_columns(folder: Path) -> Rows:
    """Columns are renamed, dropped, swapped and added; the partition column is renamed too."""
    schema = StructType((mapped("id", 1), mapped("name", 2, type_=STRING), mapped("p", 3, type_=STRING)))
    highest = "delta.columnMapping.maxColumnId"
    properties = {"delta.columnMapping.mode": "name", highest: "3"}
    table = make_table(folder, properties, ["columnMapping"], schema, ["p"])
    rows = TEN.rename_columns(["col-id", "col-name"])
    commit(table, written(table, "a", rows, partition_values={"col-p": "x"}))
    new = StructType((mapped("name", 1, "col-id"), mapped("q", 3, "col-p", STRING), mapped("id", 4, "col-new")))
    commit(table, changed(new, ["q"], properties={highest: "4"}))
    more = pa.table({"col-id": pa.array([77], pa.int64()), "col-new": pa.array([7], pa.int64())})
    commit(table, written(table, "b", more, partition_values={"col-p": "y"}))
    return pa.table({
        "name": pa.array([*range(10), 77], pa.int64()),
        "q": [*["x"] * 10, "y"],
        "id": pa.array([*[None] * 10, 7], pa.int64()),
    })  # fmt: skip


def restored(folder: Path) -> Rows:
    """A removed file comes back with the row ids that it had."""
    table = make_table(folder, {}, ["rowTracking", "domainMetadata"], PLAIN)
    commit(table, written(table, "a", TEN), written(table, "b", TEN))
    old = {add.path: add for add in add_actions(table.snapshot.adds())}
    commit(table, removal(table, "a"))
    commit(table, old["a"], operation="RESTORE")
    back = {add.path: add.base_row_id for add in add_actions(table.snapshot.adds())}
    assert back == {path: add.base_row_id for path, add in old.items()}
    return pa.concat_tables([TEN, TEN])


def overwrite_beside_feed(folder: Path) -> Rows:
    """All files of a table with the change data feed are replaced by others."""
    table = make_table(folder, {"delta.enableChangeDataFeed": "true"}, ["changeDataFeed"], PLAIN)
    commit(table, written(table, "a", TEN))
    new = written(table, "b", TEN.slice(0, 2))
    commit(table, removal(table, "a"), new, parameters={"mode": "Overwrite"})
    return TEN.slice(0, 2)


def collated(folder: Path) -> Rows:
    """A schema without collations keeps those of the table."""
    schema = StructType((column("id"), column("name", STRING, __COLLATIONS={"name": "icu.UNICODE_CI"})))
    table = make_table(folder, {}, ["collations", "domainMetadata"], schema)
    commit(table, changed(StructType((*PLAIN.fields, column("more")))))
    commit(table, written(table, "a", TEN, schema=schema))
    assert "UNICODE_CI" in schema_to_json(table.schema)
    return TEN.append_column("more", pa.nulls(10, pa.int64()))


def upgraded(folder: Path) -> Rows:
    """Features, properties, domains and an application are set beside rows."""
    table = make_table(folder, schema=PLAIN)
    commit(table, written(table, "a", TEN))
    listed = ("appendOnly", "invariants", "domainMetadata", "v2Checkpoint", "inCommitTimestamp", "clustering")
    commit(
        table,
        lambda txn: txn.set_protocol(ds.actions.Protocol(3, 7, ("v2Checkpoint",), listed)),
        changed(properties={"delta.enableInCommitTimestamps": "true", "delta.checkpointPolicy": "v2", "mine": "x"}),
        lambda txn: txn.set_domain("mine", "{}"),
        lambda txn: txn.set_app_version("app", 1),
    )
    commit(table, written(table, "b", TEN))
    table.checkpoint()
    return pa.concat_tables([TEN, TEN])


TABLES: dict[str, Callable[[Path], Rows]] = {
    made.__name__: made
    for made in (
        not_null, spellings, delete_by_vector, compaction, widened, mapped_columns, restored, overwrite_beside_feed,
        collated, upgraded,
    )
}  # fmt: skip


NAMES = some(TABLES, 4)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Rows, dict[str, Any]]]:
    """The rows that each table must have, and delta-spark's answers."""
    require_delta_spark()
    folder = tmp_path_factory.mktemp("accepted")
    rows = {name: made(folder / name) for name, made in TABLES.items() if name in NAMES}
    paths = [folder / name for name in NAMES]
    found = answers_of("tests.reference.playing", folder / "answers.json", *paths, first=["written"])
    return {name: (rows[name], found[str(folder / name)]) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_delta_spark_reads_what_is_accepted(answers: dict[str, tuple[Rows, dict[str, Any]]], name: str) -> None:
    rows, found = answers[name]
    assert isinstance(found, dict), found
    assert (found["count"], found["digest"]) == (len(rows), digest(plain_rows(rows)))
