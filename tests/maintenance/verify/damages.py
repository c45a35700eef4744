"""Kinds of damage to tables, as data: what is done to which tables, and the rule that a verification names."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.maintenance.verify.sound_tables import SOUND

Actions = list[dict[str, Any]]
Change = Callable[[Actions], Any]
ALL = ("plain", "checkpointed", "partitioned", "mapped", "vectors", "in_sidecars", "ruled", "timed")
UNMAPPED = tuple(name for name in ALL if name != "mapped")
WITH_CHECKPOINT = ("checkpointed", "partitioned")
_PLAIN, _TWO = ("plain",), ("plain", "partitioned")


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind of damage.

    name: of the kind. rule: that is violated. tables: that it is done to. act: does it. data: whether only the data
    files show it. mends: whether a repair makes the rule hold again.
    """

    name: str
    rule: str
    tables: Sequence[str]
    act: Callable[[Path], object]
    data: bool = False
    mends: bool = False


# How to do it


def changed(actions: Actions, change: Change) -> Actions:
    """The actions after a change, which returns a list of others or changes these."""
    found = change(actions)
    return found if isinstance(found, list) else actions


def log_file(table: Path, version: int, suffix: str = "json") -> Path:
    return table / "_delta_log" / f"{version:020d}.{suffix}"


def latest(table: Path) -> int:
    return max(int(path.name[:20]) for path in (table / "_delta_log").glob("*.json"))


def actions_of(file: Path) -> Actions:
    return [json.loads(line) for line in file.read_text().splitlines()]


def put(file: Path, actions: Actions) -> None:
    file.write_text("".join(json.dumps(action) + "\n" for action in actions))


def no_checksums(table: Path) -> None:
    """Checksums would show every damage of an action, too."""
    for file in (table / "_delta_log").glob("*.crc"):
        file.unlink()


def changing(version: int | None, change: Change) -> Callable[[Path], None]:
    """Change the actions of a commit; None is the latest."""

    def act(table: Path) -> None:
        file = log_file(table, latest(table) if version is None else version)
        actions = actions_of(file)
        put(file, changed(actions, change))
        no_checksums(table)

    return act


def action(actions: Actions, name: str) -> dict[str, Any]:
    return next(each[name] for each in actions if name in each)


def setting(name: str, **members: Any) -> Callable[[Actions], None]:
    """Set members of the first action of that name; None removes one."""

    def change(actions: Actions) -> None:
        found = action(actions, name)
        for key, value in members.items():
            found.pop(key, None)
            if value is not None:
                found[key] = value

    return change


def schema(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Actions], None]:
    """Change the fields of the schema."""

    def act(actions: Actions) -> None:
        metadata = action(actions, "metaData")
        parsed = json.loads(metadata["schemaString"])
        change(parsed["fields"])
        metadata["schemaString"] = json.dumps(parsed)

    return act


def properties(**values: str) -> Callable[[Actions], None]:
    def act(actions: Actions) -> None:
        action(actions, "metaData")["configuration"].update(
            {key.replace("__", "."): value for key, value in values.items()}
        )

    return act


def stats(change: Callable[[dict[str, Any]], object]) -> Callable[[Actions], None]:
    """Change the statistics of the first add."""

    def act(actions: Actions) -> None:
        add = action(actions, "add")
        parsed = json.loads(add["stats"])
        change(parsed)
        add["stats"] = json.dumps(parsed)

    return act


def of_column(found: dict[str, Any], name: str, value: object) -> None:
    """Set the value of the column id or name, which is the first or the second one where names are mapped."""
    found[name if name in found else list(found)[("id", "name").index(name)]] = value


def value_of(found: dict[str, Any]) -> object:
    """The value of the column id."""
    return found.get("id", next(iter(found.values())))


def metadata_version(table: Path) -> int:
    """The last commit that sets the metadata."""
    log = sorted((table / "_delta_log").glob("*.json"))
    return max(int(file.name[:20]) for file in log if '"metaData"' in file.read_text())


def in_metadata(change: Change) -> Callable[[Path], None]:
    return lambda table: changing(metadata_version(table), change)(table)


def checkpoint_of(table: Path) -> Path:
    return next((table / "_delta_log").glob("*.checkpoint*.parquet"))


