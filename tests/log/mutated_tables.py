"""The tables that mutations start from, and everything that a user reads of a table."""

import datetime
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltaskip
from deltaskip.actions import add_actions
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.deletion_vectors import read_deletion_vectors
from deltaskip.sparkexpr import types as types
from tests import corpus
from tests.builder import TableBuilder, add, bounds, json_lines, log_file, remove
from tests.log.builder import TableBuilder as LogBuilder

_UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"
_LARGEST_CORPUS_LOG = 400 << 10


@dataclass(frozen=True, slots=True)
class Source:
    """A table to mutate: its folder, its latest version, and predicates on its columns."""

    path: Path
    version: int
    predicates: tuple[str, ...]


def made_sources(folder: Path) -> list[Source]:
    """Build the tables below `folder`, and add those of the corpus that can be read; a second call lists them again."""
    listed = folder / "sources.json"
    if listed.exists():
        return [Source(Path(path), version, tuple(where)) for path, version, where in json.loads(listed.read_text())]
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in _BUILDERS.items():
        if not (folder / name).exists():
            build(folder / name)
    found = [folder / name for name in _BUILDERS]
    found += [
        table.path
        for table in corpus.tables()
        if table.expect == "read" and _log_size(table.path) < _LARGEST_CORPUS_LOG
    ]
    sources = [_source(path) for path in found]
    listed.write_text(json.dumps([(str(each.path), each.version, each.predicates) for each in sources]))
    return sources


