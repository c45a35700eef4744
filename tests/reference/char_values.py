"""What doors store in columns of type CHAR, by deltaskip and by delta-spark.

    python -m tests.reference.char_values ANSWERS.json some|all

ANSWERS.json has the differences. delta-spark stores a string as it is given, and refuses a longer one, even if only
blanks are too many; readers pad.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.delta import DeltaTable
from deltaskip.spark.session.session_settings import session_settings
from tests.reference.oracle import session

COLUMNS = "id INT, c CHAR(4), s STRUCT<c: CHAR(4), v: VARCHAR(4)>, a ARRAY<CHAR(4)>, m MAP<CHAR(4), CHAR(4)>, p CHAR(4)"
# delta-spark changes no rows of a table with CHAR and generated columns.
DDL = {
    "insert": f"{COLUMNS}, g CHAR(4) GENERATED ALWAYS AS (c), h STRING GENERATED ALWAYS AS (concat(c, '|')), "
    "k CHAR(3) DEFAULT 'k'"
}
# The check and the generated columns have the string as it is stored.
PROPERTIES = {"delta.feature.allowColumnDefaults": "supported", "delta.constraints.odd": "c IS NULL OR length(c) <> 3"}
STORED = ("ab", "abcd", "", " a", None, "é", "ab  ", "    ")
REFUSED = ("abcd ", "     ", "ab        ", "abcde", "abc")
GIVEN = ("id", "c", "s", "a", "m", "p")
CHANGED = GIVEN[1:]
SETTINGS: tuple[Mapping[str, str], ...] = (
    {},
    {"spark.sql.readSideCharPadding": "false"},
    {"spark.sql.legacy.noCharPaddingInPredicate": "true"},
    {"spark.sql.charAsVarchar": "true"},
)
Texts = Sequence[str | None]


class Doors:
    """A session, and a catalog that is installed in it as `lake`."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.catalog = ds.catalog(f"warehouse:{folder}")

    def frame(self, texts: Texts) -> Any:
        return self.spark.sql(f"SELECT * FROM VALUES {values(texts)} AS s ({', '.join(GIVEN)})")

    def merges(self, path: str, source: Any) -> object:
        builder = ds.DeltaTable(path).merge(source, "t.id = s.id", "s", "t", spark=self.spark)
        builder = builder.when_matched_update({name: f"s.{name}" for name in CHANGED})
        return builder.when_not_matched_insert({name: f"s.{name}" for name in GIVEN}).execute()


Act = Callable[[Doors, str, Texts], object]


def of_text(text: str) -> list[str]:
    """The columns but `id`, from SQL text of a string."""
    return [text, f"named_struct('c', {text}, 'v', {text})", f"array({text})", f"map('k', {text})", text]


def literal(text: str | None) -> str:
    return f"CAST({'NULL' if text is None else repr(text)} AS STRING)"


def values(texts: Texts) -> str:
    return ", ".join(f"({', '.join([str(i), *of_text(literal(each))])})" for i, each in enumerate(texts, 1))


def arrow(texts: Texts) -> pa.Table:
    inner = pa.struct([("c", pa.string()), ("v", pa.string())])
    columns = {
        "id": pa.array(range(1, len(texts) + 1), pa.int32()),
        "c": pa.array(texts, pa.string()),
        "s": pa.array([{"c": each, "v": each} for each in texts], inner),
        "a": pa.array([[each] for each in texts], pa.list_(pa.string())),
        "m": pa.array([[("k", each)] for each in texts], pa.map_(pa.string(), pa.string())),
        "p": pa.array(texts, pa.string()),
    }
    return pa.table(columns)


def inserts(table: str, texts: Texts) -> str:
    return f"INSERT INTO {table} ({', '.join(GIVEN)}) VALUES {values(texts)}"


def new_values(texts: Texts) -> dict[str, str]:
    """SQL text of new values that give each row its text, by column."""
    return dict(zip(CHANGED, of_text(f"element_at(array({', '.join(map(literal, texts))}), id)"), strict=True))


def updates(table: str, texts: Texts) -> str:
    return f"UPDATE {table} SET " + ", ".join(f"{name} = {text}" for name, text in new_values(texts).items())


def merges(table: str, texts: Texts) -> str:
    sets = ", ".join(f"{name} = s.{name}" for name in CHANGED)
    return (
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES {values(texts)} AS s ({', '.join(GIVEN)})) s "
        f"ON t.id = s.id WHEN MATCHED THEN UPDATE SET {sets} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(GIVEN)}) VALUES ({', '.join(f's.{name}' for name in GIVEN)})"
    )


def lake(path: str) -> str:
    return f"lake.db.{Path(path).name}"


ORACLES: dict[str, Act] = {
    "insert": lambda d, path, texts: d.spark.sql(inserts(f"delta.`{path}`", texts)),
    "update": lambda d, path, texts: d.spark.sql(updates(f"delta.`{path}`", texts)),
    "merge": lambda d, path, texts: d.spark.sql(merges(f"delta.`{path}`", texts)),
}
"""By what is done, delta-spark's statement."""