def sidecar_of(table: Path) -> Path:
    return next((table / "_delta_log" / "_sidecars").glob("*.parquet"))


def rows_of(change: Change) -> Callable[[Path], None]:
    """Change the rows of a checkpoint; each is a dict with one action that is not None."""

    def act(table: Path) -> None:
        file = checkpoint_of(table)
        stored = pq.read_table(file)
        actions = stored.to_pylist()
        pq.write_table(pa.Table.from_pylist(changed(actions, change), schema=stored.schema), file)

    return act


def of(actions: Actions, name: str) -> list[dict[str, Any]]:
    return [each[name] for each in actions if each.get(name) is not None]


def hint(**members: Any) -> Callable[[Path], None]:
    """Set members of the hint, with a right checksum."""

    def act(table: Path) -> None:
        from deltaskip.log.last_checkpoint import checksum

        file = table / "_delta_log" / "_last_checkpoint"
        fields = {**json.loads(file.read_text()), **members}
        fields["checksum"] = checksum(fields)
        file.write_text(json.dumps(fields))

    return act


def crc(**members: Any) -> Callable[[Path], None]:
    """Set members of the latest version checksum."""

    def act(table: Path) -> None:
        file = log_file(table, latest(table), "crc")
        file.write_text(json.dumps({**json.loads(file.read_text()), **members}))

    return act


def flipped(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)


def data_files(table: Path) -> list[Path]:
    """Active data files, in the order of the commits that added them."""
    found: dict[str, None] = {}
    for version in range(latest(table) + 1):
        for each in actions_of(log_file(table, version)):
            if "remove" in each:
                found.pop(each["remove"]["path"], None)
            if "add" in each:
                found[each["add"]["path"]] = None
    return [table / path for path in found]


def rewritten(change: Callable[[pa.Table], pa.Table], number: int = 0) -> Callable[[Path], None]:
    """Write a data file again with other rows; the log has its new size."""

    def act(table: Path) -> None:
        file = data_files(table)[number]
        pq.write_table(change(pq.read_table(file, partitioning=None)), file)
        name = str(file.relative_to(table))
        for version in range(latest(table) + 1):
            actions = actions_of(log_file(table, version))
            for each in actions:
                if each.get("add", {}).get("path") == name:
                    each["add"]["size"] = file.stat().st_size
            put(log_file(table, version), actions)
        no_checksums(table)

    return act


def with_column(name: str, values: Callable[[pa.Table], Any]) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        column = values(rows)
        if name in rows.column_names:
            return rows.set_column(rows.column_names.index(name), name, column)
        return rows.append_column(name, column)

    return change


def in_last_add(members: dict[str, Any]) -> Callable[[Actions], None]:
    return setting("add", **members)


def compaction(start: int, end: int, change: Change) -> Callable[[Path], None]:
    """A log compaction of commits that only add files."""

    def act(table: Path) -> None:
        actions = [
            each
            for version in range(start, end + 1)
            for each in actions_of(log_file(table, version))
            if "commitInfo" not in each and ("txn" not in each or version == end)
        ]
        name = f"{start:020d}.{end:020d}.compacted.json"
        put(table / "_delta_log" / name, changed(actions, change))

    return act


def vector_file(table: Path) -> Path:
    return next(table.glob("deletion_vector_*.bin"))


def each_vector(change: Callable[[dict[str, Any]], object]) -> Callable[[Actions], None]:
    def act(actions: Actions) -> None:
        for each in of(actions, "add"):
            change(each["deletionVector"])

    return act


def first_ids(actions: Actions) -> None:
    for each in of(actions, "add"):
        each["baseRowId"] = 0


def orphan(table: Path) -> None:
    file = table / "part-00000-orphan.parquet"
    shutil.copyfile(data_files(table)[0], file)
    os.utime(file, (1_000_000_000, 1_000_000_000))


