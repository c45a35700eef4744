"""Checkpoints that are written say what the log says, with every property and shape."""

import errno
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog, SchemaError, UnsupportedFeature
from deltaskip.features import FEATURES
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint import write
from deltaskip.log.checkpoint.kept_groups import ENCODING
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checkpoint.written_checkpoint import WrittenCheckpoint
from deltaskip.log.last_checkpoint import checksum, parse_hint
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from tests import builder as tests_builder
from tests import corpus
from tests.each import refuses
from tests.extent import some
from tests.log.builder import PROTOCOL, V2, TableBuilder, add, load, metadata, remove

NOW = time.time_ns() // 1_000_000
COLUMNS = [
    "path", "partition_values", "size", "modification_time", "stats", "tags", "deletion_vector", "base_row_id",
    "default_row_commit_version", "clustering_provider",
]  # fmt: skip


# Out of a struct, an instant's text may have other digits.
_INSTANT = re.compile(r"(\"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?(?=Z?\")")


def checkpointed(folder: Path, version: int | None = None, **sizes: int) -> tuple[WrittenCheckpoint, Snapshot]:
    """The checkpoint of the version, and the snapshot as it is read from that alone."""
    made = write_checkpoint(load(folder, version), **sizes)
    for file in (folder / "_delta_log").iterdir():
        commit = re.fullmatch(r"(\d{20})(\.\d{20}\.compacted)?\.json", file.name)
        if commit is not None and int(commit[1]) <= made.version:
            file.unlink()
    after = load(folder, made.version)
    assert after.segment.checkpoint is not None
    assert (after.segment.checkpoint.version, after.segment.commits) == (made.version, ())
    return made, after


def rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    found = snapshot.adds(COLUMNS).to_pylist()
    for row in found:
        row["stats"] = row["stats"] and json.loads(_INSTANT.sub(r"\1.\2", row["stats"]))
        row["partition_values"] = dict(row["partition_values"] or ())
        row["tags"] = None if row["tags"] is None else dict(row["tags"])
    return sorted(found, key=lambda row: str(row["path"]))


def column(folder: Path, name: str) -> pa.StructArray:
    [file] = (folder / "_delta_log").glob("*.checkpoint.parquet")
    add_column = pq.read_table(file, columns=["add"])["add"].combine_chunks()
    return add_column.drop_null().field(name)


@corpus.each_table("read", "snapshot-only", "reject-or-read", where=lambda table: bool(table.versions), gate=2)
def test_a_checkpoint_of_a_real_table_is_its_snapshot(table: corpus.CorpusTable, tmp_path: Path) -> None:
    for expected in some(table.versions, 1):
        copy = tmp_path / str(expected["version"])
        shutil.copytree(table.path / "_delta_log", copy / "_delta_log")
        before = load(copy, expected["version"])
        wanted = rows(before)
        own = before.segment.checkpoint
        unknown = sorted({*(before.protocol.writer_features or ())} - FEATURES.keys())
        if unknown:
            refuses(UnsupportedFeature, ", ".join(unknown), write_checkpoint, before)
            assert not [*(copy / "_delta_log").glob(f"{before.version:020d}.checkpoint*")]
            continue
        made, after = checkpointed(copy, expected["version"], group_rows=3)
        assert made.written == (own is None or own.version < made.version)
        assert rows(after) == wanted
        assert (after.protocol, after.metadata) == (before.protocol, before.metadata)
        assert dict(after.txns) == dict(before.txns)
        assert dict(after.domains) == dict(before.domains)
        assert after.num_files == len(wanted)
        assert made.num_adds == (len(wanted) if made.written else 0)
        if made.written:
            after.verify()


