"""Bounds of clustering expressions: predicates on that very expression skip by them, and no row is lost."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import FILE_SCHEMA, add_actions, with_stats
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from deltaskip.txn.transaction import Transaction
from tests.builder import TableBuilder, add, log_file, logged, relog
from tests.each import refuses
from tests.extent import extent

FEATURES = ["columnMapping", "domainMetadata", "clustering", "clusteringExpressions", "deletionVectors", "invariants"]
SCHEMA = t.StructType(
    tuple(
        t.StructField(name, type_)
        for name, type_ in (("s", t.STRING), ("d", t.DATE), ("n", t.STRING), ("ts", t.TIMESTAMP), ("i", t.LONG))
    )
)
TRANSFORMS: list[tuple[str, str, list[str], int, str]] = [
    ("s", "upper", [], 0, "u"),
    ("d", "date_trunc", ["'month'"], 1, "m"),
    ("n", "cast", ["INT"], 0, "c"),
    ("s", "substring", ["2", "2"], 0, "sub"),
    ("ts", "date_trunc", ["'month'"], 1, "zoned"),
    ("i", "cast", ["STRING"], 0, "t"),
]


def protocol() -> dict[str, Any]:
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "deletionVectors"],
        "writerFeatures": FEATURES,
    }


def domain(transforms: list[tuple[str, str, list[str], int, str]] = TRANSFORMS) -> dict[str, Any]:
    columns = [[each[0]] for each in transforms]
    listed = [
        {
            "columnIndex": at, "argumentIndex": position, "function": name, "arguments": rest,
            "expressionStatsColName": key,
        }
        for at, (_, name, rest, position, key) in enumerate(transforms)
    ]  # fmt: skip
    configuration = json.dumps({"clusteringColumns": columns, "transforms": listed})
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": configuration, "removed": False}}


LETTERS = "abcXYZß ıſéა"


def some_rows(chance: random.Random) -> pa.Table:
    """Rows of a file, whose values are near each other."""
    first, day, number = chance.choice(LETTERS), chance.randrange(-200, 400), chance.randrange(-50, 50)
    texts = [first + "".join(chance.choices(LETTERS, k=chance.randrange(3))) for _ in range(6)]
    rows = {
        "s": [chance.choice([None, each, each]) for each in texts],
        "d": [chance.choice([None, day + chance.randrange(40)]) for _ in range(6)],
        "n": [str(number + chance.randrange(5)) for _ in range(6)],
        "ts": [day * 86_400_000_000 + chance.randrange(10**12) for _ in range(6)],
        "i": [number * 3 + chance.randrange(9) for _ in range(6)],
    }
    types = {"s": pa.string(), "d": pa.date32(), "n": pa.string(), "ts": pa.timestamp("us", "UTC"), "i": pa.int64()}
    return pa.table({name: pa.array(rows[name], type_) for name, type_ in types.items()})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[ds.DeltaTable, ds.DeltaTable]:
    """A table whose files have bounds of expressions alone, and the same without statistics."""
    root = tmp_path_factory.mktemp("expressions")
    chance = random.Random(57)
    files = [some_rows(chance) for _ in range(30)]
    made = []
    for name in ("with", "without"):
        builder = TableBuilder(root / name, SCHEMA, protocol=protocol())
        adds = []
        for number, rows in enumerate(files):
            pq.write_table(rows, root / name / f"{number}.parquet")
            size = (root / name / f"{number}.parquet").stat().st_size
            adds.append(add(f"{number}.parquet", {"numRecords": len(rows)}, size=size))
        builder.commit(domain(), *adds)
        made.append(ds.DeltaTable(str(root / name)))
    made[0].recompute_stats()

    def only_expressions(action: dict[str, Any]) -> None:
        if "stats" in action.get("add", {}):
            stats = json.loads(action["add"]["stats"])
            kept = {name: stats[name] for name in ("numRecords", "expressionStats") if name in stats}
            action["add"]["stats"] = json.dumps(kept)

    relog(root / "with", only_expressions)
    return ds.DeltaTable(str(root / "with")), made[1]


def paths(table: ds.DeltaTable, where: str, zone: str = "UTC") -> set[str]:
    return set(table.scan(where=where, time_zone=zone).files()["path"].to_pylist())


def random_leaf(chance: random.Random) -> str:
    op = chance.choice(["=", "<", "<=", ">", ">=", "!=", "<=>"])
    letter = "".join(chance.choices(LETTERS.upper() + "M", k=chance.randrange(1, 3))).replace("'", "")
    day = f"{chance.choice([1969, 1970, 1971])}-{chance.randrange(1, 13):02}-01"
    number = chance.randrange(-60, 60)
    return chance.choice(
        [
            f"upper(s) {op} '{letter}'", f"'{letter}' {op} upper(s)", f"upper(s) IN ('{letter}', 'A', 'B')",
            f"upper(s) LIKE '{letter[0]}%'", f"NOT upper(s) LIKE '{letter[0]}%'",
            f"upper(s) IS NOT NULL AND upper(s) {op} '{letter}'",
            f"date_trunc('month', d) {op} TIMESTAMP '{day} 00:00:00'",
            f"date_trunc('month', ts) {op} TIMESTAMP '{day} 00:00:00'",
            f"date_trunc('month', d) BETWEEN TIMESTAMP '{day} 00:00:00' AND TIMESTAMP '1971-02-01 00:00:00'",
            f"CAST(n AS INT) {op} {number}", f"CAST(n AS INT) IN ({number}, {number + 2})",
            f"substring(s, 2, 2) {op} '{letter}'", f"CAST(i AS STRING) {op} '{3 * number}'",
            f"NOT (CAST(i AS STRING) {op} '{3 * number}')",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(extent(4, 20)))
def test_no_row_is_lost(tables: tuple[ds.DeltaTable, ds.DeltaTable], seed: int) -> None:
    table, twin = tables
    chance, skipped = random.Random(seed), 0
    for _ in range(60):
        where = random_leaf(chance)
        if chance.random() < 0.3:
            where = f"({where}) {chance.choice(['AND', 'OR'])} ({random_leaf(chance)})"
        zone = chance.choice(["UTC", "Pacific/Apia", "America/Adak", "Asia/Kolkata"])
        rows = [each.scan(where=where, time_zone=zone).to_arrow() for each in (table, twin)]
        assert rows[0].equals(rows[1]), (where, zone)
        skipped += len(paths(twin, where, zone)) - len(paths(table, where, zone))
    assert skipped > 200


@pytest.mark.parametrize(
    "where",
    [
        "lower(s) = 'a'", "upper(n) = 'A'", "upper(s) = 'É'", "upper(s) > 'É'", "upper(s) IN ('A', 'É')",
        "upper(s) IS NULL", "upper(s) <=> NULL", "coalesce(upper(s), 'Q') = 'Q'",
        "date_trunc('month', ts) = TIMESTAMP '1999-01-01 00:00:00'",
        "date_trunc('year', d) = TIMESTAMP '1999-01-01 00:00:00'", "CAST(n AS BIGINT) = 1000",
        "try_cast(n AS INT) = 1000", "upper(s) = s", "upper(s) = n", "s = 'zzz'",
    ],
)  # fmt: skip
def test_other_expressions_keep_every_file(tables: tuple[ds.DeltaTable, ds.DeltaTable], where: str) -> None:
    assert len(paths(tables[0], where)) == 30


@pytest.mark.parametrize(
    ("where", "fewest"),
    [
        ("upper(s) = 'Q'", 30),
        ("date_trunc('month', d) = TIMESTAMP '1999-01-01 00:00:00'", 30),
        ("CAST(n AS INT) = 1000", 30),
        ("CAST(n AS INT) BETWEEN -5 AND 5", 10),
        ("substring(s, 2, 2) = 'qq'", 1),
        ("CAST(i AS STRING) = 'x'", 30),
    ],
)
def test_the_expression_itself_skips(tables: tuple[ds.DeltaTable, ds.DeltaTable], where: str, fewest: int) -> None:
    assert 30 - len(paths(tables[0], where)) >= fewest
    assert "expressionStats" not in str(tables[0].scan(where=where).explain())


def one_file(root: Path, bounds: Any, transforms: Any = None, **of_protocol: Any) -> ds.DeltaTable:
    stats = {"numRecords": 2, "expressionStats": bounds}
    given = protocol() | of_protocol
    TableBuilder(root, SCHEMA, protocol=given).commit(transforms or domain(), add("a.parquet", stats))
    return ds.DeltaTable(str(root))


GOOD = {"u": {"minValues": {"s": "A"}, "maxValues": {"s": "B"}}}


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        7,
        [],
        {},
        {"u": None},
        {"u": {}},
        {"u": {"minValues": {"s": "A"}}},
        {"u": {"minValues": {"s": 1}, "maxValues": {"s": 2}}},
        {"u": {"minValues": {"x": "A"}, "maxValues": {"x": "B"}}},
        {"U": GOOD["u"]},
        {"u": {"minValues": "A", "maxValues": "B"}},
    ],
)
@pytest.mark.filterwarnings("ignore::deltaskip.errors.StatisticsWarning")
def test_missing_and_damaged_bounds_keep(tmp_path: Path, damaged: Any) -> None:
    assert paths(one_file(tmp_path / "good", GOOD), "upper(s) = 'Q'") == set()
    assert paths(one_file(tmp_path / "damaged", damaged), "upper(s) = 'Q'") == {"a.parquet"}


U = ("s", "upper", [], 0, "u")


@pytest.mark.parametrize(
    "transforms",
    [
        domain([U, ("n", "upper", [], 0, "u")]),
        domain([("x", "upper", [], 0, "u")]),
        domain([("s", "my_upper", [], 0, "u")]),
        domain([("s", "upper", ["'a'"], 0, "u")]),
        domain([("s", "upper", [], 1, "u")]),
        domain([("s", "concat", ["n"], 0, "u")]),
        {"domainMetadata": {"domain": "delta.clustering", "configuration": "{", "removed": False}},
        {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": False}},
        {"domainMetadata": {"domain": "other", "configuration": "{}", "removed": False}},
        json.loads(json.dumps(domain([U])).replace('\\"columnIndex\\": 0', '\\"columnIndex\\": true')),
        json.loads(json.dumps(domain([U])).replace('\\"transforms\\"', '\\"transform\\"')),
    ],
)
def test_transforms_that_are_ambiguous_or_unknown_keep(tmp_path: Path, transforms: Any) -> None:
    assert paths(one_file(tmp_path, GOOD, transforms), "upper(s) = 'Q'") == {"a.parquet"}


def test_names_in_place_of_paths_are_read(tmp_path: Path) -> None:
    plain = json.loads(json.dumps(domain([U])).replace('[[\\"s\\"]]', '[\\"s\\"]'))
    assert paths(one_file(tmp_path, GOOD, plain), "upper(s) = 'Q'") == set()


def test_without_the_feature_bounds_of_expressions_mean_nothing(tmp_path: Path) -> None:
    features = [name for name in FEATURES if name != "clusteringExpressions"]
    assert paths(one_file(tmp_path, GOOD, writerFeatures=features), "upper(s) = 'Q'") == {"a.parquet"}


def test_collated_and_padded_columns_keep(tmp_path: Path) -> None:
    for name, kind, metadata in (
        ("collated", t.STRING, {"__COLLATIONS": {"s": "icu.UNICODE_CI"}}),
        ("padded", t.STRING, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}),
        ("widened", t.LONG, {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),
    ):
        schema = t.StructType((t.StructField("s", kind, True, metadata),))
        expression = ("s", "cast", ["STRING"], 0, "u") if kind == t.LONG else U
        builder = TableBuilder(tmp_path / name, schema, protocol=protocol())
        builder.commit(domain([expression]), add("a.parquet", {"numRecords": 2, "expressionStats": GOOD}))
        where = "CAST(s AS STRING) = '5'" if kind == t.LONG else "upper(s) = 'Q'"
        assert paths(ds.DeltaTable(str(tmp_path / name)), where) == {"a.parquet"}, name


def test_new_files_are_refused_by_name(tmp_path: Path, tables: tuple[ds.DeltaTable, ds.DeltaTable]) -> None:
    table = tables[1]
    refuses(UnsupportedFeature, "clusteringExpressions", lambda: table.append(some_rows(random.Random(1))))
    refuses(UnsupportedFeature, "clusteringExpressions", table.optimize)


def test_recomputed_bounds_are_kept_by_commits_and_checkpoints(tmp_path: Path) -> None:
    builder = TableBuilder(
        tmp_path, SCHEMA, protocol=protocol(), properties={
            "delta.enableDeletionVectors": "true", "delta.checkpoint.writeStatsAsJson": "false",
            "delta.checkpoint.writeStatsAsStruct": "true",
        },
    )  # fmt: skip
    rows = some_rows(random.Random(3))
    pq.write_table(rows, tmp_path / "a.parquet")
    old = {"numRecords": len(rows), "expressionStats": {"other": {"minValues": {"n": 1.50}, "maxValues": {"n": 7}}}}
    builder.commit(domain(), add("a.parquet", old, size=(tmp_path / "a.parquet").stat().st_size))
    table = ds.DeltaTable(str(tmp_path))
    assert table.recompute_stats(only_missing=True).files == 1
    assert table.recompute_stats(only_missing=True).files == 0
    [stats] = [json.loads(each["stats"]) for each in logged(tmp_path, 1, kind="add")]
    texts = [each.upper() for each in rows["s"].to_pylist() if each is not None]
    found = stats["expressionStats"]
    assert found["u"] == {"minValues": {"s": min(texts)}, "maxValues": {"s": max(texts)}}
    assert found.keys() == {"other", "u", "m", "c", "sub", "t"}
    assert found["other"] == old["expressionStats"]["other"]
    table.delete(f"i = {rows['i'][0].as_py()}")
    [after] = [json.loads(each["stats"]) for each in logged(tmp_path, 2, kind="add")]
    assert after["expressionStats"] == found
    table.checkpoint()
    log_file(tmp_path, 0).unlink()
    assert paths(ds.DeltaTable(str(tmp_path)), "upper(s) = 'QQ'") == set()


def test_bounds_of_expressions_are_not_lost_by_a_commit(tmp_path: Path) -> None:
    snapshot = one_file(tmp_path, GOOD).snapshot
    files = pa.Table.from_batches(list(snapshot.add_batches(10)))
    [file] = add_actions(files.select(FILE_SCHEMA.names))
    transaction = Transaction(snapshot, "COMPUTE STATS")
    transaction.add_again(replace(with_stats(file, '{"numRecords": 2}'), data_change=False))
    refuses(InvalidCommit, "bounds u of clustering expressions", transaction.commit)


def test_repairs_of_other_statistics_keep_unknown_bounds_of_expressions(tmp_path: Path) -> None:
    rows = some_rows(random.Random(3))
    builder = TableBuilder(tmp_path, SCHEMA, protocol=protocol())
    pq.write_table(rows, tmp_path / "a.parquet")
    other = {"other": GOOD["u"]}
    wrong = {"numRecords": len(rows), "minValues": {"i": 10**6}, "maxValues": {"i": 10**6}, "expressionStats": other}
    builder.commit(domain(), add("a.parquet", wrong, size=(tmp_path / "a.parquet").stat().st_size))
    ds.DeltaTable(str(tmp_path)).verify(data=True, repair=True)
    [stats] = [json.loads(each["stats"]) for each in logged(tmp_path, 1, kind="add")]
    assert stats["minValues"]["i"] < 10**6 and stats["expressionStats"].items() >= other.items()


@pytest.mark.parametrize(
    ("key", "side", "moved", "wrong"),
    [
        ("u", "min", "~", True),
        ("u", "min", "ẞ", False),
        ("m", "min", "2100-01-01T00:00:00.000Z", True),
        ("m", "max", "1900-01-01T00:00:00.000Z", True),
        ("m", "min", "same day", False),
        ("c", "min", 1000, True),
        ("c", "max", -1000, True),
        ("c", "max", 1000, False),
        ("sub", "max", "", True),
        ("t", "min", "~", True),
    ],
)
def test_bounds_of_no_truth_are_found(tmp_path: Path, key: str, side: str, moved: Any, wrong: bool) -> None:
    """Bounds of another time zone or of another version of Unicode are not wrong, nor are wide ones."""
    rows = some_rows(random.Random(3))
    builder = TableBuilder(tmp_path, SCHEMA, protocol=protocol())
    pq.write_table(rows, tmp_path / "a.parquet")
    builder.commit(domain(), add("a.parquet", {"numRecords": len(rows)}, size=(tmp_path / "a.parquet").stat().st_size))
    table = ds.DeltaTable(str(tmp_path))
    table.recompute_stats()
    assert not table.verify(data=True).errors
    [stats] = [json.loads(each["stats"]) for each in logged(tmp_path, 1, kind="add")]
    bounds = stats["expressionStats"][key][f"{side}Values"]
    [(column, value)] = bounds.items()
    bounds[column] = value.replace("T00", "T23") if moved == "same day" else moved

    def damage(action: dict[str, Any]) -> None:
        if "stats" in action.get("add", {}):
            action["add"]["stats"] = json.dumps(stats)

    relog(tmp_path, damage)
    result = ds.DeltaTable(str(tmp_path)).verify(data=True, repair=True)
    assert [each.rule for each in result.errors] == ["data.statistics"] * wrong
    if wrong:
        [after] = [json.loads(each["stats"]) for each in logged(tmp_path, 2, kind="add")]
        assert after["expressionStats"][key][f"{side}Values"] == {column: value}


def test_bounds_of_numbers_say_nothing_about_nan(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", SCHEMA, protocol=protocol())
    adds = []
    for number, texts in enumerate((["1", "NaN"], ["2", "3"], ["-0.0", None], ["NaN", "NaN"])):
        rows = pa.table({"n": pa.array(texts, pa.string())})
        pq.write_table(rows, tmp_path / "t" / f"{number}.parquet")
        size = (tmp_path / "t" / f"{number}.parquet").stat().st_size
        adds.append(add(f"{number}.parquet", {"numRecords": 2}, size=size))
    builder.commit(domain([("n", "cast", ["DOUBLE"], 0, "f")]), *adds)
    table = ds.DeltaTable(str(tmp_path / "t"))
    every = table.scan().to_arrow()
    wheres = [
        "CAST(n AS DOUBLE) > 100",
        "CAST(n AS DOUBLE) = DOUBLE('NaN')",
        "CAST(n AS DOUBLE) >= 2",
        "CAST(n AS DOUBLE) = 0",
    ]
    wanted = [table.scan(where).to_arrow()["n"].to_pylist() for where in wheres]
    table.recompute_stats()
    assert "expressionStats" in table.refresh().snapshot.commit_adds["stats"].to_pylist()[-1]
    assert [table.refresh().scan(where).to_arrow()["n"].to_pylist() for where in wheres] == wanted
    assert [len(each) for each in wanted] == [3, 3, 5, 1] and len(every) == 8
    assert len(paths(table.refresh(), "CAST(n AS DOUBLE) < 0.5")) < 4