def replaced_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _log() -> Iterator[Damage]:
    def lines(version: int | None, text: str) -> Callable[[Path], None]:
        def act(table: Path) -> None:
            log_file(table, latest(table) if version is None else version).write_text(text)
            no_checksums(table)

        return act

    yield from (
        Damage("a commit is gone", "commit.gap", UNMAPPED, lambda t: log_file(t, 1).unlink()),
        Damage("the first commit is gone", "commit.gap", ("plain", "mapped", "timed"),
            lambda t: log_file(t, 0).unlink()),
        Damage("a commit is empty", "commit.empty", ("plain", "mapped"), lines(2, "")),
        Damage("a commit with a timestamp is empty", "commit.timestamp", ("timed",), lines(2, "\n")),
        Damage("a commit is cut off", "commit.readable", ALL, lines(None, '{"add":{"path":"x","partitionVa')),
        Damage("a commit is no JSON", "commit.readable", ("plain", "ruled"), lines(1, "hello\n")),
        Damage("a commit is a list", "commit.readable", ("plain",), lines(1, "[]\n")),
        Damage("a folder is a commit", "log.regular-files", ("plain",), lambda t: replaced_by_folder(log_file(t, 2))),
        Damage("a torn protocol", "commit.readable", ("plain", "vectors"),
            changing(0, setting("protocol", minReaderVersion="1"))),
        Damage("metadata without an id", "commit.readable", ("plain",), changing(0, setting("metaData", id=None))),
        Damage("no metadata", "commit.first", ("plain", "timed"),
            changing(0, lambda found: [each for each in found if "metaData" not in each])),
        Damage("no protocol", "commit.first", ("plain", "timed"),
            changing(0, lambda found: [each for each in found if "protocol" not in each])),
    )  # fmt: skip
    for name in ("metaData", "protocol"):
        yield Damage(
            f"{name} twice",
            "commit.reconciled",
            ("plain", "mapped"),
            changing(0, lambda found, name=name: [*found, {name: action(found, name)}]),
        )
    yield Damage(
        "an application twice",
        "commit.reconciled",
        UNMAPPED[:3],
        changing(1, lambda found: [*found, *[{"txn": {"appId": "x", "version": n}} for n in (1, 2)]]),
    )
    domain = {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}}
    yield from (
        Damage("a domain twice", "commit.reconciled", ("vectors",), changing(1, lambda f: [*f, domain, domain])),
        Damage("a file added twice", "commit.reconciled", ("plain", "vectors", "timed"),
            changing(1, lambda found: [*found, {"add": {**action(found, "add"), "size": 5}}])),
        Damage("a file added and removed", "commit.reconciled", ("plain", "mapped"),
            changing(1, lambda found: [*found, {"remove": {"path": action(found, "add")["path"], "dataChange": True,
            "deletionTimestamp": 1}}])),
        Damage("a negative size", "files.numbers", ("plain", "ruled"), changing(None, setting("add", size=-5))),
        Damage("an odd name", "log.names", ("plain",), lambda t: log_file(t, 7, "jsn.json").write_text("{}")),
        Damage("no timestamp", "commit.timestamp", ("timed",),
            changing(2, setting("commitInfo", inCommitTimestamp=None))),
        Damage("an earlier timestamp", "commit.timestamp", ("timed",),
            changing(2, setting("commitInfo", inCommitTimestamp=5))),
        Damage("commitInfo comes last", "commit.timestamp", ("timed",), changing(2, lambda found: found[::-1])),
        Damage("a change file elsewhere", "files.cdc-folder", ("timed",),
            changing(None, setting("cdc", path="elsewhere.parquet"))),
        Damage("a change file that changes data", "files.cdc", ("timed",),
            changing(None, setting("cdc", dataChange=True))),
        Damage("a compaction is no JSON", "compaction.readable", ("plain",),
            lambda t: log_file(t, 1, f"{2:020d}.compacted.json").write_text("{"), mends=True),
        Damage("a compaction lacks a file", "compaction.contents", ("plain", "mapped"),
            compaction(1, 2, lambda found: [each for each in found if each is not next(e for e in found if "add" in
            e)]), mends=True),
        Damage("a compaction with a file twice", "compaction.reconciled", ("plain",),
            compaction(1, 2, lambda found: [*found, next(each for each in found if "add" in each)]), mends=True),
        Damage("a compaction beyond the log", "compaction.range", ("plain",),
            lambda t: put(log_file(t, 1, f"{90:020d}.compacted.json"), []), mends=True),
    )  # fmt: skip


