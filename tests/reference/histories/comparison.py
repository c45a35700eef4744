"""Rows, row ids and change feed as readers find them, compared with the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip.errors import UnsupportedFeature
from deltaskip.rows.arrow_layout import stored_type
from tests.reference.feature_pairs import Refused, compare, deltalake_rows, duckdb_rows
from tests.reference.histories.conditions import condition
from tests.reference.histories.log_rules import on_disk
from tests.reference.histories.model import UNKNOWN, Change, Model, State, Tracked
from tests.reference.histories.plain_reader import TableReader
from tests.reference.oracle import real_path
from tests.reference.rows import plain_rows

if TYPE_CHECKING:
    from tests.reference.histories.conditions import condition
    from tests.reference.histories.history import History
from tests.reference.histories.log_rules import LogRules

Row = dict[str, Any]
LEFT_OUT = (-141_437, -141_427)
PLACE = ("__file", "__index", "__row_id", "__row_version")


def located(
    h: History, frame: Any = None, model: Model | None = None
) -> tuple[dict[int, Row], list[tuple[str, int]], dict[int, Tracked]]:
    """By id the rows of delta-spark or of a frame; file and position of each; and what row tracking has for it."""
    model = model or h.model
    if frame is None and h.spark is None:
        return read_plainly(h.reader(), h.rules.active, model)
    read, tracks = frame is None, h.model.has("delta.enableRowTracking")
    if frame is None:
        frame = h.read()
        metadata = frame.metadataColumn("_metadata")
        columns = [metadata["file_path"].alias("__file")]
        if "delta.enableDeletionVectors" in h.model.state.properties or tracks:
            columns.append(metadata["row_index"].alias("__index"))
        if tracks:
            columns += [metadata["row_id"].alias("__row_id"), metadata["row_commit_version"].alias("__row_version")]
        frame = frame.select("*", *columns)
    return _by_id(plain_rows(frame.toArrow()), model, read)


def read_plainly(
    reader: TableReader, files: Mapping[str, Any], model: Model
) -> tuple[dict[int, Row], list[tuple[str, int]], dict[int, Tracked]]:
    """The same as `located`, of the reader that needs no Spark."""
    rows = [
        {**row, "__file": on_disk(reader.folder, path).as_uri()} for path, add in files.items()
        for row in reader.rows(add)
    ]  # fmt: skip
    return _by_id(rows, model, True)


def _by_id(
    found: list[Row], model: Model, read: bool
) -> tuple[dict[int, Row], list[tuple[str, int]], dict[int, Tracked]]:
    names = {c.name: c.key for c in model.columns}
    rows: dict[int, Row] = {}
    places, ids = [], {}
    for row in found:
        place = [row.pop(name, None) for name in PLACE]
        if set(row) != set(names):
            raise AssertionError(f"the table has the columns {sorted(row)}, not {sorted(names)}")
        i = row["id"]
        if i in rows:
            raise AssertionError(f"the row {i} is there twice: {rows[i]} and {row}")
        rows[i] = {names[name]: value for name, value in row.items()}
        if read:
            # Without deletion vectors, delta-spark does not give the position, and all rows are there.
            places.append((real_path(place[0]), len(places) if place[1] is None else place[1]))
            ids[i] = Tracked(place[2], place[3])
    return rows, places, ids


def compare_rows(who: str, found: Sequence[Row], model: Model, count: int) -> None:
    """The rows are those of the model."""
    order = [c.key for c in model.columns]
    expected = [{key: row[key] for key in order} for row in model.rows.values()]
    compare(who, [{key: row[key] for key in order} for row in found], expected)
    for column in model.columns:
        if column.identity is None:
            continue
        start, step = column.identity
        values = [row[column.key] for row in found]
        generated = [v for v in values if v < 10**9]
        wrong = [v for v in generated if (v - start) % step or (v - start) // step < 0]
        if wrong or len(set(values)) != len(values):
            raise AssertionError(f"{who}: identity column {column.name}: {sorted(values)}, of which {wrong} are wrong")


def compare_tracking(model: Model, before: State, found: Mapping[int, Tracked], rules: LogRules) -> None:
    """Row ids are unique and stable, new ones were never given before, and commit versions are those of changes."""
    if not model.has("delta.enableRowTracking"):
        return
    ids = [each.row_id for each in found.values()]
    if None in ids or len(set(ids)) != len(ids):
        raise AssertionError(f"row ids are not unique: {sorted(found.items())}")
    wrong = {i: (found[i], each) for i, each in model.state.tracked.items() if found[i] != each}
    if wrong:
        raise AssertionError(f"row ids and commit versions by id, found and expected: {wrong}")
    fresh = [found[i].row_id for i in found if i not in before.tracked and found[i].version == rules.version]
    old = [i for i in fresh if i <= model.row_ids_ever]
    if old:
        raise AssertionError(f"new rows have row ids {old}, but {model.row_ids_ever} was given before")
    model.row_ids_ever = max([model.row_ids_ever, *ids])  # type: ignore[type-var]


def compare_feed(h: History, expected: list[tuple[str, Row]], change: Change, first: int, last: int) -> None:
    """The change data feed of the versions has the change, and nothing else."""
    known = h.model.rows
    expected = [(kind, _known(row, known)) for kind, row in expected]
    names = {c.name: c.key for c in h.model.columns}
    if change.restored is None and h.chance.random() < 0.5:
        _compare_pruned(h, expected, first, last)
    for who, given in _feeds(h, first, last).items():
        found = [(kind, {names.get(name, name): value for name, value in row.items()}) for kind, row in given]
        if change.restored is not None:
            # Rows of both versions may be shown as deleted and inserted again; the others change once.
            balance: Counter[int] = Counter()
            for kind, row in found:
                balance[row["id"]] += 1 if kind == "insert" else -1
            wanted = Counter({row["id"]: 1 if kind == "insert" else -1 for kind, row in expected})
            if {i: n for i, n in balance.items() if n} != dict(wanted):
                raise AssertionError(f"{who}: the feed of a restore has {balance}, not {wanted}")
            continue
        for kind in {kind for kind, _ in (*expected, *found)}:
            wanted, got = ([_shown(row, who) for k, row in rows if k == kind] for rows in (expected, found))
            compare(f"the {kind} rows of {who}'s feed of {first} to {last}", got, wanted)


def _feeds(h: History, first: int, last: int) -> dict[str, list[tuple[str, Row]]]:
    """By reader the changes of some versions."""
    names = {c.name for c in h.model.columns}
    commits = [h.rules.commits[version] for version in range(first, last + 1)]
    plain = [(k, {n: row[n] for n in names}) for commit in commits for k, row in h.reader().changes(commit)]
    ours = h.table.refresh().changes(first, last, time_zone=h.zone)
    found = {"the plain reader": plain, "deltaskip without Spark": _changes(ours.to_arrow(), first, last)}
    if h.spark is None:
        return found
    reader = h.spark.read.format("delta").option("readChangeFeed", "true")
    frames = {"delta-spark": reader.option("startingVersion", first).option("endingVersion", last).load(str(h.folder))}
    frames["deltaskip"] = ours.to_spark(h.spark)
    return {**found, **{who: _changes(frame.toArrow(), first, last) for who, frame in frames.items()}}


def _changes(table: pa.Table, first: int, last: int) -> list[tuple[str, Row]]:
    """The changes of a feed's rows."""
    found = []
    for row in plain_rows(table):
        kind, version, _ = (row.pop(f"_{name}") for name in ("change_type", "commit_version", "commit_timestamp"))
        if not first <= version <= last:
            raise AssertionError(f"the feed of {first} to {last} has a change of version {version}")
        found.append((kind, row))
    return found


