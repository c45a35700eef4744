"""Every reason that explain states is true: each claim is checked against the log, the schema or a changed table."""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.skipping import program
from deltaskip.skipping.explain.report import LeafReport
from deltaskip.skipping.proofs.rewrite import rewrite
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.clock import reads_clock
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.lookup import find
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Call, Opaque, walk
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY
from tests.builder import DELTA_RS, SPARK, TableBuilder, add, bounds
from tests.each import each
from tests.extent import extent
from tests.looped import looped

Stats = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A predicate of one leaf over a table with the columns `fields` and a file for each of `files`."""

    where: str
    fields: tuple[t.StructField, ...]
    files: tuple[Stats | None, ...]
    engine: str | None = SPARK
    partitions: tuple[str, ...] = ()

    def open(
        self, folder: Path, *more: Stats, engine: str | None = None, properties: Mapping[str, str] | None = None
    ) -> ds.DeltaTable:
        builder = TableBuilder(folder, t.StructType(self.fields), self.partitions, properties)
        files = [
            add(f"{i}", stats, partitionValues=dict.fromkeys(self.partitions, f"{i}"))
            for i, stats in enumerate([*self.files, *more])
        ]
        builder.commit(*files, engine=engine or self.engine)
        return ds.DeltaTable(folder)

    def leaf(self, table: ds.DeltaTable) -> tuple[LeafReport, program.Leaf]:
        scan = table.scan(self.where)
        [report] = scan.explain().leaves
        [leaf] = program.leaves_of(scan.compiled.program.root)
        return report, leaf

    def field(self, name: str) -> t.StructField:
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True)
class Stated:
    """One claim of a reason, where it was stated."""

    case: Case
    folder: Path
    report: LeafReport
    leaf: program.Leaf
    match: re.Match[str]

    def listed(self, group: str = "names") -> list[str]:
        return re.split(r", | or | and ", self.match[group])


def logged(stats: Stats | None, name: str) -> bool:
    """Whether a file's statistics hold what explain calls `name`, such as min(c) under icu.UNICODE_CI.77.1."""
    if stats is None:
        return False
    found = re.fullmatch(r"(?P<what>\w+)(?:\((?P<column>[\w.]+)\))?(?: under (?P<collation>\S+))?", name)
    assert found is not None, name
    if found["column"] is None:
        return name in stats
    group = {"min": "minValues", "max": "maxValues"}.get(found["what"], found["what"])
    if found["collation"]:
        stats = stats.get("statsWithCollation", {}).get(found["collation"], {})
    return found["column"] in stats.get(group, {})


def only_counts(leaf: program.Leaf) -> bool:
    return all(
        isinstance(term, program.Leaf | program.AllOf | program.ValuesPossible | program.ConstantTerm | program.Keep)
        for term in program.terms_of(leaf)
    )


def skipped(stated: Stated, name: str, *more: Stats, engine: str | None = None) -> set[str]:
    table = stated.case.open(stated.folder / name, *more, engine=engine)
    every = {f"{i}" for i in range(len(stated.case.files) + len(more))}
    return every - set(table.scan(stated.case.where).files()["path"].to_pylist())


def absent(stated: Stated) -> bool:
    return all(not logged(stats, name) for stats in stated.case.files for name in stated.listed())


def unusable(stated: Stated) -> bool:
    """The log has it, and a file that lacks it in fact is treated alike."""
    files = len(stated.case.files)
    return all(
        any(logged(stats, name) for stats in stated.case.files) and stated.report.lacking[name] == files
        for name in stated.listed()
    )


def no_rule_under_collation(stated: Stated) -> bool:
    declared = [(field.metadata or {}).get("__COLLATIONS", {}).get(field.name) for field in stated.case.fields]
    return stated.match["collation"].removesuffix(".77.1") in declared and only_counts(stated.leaf)


def no_rule(stated: Stated) -> bool:
    return only_counts(stated.leaf) and all(name in stated.case.where for name in stated.listed())