def _checkpoints() -> Iterator[Damage]:
    def bad(name: str, rule: str, change: Change, tables: Sequence[str] = WITH_CHECKPOINT) -> Damage:
        return Damage(f"checkpoint: {name}", f"checkpoint.{rule}", tables, rows_of(change), mends=True)

    def first_add(**members: Any) -> Callable[[Actions], None]:
        return lambda found: of(found, "add")[0].update(members)

    for contents in (b"", b"PAR1", b"no Parquet", b"PAR1" + b"\0" * 99 + b"PAR1"):
        yield Damage(
            f"checkpoint is {contents[:10]!r}",
            "checkpoint.readable",
            WITH_CHECKPOINT,
            lambda t, c=contents: checkpoint_of(t).write_bytes(c),
            mends=True,
        )
    yield from (
        Damage("checkpoint: cut off", "checkpoint.readable", WITH_CHECKPOINT,
            lambda t: checkpoint_of(t).write_bytes(checkpoint_of(t).read_bytes()[:-300]), mends=True),
        bad("lacks a file", "contents", lambda f: [e for e in f if e["add"] is None or e["add"] is not of(f,
            "add")[0]]),
        bad("another file", "contents", lambda f: [*f, {**f[-1], "add": {**of(f, "add")[0], "path": "other.parquet"}}]),
        bad("another size", "contents", first_add(size=7)),
        bad("another protocol", "contents", lambda f: of(f, "protocol")[0].update(minWriterVersion=3)),
        bad("another schema", "contents", lambda f: of(f,
            "metaData")[0].update(schemaString='{"type":"struct","fields":[]}')),
        bad("another version of an application", "contents", lambda f: of(f, "txn")[0].update(version=77)),
        bad("a file twice", "reconciled", lambda f: [*f, next(e for e in f if e["add"] is not None)]),
        bad("active and removed", "reconciled", lambda f: [*f,
            {"remove": {"path": of(f, "add")[0]["path"], "deletionTimestamp": 1 << 50, "dataChange": True}}],
            ("checkpointed",)),
        bad("another partition", "contents", first_add(partitionValues=[("p", "7")]), ("partitioned",)),
        Damage("a sidecar is gone", "checkpoint.readable", ("in_sidecars",), lambda t: sidecar_of(t).unlink(),
            mends=True),
        Damage("a sidecar is torn", "checkpoint.readable", ("in_sidecars",), lambda t: sidecar_of(t).write_bytes(b"x"),
            mends=True),
        Damage("a sidecar of another size", "checkpoint.sidecar", ("in_sidecars",),
            rows_of(lambda found: of(found, "sidecar")[0].update(sizeInBytes=3))),
        Damage("a part is gone", "checkpoint.complete", ("checkpointed",),
            lambda t: checkpoint_of(t).rename(log_file(t, 4, "checkpoint.0000000001.0000000002.parquet"))),
    )  # fmt: skip
    hint_file = lambda t: t / "_delta_log" / "_last_checkpoint"  # noqa: E731
    yield from (
        Damage("hint: no JSON", "hint.readable", WITH_CHECKPOINT, lambda t: hint_file(t).write_text("{"), mends=True),
        Damage("hint: wrong checksum", "hint.readable", WITH_CHECKPOINT,
            lambda t: hint_file(t).write_text('{"version":4,"size":1,"checksum":"00"}'), mends=True),
        Damage("hint: no such checkpoint", "hint.version", WITH_CHECKPOINT, hint(version=3), mends=True),
        Damage("hint: parts", "hint.contents", WITH_CHECKPOINT, hint(parts=4), mends=True),
        Damage("hint: number of files", "hint.contents", WITH_CHECKPOINT, hint(numOfAddFiles=4711), mends=True),
    )  # fmt: skip
    tables = ("plain", "partitioned", "vectors")
    yield Damage(
        "checksum: no JSON",
        "checksum.readable",
        tables,
        lambda t: log_file(t, latest(t), "crc").write_text("{"),
        mends=True,
    )
    for name, value in {
        "numFiles": 99,
        "tableSizeBytes": 1,
        "numMetadata": 2,
        "allFiles": [{"path": "x"}],
        "numDeletedRecordsOpt": 99,
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [7] * 10},
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 4},
        "setTransactions": [{"appId": "app", "version": 99}],
    }.items():
        yield Damage(f"checksum: {name}", "checksum.contents", tables, crc(**{name: value}), mends=True)