def test_nothing_of_an_action_is_lost(table: TableBuilder) -> None:
    full = {
        "partitionValues": {"p": "1", "q": None},
        "size": 5, "modificationTime": 6,
        "tags": {"t": None, "u": "v"},
        "stats": '{"numRecords":1}', "baseRowId": 7, "defaultRowCommitVersion": 8, "clusteringProvider": "liquid",
        "deletionVector": {"storageType": "u", "pathOrInlineDv": "x", "offset": 4, "sizeInBytes": 5, "cardinality": 6},
    }  # fmt: skip
    old = {
        "deletionTimestamp": NOW, "extendedFileMetadata": True,
        "partitionValues": {"p": "1"},
        "size": 9, "baseRowId": 3, "defaultRowCommitVersion": 2, "dataChange": False,
    }  # fmt: skip
    txn = {"txn": {"appId": "app", "version": 3, "lastUpdated": 9}}
    domain = {"domainMetadata": {"domain": "d", "configuration": '{"a":1}', "removed": False}}
    dead = {"domainMetadata": {"domain": "dead", "configuration": "{}", "removed": True}}
    partitioned = metadata(partitionColumns=[], name="n", description="d", createdTime=5, configuration={"k": "v"})
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors"],
            "writerFeatures": ["deletionVectors", "rowTracking"],
        }
    }
    table.commit(protocol, partitioned, txn, domain, dead, add("a%20b", **full))
    table.commit(remove("gone", **old))
    before = load(table.path)
    made, after = checkpointed(table.path)
    [row] = rows(after)
    assert row["path"] == "a%20b"
    assert (row["partition_values"], row["tags"]) == ({"p": "1", "q": None}, {"t": None, "u": "v"})
    assert (row["base_row_id"], row["default_row_commit_version"], row["clustering_provider"]) == (7, 8, "liquid")
    assert (row["deletion_vector"]["offset"], row["deletion_vector"]["cardinality"]) == (4, 6)
    assert (after.protocol, after.metadata, after.txns) == (before.protocol, before.metadata, before.txns)
    assert list(after.domains) == ["d"]
    [tombstone] = [row for batch in tombstones(after, 0) for row in batch.to_pylist()]
    assert tombstone["path"] == "gone"
    assert (tombstone["deletionTimestamp"], tombstone["size"], tombstone["baseRowId"]) == (NOW, 9, 3)
    assert (tombstone["dataChange"], tombstone["extendedFileMetadata"]) == (False, True)
    assert made.num_actions == 6
    [flag] = set(column(table.path, "dataChange").to_pylist())
    assert flag is False


def test_tombstones_stay_until_they_are_old(table: TableBuilder) -> None:
    week, hour = 7 * 86_400_000, 3_600_000
    table.commit(add("a"), add("b"), add("c"), add("d"))
    table.commit(remove("a", deletionTimestamp=NOW - week - hour), remove("b", deletionTimestamp=NOW - week + hour))
    table.commit(remove("c", deletionTimestamp=NOW), {"remove": {"path": "d", "dataChange": True}})
    table.commit(add("c"))
    _, after = checkpointed(table.path)
    assert [row["path"] for batch in tombstones(after, 0) for row in batch.to_pylist()] == ["b"]
    assert [row["path"] for row in rows(after)] == ["c"]


def test_tombstones_pass_from_checkpoint_to_checkpoint(table: TableBuilder) -> None:
    table.commit(add("a"), add("b"), add("c", "1"), add("x"))
    table.commit(*(remove(name, deletionTimestamp=NOW) for name in "ab"), remove("c", "1", deletionTimestamp=NOW))
    checkpointed(table.path, group_rows=1)
    table.commit(add("b"), add("c", "2"), remove("x", deletionTimestamp=NOW))
    _, after = checkpointed(table.path)
    found = [
        (row["path"], row["deletionVector"] and row["deletionVector"]["pathOrInlineDv"])
        for batch in tombstones(after, 0)
        for row in batch.to_pylist()
    ]
    assert sorted(found, key=str) == [("a", None), ("c", "1"), ("x", None)]
    assert [row["path"] for row in rows(after)] == ["b", "c"]


def test_a_commit_that_removes_and_adds_the_same_file_leaves_no_tombstone(table: TableBuilder) -> None:
    table.commit(add("a"))
    table.commit(remove("a", deletionTimestamp=NOW), add("a"))
    _, after = checkpointed(table.path)
    assert [row for batch in tombstones(after, 0) for row in batch.to_pylist()] == []
    assert [row["path"] for row in rows(after)] == ["a"]