def only_some_files(stated: Stated) -> bool:
    """Files of nothing but NULL are skipped, those of one value where that is claimed, and no others."""
    names = [field.name for field in stated.case.fields]
    nulls = {"numRecords": 2, "nullCount": dict.fromkeys(names, 2)}
    texts = all(field.type == t.STRING for field in stated.case.fields)
    samples = SAMPLES[str if texts else int]
    without_match = (v for v in samples if not is_true(stated.case, {(name,): v for name in names}))
    unmatched = next(without_match, samples[0])
    varied = bounds(9, **dict.fromkeys(names, (samples[0], samples[-1])))
    single = bounds(9, **dict.fromkeys(names, (unmatched, unmatched)))
    at = len(stated.case.files)
    found = {int(path) - at for path in skipped(stated, "only", nulls, varied, single)}
    null, one = stated.match["null"] is not None, stated.match["one"] is not None
    return (0 in found) == null and 1 not in found and (2 in found) == one


def several_columns(stated: Stated) -> bool:
    return len(stated.listed()) > 1 and all(name in stated.case.where for name in stated.listed())


def padded(stated: Stated) -> bool:
    return stated.case.field(stated.match["name"]).metadata[CHAR_VARCHAR_KEY] == stated.match["type"]


def kind_without_bounds(stated: Stated) -> bool:
    return stated.match["kind"] == {t.BINARY: "binary"}[stated.case.field(stated.match["name"]).type]


def foreign_function(stated: Stated) -> bool:
    return stated.match["name"] in stated.case.where.lower() and stated.match["name"] not in FUNCTIONS


def may_omit_nan(stated: Stated) -> bool:
    """A writer that records NaN has as many files more skipped."""
    before, after = skipped(stated, "before"), skipped(stated, "after", engine=SPARK)
    return len(after - before) == int(stated.match["count"])


def is_true(case: Case, row: dict[tuple[str, ...], Any]) -> bool:
    try:
        return evaluated(case, row) is True
    except EvaluationError:
        return False


def may_be_true(case: Case, value: Any) -> bool:
    """Whether c = `value` matches, or cannot be evaluated under its collation."""
    try:
        return evaluated(case, {("c",): value}) is True
    except EvaluationError:
        return True


def evaluated(case: Case, row: dict[tuple[str, ...], Any]) -> Any:
    node = bind(parse_sql(case.where), t.StructType(case.fields), case.partitions)
    return evaluate(node, row, "UTC", Collations("77.1").order)


def values_of(stated: Stated) -> Iterator[list[Any]]:
    """Values in each file's range of c, as far as the log has one."""
    under_ = {name.partition(" under ")[2] for name in stated.report.used if name.startswith(("min(c)", "max(c)"))}
    [key] = under_ or {""}
    suffix = f" under {key}" if key else ""
    for stats in stated.case.files:
        if stats is None or not logged(stats, f"min(c){suffix}") or not logged(stats, f"max(c){suffix}"):
            continue
        found = stats["statsWithCollation"][key] if key else stats
        low, high = found["minValues"]["c"], found["maxValues"]["c"]
        yield [value for value in SAMPLES[type(low)] if _in_order(low, value, key) and _in_order(value, high, key)]


SAMPLES: dict[type, list[Any]] = {
    int: list(range(-128, 128)),
    str: ["", "a", "m", "w", "x", "xm", "xy", "X", "y", "z", "~", "\U0010ffff", "m" * 41],
}


def _in_order(low: Any, high: Any, collation: str) -> bool:
    order = find(CollationId.parse(collation)) if collation else None
    return low <= high if order is None else order.compare_values(low, high) <= 0


def ranges_contain_a_match(stated: Stated) -> bool:
    return all(any(may_be_true(stated.case, value) for value in values) for values in values_of(stated))


def every_range(stated: Stated) -> bool:
    return len(list(values_of(stated))) == len(stated.case.files) and ranges_contain_a_match(stated)


def logged_ranges(stated: Stated) -> bool:
    return 0 < len(list(values_of(stated))) < len(stated.case.files) and ranges_contain_a_match(stated)


def null_counts(stated: Stated) -> bool:
    wants_null = is_true(stated.case, {("c",): None})
    counts = [(stats["nullCount"]["c"], stats["numRecords"]) for stats in stated.case.files if stats is not None]
    return len(counts) == len(stated.case.files) and all(
        nulls > 0 if wants_null else nulls < records for nulls, records in counts
    )


