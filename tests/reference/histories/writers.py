"""The operations that append, overwrite, delete, update and merge rows, by either writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import UnsupportedFeature
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.sparkexpr.types.data_types import LONG
from tests.reference.histories.columns import Column, random_column
from tests.reference.histories.conditions import Condition, assignments, condition, literal, partition_condition
from tests.reference.histories.model import Change, Row
from tests.rows.random_values import random_type
from tests.rows.tables import nested_array

if TYPE_CHECKING:
    from tests.reference.histories.history import History


class Skipped(Exception):
    """An operation that only an engine can do, and none is there."""


def drawn_rows(h: History, count: int | None = None, fixed: dict[str, Any] | None = None) -> list[Row]:
    """New rows as they are given: without generated columns, often without some others."""
    count = h.chance.choice((1, 3, 8, 20)) if count is None else count
    columns = [c for c in h.model.columns if c.given or (c.identity and not c.always and h.chance.random() < 0.15)]
    # delta-spark needs the columns of generation expressions and constraints.
    needed = {"id", "k", *(key for c in h.model.columns for key in c.uses)} if h.spark is not None else {"id"}
    optional = [c.key for c in columns if not (c.required or c.partition or c.key in needed)]
    left_out = {key for key in optional if h.chance.random() < 0.08}
    found = []
    for i in h.model.new_ids(count):
        row = {c.key: _explicit(h, i) if c.identity else c.draw(h.chance) for c in columns if c.key not in left_out}
        found.append({**row, "id": i, **(fixed or {})})
    return found


def _explicit(h: History, i: int) -> int:
    """An identity value off the grid that nobody else gives: explicit values do not move the mark."""
    return 10**9 + 3 * i


def arrow_rows(h: History, rows: Sequence[Row], columns: Sequence[Column] | None = None) -> pa.Table:
    """Rows as Arrow data; columns in any order, now and then in capitals."""
    columns = h.model.columns if columns is None else columns
    chosen = [c for c in columns if (c.key in rows[0] if rows else c.given)]
    h.chance.shuffle(chosen)
    arrays = [nested_array([row[c.key] for row in rows], stored_type(c.type)) for c in chosen]
    return pa.Table.from_arrays(arrays, names=[c.name.upper() if h.chance.random() < 0.1 else c.name for c in chosen])


def frame_of(h: History, data: pa.Table) -> Any:
    """Arrow data as a DataFrame of some partitions."""
    path = h.folder.parent / f"{h.folder.name}-{h.chance.getrandbits(60):x}.parquet"
    pq.write_table(data, path)
    return h.spark.read.parquet(str(path)).repartition(h.chance.choice([1, 1, 3]))


def _given(h: History, data: pa.Table) -> Any:
    arrow = h.spark is None or h.chance.random() < 0.5
    h.note("  by deltaskip", door="Arrow" if arrow else "Spark")
    return data if arrow else frame_of(h, data)


def append(h: History) -> Change:
    """Append rows, now and then with a new column."""
    by_delta = h.by_delta()
    columns, rows = list(h.model.columns), drawn_rows(h)
    merge = h.chance.random() < 0.1
    if merge:
        added = random_column(h.chance, f"c{h.step}", random_type(h.chance))
        columns.append(added)
        rows = [{**row, added.key: added.draw(h.chance)} for row in rows]
    h.note("append", rows=len(rows), columns=[*rows[0]], merge=merge)
    data = arrow_rows(h, rows, columns)
    # delta-spark names a new column as the rows do.
    data = data.rename_columns([n.lower() if n.lower() == f"c{h.step}" else n for n in data.column_names])
    # Now and then with a version of an application.
    txn = (f"app{h.step % 2}", h.step) if h.chance.random() < 0.3 else None
    if by_delta:
        h.note("  by delta-spark")
        writer = frame_of(h, data).write.format("delta").mode("append")
        if txn is not None:
            writer = writer.options(txnAppId=txn[0], txnVersion=txn[1])
        writer.option("mergeSchema", str(merge).lower()).save(str(h.folder))
    else:
        h.table.append(_given(h, data), "merge" if merge else "keep", time_zone=h.zone, txn=txn)
    if merge:
        h.model.set_columns(columns)
    return Change(inserted=[h.model.stored(row) for row in rows], metrics={"numOutputRows": len(rows)})


def overwrite(h: History) -> Change:
    """Overwrite the rows of a condition, of some partitions, those that match new rows, or all."""
    kind = h.chance.choice(["where", "where", "dynamic", "static", "matching"])
    if kind == "matching":
        return _overwrite_matching(h)
    partitions = [c for c in h.model.columns if c.partition and c.given]
    if kind == "where":
        keys = {c.key for c in partitions} | {"k"}
        return _overwrite_where(h, h.chance.choice([c for c in h.model.columns if c.key in keys]))
    if kind == "dynamic" and partitions:
        return _overwrite_partitions(h)
    if h.chance.random() < 0.6:
        return append(h)
    rows = drawn_rows(h)
    h.note("overwrite", rows=len(rows))
    if h.by_delta():
        h.note("  by delta-spark")
        frame_of(h, arrow_rows(h, rows)).write.format("delta").mode("overwrite").save(str(h.folder))
    else:
        h.table.overwrite(_given(h, arrow_rows(h, rows)), time_zone=h.zone)
    return Change(deleted=[*h.model.rows], inserted=[h.model.stored(row) for row in rows])


def _overwrite_where(h: History, column: Column) -> Change:
    values = [row[column.key] for row in h.model.rows.values() if row[column.key] is not None]
    value = h.chance.choice(values or [column.draw(h.chance)])
    if value is None or value == "":
        return append(h)
    sql = f"{column.name} = {literal(value, column)}"
    rows = drawn_rows(h, h.chance.choice((0, 2, 5)), {column.key: value})
    data = arrow_rows(h, rows)
    h.note("overwrite", where=sql, rows=len(rows))
    if h.by_delta():
        h.note("  by delta-spark")
        writer = frame_of(h, data).write.format("delta").mode("overwrite")
        writer.option("replaceWhere", sql).save(str(h.folder))
    else:
        h.table.overwrite(_given(h, data), sql, time_zone=h.zone)
    gone = [i for i, row in h.model.rows.items() if row[column.key] == value]
    return Change(deleted=gone, inserted=[h.model.stored(row) for row in rows], may_commit_nothing=True)


def _overwrite_matching(h: History) -> Change:
    rows = drawn_rows(h, h.chance.choice((1, 4)))
    data, name = arrow_rows(h, rows), h.model.column("k").name
    if "k" in rows[0] and h.chance.random() < 0.5:
        keys = {row["k"] for row in rows} - {None}
        on, options = [name], {"replaceUsing": name}
        gone = [i for i, row in h.model.rows.items() if row["k"] in keys]
    else:
        on, older = "t.id = s.id - 15", {row["id"] - 15 for row in rows}
        options = {"replaceOn": on, "targetAlias": "t"}
        gone = [i for i in h.model.rows if i in older]
    h.note("overwrite", rows=len(rows), **options)
    # Without deletion vectors, delta-spark 4.4 does not find the files that it would rewrite.
    if h.model.has("delta.enableDeletionVectors") and h.by_delta():
        h.note("  by delta-spark")
        writer = frame_of(h, data).alias("s").write.format("delta").mode("overwrite")
        writer.options(**options).save(str(h.folder))
    else:
        aliases = {"source_alias": "s", "target_alias": "t"} if isinstance(on, str) else {}
        h.table.overwrite(_given(h, data), on=on, time_zone=h.zone, **aliases)
    return Change(deleted=gone, inserted=[h.model.stored(row) for row in rows])


def _overwrite_partitions(h: History) -> Change:
    rows = drawn_rows(h, h.chance.choice((1, 3)))
    data = arrow_rows(h, rows)
    h.note("overwrite partitions", rows=len(rows))
    if h.by_delta():
        h.note("  by delta-spark")
        writer = frame_of(h, data).write.format("delta").mode("overwrite")
        writer.option("partitionOverwriteMode", "dynamic").save(str(h.folder))
    else:
        h.table.overwrite(_given(h, data), partitions="dynamic", time_zone=h.zone)
    keys = [c.key for c in h.model.columns if c.partition]
    new = [h.model.stored(row) for row in rows]
    replaced = {repr([row[key] for key in keys]) for row in new}
    gone = [i for i, row in h.model.rows.items() if repr([row[key] for key in keys]) in replaced]
    return Change(deleted=gone, inserted=new)


def some_condition(h: History, alias: str = "") -> Condition:
    """A condition, now and then on partitions alone, or all rows."""
    on_partition = partition_condition(h.chance, h.model) if h.chance.random() < 0.15 and not alias else None
    return on_partition or condition(h.chance, h.model, alias)


def delete(h: History) -> Change:
    """Delete the rows of a condition, seldom all."""
    every = h.chance.random() < 0.04
    where = Condition("TRUE", lambda _: True) if every else some_condition(h)
    gone = h.model.matching(where.holds)
    h.note("delete", where=where.sql, rows=len(gone))
    if h.by_delta():
        h.sql(f"DELETE FROM {{t}} WHERE {where.sql}")
    else:
        in_process_or_spark(h, lambda spark: h.table.delete(None if every else where.sql, spark, time_zone=h.zone))
    return Change(deleted=gone, operation="DELETE", may_commit_nothing=not gone)


def update(h: History) -> Change:
    """Update the rows of a condition."""
    where = some_condition(h)
    sets = assignments(h.chance, h.model)
    h.note("update", set={a.target: a.sql for a in sets}, where=where.sql)
    changed = {}
    for i in h.model.matching(where.holds):
        row = h.model.rows[i]
        changed[i] = h.model.stored({**row, **{a.key: a.value(row) for a in sets}})
    if h.by_delta("update"):
        text = ", ".join(f"{a.target} = {a.sql}" for a in sets)
        h.sql(f"UPDATE {{t}} SET {text} WHERE {where.sql}")
    else:
        new = {a.target: a.sql for a in sets}
        in_process_or_spark(h, lambda spark: h.table.update(new, where.sql, spark, time_zone=h.zone))
    return Change(
        updated=changed, operation="UPDATE", metrics={"numUpdatedRows": len(changed)},
        may_commit_nothing=not changed,
    )  # fmt: skip


def in_process_or_spark(h: History, run: Any) -> None:
    """A change by deltaskip without Spark, or with it where it must be."""
    if h.spark is not None and h.chance.random() < 0.5:
        h.note("  by deltaskip", door="Spark")
        run(h.spark)
        return
    before = h.version()
    h.note("  by deltaskip", door="process")
    try:
        run(None)
    except UnsupportedFeature as error:
        h.note("  refused", error=str(error)[:300])
        if h.version() != before:
            raise AssertionError(f"a refused change was committed: {error}") from error
        if h.spark is None:
            raise Skipped from error
        run(h.spark)


def refused(h: History) -> Change | None:
    """A write that violates a constraint must raise, and leave the table as it was."""
    if "c" not in h.model.state.constraints:
        return None
    rows = drawn_rows(h, 2)
    rows = [{**row, "k": 1000} for row in rows]
    rows[0]["k"] = None
    h.note("append that violates CHECK", rows=rows)
    data, before = arrow_rows(h, rows), h.version()
    by_delta = h.by_delta()
    try:
        if by_delta:
            frame_of(h, data).write.format("delta").mode("append").save(str(h.folder))
        else:
            h.table.append(_given(h, data), time_zone=h.zone)
    except Exception as error:
        if "1000" not in str(error):
            raise
    else:
        raise AssertionError("rows that violate a constraint were written")
    if h.version() != before:
        raise AssertionError("a refused write was committed")
    return None


def add_file(h: History) -> Change | None:
    """A Parquet file that somebody else wrote becomes a file of the table."""
    columns = h.model.columns
    simple = all(c.given and c.default is None for c in columns) and not h.mapped
    if not simple:
        return None
    keys = [c.key for c in columns if c.partition]
    [row] = drawn_rows(h, 1)
    row = {c.key: row.get(c.key) for c in columns}
    if any(row[key] == "" for key in keys):
        return None
    path = h.folder / f"given-{h.step}.parquet"
    kinds = [stored_type(c.type) if c.type != LONG else pa.int64() for c in columns]
    arrays = {c.name: nested_array([row[c.key]], kind) for c, kind in zip(columns, kinds, strict=True)}
    pq.write_table(pa.table({n: a for n, a in arrays.items() if n not in keys}), path)
    h.note("add_files", path=path.name)
    values = {key: None if row[key] is None else arrays[key][0].as_py() for key in keys}
    h.table.add_files(path.name, partition_values=values, time_zone=h.zone)
    return Change(inserted=[h.model.stored(row)])


MOVES = {
    append: 5, overwrite: 3, delete: 4, update: 4, refused: 1, add_file: 1,
}  # fmt: skip