DOORS: dict[str, tuple[str, Act]] = {
    "append of Arrow": ("insert", lambda _, path, texts: ds.DeltaTable(path).append(arrow(texts))),
    "append of a DataFrame": ("insert", lambda d, path, texts: ds.DeltaTable(path).append(d.frame(texts))),
    "overwrite": ("insert", lambda d, path, texts: ds.DeltaTable(path).overwrite(d.frame(texts))),
    "format": ("insert", lambda d, path, texts: d.frame(texts).write.format("deltaskip").mode("append").save(path)),
    "statement": ("insert", lambda d, path, texts: d.catalog.sql(d.spark, inserts(f"delta.`{path}`", texts))),
    "installed": ("insert", lambda d, path, texts: d.spark.sql(inserts(lake(path), texts))),
    "writeTo": ("insert", lambda d, path, texts: d.frame(texts).writeTo(lake(path)).append()),
    "update": ("update", lambda _, path, texts: ds.DeltaTable(path).update(new_values(texts))),
    "update by jobs": ("update", lambda d, path, texts: ds.DeltaTable(path).update(new_values(texts), spark=d.spark)),
    "UPDATE": ("update", lambda d, path, texts: d.catalog.sql(d.spark, updates(f"delta.`{path}`", texts))),
    "deltaskip.delta": (
        "update", lambda d, path, texts: DeltaTable.forPath(d.spark, path).update(None, new_values(texts)),
    ),
    "merge": ("merge", lambda d, path, texts: d.merges(path, d.frame(texts))),
    "merge of Arrow": ("merge", lambda d, path, texts: d.merges(path, arrow(texts))),
    "MERGE": ("merge", lambda d, path, texts: d.catalog.sql(d.spark, merges(f"delta.`{path}`", texts))),
}  # fmt: skip


def stored(path: str) -> list[str]:
    """The rows and partition values of the table's files, as they are stored, whose bounds are those of the rows."""
    found = []
    table = ds.DeltaTable(path)
    for add in _live(table.uri.removeprefix("file://")):
        rows = pq.ParquetFile(Path(path) / unquote(add["path"])).read().to_pylist()
        bounds = json.loads(add["stats"])
        for key, bound in (("minValues", min), ("maxValues", max)):
            for name in ("c", "g", "h", "k"):
                texts = [row[name] for row in rows if row.get(name) is not None]
                assert bounds[key].get(name) == (bound(texts) if texts else None), (name, bounds, rows)
        for row in rows:
            found.append(repr([sorted({**row, "p": None}.items()), add["partitionValues"]]))
    return sorted(found)


def _live(root: str) -> list[dict[str, Any]]:
    adds: dict[str, dict[str, Any]] = {}
    for commit in sorted((Path(root) / "_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text(encoding="utf-8").splitlines()):
            if "add" in action:
                adds[action["add"]["path"]] = action["add"]
            elif "remove" in action:
                adds.pop(action["remove"]["path"], None)
    return list(adds.values())


def outcome(doors: Doors, kind: str, act: Act, texts: Texts) -> object:
    """What is stored, or which rule is violated."""
    path = tempfile.mkdtemp(prefix="t", dir=doors.folder / "db")
    table = ds.DeltaTable.create(path, DDL.get(kind, COLUMNS), ["p"], properties=PROPERTIES)
    if kind != "insert":
        # A merge finds one half of the rows.
        table.append(arrow(["old"[:2]] * (len(texts) if kind == "update" else (len(texts) + 1) // 2)))
    try:
        act(doors, path, texts)
    except Exception as error:
        if re.search("DELTA_EXCEED_CHAR_VARCHAR_LIMIT|is (var)?char.* longer string", str(error)):
            return "too long"
        if re.search("DELTA_VIOLATE_CONSTRAINT|CHECK constraint odd", str(error)):
            return "refused by the check"
        return f"raises {type(error).__name__} {str(error)[:300]}"
    return stored(path)


def compared(every: bool) -> Iterator[tuple[Mapping[str, str], str, Texts]]:
    """Settings, a door and what it is given: each door stores all texts, and some or all are given refused ones."""
    for number, settings in enumerate(SETTINGS if every else SETTINGS[:1]):
        for place, door in enumerate(DOORS):
            yield settings, door, STORED
            refused = REFUSED[(place + number) % len(REFUSED) :][:1] if every or place % 3 == 0 else ()
            for text in REFUSED if every and not number else refused:
                yield settings, door, [text]


def main(answers: Path, every: bool) -> None:
    wrong: list[Any] = []
    expected: dict[Any, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "db").mkdir()
        spark = session(folder)
        doors = Doors(spark, folder)
        ds.register_format(spark)
        with ds.install_catalog(spark, "lake", doors.catalog):
            for settings, door, texts in compared(every):
                kind, act = DOORS[door]
                with session_settings(spark, settings) if settings else nullcontext():
                    key = kind, tuple(texts), tuple(settings)
                    if key not in expected:
                        expected[key] = outcome(doors, kind, ORACLES[kind], texts)
                    found = outcome(doors, kind, act, texts)
                if found != expected[key]:
                    wrong.append([door, texts, settings, found, expected[key]])
    for key, each in expected.items():
        # So that both do not fail alike.
        assert isinstance(each, list) == (len(key[1]) > 1), (key, each)
    answers.write_text(json.dumps(wrong, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "all")