def _state() -> Iterator[Damage]:
    def meta(name: str, rule: str, change: Change, tables: Sequence[str] = ("plain",)) -> Damage:
        return Damage(name, rule, tables, in_metadata(change))

    def field(number: int, **members: Any) -> Callable[[Actions], None]:
        return schema(lambda fields: fields[number].update(members))

    def marked(number: int, **members: Any) -> Callable[[Actions], None]:
        keys = {key.replace("__", "."): value for key, value in members.items()}
        return schema(lambda fields: fields[number]["metadata"].update(keys))

    yield from (
        meta("a schema that is no JSON", "schema.json", setting("metaData", schemaString="{"), ("plain", "vectors")),
        meta("a type that does not exist", "schema.types", field(0, type="int128")),
        meta("two columns of a name", "schema.duplicates", field(0, name="NAME")),
        meta("a name with a blank", "schema.names", field(0, name="i d")),
        meta("an unknown partition column", "metadata.partitioning", setting("metaData", partitionColumns=["zz"])),
        meta("a malformed property", "properties.values", properties(delta__appendOnly="maybe")),
        meta("another format", "metadata.format", setting("metaData", format={"provider": "csv", "options": {}})),
        meta("an id of two columns", "mapping.ids", marked(0, delta__columnMapping__id=2), ("mapped",)),
        meta("a highest id that is too low", "mapping.highest-id", properties(delta__columnMapping__maxColumnId="1"),
            ("mapped",)),
        meta("a constraint that is no SQL", "schema.expressions", properties(delta__constraints__small="id <"),
            ("ruled",)),
        meta("an identity column of step 0", "schema.identity", marked(4, delta__identity__step=0), ("ruled",)),
        meta("a feature that is not listed", "protocol.unlisted", properties(delta__enableDeletionVectors="true")),
        Damage("no list of features", "protocol.versions", ("vectors",),
            changing(0, setting("protocol", readerFeatures=None))),
        Damage("a feature of one list", "protocol.both-lists", ("vectors",),
            changing(0, setting("protocol", writerFeatures=["rowTracking", "domainMetadata", "appendOnly",
            "invariants"]))),
        Damage("a feature without what it needs", "protocol.required", ("vectors",),
            changing(0, setting("protocol", writerFeatures=["rowTracking", "deletionVectors"]))),
        Damage("clustering by no column", "domains.clustering", ("ruled",),
            changing(0, setting("domainMetadata", configuration='{"clusteringColumns":[["zz"]]}'))),
    )  # fmt: skip
    name = "delta.rowTracking.materializedRowIdColumnName"
    yield Damage(
        "no column of row ids",
        "row-ids.columns",
        ("vectors",),
        changing(0, lambda found: action(found, "metaData")["configuration"].pop(name)),
    )


def _files() -> Iterator[Damage]:
    def add(name: str, rule: str, change: Change, tables: Sequence[str] = ("plain",)) -> Damage:
        return Damage(name, rule, tables, changing(None, change))

    yield from (
        add("a path with a blank", "files.path", setting("add", path="a b.parquet"), ("plain", "ruled")),
        add("no partition value", "files.partition-values", setting("add", partitionValues={}), ("partitioned",)),
        add("a partition value too many", "files.partition-values", setting("add", partitionValues={"q": "1"})),
        add("a partition value of another type", "files.partition-values", setting("add", partitionValues={"p": "x"}),
            ("partitioned",)),
        add("a partition value that is null", "files.partition-values", setting("add", partitionValues={"p": None}),
            ("partitioned",)),
        add("statistics that are no JSON", "statistics.json", setting("add", stats="{"),
            ("plain", "ruled", "partitioned")),
        add("a bound of another type", "statistics.json", stats(lambda s: of_column(s["minValues"], "id", "x")),
            UNMAPPED[:1]),
        add("more nulls than rows", "statistics.counts", stats(lambda s: of_column(s["nullCount"], "name", 999)),
            ("plain", "partitioned")),
        add("a minimum above the maximum", "statistics.bounds", stats(lambda s: of_column(s["minValues"], "id", 9999)),
            ("plain", "ruled")),
        add("nulls of NOT NULL", "statistics.not-null", stats(lambda s: of_column(s["nullCount"], "id", 1)),
            ("ruled",)),
        add("no statistics of the clustering", "statistics.clustering", stats(lambda s: s.pop("minValues")),
            ("ruled",)),
        add("row ids without a count", "statistics.counts", stats(lambda s: s.pop("numRecords")), ("vectors",)),
        add("a vector without a count", "vectors.count", stats(lambda s: s.pop("numRecords")), ("vectors",)),
        add("more deleted rows than rows", "vectors.range", stats(lambda s: s.update(numRecords=1)), ("vectors",)),
        add("no row ids", "row-ids.assigned", setting("add", baseRowId=None), ("vectors",)),
        add("the row ids of others", "row-ids.unique", first_ids, ("vectors",)),
        add("row ids above the mark", "row-ids.mark", setting("add", baseRowId=10**9), ("vectors",)),
        Damage("a vector's file is gone", "vectors.readable", ("vectors",), lambda t: vector_file(t).unlink()),
        Damage("a vector with another bit", "vectors.readable", ("vectors",), lambda t: flipped(vector_file(t), 12)),
        Damage("a vector's file is cut off", "vectors.readable", ("vectors",),
            lambda t: vector_file(t).write_bytes(vector_file(t).read_bytes()[:9])),
        add("a vector of another size", "vectors.readable",
            each_vector(lambda v: v.update(sizeInBytes=v["sizeInBytes"] + 1)), ("vectors",)),
        add("a vector of other rows", "vectors.readable", each_vector(lambda v: v.update(cardinality=1)), ("vectors",)),
    )  # fmt: skip