def range_or_null_counts(stated: Stated) -> bool:
    return all(
        stats["nullCount"]["c"] > 0 or any(is_true(stated.case, {("c",): value}) for value in values)
        for stats, values in zip(stated.case.files, values_of(stated), strict=True)
        if stats is not None
    )


def partition_values(stated: Stated) -> bool:
    return all(is_true(stated.case, {("p",): i}) for i in range(len(stated.case.files)))


def every_value_matches(stated: Stated) -> bool:
    nulls = is_true(stated.case, {("c",): None})
    return all(is_true(stated.case, {("c",): value}) for value in range(-128, 128)) and not nulls


def never_true(stated: Stated) -> bool:
    type_ = stated.case.field("c").type
    values = SAMPLES[str if type_ == t.STRING else int]
    return not any(is_true(stated.case, {("c",): value}) for value in [*values, None])


def of_other_versions(stated: Stated) -> bool:
    keys = {key for stats in stated.case.files for key in (stats or {}).get("statsWithCollation", {})}
    mine, needed = stated.listed(), CollationId.parse(stated.match["needed"])
    others = [CollationId.parse(key) for key in mine]
    return set(mine) <= keys and all(
        other.version != needed.version and other.without_version == needed.without_version for other in others
    )


def names_collation(stated: Stated) -> bool:
    return any(stated.match["name"] in json.dumps(dict(field.metadata or {})) for field in stated.case.fields)


def inequality_under_collation(stated: Stated) -> bool:
    """Strings that the bounds' order takes as equal may differ under the collation."""
    order = find(CollationId.parse(stated.match["collation"] + ".77.1"))
    assert order is not None
    return not order.exact_keys and only_counts(stated.leaf)


def only_ends(stated: Stated) -> bool:
    """A range between the listed values is kept, although it contains none of them; one above all of them is not."""
    found = {int(path) for path in skipped(stated, "ends")}
    return found == {len(stated.case.files) - 1}


def unsupported(stated: Stated) -> bool:
    node = bind(parse_sql(stated.case.where), t.StructType(stated.case.fields), ())
    # Without a type, a call has no rule for its arguments.
    return any(isinstance(part, Opaque) or (isinstance(part, Call) and part.type is None) for part in walk(node))


def uncounted(stated: Stated) -> bool:
    return isinstance(stated.case.field(stated.match["name"]).type, t.StructType)


def stated_of_like(stated: Stated) -> bool:
    return " LIKE " in stated.case.where and only_counts(stated.leaf)


def changing_function(stated: Stated) -> bool:
    return f"{stated.match['name']}()" in stated.case.where and only_counts(stated.leaf)


def reads_the_clock(stated: Stated) -> bool:
    return reads_clock(bind(parse_sql(stated.case.where), t.StructType(stated.case.fields), ()))


def only_counts_of_the_clock(stated: Stated) -> bool:
    return reads_the_clock(stated) and only_counts(stated.leaf)


def unbounded(stated: Stated) -> bool:
    """A file of great values is kept as well, and in 2026 one of the greatest value."""
    limit = bounds(9, c=(2**31 - 1, 2**31 - 1))
    return reads_the_clock(stated) and not skipped(stated, "unbounded", limit)


def false_at_any_time(stated: Stated) -> bool:
    return reads_the_clock(stated) and len(skipped(stated, "false")) == len(stated.case.files)


def true_at_some_time(stated: Stated) -> bool:
    return reads_the_clock(stated) and not skipped(stated, "true")