def test_expired_transactions_go_where_the_table_says_when(table: TableBuilder) -> None:
    kept = metadata(configuration={"delta.setTransactionRetentionDuration": "interval 1 day"})
    old, new = NOW - 2 * 86_400_000, NOW
    txns = [{"txn": {"appId": str(time_), "version": 1, "lastUpdated": time_}} for time_ in (old, new)]
    table.commit(PROTOCOL, kept, *txns)
    _, after = checkpointed(table.path)
    assert list(after.txns) == [str(new)]


TYPES = {
    "i": "integer", "l": "long", "sh": "short", "by": "byte", "d": "double", "f": "float", "dec": "decimal(10,2)",
    "s": "string", "da": "date", "ts": "timestamp", "ntz": "timestamp_ntz", "bo": "boolean", "bin": "binary",
}  # fmt: skip


def schema_string(types: Mapping[str, Any], **of_fields: Mapping[str, Any]) -> str:
    fields = [{"name": n, "type": t, "nullable": True, "metadata": of_fields.get(n, {})} for n, t in types.items()]
    return json.dumps({"type": "struct", "fields": fields})


def struct_of(table: TableBuilder, stats: Sequence[Any], types: Mapping[str, Any], **of_fields: Any) -> list[Any]:
    """stats_parsed of files with these statistics, in a checkpoint of a table with these columns."""
    configuration = of_fields.pop("configuration", {})
    texts = [text if text is None or isinstance(text, str) else json.dumps(text) for text in stats]
    table.commit(
        PROTOCOL,
        metadata(schemaString=schema_string(types, **of_fields), configuration=configuration),
        *(add(f"f{number:03d}", stats=text) for number, text in enumerate(texts)),
    )
    write_checkpoint(load(table.path))
    return column(table.path, "stats_parsed").to_pylist()


def test_statistics_become_a_struct_of_the_columns_types(table: TableBuilder) -> None:
    values = {
        "i": -5,
        "l": 2**63 - 1,
        "sh": 300, "by": -128, "d": 0.1, "f": 0.1, "dec": 12.5, "s": 'é"x', "da": "2020-02-29",
        "ts": "2020-01-01T00:00:00.123Z", "ntz": "1850-01-01T00:00:00.5",
    }  # fmt: skip
    nulls = dict.fromkeys(TYPES, 1)
    stats = {"numRecords": 3, "tightBounds": False, "minValues": values, "maxValues": values, "nullCount": nulls}
    [found] = struct_of(table, [stats], TYPES)
    assert (found["numRecords"], found["tightBounds"], found["nullCount"]) == (3, False, nulls)
    assert found["minValues"] == found["maxValues"]
    low = found["minValues"]
    assert list(low) == [name for name in TYPES if name not in ("bo", "bin")]
    assert (low["i"], low["l"], low["sh"], low["by"], low["d"], low["s"]) == (-5, 2**63 - 1, 300, -128, 0.1, 'é"x')
    assert low["f"] == pa.scalar(0.1, pa.float32()).as_py()
    assert (str(low["dec"]), str(low["da"])) == ("12.50", "2020-02-29")
    assert low["ts"].isoformat() == "2020-01-01T00:00:00.123000+00:00"
    assert low["ntz"].isoformat() == "1850-01-01T00:00:00.500000"


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("byte", 128),
        ("integer", 2**31),
        ("long", 1.5),
        ("integer", "5"),
        ("decimal(10,2)", "1.005"),
        ("decimal(4,2)", 100.5),
        ("date", "20-1-1"),
        ("date", 5),
        ("timestamp", "2020-01-01T00:00:00"),
        ("timestamp", "1883-11-18T00:00:00.000-07:52"),
        ("timestamp_ntz", "x"),
        ("string", 7),
        ("double", "x"),
    ],
)
def test_what_the_type_cannot_hold_is_not_known(table: TableBuilder, type_: str, value: Any) -> None:
    good = {"double": 1.0, "string": "a", "date": "2020-01-01", "timestamp": "2020-01-01T00:00:00Z"}
    fine = good.get(type_, "2020-01-01T00:00:00" if type_ == "timestamp_ntz" else 1)
    found = struct_of(table, [{"minValues": {"x": v}} for v in (value, fine)], {"x": type_})
    assert found[0]["minValues"] == {"x": None}
    assert found[1]["minValues"]["x"] is not None