def _data() -> Iterator[Damage]:
    def data(
        name: str, rule: str, act: Callable[[Path], object], tables: Sequence[str] = ("plain",), mends: bool = False
    ) -> Damage:
        return Damage(name, rule, tables, act, data=True, mends=mends)

    def logged(
        name: str,
        rule: str,
        change: Callable[[dict[str, Any]], object],
        tables: Sequence[str] = ("plain", "partitioned"),
    ) -> Damage:
        return data(name, rule, changing(None, stats(change)), tables, mends=True)

    yield from (
        data("a file is gone", "data.missing", lambda t: data_files(t)[-1].unlink(), ALL, mends=True),
        data("a file of an earlier commit is gone", "data.missing", lambda t: data_files(t)[0].unlink(), ALL,
            mends=True),
        data("a file is cut off", "data.readable", lambda t:
            data_files(t)[0].write_bytes(data_files(t)[0].read_bytes()[:-9]), ALL),
        data("a file is empty", "data.readable", lambda t: data_files(t)[0].write_bytes(b""), ALL),
        data("a file is a folder", "data.readable", lambda t: replaced_by_folder(data_files(t)[0]),
            ("plain", "mapped")),
        data("another size in the log", "data.size", changing(None, setting("add", size=12345)),
            ("plain", "partitioned")),
        logged("more rows in the log", "data.row-count", lambda s: s.update(numRecords=21)),
        logged("fewer rows in the log", "data.row-count", lambda s: s.update(numRecords=2)),
        logged("a minimum that is too high", "data.statistics",
            lambda s: of_column(s["minValues"], "id", value_of(s["maxValues"]))),
        logged("a maximum that is too low", "data.statistics",
            lambda s: of_column(s["maxValues"], "id", value_of(s["minValues"]))),
        logged("a string that is too low", "data.statistics", lambda s: of_column(s["maxValues"], "name", "n200")),
        logged("a null count that is too low", "data.statistics", lambda s: of_column(s["nullCount"], "id", 3)),
    )  # fmt: skip
    text = with_column("id", lambda rows: rows["id"].cast(pa.string()))
    yield data("a column of another type", "data.columns", rewritten(text), ("plain", "partitioned"))
    more = with_column("zz", lambda rows: pa.nulls(len(rows), pa.int64()))
    yield from (
        data("an unknown column", "data.unknown-columns", rewritten(more), ("plain", "partitioned", "vectors")),
        data("logical names", "data.mapped-names", rewritten(lambda r: r.rename_columns(["id", "name", "p"])),
            ("mapped",)),
    )  # fmt: skip
    one = lambda rows, name: pa.array([None, *rows[name].to_pylist()[1:]], rows[name].type)  # noqa: E731
    yield data("NULL in NOT NULL", "rows.not-null", rewritten(with_column("id", lambda r: one(r, "id"))), ("ruled",))
    big = with_column("id", lambda rows: pa.array([5000] * len(rows), pa.int64()))
    yield from (
        data("a row beyond a constraint", "rows.constraint", rewritten(big), ("ruled",)),
        data("another generated value", "rows.generated", rewritten(with_column("twice", lambda r: r["id"])),
            ("ruled",)),
    )  # fmt: skip
    far = with_column("n", lambda rows: pa.array(range(10**6, 10**6 + len(rows)), pa.int64()))
    yield data("an identity beyond its mark", "rows.identity", rewritten(far), ("ruled",))
    part = with_column("p", lambda rows: pa.array([77] * len(rows), pa.int32()))
    yield data("a partition column with other values", "data.partition-values", rewritten(part), ("partitioned",))
    fewer = rewritten(lambda rows: rows.slice(0, 2))
    yield from (
        data("a vector beyond the rows", "vectors.range", fewer, ("vectors",)),
        data("a file that nothing needs", "data.orphans", orphan, ALL),
    )  # fmt: skip