def compare_range(h: History, fed: list[tuple[int, list[tuple[str, Row]]]]) -> None:
    """The feed of several versions at once is that of each after the other."""
    first, last = fed[0][0], h.version()
    name = h.model.column("id").name
    table = h.table.refresh().changes(first, last, time_zone=h.zone).to_arrow()
    found = Counter((kind, row[name]) for kind, row in _changes(table, first, last))
    wanted = Counter((kind, row["id"]) for _, changes in fed for kind, row in changes)
    if found != wanted:
        raise AssertionError(f"the feed of {first} to {last} lacks {wanted - found} and has {found - wanted}")


def _compare_pruned(h: History, expected: list[tuple[str, Row]], first: int, last: int) -> None:
    """A predicate on the feed keeps the changes whose rows match it."""
    where = condition(h.chance, h.model)
    try:
        table = h.table.changes(first, last, where.sql, time_zone=h.zone).to_arrow()
    except UnsupportedFeature:
        return
    found = Counter((kind, row[h.model.column("id").name]) for kind, row in _changes(table, first, last))
    wanted = Counter((kind, row["id"]) for kind, row in expected if where.holds(row) is True)
    if found != wanted:
        raise AssertionError(f"the feed of {first} to {last} WHERE {where.sql} has {found}, not {wanted}")


def _known(row: Row, rows: Mapping[int, Row]) -> Row:
    """The row with identity values that have been read."""
    return {k: rows[row["id"]][k] if v is UNKNOWN else v for k, v in row.items()}


def _shown(row: Row, who: str) -> Row:
    """The row with columns by name; delta-spark's feed moves days that the calendar left out in 1582 to its end."""

    def moved(value: Any) -> Any:
        match value:
            case dict():
                return {name: moved(v) for name, v in value.items()}
            case list() | tuple():
                return type(value)(map(moved, value))
            case int() if LEFT_OUT[0] <= value < LEFT_OUT[1]:
                return LEFT_OUT[1]
        return value

    row = dict(sorted(row.items()))
    return {name: moved(value) for name, value in row.items()} if who == "delta-spark" else row


def compare_others(h: History) -> None:
    """deltalake and DuckDB read the same rows, where they can."""
    shown = [c for c in h.model.columns if c.key in ("id", "k", "name", "v", "dec", "st", "p")]
    expected = [{c.key: row[c.key] for c in shown} for row in h.model.rows.values()]
    for name, read in (("deltalake", deltalake_rows), ("duckdb", duckdb_rows)):
        if name == "duckdb":
            # It decodes percent signs in partition values.
            shown = [c for c in shown if not c.partition]
            expected = [{c.key: row[c.key] for c in shown} for row in h.model.rows.values()]
        try:
            found = read(h.folder, ", ".join(c.name for c in shown))
        except (Refused, ImportError) as error:
            h.note(f"{name} refuses", error=str(error)[:200])
            continue
        found = found.rename_columns([c.key for c in shown])
        kind = pa.schema([(c.key, stored_type(c.type)) for c in shown])
        compare(name, plain_rows(found.cast(kind)), expected)