def test_special_doubles_have_their_names_in_the_text(table: TableBuilder) -> None:
    stats = [{"maxValues": {"x": value, "f": value}} for value in ("NaN", "Infinity", "-Infinity", 1e300)]
    found = [row["maxValues"] for row in struct_of(table, stats, {"x": "double", "f": "float"})]
    assert str(found[0]["x"]) == str(found[0]["f"]) == "nan"
    assert [row["x"] for row in found[1:]] == [float("inf"), float("-inf"), 1e300]


def test_files_without_statistics_have_no_struct(table: TableBuilder) -> None:
    found = struct_of(table, [None, "no json", {}, "[]"], {"x": "long"})
    assert found[:2] == [None, None]
    assert found[2]["numRecords"] is None


def test_the_footers_of_data_files_and_checkpoints_name_the_calendar_of_their_dates(tmp_path: Path) -> None:
    # Spark 4.1, DataSourceUtils.datetimeRebaseSpec: without a version, the session decides which calendar it is.
    table = ds.DeltaTable.create(tmp_path, "d DATE", properties={"delta.checkpoint.writeStatsAsStruct": "true"})
    table.append(pa.table({"d": pa.array([-400_000], pa.date32())}))
    table.checkpoint()
    files = [*tmp_path.glob("*.parquet"), *tmp_path.glob("_delta_log/*.parquet")]
    assert len(files) == 2
    for file in files:
        found = {key: value for key, value in pq.read_metadata(file).metadata.items() if key != ENCODING}
        assert found == {b"org.apache.spark.version": b"3.1.0"}, file


def test_bounds_of_a_double_that_was_a_float_stay_in_the_text(table: TableBuilder) -> None:
    change = {"delta.typeChanges": [{"toType": "double", "fromType": "float"}]}
    found = struct_of(table, [{"maxValues": {"x": 0.1, "y": 0.1}}], {"x": "double", "y": "double"}, x=change)
    assert found[0]["maxValues"] == {"y": 0.1}


def test_nested_columns_and_those_the_properties_name(table: TableBuilder) -> None:
    inner = {"type": "struct", "fields": [{"name": "b", "type": "long", "nullable": True, "metadata": {}}]}
    stats = {"minValues": {"a": {"b": 5}, "c": 6}, "nullCount": {"a": {"b": 0}, "c": 1}}
    named = {"delta.dataSkippingStatsColumns": "a.b"}
    [found] = struct_of(table, [stats], {"a": inner, "c": "long"}, configuration=named)
    assert (found["minValues"], found["nullCount"]) == ({"a": {"b": 5}}, {"a": {"b": 0}})


