"""Statistics that no added file may have."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deltaskip.actions import DomainMetadata
from deltaskip.sparkexpr import types as t
from deltaskip.txn.transaction import Transaction
from tests.looped import looped
from tests.txn.tables import SCHEMA, append, file, gone, make_table
from tests.txn.validation.cases import Case, changed, check, check_each, column, stats, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

CLUSTERING = "delta.clustering"


def adds(text: str | None, **members: Any) -> Any:
    """Add a file with these statistics."""
    return lambda txn: txn.add(file("b", stats=text, **members))


def only(*fields: Any) -> t.StructType:
    """A schema of these columns."""
    return t.StructType(fields)


def bounds(low: Any, high: Any, name: str = "c") -> Any:
    """Add a file with these bounds of a column."""
    return adds(stats(minValues={name: low}, maxValues={name: high}))


NOT_NULL = only(column("id", t.LONG, False), column("s", only(column("x", t.LONG, False)), False),
                column("t", only(column("x", t.LONG, False))), column("a", t.ArrayType(t.LONG), False))  # fmt: skip
GOOD = {"id": 0, "s": {"x": 0}}
CLUSTERED: dict[str, Any] = {
    "features": ["clustering", "domainMetadata"],
    "actions": [{"domainMetadata": {
        "domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"],["flag"]]}', "removed": False}}],
    "schema": only(column("id"), column("flag", t.BOOLEAN)),
}  # fmt: skip
COLLATED: dict[str, Any] = {
    "features": ["collations", "domainMetadata"],
    "schema": only(column("t", t.STRING, __COLLATIONS={"t": "icu.UNICODE_CI"})),
    "actions": [{"domainMetadata": {
        "domain": "collations", "configuration": '{"writeVersions":{"icu.UNICODE_CI":["77.1"]}}', "removed": False}}],
}  # fmt: skip


def collated(name: str) -> str:
    """Statistics with bounds under this collation."""
    return stats(statsWithCollation={name: {"minValues": {"t": "a"}, "maxValues": {"t": "b"}}})


CASES = {
    "none": Case(adds(None)),
    "empty text": Case(adds(""), "statistics.json"),
    "no JSON": Case(adds("nonsense"), "statistics.json"),
    "no object": Case(adds("[1]"), "statistics.json"),
    "NaN": Case(adds('{"numRecords":NaN}'), "statistics.json"),
    "Infinity": Case(adds('{"minValues":{"id":-Infinity}}'), "statistics.json"),
    "rows": Case(adds(stats(0))),
    "negative rows": Case(adds(stats(-1)), "statistics.counts", "numRecords"),
    "rows of text": Case(adds(stats("10")), "statistics.counts"),
    "rows of a fraction": Case(adds(stats(1.5)), "statistics.counts"),
    "rows true": Case(adds(stats(True)), "statistics.counts"),
    "null counts": Case(adds(stats(nullCount={"id": 10, "s": {"x": 3}}))),
    "null counts of nothing known": Case(adds(json.dumps({"nullCount": {"id": 10}}))),
    "negative null count": Case(adds(stats(nullCount={"id": -1})), "statistics.counts", "id"),
    "null count above the rows": Case(adds(stats(nullCount={"s": {"x": 11}})), "statistics.counts", "s.x"),
    "null count of text": Case(adds(stats(nullCount={"id": "0"})), "statistics.counts"),
    "null count true": Case(adds(stats(nullCount={"id": True})), "statistics.counts"),
    "null counts that are a number": Case(adds(stats(nullCount=3)), "statistics.json"),
    "minima that are a list": Case(adds(stats(minValues=[1])), "statistics.json"),
    "tightBounds of text": Case(adds(stats(tightBounds="yes")), "statistics.json"),
    "tightBounds": Case(adds(stats(tightBounds=False, minValues=None, maxValues={}))),
    "columns that the table lacks": Case(adds(stats(minValues={"x": 3}, maxValues={"x": 1}))),
    "one bound": Case(adds(stats(minValues={"id": 5}))),
    # NOT NULL
    "no nulls": Case(adds(stats(nullCount=GOOD)), schema=NOT_NULL),
    "nulls": Case(adds(stats(nullCount={**GOOD, "id": 1})), "statistics.not-null", "count of 1", schema=NOT_NULL),
    "nulls in a field": Case(adds(stats(nullCount={**GOOD, "s": {"x": 1}})), "statistics.not-null", "s.x",
        schema=NOT_NULL),
    "nulls of a struct that may be null": Case(adds(stats(nullCount={**GOOD, "t": {"x": 9}})), schema=NOT_NULL),
    "no null count": Case(adds(stats(nullCount={"s": {"x": 0}})), "statistics.not-null", "shows it", schema=NOT_NULL),
    "no statistics": Case(adds(None), "statistics.not-null", schema=NOT_NULL),
    "no null count of a column without statistics": Case(adds(stats()), schema=NOT_NULL,
        properties={"delta.dataSkippingNumIndexedCols": "0"}),
    "nulls of a column without statistics": Case(adds(stats(nullCount={"id": 1})), "statistics.not-null",
        schema=NOT_NULL, properties={"delta.dataSkippingNumIndexedCols": "0"}),
    "no null count of no rows": Case(adds(stats(0)), schema=NOT_NULL),
    "no null count of old rows": Case(lambda txn: txn.add(file("a", stats=None, data_change=False)), schema=NOT_NULL,
        files=[file("a", stats=None)]),
    "no null count of what a vector leaves": Case(lambda txn: (txn.remove(gone("a")), txn.add(
        file("a", stats=stats(), deletion_vector=vector(2)))), schema=NOT_NULL, files=[file("a", stats=stats())],
        features=["deletionVectors"], properties={"delta.enableDeletionVectors": "true"}),
    # Clustering
    "clustered": Case(adds(stats(minValues={"id": 1}, maxValues={"id": 2}, nullCount={"id": 0, "flag": 0})),
        **CLUSTERED),
    "clustered nulls": Case(adds(stats(nullCount={"id": 10, "flag": 10})), **CLUSTERED),
    "clustered without bounds": Case(adds(stats(minValues={"id": 1}, nullCount={"id": 0, "flag": 0})),
        "statistics.clustering", "id", **CLUSTERED),
    "clustered without null counts": Case(adds(stats(minValues={"id": 1}, maxValues={"id": 2})),
        "statistics.clustering", **CLUSTERED),
    "clustered without statistics": Case(adds(None), "statistics.clustering", **CLUSTERED),
    # Collations
    "collated": Case(adds(collated("icu.UNICODE_CI.77.1")), **COLLATED),
    "collated in other case": Case(adds(collated("ICU.unicode_ci.77.1")), **COLLATED),
    "collated, unlisted": Case(adds(collated("icu.UNICODE_CI.78.3")), "statistics.collations", "domain", **COLLATED),
    "collated, unlisted name": Case(adds(collated("icu.UNICODE.77.1")), "statistics.collations", **COLLATED),
    "collated without version": Case(adds(collated("icu.UNICODE_CI")), "statistics.collations", "version", **COLLATED),
    "collated by nothing": Case(adds(collated("77")), "statistics.collations", "malformed", **COLLATED),
    "collated and listed by the commit": Case(lambda txn: (txn.add(file("b", stats=collated("icu.UNICODE_CI.78.3"))),
        txn.set_domain("collations", '{"writeVersions":{"icu.UNICODE_CI":["77.1","78.3"]}}')), **COLLATED),
    "collated and listed no more": Case(lambda txn: (txn.add(file("b", stats=collated("icu.UNICODE_CI.77.1"))),
        txn.remove_domain("collations")), "statistics.collations", **COLLATED),
    "old collated bounds": Case(lambda txn: txn.add(file("a", stats=collated("icu.UNICODE_CI.76.1"),
        data_change=False)), files=[file("a", stats=collated("icu.UNICODE_CI.76.1"))], **COLLATED),
    "old file, new collated bounds": Case(lambda txn: txn.add(file("a", stats=collated("icu.UNICODE_CI.78.3"),
        data_change=False)), "statistics.collations", files=[file("a", stats=collated("icu.UNICODE_CI.76.1"))],
        **COLLATED),
    "old file, new collated bounds, unseen": Case(lambda txn: txn.add_again(file("a",
        stats=collated("icu.UNICODE_CI.78.3"), data_change=False)), "statistics.collations",
        files=[file("a", stats=collated("icu.UNICODE_CI.76.1"))], **COLLATED),
    "collated without the feature": Case(adds(collated("icu.UNICODE_CI.77.1")), "protocol.unlisted"),
    "collated bounds that are a list": Case(adds(stats(statsWithCollation=[1])), "statistics.json", **COLLATED),
}  # fmt: skip


def test_statistics_contradict_neither_themselves_nor_the_table(tmp_path: Path) -> None:
    check_each(CASES, tmp_path)


VALUES: list[tuple[Any, Any, Any]] = [
    (t.LONG, 1, 2), (t.LONG, -(2**63), 2**63 - 1), (t.INTEGER, -1, 0), (t.DOUBLE, 1.5, 2),
    (t.DOUBLE, "-Infinity", "Infinity"),
    (t.DecimalType(38, 2), "1.50", "2.00"), (t.DecimalType(10, 2), 1.5, 2), (t.STRING, "", "é"), (t.STRING, "Z", "a"),
    (t.STRING, "\uffff", "\U0001f600"), (t.DATE, "2020-01-01", "2020-01-02"), (t.DATE, "-0001-01-01", "0000-01-01"),
    (t.TIMESTAMP, "2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.001Z"),
    (t.TIMESTAMP_NTZ, "2020-01-01 00:00:00", "2020-01-02 00:00:00"), (t.TIMESTAMP_NTZ, "2020-01-01", "2020-01-02"),
]  # fmt: skip


@looped("type_, low, high", VALUES, str)
def test_no_minimum_is_above_its_maximum(tmp_path: Path, type_: Any, low: Any, high: Any) -> None:
    features = ["timestampNtz"]
    for i, (first, second, rule) in enumerate(
        [(low, high, None), (low, low, None), (None, low, None), (high, low, "statistics.bounds")]
    ):
        case = Case(bounds(first, second), rule, schema=only(column("c", type_)), features=features)
        check(case, tmp_path / str(i))
        nested = Case(
            bounds({"x": first}, {"x": second}), rule, schema=only(column("c", only(column("x", type_)))),
            features=features,
        )  # fmt: skip
        check(nested, tmp_path / f"n{i}")


@looped(
    "type_, value",
    [
        (t.LONG, "1"),
        (t.LONG, True),
        (t.LONG, [1]),
        (t.LONG, {"x": 1}),
        (t.DOUBLE, "one"),
        (t.DecimalType(5, 2), "x"),
        (t.STRING, 1),
        (t.STRING, {"x": "a"}),
        (t.DATE, "yesterday"),
        (t.DATE, 7),
        (t.TIMESTAMP, "noon"),
        (t.TIMESTAMP, 7),
    ],
    str,
)
def test_bounds_have_the_type_of_their_column(tmp_path: Path, type_: Any, value: Any) -> None:
    check(Case(bounds(value, None), "statistics.json", schema=only(column("c", type_))), tmp_path)


@pytest.mark.parametrize(("type_", "low", "high"), [
    (t.DOUBLE, "NaN", 1), (t.BOOLEAN, True, False), (t.BINARY, "b", "a"), (t.VARIANT, "z", "a"),
    (t.ArrayType(t.LONG), [2], [1]),
], ids=str)  # fmt: skip
def test_bounds_without_an_order_are_kept(tmp_path: Path, type_: Any, low: Any, high: Any) -> None:
    check(Case(bounds(low, high), schema=only(column("c", type_)), features=["variantType"]), tmp_path)


def test_the_bounds_of_an_old_writer_do_not_stop_a_delete(tmp_path: Path) -> None:
    odd = stats(minValues={"id": 5}, maxValues={"id": 3})
    table = make_table(
        tmp_path / "t", {"delta.enableDeletionVectors": "true"}, ["deletionVectors"],
        actions=[{"add": file("a", stats=odd).to_json()}],
    )  # fmt: skip
    txn = table.transaction()
    txn.remove(gone("a"))
    txn.add(file("a", stats=odd, deletion_vector=vector(2)))
    assert txn.commit() == 1


TRACKED: dict[str, Any] = {"features": ["rowTracking", "domainMetadata"], "schema": SCHEMA}


def mark(value: int) -> dict[str, Any]:
    """The domain of row tracking."""
    configuration = json.dumps({"rowIdHighWaterMark": value})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": configuration, "removed": False}}


def ids(first: int | None, path: str = "b", version: int = 0, rows: int = 10) -> Any:
    """Add a file whose row ids begin there."""
    return lambda txn: txn.add(file(path, rows=rows, base_row_id=first, default_row_commit_version=version))


OLD = [file("a", base_row_id=0, default_row_commit_version=0), file("z", base_row_id=30, default_row_commit_version=0)]
ROW_IDS = {
    "restored": Case(ids(10)),
    "in the gap": Case(ids(20)),
    "those of another file": Case(ids(0), "row-ids.assigned", "a have some"),
    "the last of another file": Case(ids(9), "row-ids.assigned"),
    "the first of another file": Case(ids(21), "row-ids.assigned", "z have some"),
    "around another file": Case(ids(25, rows=20), "row-ids.assigned"),
    "within another file": Case(ids(3, rows=2), "row-ids.assigned"),
    "above the mark": Case(ids(95), "row-ids.assigned", "95 to 104"),
    "at the mark": Case(ids(90)),
    "of no rows": Case(ids(5, rows=0)),
    "those of a removed file": Case(lambda txn: (txn.remove(gone("a")), ids(0)(txn))),
    "its own": Case(ids(0, "a")),
    "others than its own": Case(ids(10, "a"), "row-ids.assigned", "file has 0"),
    "of two files": Case(
        lambda txn: (ids(10)(txn), ids(15, "c")(txn)), "row-ids.assigned", "another file of the commit"
    ),
    "of two files, apart": Case(lambda txn: (ids(20)(txn), ids(10, "c")(txn))),
    "its own, of another version": Case(ids(0, "a", version=1), "row-ids.assigned", "defaultRowCommitVersion"),
    "of a later version": Case(ids(10, version=5), "row-ids.assigned", "defaultRowCommitVersion"),
    "of a negative version": Case(ids(10, version=-1), "row-ids.assigned"),
    "new": Case(ids(None)),
    "new without row count": Case(
        lambda txn: txn.add(file("b", stats=None)), "row-ids.count", "must have numRecords"
    ),
}  # fmt: skip


def test_row_ids_belong_to_one_row(tmp_path: Path) -> None:
    cases = {name: replace(case, files=OLD, actions=[mark(99)], **TRACKED) for name, case in ROW_IDS.items()}
    check_each(cases, tmp_path)


def test_rules_hold_for_the_version_that_a_commit_really_follows(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", features=TRACKED["features"], actions=[mark(99)])
    mine, other = table.transaction(), table.transaction()
    ids(10, "mine")(mine)
    ids(15, "other")(other)
    other.commit()
    with pytest.raises(ValueError, match=r"after version 1: rows of other have some .*\(rule row-ids\.assigned\)"):
        mine.commit()
    late = table.refresh().transaction()
    ids(50, "late")(late)
    append(table, file("meanwhile"))
    assert late.commit() == 3


def clustering(text: str = '{"clusteringColumns":[["id"]]}') -> Any:
    """Set the domain as an operation of the package would: users cannot."""
    return lambda txn: txn.changes.domains.update({CLUSTERING: DomainMetadata(CLUSTERING, text)})


DOMAINS = {
    "any": Case(lambda txn: txn.set_domain("mine", "anything"), features=["domainMetadata"]),
    "without the feature": Case(lambda txn: txn.set_domain("mine", ""), "protocol.unlisted"),
    "reserved": Case(lambda txn: txn.set_domain("delta.clustering", "{}"), "domains.reserved"),
    "removed and reserved": Case(lambda txn: txn.remove_domain("delta.rowTracking"), "domains.reserved"),
    "without a name": Case(lambda txn: txn.set_domain("", ""), "commit.actions", features=["domainMetadata"]),
    "versions": Case(lambda txn: txn.set_domain("collations", '{"writeVersions":{"icu.UNICODE":["77.1"]}}'),
        features=["collations", "domainMetadata"]),
    "reserved for what comes": Case(lambda txn: txn.set_domain("delta.somethingNew", "{}"), "domains.reserved"),
    "almost reserved": Case(lambda txn: txn.set_domain("deltaish", "{}"), features=["domainMetadata"]),
    **{f"clustering by {text}": Case(clustering(text), "domains.clustering", features=CLUSTERED["features"])
        for text in ('{"clusteringColumns":[["x"]]}', "nonsense", "{}")},
    "clustering": Case(clustering(), features=CLUSTERED["features"]),
    "clustering of a partitioned table": Case(clustering(), "domains.clustering", "partitioned",
        features=CLUSTERED["features"], partition_by=["part"]),
    "clustering column dropped": Case(changed(only(column("flag", t.BOOLEAN))), "domains.clustering", **CLUSTERED),
    "application": Case(lambda txn: txn.set_app_version("app", 3), before=lambda txn: txn.set_app_version("app", 3)),
    "application goes back": Case(lambda txn: txn.set_app_version("app", 2), "txn.version",
        before=lambda txn: txn.set_app_version("app", 3)),
    "operation without a name": Case(lambda txn: (setattr(txn.changes, "operation", ""), txn.add(file("b"))),
        "commit.info"),
    "parameters without JSON": Case(
        lambda txn: (txn.changes.parameters.update(x={1, 2}), txn.add(file("b"))), "commit.info", "x of WRITE"  # type: ignore[attr-defined]
    ),
}  # fmt: skip


def test_domains_applications_and_provenance_are_well_formed(tmp_path: Path) -> None:
    check_each(DOMAINS, tmp_path)


@looped(
    "configuration",
    [
        "", "x", "[]", "{}", '{"writeVersions":[]}', '{"writeVersions":{"icu.UNICODE":"77"}}',
        '{"writeVersions":{"icu.UNICODE.77":["77"]}}', '{"writeVersions":{"UNICODE":["77"]}}',
        '{"writeVersions":{"icu.UNICODE":[77]}}', '{"writeVersions":{"icu.UNICODE":[""]}}',
    ],
)  # fmt: skip
def test_the_domain_of_collations_lists_versions(tmp_path: Path, configuration: str) -> None:
    def act(txn: Transaction) -> None:
        txn.set_domain("collations", configuration)

    check(Case(act, "domains.collations", features=["collations", "domainMetadata"]), tmp_path)