CLAIMS: dict[str, Callable[[Stated], bool]] = {
    r"no file has (?P<names>.+) in the log": absent,
    r"the log's values of (?P<names>.+) cannot be used as bounds": unusable,
    r"no rule prunes this (?:LIKE|expression) under the collation (?P<collation>.+)": no_rule_under_collation,
    r"no rule bounds (?P<names>.+) by this expression": no_rule,
    r"only files where (?:(?P<null>.+?) is NULL in every row)?(?: or where )?(?:(?P<one>.+?) (?:has|each have) a "
    r"single value)? can be skipped": only_some_files,
    r"only the least and the greatest of the predicate's values are compared with min and max": only_ends,
    r"it reads several columns \((?P<names>.+)\), and statistics bound each column separately": several_columns,
    r"(?P<name>\w+) is (?P<type>char\(\d+\)), which Spark compares padded with blanks, unlike its bounds": padded,
    r"no rule uses min and max of (?P<name>\w+), which is (?P<kind>\w+)": kind_without_bounds,
    r"(?P<name>\w+) is not a function that deltaskip can evaluate": foreign_function,
    r"(?P<name>\w+) has another value for each row, file or session": changing_function,
    r"it is not known whether the expression rises or falls with the time of the query": only_counts_of_the_clock,
    r"the query may run at any later time, which is no bound for this comparison": unbounded,
    r"it is false whenever the query may run": false_at_any_time,
    r"it may be true when the query runs, whatever the rows are": true_at_some_time,
    r"(?P<count>\d+) files? (?:is|are) kept only because (?:its|their) writer may omit NaN from min and "
    r"max: recompute (?:its|their) statistics, or set deltaskip.floatBounds = exact if every writer of the table "
    r"records NaN": may_omit_nan,
    r"every file's min/max range could contain a match": every_range,
    r"every min/max range in the log could contain a match": logged_ranges,
    r"every file's null count allows a match": null_counts,
    r"every file's min/max range or null count allows a match": range_or_null_counts,
    r"the partition values of every file could match": partition_values,
    r"every value of c other than NULL matches": every_value_matches,
    r"no value of type \w+ can match": never_true,
    r"no branch of CASE or COALESCE can match": never_true,
    r"the expression is not supported, so any row could match": unsupported,
    r"no statistic counts the NULL values of (?P<name>\w+) itself": uncounted,
    r"min and max under (?P<collation>\S+)\.77\.1 do not prove that all values are equal": inequality_under_collation,
    r"no range follows from this prefix under the collation (?P<collation>\S+)": no_rule_under_collation,
    r"the pattern begins with a wildcard": stated_of_like,
    r"no range of strings follows from the pattern": stated_of_like,
    r"statistics of (?P<names>.+) cannot be used, because strings are compared under (?P<needed>\S+) here: recompute "
    r"them for this version": of_other_versions,
    r"the collation (?P<name>\S+) is not known": names_collation,
}

LCASE, CI, CASE_AND_ACCENT = "spark.UTF8_LCASE", "icu.UNICODE_CI", "icu.UNICODE_AI"


def text(collation: str | None = None, char: str | None = None) -> t.StructField:
    metadata: dict[str, Any] = {}
    if collation is not None:
        metadata["__COLLATIONS"] = {"c": collation}
    if char is not None:
        metadata[CHAR_VARCHAR_KEY] = char
    return t.StructField("c", t.STRING, True, metadata)


def plain(name: str, type_: t.DataType) -> t.StructField:
    return t.StructField(name, type_)


def under(key: str, low: Any = "a", high: Any = "z") -> Stats:
    collated = {key: {"minValues": {"c": low}, "maxValues": {"c": high}}}
    return {"numRecords": 2, "nullCount": {"c": 0}, "statsWithCollation": collated}


COUNTS: Stats = {"numRecords": 2, "nullCount": {"c": 0}}
LONG_TEXT = "m" * 40
TEXT_PREDICATES = (
    *["c = 'x'", "c != 'x'", "c > 'x'", "c IN ('x', 'y')", "c <=> 'x'"],
    *["c LIKE 'x%'", "c LIKE '%x'", "c LIKE 'x%y'", "c NOT LIKE 'x%y'", "startswith(c, 'x')", "upper(c) = 'X'"],
    *["length(c) = 1", "substring(c, 1, 1) = 'x'", "contains(c, 'x')", "c || 'x' = 'yx'", "c = upper(c)"],
    *["c IS NULL", "c IS NOT NULL", "my_own(c) = 'x'", "c > rand()"],
)
TEXT_COLUMNS = (
    text(),
    text(char="char(5)"),
    *map(text, [LCASE, CI, CASE_AND_ACCENT, "icu.NOWHERE", "icu.UNICODE_CI_AI", "spark.UTF8_BINARY_RTRIM"]),
)