def test_collated_bounds_stand_in_text_and_struct(table: TableBuilder) -> None:
    bounds = {"minValues": {"s": "a", "n": {"t": "B"}}, "maxValues": {"s": "É"}}
    other = {"minValues": {"s": "z"}, "maxValues": {"s": "z"}}
    stats = [
        {"numRecords": 1, "minValues": {"x": 1}, "statsWithCollation": {"icu.UNICODE_CI.77.1": bounds}},
        {"numRecords": 2},
        {"numRecords": 3, "statsWithCollation": {"icu.UNICODE_CI.78.3": other}},
    ]
    nested = {
        "type": "struct",
        "fields": [
            {"name": "t", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": {"t": "icu.UNICODE_CI"}}}
        ],
    }
    collated = {"__COLLATIONS": {"s": "icu.UNICODE_CI"}}
    found = struct_of(table, stats, {"s": "string", "x": "long", "n": nested}, s=collated)
    assert found[0]["statsWithCollation"]["icu.UNICODE_CI.77.1"] == {
        "minValues": {"s": "a", "n": {"t": "B"}},
        "maxValues": {"s": "É", "n": {"t": None}},
    }
    assert found[2]["statsWithCollation"]["icu.UNICODE_CI.78.3"]["maxValues"] == {"s": "z"}
    empty = {"n": {"t": None}, "s": None}
    assert found[1]["statsWithCollation"]["icu.UNICODE_CI.77.1"] == {"minValues": empty, "maxValues": empty}
    assert found[0]["minValues"] == {"s": None, "x": 1, "n": {"t": None}}
    assert [json.loads(text) for text in column(table.path, "stats").to_pylist()] == stats


@pytest.mark.parametrize(("as_json", "as_struct"), [("true", "true"), ("false", "true"), ("true", "false")])
def test_the_properties_say_in_which_forms_statistics_stand(table: TableBuilder, as_json: str, as_struct: str) -> None:
    forms = {"delta.checkpoint.writeStatsAsJson": as_json, "delta.checkpoint.writeStatsAsStruct": as_struct}
    stats = '{"numRecords":4,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}'
    head = metadata(configuration=forms, partitionColumns=[])
    table.commit(PROTOCOL, head, add("a", stats=stats), add("b"))
    _, after = checkpointed(table.path)
    [part] = after.checkpoint_parts
    assert part.has("add.stats") == (as_json == "true")
    assert part.has("add.stats_parsed") == (as_struct == "true")
    assert [row["stats"] for row in rows(after)] == [json.loads(stats), None]
    table.commit(add("c", stats=stats))
    _, again = checkpointed(table.path)
    assert [row["stats"] for row in rows(again)] == [json.loads(stats), None, json.loads(stats)]


def test_partition_values_are_parsed_where_their_texts_say_all(table: TableBuilder) -> None:
    types = {"p": "date", "q": "string", "r": "integer"}
    values = [{"p": "2020-01-01", "q": "x", "r": "5"}, {"p": None, "q": "", "r": ""}]
    head = metadata(schemaString=schema_string(types), partitionColumns=list(types))
    files = [add(str(number), partitionValues=value) for number, value in enumerate(values)]
    table.commit(PROTOCOL, head, *files)
    write_checkpoint(load(table.path))
    first, second = column(table.path, "partitionValues_parsed").to_pylist()
    assert (str(first["p"]), first["q"], first["r"]) == ("2020-01-01", "x", 5)
    assert (second["p"], second["q"], second["r"]) == (None, "", None)


@pytest.mark.parametrize(("type_", "value"), [("timestamp", "2020-01-01 00:00:00"), ("integer", "five")])
def test_partition_values_that_cannot_be_told_stay_texts(table: TableBuilder, type_: str, value: str) -> None:
    head = metadata(schemaString=schema_string({"p": type_, "q": "string"}), partitionColumns=["p", "q"])
    protocol = PROTOCOL
    table.commit(protocol, head, add("a", partitionValues={"p": value, "q": "x"}))
    _, after = checkpointed(table.path)
    [part] = after.checkpoint_parts
    assert not part.has("add.partitionValues_parsed")
    assert rows(after)[0]["partition_values"] == {"p": value, "q": "x"}


def test_a_v2_checkpoint_has_its_files_in_sidecars(table: TableBuilder) -> None:
    head = metadata(configuration={"delta.checkpointPolicy": "v2"})
    table.commit(V2, head, *(add(f"f{number:03d}") for number in range(50)))
    table.commit(remove("f007", deletionTimestamp=NOW), remove("f008", deletionTimestamp=NOW))
    made, after = checkpointed(table.path, group_rows=5, sidecar_rows=20)
    assert len(made.sidecars) == len(list((table.log / "_sidecars").iterdir())) == 3
    assert (made.num_adds, made.num_actions, after.num_files) == (48, 48 + 2 + 3 + 3, 48)
    [top] = table.log.glob("*.checkpoint.*.parquet")
    assert made.path.endswith(top.name)
    first = pq.read_table(top).to_pylist()[0]
    assert first["checkpointMetadata"] == {"version": 1, "tags": None}
    assert [row["path"] for batch in tombstones(after, 0) for row in batch.to_pylist()] == ["f007", "f008"]
    hint = json.loads((table.log / "_last_checkpoint").read_text())
    assert hint["v2Checkpoint"]["path"] == top.name
    table.commit(add("late"))
    assert len(rows(load(table.path))) == 49
    made, after = checkpointed(table.path)
    assert (made.num_adds, after.num_files) == (49, 49)


def test_a_v2_checkpoint_that_fails_leaves_no_sidecar(table: TableBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    table.commit(V2, metadata(configuration={"delta.checkpointPolicy": "v2"}), *(add(f"f{n}") for n in range(50)))
    snapshot, there = load(table.path), []

    def full(_: object) -> NoReturn:
        there.extend((table.log / "_sidecars").iterdir())
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("deltaskip.log.checkpoint.write.state_rows", full)
        refuses(OSError, None, write_checkpoint, snapshot, group_rows=5, sidecar_rows=20)
    assert len(there) == 3
    assert list((table.log / "_sidecars").iterdir()) == [] and list(table.log.glob("*.checkpoint.*")) == []
    made, after = checkpointed(table.path)
    assert (made.num_adds, after.num_files) == (50, 50)


def test_without_the_feature_the_policy_alone_makes_no_v2_checkpoint(table: TableBuilder) -> None:
    head = metadata(configuration={"delta.checkpointPolicy": "v2"})
    table.commit(PROTOCOL, head, add("a"))
    made, _ = checkpointed(table.path)
    assert made.path.endswith(f"{0:020d}.checkpoint.parquet")


def test_a_v2_checkpoint_of_an_empty_table_has_no_sidecar(table: TableBuilder) -> None:
    table.commit(V2, metadata(configuration={"delta.checkpointPolicy": "v2"}))
    made, after = checkpointed(table.path)
    assert (made.sidecars, rows(after)) == ([], [])


def test_the_hint_names_the_checkpoint_and_its_checksum_holds(table: TableBuilder) -> None:
    table.commit(add("a"), add("b"))
    made = write_checkpoint(load(table.path))
    text = (table.log / "_last_checkpoint").read_bytes()
    fields = json.loads(text)
    size = (table.log / f"{0:020d}.checkpoint.parquet").stat().st_size
    assert (fields["version"], fields["size"], fields["numOfAddFiles"], fields["sizeInBytes"]) == (0, 4, 2, size)
    assert fields["checksum"] == checksum(fields)
    assert parse_hint(text) == (0, 2)
    assert made.size_bytes == size


def test_the_hint_never_goes_back(table: TableBuilder) -> None:
    table.commit(add("a"))
    table.commit(add("b"))
    write_checkpoint(load(table.path, 1))
    write_checkpoint(load(table.path, 0))
    assert json.loads((table.log / "_last_checkpoint").read_text())["version"] == 1
    assert (table.log / f"{0:020d}.checkpoint.parquet").exists()


def test_a_checkpoint_that_is_there_is_not_touched(table: TableBuilder) -> None:
    table.commit(add("a"))
    assert write_checkpoint(load(table.path)).written
    before = (table.log / f"{0:020d}.checkpoint.parquet").stat()
    assert not write_checkpoint(load(table.path)).written
    assert (table.log / f"{0:020d}.checkpoint.parquet").stat().st_ino == before.st_ino


def test_a_checkpoint_that_another_writer_left_is_used_or_named(table: TableBuilder) -> None:
    table.commit(add("a"))
    late = table.load()
    assert write_checkpoint(table.load()).written
    assert not write_checkpoint(late).written
    table.commit(add("b"))
    path = table.log / f"{1:020d}.checkpoint.parquet"
    path.write_bytes(b"PAR1 and no more")
    refuses(CorruptLog, rf"version 1 .* cannot be read: delete {path.name}", lambda: write_checkpoint(table.load()))
    path.unlink()
    assert write_checkpoint(table.load()).written
    assert table.paths() == ["a", "b"]


def test_the_version_checksum_holds_the_snapshot(table: TableBuilder) -> None:
    info = {"commitInfo": {"timestamp": 5, "operation": "WRITE", "txnId": "the-id"}}
    domain = {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}}
    table.commit(
        info,
        PROTOCOL,
        metadata(),
        domain,
        {"txn": {"appId": "x", "version": 2}},
        add("a", size=5),
        add("b", size=6),
    )
    write_checkpoint(load(table.path))
    fields = json.loads((table.log / f"{0:020d}.crc").read_text())
    assert (fields["numFiles"], fields["tableSizeBytes"], fields["txnId"]) == (2, 11, "the-id")
    assert (fields["numMetadata"], fields["numProtocol"]) == (1, 1)
    assert fields["setTransactions"] == [{"appId": "x", "version": 2}]
    assert [d["domain"] for d in fields["domainMetadata"]] == ["d"]
    load(table.path).verify()


def test_a_bad_property_is_named(table: TableBuilder) -> None:
    head = metadata(configuration={"delta.deletedFileRetentionDuration": "interval 1 month"})
    table.commit(PROTOCOL, head, add("a"))
    with pytest.raises(SchemaError, match=r"delta\.deletedFileRetentionDuration of .* is 'interval 1 month'"):
        write_checkpoint(load(table.path))
    assert not list(table.log.glob("*checkpoint*"))
    assert not list(table.log.glob(".*"))


def test_files_come_in_small_batches(table: TableBuilder) -> None:
    table.commit(*(add(f"f{number:03d}", stats='{"numRecords":1}') for number in range(100)))
    checkpointed(table.path)
    table.commit(remove("f050"), add("new"))
    batches = list(load(table.path).add_batches(16))
    assert max(len(batch) for batch in batches) == 16
    assert sum(len(batch) for batch in batches) == 100


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_binary_and_collated_bounds_outlive_a_checkpoint_with_structs_only(tmp_path: Path, mapping: str) -> None:
    def field(name: str, type_: Any, collation: str | None = None) -> StructField:
        metadata: dict[str, Any] = {} if collation is None else {"__COLLATIONS": {name: collation}}
        if mapping == "name":
            metadata |= {"delta.columnMapping.id": len(name), "delta.columnMapping.physicalName": f"col-{name}"}
        return StructField(name, type_, True, metadata)

    prefix = "col-" if mapping == "name" else ""
    inner = StructType((field("bb", STRING, "spark.UTF8_LCASE"), field("ccc", LONG)))
    schema = StructType((field("a", STRING, "icu.UNICODE_CI"), field("plain", STRING), field("nested", inner)))
    bounds = {prefix + "a": "A", prefix + "plain": "p", prefix + "nested": {prefix + "bb": "B", prefix + "ccc": 7}}
    under_ci, under_lcase = {prefix + "a": "a", prefix + "plain": "P"}, {prefix + "nested": {prefix + "bb": "b"}}
    collated = {
        "icu.UNICODE_CI.77.1": dict.fromkeys(("minValues", "maxValues"), under_ci),
        "Spark.utf8_lcase.77.1": dict.fromkeys(("minValues", "maxValues"), under_lcase),
    }
    nulls = {prefix + "a": 0, prefix + "plain": 0, prefix + "nested": {prefix + "bb": 0, prefix + "ccc": 0}}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": nulls}
    stats["statsWithCollation"] = collated
    strange = {"x": 1, "": {"minValues": {}}, "a.b.1": {"minValues": {"a": {"b": ""}}}}
    odd = {"numRecords": 1, "statsWithCollation": strange}
    properties = {"delta.checkpoint.writeStatsAsJson": "false", "delta.columnMapping.mode": mapping}
    builder = tests_builder.TableBuilder(tmp_path / "t", schema, properties=properties)
    builder.commit(tests_builder.add("f", stats), tests_builder.add("g", odd), tests_builder.add("h"))
    before = ds.DeltaTable(builder.path)
    before.checkpoint()
    after = ds.DeltaTable(builder.path)
    assert len(after.snapshot.checkpoint_parts) == 1
    assert not after.snapshot.checkpoint_parts[0].has("add.stats")
    found = {row["path"]: row["stats"] for row in after.snapshot.adds().to_pylist()}
    assert json.loads(found["f"]) == stats
    for where in ["a = 'x'", "a COLLATE UTF8_BINARY = 'x'", "nested.bb = 'x'", "nested.bb COLLATE UTF8_BINARY < 'A'"]:
        assert sorted(after.scan(where).files()["path"].to_pylist()) == ["g", "h"], where
        assert sorted(before.scan(where).files()["path"].to_pylist()) == ["g", "h"], where


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_all_columns_but_those_of_distinct_values_have_dictionaries(tmp_path: Path, policy: str) -> None:
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": policy}
    table = ds.DeltaTable.create(
        tmp_path, "id BIGINT, d DOUBLE, s STRUCT<a: STRING>, p INT", ["p"], properties=properties
    )
    table.append(pa.table({"id": [1, 2], "d": [0.5, None], "s": [{"a": "x"}, None], "p": pa.array([1, 2], pa.int32())}))
    table.delete("id = 1")
    table.checkpoint()
    plain = set()
    for footer in map(pq.read_metadata, (tmp_path / "_delta_log").rglob("*.parquet")):
        for group in map(footer.row_group, range(footer.num_row_groups)):
            chunks = [group.column(i) for i in range(group.num_columns)]
            coded = [chunk for chunk in chunks if chunk.physical_type != "BOOLEAN"]
            plain |= {chunk.path_in_schema for chunk in coded if "RLE_DICTIONARY" not in chunk.encodings}
    sidecars = {"sidecar.path"} if policy == "v2" else set()
    assert plain == {"add.path", "add.stats", "remove.path"} | sidecars


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_checkpoints_join_small_row_groups(tmp_path: Path, policy: str) -> None:
    def groups(action: str) -> int:
        snapshot = ds.DeltaTable(tmp_path / "t").snapshot
        assert snapshot.checkpoint is not None
        parts = snapshot.checkpoint.parts if action == "add" else snapshot.checkpoint.remove_parts
        return sum(len(part.row_groups_with(action)) for part in parts)

    properties = {"delta.checkpointInterval": "2", "delta.checkpointPolicy": policy}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p INT", ["p"], properties=properties)
    for number in range(24):
        table.append(pa.table({"id": [number], "p": pa.array([number], pa.int32())}))
        if number % 3 == 0:
            table.delete(f"id = {number}")
    assert table.version % 2 == 0 and groups("add") == groups("remove") == 1
    assert sorted(ds.DeltaTable(tmp_path / "t").scan().to_arrow()["id"].to_pylist()) == [
        number for number in range(24) if number % 3
    ]
    tombs = list(tombstones(load(tmp_path / "t"), 0))
    assert sum(map(len, tombs)) == 8
    # Large row groups stay as they are, and the last one grows.
    for at_once in (5, 4, 7):
        snapshot = ds.DeltaTable(tmp_path / "t").snapshot
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "t", tmp_path / "copy")
        for file in (tmp_path / "copy" / "_delta_log").glob(f"{snapshot.version:020}.checkpoint*"):
            file.unlink()
        _, after = checkpointed(tmp_path / "copy", group_rows=at_once)
        assert after.checkpoint is not None
        sizes = [part.add_rows(g) for part in after.checkpoint.parts for g in part.row_groups_with("add")]
        assert sum(sizes) == 16 and all(2 * size >= at_once and 2 * size <= 3 * at_once for size in sizes[:-1])
        assert rows(after) == rows(snapshot)


def test_row_groups_of_many_bytes_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_GROUP_BYTES", 1000)
    pieces = [pa.array([{"a": "x" * size}]) for size in (10, 10, 990, 5, 2000, 1, 1)]
    joined = list(write._joined(pieces, 100))
    assert [len(each) for each in joined] == [2, 1, 1, 1, 2]
    assert pa.concat_arrays(joined).equals(pa.concat_arrays(pieces))
