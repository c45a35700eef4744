"""The operations that keep a table in shape or alter it: optimize, alter, restore, vacuum, checkpoint."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from deltaskip.sparkexpr.types.ddl import parse_columns, type_text
from tests.reference.histories.columns import DAY, random_column
from tests.reference.histories.comparison import compare_rows, located, read_plainly
from tests.reference.histories.conditions import condition, partition_condition
from tests.reference.histories.log_rules import LogRules
from tests.reference.histories.model import Change, Model
from tests.reference.histories.plain_reader import TableReader
from tests.reference.histories.shapes import CLUSTERING
from tests.reference.histories.writers import Skipped, in_process_or_spark
from tests.rows.random_values import random_type

if TYPE_CHECKING:
    from tests.reference.histories.history import History


def optimize(h: History) -> Change:
    """Compact, cluster or Z-order."""
    where = partition_condition(h.chance, h.model) if h.chance.random() < 0.3 else None
    clustered = bool(h.shape.cluster_by)
    columns = [c.name for c in h.model.columns if c.key in ("id", "k", "day", "ts") and not c.partition]
    if "dataSkippingStatsColumns" in str(h.model.state.properties) or "NumIndexed" in str(h.model.state.properties):
        columns = []
    zorder = h.chance.sample(columns, h.chance.randint(1, len(columns))) if columns and h.chance.random() < 0.4 else []
    if clustered:
        where, zorder = None, []
    h.note("optimize", where=where and where.sql, zorder=zorder)
    if h.by_delta("optimize"):
        text = f" WHERE {where.sql}" if where else ""
        h.sql(f"OPTIMIZE {{t}}{text}" + (f" ZORDER BY ({', '.join(zorder)})" if zorder else ""))
    else:
        size = h.chance.choice((None, None, 1, 20_000))
        h.note("  by deltaskip", target_file_bytes=size)
        predicate = where and where.sql
        in_process_or_spark(h, lambda spark: h.table.optimize(predicate, size, zorder, spark=spark, time_zone=h.zone))
    return Change(operation="OPTIMIZE", may_commit_nothing=True)


def restore(h: History) -> Change | None:
    """Go back to an earlier version."""
    candidates = [v for v in h.model.versions if v >= h.oldest]
    version = h.chance.choice(candidates)
    state = h.model.versions[version]
    h.note("restore", version=version)
    if h.by_delta("restore"):
        h.sql(f"RESTORE TABLE {{t}} TO VERSION AS OF {version}")
    else:
        h.table.restore(version=version)
    rows, then = h.model.rows, state.rows
    return Change(
        deleted=[i for i in rows if i not in then],
        inserted=[then[i] for i in then if i not in rows],
        net=True, operation="RESTORE", restored=state, may_commit_nothing=True,
    )  # fmt: skip


def vacuum(h: History) -> Change | None:
    """Delete what no version but the latest needs."""
    h.note("vacuum")
    h.oldest = h.version()
    if h.by_delta("vacuum"):
        h.sql("VACUUM {t} RETAIN 0 HOURS")
    else:
        h.table.vacuum(retention=0, enforce_retention=False)
    h.after_vacuum()
    return Change(operation="VACUUM", may_commit_nothing=True)


def clone(h: History) -> None:
    """Clone the table, change the clone, and find the table as it was."""
    place = h.folder.parent / f"{h.folder.name}-clone-{h.step}"
    where = condition(h.chance, h.model)
    h.note("clone", delete=where.sql)
    if h.by_delta():
        h.note("  by delta-spark")
        h.sql(f"CREATE TABLE delta.`{place}` SHALLOW CLONE {{t}}")
    else:
        h.table.clone(place)
    in_process_or_spark(h, lambda spark: ds.DeltaTable(place).delete(where.sql, spark, time_zone=h.zone))
    gone = set(h.model.matching(where.holds))
    rows = {i: row for i, row in h.model.rows.items() if i not in gone}
    expected = Model(replace(h.model.state, rows=rows))
    rules = LogRules(place)
    problems = rules.advance(Change(deleted=[*gone]), expected)
    if problems:
        raise AssertionError("\n".join(problems))
    found, _, _ = read_plainly(TableReader(place, rules.metadata), rules.active, expected)
    compare_rows("the plain reader of the clone", [*found.values()], expected, len(found))
    if h.spark is not None:
        for frame in (h.spark.read.format("delta").load(str(place)), ds.DeltaTable(place).scan().to_spark(h.spark)):
            found, _, _ = located(h, frame, expected)
            compare_rows("the clone", [*found.values()], expected, len(found))
    h.compare_ours()


def alter(h: History) -> Change | None:
    """One change of the table's metadata."""
    before = h.version()
    moves = [add_column, widen, rename, drop, set_property, constraint, describe, cluster]
    statement = h.chance.choice(moves)(h)
    if statement is None:
        return None
    text, done = statement
    h.note("alter", statement=text)
    if h.by_delta():
        h.note("  by delta-spark")
        h.sql(f"ALTER TABLE {{t}} {text}")
    else:
        try:
            h.table.alter_sql(text)
        except UnsupportedFeature as error:
            h.note("  refused", error=str(error)[:300])
            if h.spark is not None or h.version() != before:
                raise
            raise Skipped from error
    done()
    # A property that has the value already needs no commit.
    return Change(may_commit_nothing=text.startswith("SET"))