def text_files(field: t.StructField) -> list[tuple[Stats | None, ...]]:
    collation = (field.metadata or {}).get("__COLLATIONS", {}).get("c", CI)
    now, old = f"{collation}.77.1", f"{collation}.72.1"
    one = under(now)
    return [
        (None, None),
        (COUNTS, COUNTS),
        (bounds(c=("a", "z")), bounds(c=("a", "z"))),
        (one, one),
        (one, COUNTS),
        (under(old), under(old)),
        (under(now, LONG_TEXT, LONG_TEXT + "n"), under(now, LONG_TEXT, LONG_TEXT + "n")),
        (bounds(c=(1, 2)), bounds(c=(1, 2))),
    ]


def text_cases(field: t.StructField) -> list[Case]:
    return [Case(where, (field,), files) for where, files in itertools.product(TEXT_PREDICATES, text_files(field))]


def other_cases() -> Iterator[Case]:
    struct = plain("s", t.StructType((plain("a", t.INTEGER),)))
    c, d, x = plain("c", t.INTEGER), plain("d", t.INTEGER), plain("c", t.DOUBLE)
    some = (bounds(c=(1, 9)), bounds(c=(5, 20)))
    both = tuple(bounds(c=(1, 9), d=(1, 9)) for _ in range(2))
    nulls = tuple(bounds(c=(5, 5, 1)) for _ in range(2))
    for where in ("c > 5", "c = 7", "c IN (6, 8)", "c + 1 = 8", "c IS NULL", "c IS NOT NULL", "c % 2 = 1"):
        yield from (Case(where, (c,), files) for files in (some, (*some, COUNTS), (None,), (COUNTS,), nulls))
    yield Case("coalesce(c, 100) > 50", (c,), nulls)
    yield Case("coalesce(c, 100) > 7", (c,), some)
    yield from (Case(where, (c,), some) for where in ("c RLIKE '5'", "EXISTS (SELECT 1)", "c > (SELECT 1)", "c[0] = 1"))
    yield Case("CASE WHEN c > 5 THEN 1 ELSE 0 END = 7", (c,), some)
    yield Case("coalesce(length(c), 3) = 7", (text(),), (bounds(c=("a", "z")),))
    yield from (Case(where, (struct,), some) for where in ("s IS NULL", "s IS NOT NULL"))
    yield from (Case(where, (c, d), both) for where in ("c > d", "c + d = 10", "pmod(c, d) > 3", "c IN (d + 1, 5)"))
    yield from (
        Case(where, (plain("c", t.BYTE),), some) for where in ("c > 300", "c >= -128", "c < 1000", "c IN (300)")
    )
    yield from (Case(where, (c,), (COUNTS, COUNTS)) for where in ("coalesce(c, rand()) = 5", "c = my_own(3)"))
    yield from (Case(where, (c,), some) for where in ("c < unix_timestamp()", "c = month(current_date())"))
    yield from (Case(f"current_date() {op} DATE'2020-01-01'", (c,), some) for op in "<>")
    yield Case("c = X'01'", (plain("c", t.BINARY),), (bounds(c=("a", "z")),))
    yield from (Case("c > 100", (x,), (bounds(c=(1.0, 3.0)),) * n, DELTA_RS) for n in (1, 2))
    many = ", ".join(f"{i}.50" for i in range(100))
    amount = plain("c", t.DecimalType(10, 2))
    yield Case(f"c IN ({many})", (amount,), tuple(bounds(c=(f, f)) for f in (7.25, 8.75, 100.25)))
    many = ", ".join(f"'a{i:03}x'" for i in range(100))
    yield Case(f"c IN ({many})", (text(CI),), tuple(under(f"{CI}.77.1", f, f) for f in ("a007", "a008", "b")))
    yield Case("p >= 0", (c, plain("p", t.INTEGER)), some, partitions=("p",))
    yield Case("p + c > 0", (c, plain("p", t.INTEGER)), some, partitions=("p",))