DAMAGES: Sequence[Damage] = (*_log(), *_checkpoints(), *_state(), *_files(), *_data())
"""Every kind of damage."""

_MAPPED = ("mapped", "by_id", "for_iceberg", "in_trees")
_TRACKED, _TIMED = ("vectors", "in_trees"), ("timed", "compacted", "in_trees")
_VECTORS, _PARTITIONS = ("vectors", "compacted", "by_id", "in_trees"), ("partitioned", "transformed", "in_trees")
ABOUT: Mapping[str, Sequence[str]] = {
    "commit.timestamp": _TIMED,
    **dict.fromkeys(("mapping.ids", "mapping.highest-id", "data.mapped-names"), _MAPPED),
    **dict.fromkeys(("vectors.count", "vectors.range", "vectors.readable"), _VECTORS),
    **dict.fromkeys(("row-ids.assigned", "row-ids.unique", "row-ids.mark", "row-ids.columns"), _TRACKED),
    **dict.fromkeys(("files.partition-values", "data.partition-values"), _PARTITIONS),
    **dict.fromkeys(("statistics.not-null", "statistics.clustering", "schema.identity"), ("ruled",)),
    **dict.fromkeys(("rows.not-null", "rows.constraint", "rows.generated", "rows.identity"), ("ruled",)),
}
"""Tables that have what a rule is about; the others stay sound. Rules that are not here are about all."""


def _but(*names: str) -> Sequence[str]:
    return tuple(name for name in SOUND if name not in names)


HARMLESS: Mapping[str, Sequence[str]] = {
    # A checkpoint, or a compaction, replaces it.
    "the first commit is gone": _but(
        "plain", "compacted", "mapped", "vectors", "ruled", "timed", "cleaned_up", "in_trees"
    ),
    # The file is removed again, the checkpoint has its files elsewhere, or there is a part of that name.
    "a compaction lacks a file": ("checkpointed", "in_parts"),
    "checkpoint: lacks a file": ("in_sidecars", "in_parts"),
    "a part is gone": ("in_parts",),
    # Writers leave expired applications out, and the tables know none.
    "checksum: setTransactions": ("cloned", "in_trees"),
    "a name with a blank": _MAPPED,
    "a feature that is not listed": _VECTORS,
    # The reader version needs no list, or a later commit sets the protocol or the metadata.
    "no list of features": _but(
        "vectors", "compacted", "in_sidecars", "by_id", "widened", "variants", "shapes", "nested"
    ),
    "a feature of one list": ("mapped", "ruled", "in_trees"),
    "a feature without what it needs": ("ruled", "in_trees"),
    "no column of row ids": ("in_trees",),
    "row ids without a count": _but(*_TRACKED, *_VECTORS, "for_iceberg"),
    # Another vector is the active one, and there is one row.
    **dict.fromkeys(
        ("a vector's file is gone", "a vector with another bit", "a vector's file is cut off"), ("compacted",)
    ),
    **dict.fromkeys(("a maximum that is too low", "a string that is too low"), ("compacted",)),
    # Null counts of files with deletion vectors may be too high, and files may have columns that were dropped.
    "a null count that is too low": _VECTORS,
    "an unknown column": _MAPPED,
}
"""Tables that a damage leaves sound, by its name."""