def copied(source: Source, folder: Path) -> Path:
    """Copy the log and the deletion vectors of a table; no data files."""
    target = folder / "table"
    shutil.copytree(source.path / "_delta_log", target / "_delta_log", symlinks=True)
    for vector in source.path.rglob("deletion_vector_*.bin"):
        copy = target / vector.relative_to(source.path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(vector, copy)
    return target


def use(table: Path, predicates: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield everything that a user reads of a table, by name; the first opens it."""
    opened: list[deltaskip.DeltaTable] = []

    def on_table(act: Callable[[deltaskip.DeltaTable], object]) -> Callable[[], object]:
        return lambda: act(opened[0])

    yield "verify", lambda: deltaskip.verify(table)
    yield "open", lambda: opened.append(deltaskip.DeltaTable(table))
    yield "timestamp", lambda: deltaskip.DeltaTable(table, timestamp=_time_of_a_commit(table))
    yield "older", lambda: _older(table)
    if not opened:
        return
    for name, act in _ACTS.items():
        yield name, on_table(act)
    for predicate in predicates:
        yield f"scan {predicate}", on_table(lambda t, where=predicate: _scanned(t, where))
    yield "checkpoint", on_table(lambda t: t.checkpoint())
    yield "clean up", on_table(lambda t: t.clean_up_log())


def actions_of(text: str) -> list[dict[str, Any]]:
    """The actions of a commit."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _time_of_a_commit(table: Path) -> datetime.datetime:
    commits = sorted(path for path in (table / "_delta_log").glob("*.json") if path.is_file())
    modified = commits[0].stat().st_mtime if commits else 0
    return datetime.datetime.fromtimestamp(modified, datetime.UTC)


def _older(table: Path) -> object:
    latest = deltaskip.DeltaTable(table).version
    return deltaskip.DeltaTable(table, version=max(0, latest - 1)).snapshot.adds()


def _scanned(table: deltaskip.DeltaTable, where: str) -> object:
    scan = table.scan(where)
    explained = scan.explain()
    repr(scan), scan._repr_html_(), repr(explained), explained.to_dict(), explained._repr_html_()
    files = scan.files(stats=True)
    files.validate(full=True)
    assert len(scan.paths()) == len(files)
    scan.estimated_rows()
    return _unless_unprovable(scan.count)


def _unless_unprovable(act: Callable[[], object]) -> object:
    try:
        return act()
    except deltaskip.NotProvable:
        return None


def _extremes(table: deltaskip.DeltaTable) -> None:
    for field in table.schema.fields[:3]:
        for act in (table.scan().min, table.scan().max):
            _unless_unprovable(lambda act=act, name=field.name: act(f"`{name}`"))


def _deletion_vectors(table: deltaskip.DeltaTable) -> object:
    snapshot = table.snapshot
    vectors = snapshot.adds(["deletion_vector"])["deletion_vector"].combine_chunks()
    return read_deletion_vectors(snapshot.storage, snapshot.table_root, vectors)


_ACTS: Mapping[str, Callable[[deltaskip.DeltaTable], object]] = {
    "repr": lambda t: (repr(t), t._repr_html_()),
    "schema": lambda t: repr(t.schema),
    "protocol": lambda t: repr((t.protocol, t.metadata)),
    "properties": lambda t: (t.properties, t.app_versions, t.domains, t.partition_columns),
    "time": lambda t: t.in_commit_timestamp,
    "collations": lambda t: repr(t.collations()),
    "history": lambda t: (repr(t.history()), t.history()._repr_html_()),
    "detail": lambda t: (repr(t.detail()), t.detail().to_dict()),
    "stats": lambda t: (repr(t.stats()), t.stats().to_dict()),
    "adds": lambda t: t.snapshot.adds().to_pylist(),
    "add actions": lambda t: [add.to_json() for add in add_actions(t.snapshot.adds())],
    "number of files": lambda t: t.snapshot.num_files,
    "verify": lambda t: t.snapshot.verify(),
    "tombstones": lambda t: [batch.to_pylist() for batch in tombstones(t.snapshot, 0)],
    "deletion vectors": _deletion_vectors,
    "extremes": _extremes,
    "transaction": lambda t: t.transaction(),
    "plan": lambda t: repr(t.recompute_plan()),
    "refresh": lambda t: t.refresh(),
    "scan": lambda t: t.scan().files(stats=True).validate(full=True),
}


def _log_size(table: Path) -> int:
    return sum(file.stat().st_size for file in (table / "_delta_log").rglob("*") if file.is_file())


def _source(path: Path) -> Source:
    table = deltaskip.DeltaTable(path)
    return Source(path, table.version, tuple(_predicates(table)))


def _predicates(table: deltaskip.DeltaTable) -> Iterator[str]:
    for field in table.schema.fields[:5]:
        name = f"`{field.name}`"
        literal = _LITERALS.get(type(field.type).__name__, _LITERALS.get(str(getattr(field.type, "name", ""))))
        yield f"{name} IS NOT NULL" if literal is None else f"{name} > {literal} AND {name} IS NOT NULL"


_LITERALS = {
    "long": "2", "integer": "2", "short": "2", "byte": "2", "double": "1.5D", "float": "1.5", "string": "'b'",
    "date": "DATE'2020-01-02'", "timestamp": "TIMESTAMP'2020-01-02 00:00:00'", "DecimalType": "1.5",
}  # fmt: skip

_COLUMNS: dict[str, types.DataType] = {
    "id": types.LONG, "name": types.STRING, "price": types.DOUBLE, "day": types.DATE, "at": types.TIMESTAMP,
    "amount": types.DecimalType(10, 2),
    "inner": types.StructType((types.StructField("x", types.LONG),
        types.StructField("tags", types.ArrayType(types.STRING, True)))),
}  # fmt: skip


def _adds(first: int, count: int = 3, partitions: bool = False, **members: Any) -> list[dict[str, Any]]:
    found = []
    for i in range(first, first + count):
        statistics = bounds(
            10,
            id=(i, i + 5, 0),
            name=(f"a{i}", f"b{i}", 1),
            price=(i * 0.5, i + 0.25, 0),
            day=(f"2020-01-{i % 28 + 1:02d}", f"2020-02-{i % 28 + 1:02d}", 0),
            at=("2020-01-01T00:00:00.000Z", f"2020-01-{i % 28 + 1:02d}T00:00:00.000Z", 0),
            amount=(i, i + 0.5, 0),
            inner=({"x": i}, {"x": i + 1}, {"x": 0, "tags": 0}),
        )
        values = {"part": f"p{i}", "when": f"2020-01-{i % 28 + 1:02d}"} if partitions else {}
        found.append(add(f"f{i}.parquet", statistics, partitionValues=values, **members))
    return found


def _usual(path: Path, **options: Any) -> TableBuilder:
    table = TableBuilder(path, _COLUMNS, **options)
    table.commit(*_adds(0))
    table.commit(*_adds(3), remove("f0.parquet"))
    table.commit(*_adds(6), {"txn": {"appId": "app", "version": 3, "lastUpdated": 5}})
    return table


def _checkpointed(path: Path, properties: Mapping[str, str]) -> None:
    table = _usual(path, properties={"delta.checkpoint.writeStatsAsStruct": "true", **properties})
    deltaskip.DeltaTable(path).checkpoint()
    table.commit(*_adds(9), remove("f4.parquet"))
    for version in range(2):
        log_file(path, version).unlink()


def _partitioned(path: Path) -> None:
    columns = {**_COLUMNS, "part": types.STRING, "when": types.DATE}
    table = TableBuilder(path, columns, ["part", "when"])
    table.commit(*_adds(0, partitions=True))
    table.commit(*_adds(3, partitions=True), remove("f0.parquet"))
    deltaskip.DeltaTable(path).checkpoint()
    table.commit(*_adds(6, partitions=True))


def _with_vectors(path: Path) -> None:
    inline = {
        "storageType": "i",
        "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 44,
        "cardinality": 6,
    }
    stored = {"storageType": "u", "pathOrInlineDv": "0" * 20, "offset": 1, "sizeInBytes": 40, "cardinality": 6}
    table = _usual(path)
    table.commit(*_adds(9, 1, deletionVector=inline), *_adds(10, 1, deletionVector=stored))
    deltaskip.DeltaTable(path).checkpoint()
    table.commit(remove("f10.parquet", deletionVector=stored), *_adds(10, 1, deletionVector=inline))


def _with_in_commit_timestamps(path: Path) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp", "domainMetadata"]}
    table = TableBuilder(path, _COLUMNS, properties={"delta.enableInCommitTimestamps": "true"}, protocol=protocol)
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    for i in range(3):
        table.commit(*_adds(i * 3), {"domainMetadata": domain}, inCommitTimestamp=1_700_000_000_000 + i)
    deltaskip.DeltaTable(path).checkpoint()
    table.commit(*_adds(9), inCommitTimestamp=1_700_000_000_010)


def _with_collations(path: Path) -> None:
    collated = types.StructField("name", types.STRING, metadata={"__COLLATIONS": {"name": "ICU.de_DE"}})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["collations", "domainMetadata"]}
    table = TableBuilder(path, types.StructType((types.StructField("id", types.LONG), collated)), protocol=protocol)
    by_collation = {"ICU.de_DE.77.1": {"min": {"name": "a"}, "max": {"name": "b"}}}
    for i in range(3):
        statistics = {**bounds(5, id=(i, i + 3), name=("a", "b")), "statsWithCollation": by_collation}
        domain = {"domain": "delta.collations.ICU.de_DE.77.1", "configuration": "{}", "removed": False}
        table.commit(add(f"f{i}", statistics), {"domainMetadata": domain})


def _mapped(path: Path) -> None:
    physical = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    other = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    schema = types.StructType(
        (
            types.StructField("id", types.LONG, metadata=physical),
            types.StructField("name", types.STRING, metadata=other),
        )
    )
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    table = TableBuilder(path, schema, ["name"], properties)
    for i in range(3):
        table.commit(add(f"f{i}", bounds(5, **{"col-1": (i, i + 3)}), partitionValues={"col-2": f"n{i}"}))


def _compacted(path: Path) -> None:
    table = _usual(path)
    middle = [action for version in (1, 2) for action in actions_of(log_file(path, version).read_text("utf-8"))]
    compacted = [action for action in middle if "commitInfo" not in action]
    name = f"{1:020d}.{2:020d}.compacted.json"
    (path / "_delta_log" / name).write_text(json_lines(compacted), encoding="utf-8")
    log_file(path, 1).unlink()
    table.commit(*_adds(9))


def _multipart(path: Path) -> None:
    table = LogBuilder(path)
    for version in range(4):
        table.commit(add(f"f{version}", bounds(3, id=(version, version + 1))))
    files = [add(f"f{i}", bounds(3, id=(i, i + 1))) for i in range(3)]
    table.checkpoint(
        2,
        *files[:2],
        {"txn": {"appId": "x", "version": 1}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
        suffix="checkpoint.0000000001.0000000002.parquet",
    )
    table.parquet(f"{2:020d}.checkpoint.0000000002.0000000002.parquet", [files[2], remove("gone")])
    table.hint('{"version":2,"size":6,"parts":2}')
    table.clean_up(2)


def _json_checkpoint(path: Path) -> None:
    table = LogBuilder(path)
    for version in range(4):
        table.commit(add(f"f{version}", bounds(3, id=(version, version + 1))))
    head = actions_of(log_file(path, 0).read_text("utf-8"))[:2]
    table.parquet("_sidecars/one.parquet", [add("f0", bounds(3, id=(0, 1))), add("f1", bounds(3, id=(1, 2)))])
    sidecar = {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    actions = [{"checkpointMetadata": {"version": 2}}, *head, sidecar, add("f2", bounds(3, id=(2, 3))), remove("gone")]
    table.json_lines(f"{2:020d}.checkpoint.{_UUID}.json", actions)
    table.clean_up(2)


_BUILDERS: Mapping[str, Callable[[Path], object]] = {
    "commits": _usual,
    "classic": lambda path: _checkpointed(path, {}),
    "v2": lambda path: _checkpointed(path, {"delta.checkpointPolicy": "v2"}),
    "struct_only": lambda path: _checkpointed(path, {"delta.checkpoint.writeStatsAsJson": "false"}),
    "partitioned": _partitioned, "vectors": _with_vectors, "in_commit_timestamps": _with_in_commit_timestamps,
    "collations": _with_collations, "mapped": _mapped, "compacted": _compacted, "multipart": _multipart,
    "json_checkpoint": _json_checkpoint,
}  # fmt: skip