def check(case: Case, folder: Path) -> list[str]:
    """The patterns of the claims that explain states in this case, each of them found to be true."""
    report, leaf = case.leaf(case.open(folder / "t"))
    found: list[str] = []
    for part in report.reason.split("; ") if report.reason else []:
        matches = [(pattern, match) for pattern in CLAIMS if (match := re.fullmatch(pattern, part))]
        assert matches, f"{case}: nothing checks the claim {part!r}"
        for i, (pattern, match) in enumerate(matches):
            stated = Stated(case, folder / f"{len(found)}-{i}", report, leaf, match)
            assert CLAIMS[pattern](stated), f"{case}: {part}"
            found.append(pattern)
    _check_that_nothing_is_hidden(case, report, leaf)
    return found


def _check_that_nothing_is_hidden(case: Case, report: LeafReport, leaf: program.Leaf) -> None:
    """A leaf that skips no file has a reason, and a statistic that no file has is named in it."""
    assert report.dropped or report.reason, case
    for stat in program.Program(leaf).stat_leaves:
        under_ = f" under {stat.collation[0]}" if stat.collation else ""
        name = f"{stat.side or stat.group}({stat.field.label}){under_}" if stat.field else stat.group
        if not any(logged(stats, name) for stats in case.files):
            assert name in report.reason, case


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning", "ignore::deltaskip.PredicateWarning")
def test_every_claim_is_true_and_stated_somewhere(tmp_path: Path) -> None:
    strings = itertools.chain.from_iterable(map(text_cases, TEXT_COLUMNS))
    found: set[str] = set()
    each(
        enumerate([*other_cases(), *itertools.islice(strings, 0, None, extent(11, 1))]),
        lambda numbered: found.update(check(numbered[1], tmp_path / f"{numbered[0]}")),
        lambda numbered: numbered[1].where,
    )
    assert not set(CLAIMS) - found


STRUCT_ONLY = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}


@pytest.mark.filterwarnings("ignore::deltaskip.stats.logged_stats.StatisticsWarning")
@looped("properties", [{}, STRUCT_ONLY])
@looped("files", text_files(text(CI)))
def test_a_checkpoint_changes_no_reason(
    files: tuple[Stats | None, ...], properties: Mapping[str, str], tmp_path: Path
) -> None:
    case = Case("c = 'x'", (text(CI),), files)
    table = case.open(tmp_path / "t", properties=properties)
    before, _ = case.leaf(table)
    table.checkpoint()
    after, _ = case.leaf(ds.DeltaTable(tmp_path / "t"))
    assert after.reason == before.reason != ""


@pytest.mark.parametrize(
    "where",
    [
        *["c LIKE 'x%'", "upper(c) = 'X'", "length(c) = 1", "substring(c, 1, 1) = 'x'", "contains(c, 'x')"],
        *["c || 'x' = 'yx'", "c = upper(c)"],
    ],
)
def test_a_collated_column_with_bounds_has_no_rule_rather_than_no_statistics(where: str, tmp_path: Path) -> None:
    files = (under(f"{CI}.77.1"), under(f"{CI}.77.1"))
    report, _ = Case(where, (text(CI),), files).leaf(Case(where, (text(CI),), files).open(tmp_path / "t"))
    assert f"under the collation {CI}" in report.reason
    assert "no rule prunes" in report.reason
    assert "statistics" not in report.reason
    assert "in the log" not in report.reason


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("c = NULL", "a comparison with NULL is never true"),
        ("c IN (NULL)", "an IN list of nothing but NULL is never true"),
        ("c NOT IN (1, NULL)", "NOT IN is never true of a list with NULL"),
    ],
)
def test_a_leaf_that_normalization_would_fold_has_its_reason_too(where: str, reason: str) -> None:
    schema = t.StructType((plain("c", t.INTEGER),))
    [leaf] = program.leaves_of(rewrite(bind(parse_sql(where), schema), schema, "none", "UTC").root)
    assert (leaf.term, leaf.reason) == (program.Drop(), reason)
    case = Case(where, schema.fields, ())
    assert not any(is_true(case, {("c",): value}) for value in [*SAMPLES[int], None])