def add_column(h: History):
    column = random_column(h.chance, f"a{h.step}", random_type(h.chance))
    columns = [*h.model.columns]
    place = h.chance.choice(["", "FIRST", "AFTER k"]) if h.model.column("k") and not h.mapped else ""
    if place == "AFTER k":
        k = h.model.column("k")
        place = f"AFTER {k.name}"
        columns.insert(columns.index(k) + 1, column)
    else:
        columns = [column, *columns] if place else [*columns, column]
    text = f"ADD COLUMN {column.name} {type_text(column.type)} {place}".strip()
    return text, lambda: h.model.set_columns(columns)


WIDENED = {
    "w": ("BIGINT", None), "wf": ("DOUBLE", None), "wt": ("TIMESTAMP_NTZ", lambda days: days * DAY),
    "wd": ("DECIMAL(20,5)", lambda n: n.quantize(Decimal("0.00001"))),
}  # fmt: skip


def widen(h: History):
    found = [c for c in h.model.columns if c.key in WIDENED and c.declared == "" and not c.uses]
    if not found or not h.model.has("delta.enableTypeWidening"):
        return None
    column = h.chance.choice(found)
    text, convert = WIDENED[column.key]
    [field] = parse_columns(f"x {text}").fields
    if column.type == field.type:
        return None

    def draw(chance):
        value = column.draw(chance)
        return value if value is None or convert is None else convert(value)

    new = replace(column, type=field.type, draw=draw)
    columns = [new if c is column else c for c in h.model.columns]
    return f"ALTER COLUMN {column.name} TYPE {text}", lambda: h.model.set_columns(
        columns, {column.key: convert} if convert else {}
    )


def free_columns(h: History):
    """Columns that may be renamed and dropped."""
    used = {key for c in h.model.columns for key in c.uses} | {"id"}
    used |= {"k"} if h.model.state.constraints else set()
    used |= {name.partition(".")[0] for name in CLUSTERING} if h.shape.cluster_by else set()
    if "statistics columns" in h.shape.features:
        used |= {"st", "k", "name", "ts"}
    return [c for c in h.model.columns if c.key not in used and c.given and not c.partition and not c.required]


def rename(h: History):
    found = free_columns(h)
    if not h.mapped or not found:
        return None
    column = h.chance.choice(found)
    new = replace(column, name=f"r{h.step}")
    columns = [new if c is column else c for c in h.model.columns]
    return f"RENAME COLUMN {column.name} TO {new.name}", lambda: h.model.set_columns(columns)


def drop(h: History):
    found = [c for c in free_columns(h) if c.key not in ("k", "name")]
    if not h.mapped or not found or h.chance.random() < 0.5:
        return None
    column = h.chance.choice(found)
    columns = [c for c in h.model.columns if c is not column]
    return f"DROP COLUMN {column.name}", lambda: h.model.set_columns(columns)


def set_property(h: History):
    names = ["delta.enableDeletionVectors", "delta.enableChangeDataFeed", "delta.enableTypeWidening"]
    name = h.chance.choice(names)
    value = "false" if h.model.has(name) and h.chance.random() < 0.5 else "true"
    text = f"SET TBLPROPERTIES ('{name}' = '{value}')"
    return text, lambda: h.model.set_properties({name: value})


def describe(h: History):
    comment = f"ALTER COLUMN {h.model.column('k').name} COMMENT 'step {h.step}'"
    return h.chance.choice((comment, f"SET TBLPROPERTIES ('mine' = '{h.step}')")), lambda: None


def cluster(h: History):
    chosen = h.chance.choice(("(k)", "(st.b)", "(k, st.b)", "NONE"))
    return (f"CLUSTER BY {chosen}", lambda: None) if h.shape.cluster_by else None


def constraint(h: History):
    constraints = dict(h.model.state.constraints)
    if "extra" in constraints:
        del constraints["extra"]
        text = "DROP CONSTRAINT extra"
    else:
        constraints["extra"] = "id > -5"
        text = "ADD CONSTRAINT extra CHECK (id > -5)"

    def done() -> None:
        h.model.state = replace(h.model.state, constraints=constraints)

    return text, done


def domain(h: History) -> Change | None:
    """A domain of a user, for which delta-spark has no call."""
    if "domains" not in h.shape.features:
        return None
    h.note("domain")
    with h.table.transaction() as txn:
        if "mine" in txn.domains and h.chance.random() < 0.3:
            txn.remove_domain("mine")
        else:
            txn.set_domain("mine", f'{{"step": {h.step}}}')
    return Change()


def checkpoint(h: History) -> Change:
    """A checkpoint by either writer."""
    h.note("checkpoint")
    if h.by_delta():
        h.delta_log().checkpoint()
    else:
        h.table.refresh().checkpoint()
    return Change(may_commit_nothing=True)


def turn_clock(h: History) -> None:
    """Another time zone."""
    h.turn_clock()


MOVES = {clone: 1, optimize: 3, restore: 2, vacuum: 1, alter: 4, checkpoint: 1, turn_clock: 1, domain: 1}
