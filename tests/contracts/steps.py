"""What is done to every table, one step after the other; each leaves what the model says, and the next one goes on."""

from collections.abc import Callable
from functools import partial

from deltaskip.errors import AmbiguousMerge, PredicateError, RowViolation, SchemaError
from tests.contracts.doors import Clause
from tests.contracts.tables import Kept, row
from tests.dml.merge.random_merges import COLUMNS, RandomMerge, given
from tests.extent import extent

Step = Callable[[Kept], None]


def appends(kept: Kept) -> None:
    kept.append([row(i) for i in range(12)])
    kept.append([row(i) for i in range(12, 24)])


def appends_no_row(kept: Kept) -> None:
    kept.append([])


def updates_rows_that_match_and_null_does_not(kept: Kept) -> None:
    """Rule 40."""
    kept.update({"v": "v * 2"}, lambda r: {"v": r["v"] * 2}, "v > 20 AND v < 60", lambda r: 20 < (r["v"] or 0) < 60)


def moves_rows_to_other_partitions_with_values_of_the_row_as_it_was(kept: Kept) -> None:
    kept.update(
        {"p": "concat(s, '1')", "s": "p", "V": "id + 1"},
        lambda r: {"p": None if r["s"] is None else r["s"] + "1", "s": r["p"], "v": r["id"] + 1},
        "v IS NULL OR p = 'b' AND id < 12",
        lambda r: r["v"] is None or (r["p"] == "b" and r["id"] < 12),
    )


def sets_an_empty_text_which_a_partition_has_as_null(kept: Kept) -> None:
    new = None if "p" in kept.feature.partition_by else ""
    kept.update({"p": "''"}, lambda r: {"p": new}, "id = 1", lambda r: r["id"] == 1)


def updates_to_the_same_value_and_stores_what_ansi_casts(kept: Kept) -> None:
    """Rule 45."""
    kept.update({"p": "p"}, lambda r: {}, "id = 2", lambda r: r["id"] == 2)
    kept.update(
        {"v": "' 7 '", "s": "id + 1"}, lambda r: {"v": 7, "s": str(r["id"] + 1)}, "id = 5", lambda r: r["id"] == 5
    )
    kept.update({"v": "7.6D"}, lambda r: {"v": 7}, "id = 6", lambda r: r["id"] == 6)


def changes_nothing_where_nothing_matches(kept: Kept) -> None:
    kept.update({"v": "1"}, lambda r: {}, "id > 1000", lambda r: False)
    kept.update({"v": "1"}, lambda r: {}, "v IS NULL AND v = 3", lambda r: False)
    kept.delete("id = 3 AND id + 1 = 5", lambda r: False)
    kept.merge([row(900)], "t.id = s.id", [Clause("matched", "delete")], kept.model, {})
    kept.merge([row(3)], "t.id = s.id", [Clause("not matched", "insert", {"id": "s.id"})], kept.model, {})


def deletes_rows_that_match_and_null_does_not(kept: Kept) -> None:
    equal = kept.feature.equal
    kept.delete("s = 'x' AND id < 20", lambda r: equal(r["s"], "x") and r["id"] < 20)
    kept.delete("NOT (v < 60)", lambda r: r["v"] is not None and r["v"] >= 60)
    kept.delete("p <=> NULL AND id > 15", lambda r: r["p"] is None and r["id"] > 15)


def merges(kept: Kept) -> None:
    """The first clause of its kind that applies decides; rows that no clause names stay."""
    kept.append([row(i) for i in range(30, 42)])
    source = [{**row(i), "v": i * 3} for i in (30, 31, 33, 34, 35, 50, 51)]
    source.append({**row(52), "id": None})
    all_columns = {name: f"s.{name}" for name in COLUMNS}
    clauses = [
        Clause("matched", "update", {"v": "s.v + 1", "p": "s.s"}, "s.v < 95"),
        Clause("matched", "delete", None, "s.id = 33"),
        Clause("matched", "update", all_columns if kept.feature.more else None, "s.v > 101"),
        Clause("not matched", "insert", {"id": "s.id", "s": "upper(s.p)"}, "s.id = 50"),
        Clause("not matched", "insert", all_columns if kept.feature.more else None, "s.id IS NULL"),
        Clause("not matched by source", "update", {"v": "t.id * 2"}, "t.id = 36"),
        Clause("not matched by source", "delete", None, "t.id > 39"),
    ]
    by_id = {each["id"]: each for each in source}
    after = []
    for each in kept.model:
        i = each["id"]
        if i in (30, 31):
            after.append({**each, "v": i * 3 + 1, "p": by_id[i]["s"]})
        elif i in (34, 35):
            after.append(by_id[i])
        elif i == 36:
            after.append({**each, "v": 72})
        elif i != 33 and i < 40:
            after.append(each)
    after += [{"id": 50, "v": None, "s": None if row(50)["p"] is None else row(50)["p"].upper(), "p": None}, source[-1]]
    kept.merge(source, "t.id = s.id", clauses, after, {"update": 5, "delete": 3, "insert": 2})
    kept.delete("id IS NULL", lambda r: r["id"] is None)


def merges_whatever_a_seed_chooses(kept: Kept) -> None:
    for seed in range(3, extent(4, 5)):
        merge = RandomMerge(seed, keys=45)
        every = {name: (f"s.{name}", lambda t, s, name=name: s[name]) for name in COLUMNS}
        clauses = []
        for number, each in enumerate(merge.clauses):
            if each.values is None and each.action != "delete" and kept.feature.more:
                # A source without computed columns has not all columns.
                object.__setattr__(merge.clauses[number], "values", every)
            values = None if each.values is None else {name: text for name, (text, _) in each.values.items()}
            clauses.append(Clause(each.kind, each.action, values, None if each.where is None else each.where[0]))
        wanted = merge.model(kept.model)
        if wanted is None:
            act = lambda: kept.door.merge(kept.table, given(merge.source), merge.on[0], clauses)  # noqa: B023, E731
            kept.refuses(act, AmbiguousMerge, "more than one row")
            continue
        after, numbers = wanted
        counts = {name: numbers[f"{name.title().rstrip('e')}ed"] for name in ("update", "delete", "insert")}
        kept.merge(merge.source, merge.on[0], clauses, after, counts)


def refuses_two_source_rows_for_one_row(kept: Kept) -> None:
    twice = given([row(30), {**row(30), "v": 5}])
    for clause in (Clause("matched", "update", {"v": "s.v"}), Clause("matched", "delete", None, "s.id > 0")):
        kept.refuses(
            partial(kept.door.merge, kept.table, twice, "t.id = s.id", [clause]), AmbiguousMerge, "more than one row"
        )


def refuses_what_cannot_be_stored(kept: Kept) -> None:
    door, table = kept.door, kept.table
    refusals: list[tuple[type[Exception], str, dict[str, str]]] = [
        (RowViolation, "does not fit", {"v": "5000000000"}),
        (RowViolation, "does not fit", {"v": "'seven'"}),
        (SchemaError, "cannot be stored", {"v": "DATE'2024-01-01'"}),
        (SchemaError, "nope", {"nope": "1"}),
        (PredicateError, "nope", {"v": "nope + 1"}),
    ]
    if "delta.constraints.small" in kept.feature.properties:
        refusals.append((RowViolation, "small", {"v": "1000 + id"}))
    if kept.feature.computed:
        refusals.append((RowViolation, "generated column", {"g": "-5"}))
    if kept.feature.numbered:
        refusals.append((SchemaError, "identity column", {"k": "5"}))
    for kind, text, values in refusals:
        kept.refuses(partial(door.update, table, values, None), kind, text)
    kept.refuses(lambda: door.delete(table, "nope = 1"), PredicateError, "nope")
    if "delta.constraints.small" in kept.feature.properties:
        wrong = given([{**row(60), "v": 5000}])
        kept.refuses(lambda: door.append(table, wrong), RowViolation, "small")
        insert = [Clause("not matched", "insert", {"id": "s.id", "v": "s.v"})]
        kept.refuses(lambda: door.merge(table, wrong, "t.id = s.id", insert), RowViolation, "small")


def overwrites_rows_that_match(kept: Kept) -> None:
    kept.overwrite([row(i) for i in (61, 64)], lambda r: r["p"] == "b", "p = 'b'")
    kept.overwrite(
        [row(70)], lambda r: r["id"] is not None and r["id"] % 3 == 1 and r["id"] > 20, "id % 3 = 1 AND id > 20"
    )
    wrong = given([row(3)])
    kept.refuses(
        lambda: kept.door.overwrite(kept.table, wrong, "id > 50", False), RowViolation, "does not match the predicate"
    )


def overwrites_the_partitions_that_rows_are_in(kept: Kept) -> None:
    new = [row(i) for i in (71, 72, 74)]
    parts = {each["p"] for each in new}
    if "p" in kept.feature.partition_by:
        kept.overwrite(new, lambda r: r["p"] in parts, dynamic=True)


def compacts(kept: Kept) -> None:
    kept.append([row(80)])
    kept.append([row(83)])
    kept.optimize()


def overwrites_everything(kept: Kept) -> None:
    kept.overwrite([row(i) for i in range(90, 95)], lambda r: True)


def deletes_everything(kept: Kept) -> None:
    kept.delete(None, lambda r: True)
    kept.delete(None, lambda r: False)
    kept.append([row(7)])


STEPS: list[Step] = [
    appends, appends_no_row, updates_rows_that_match_and_null_does_not,
    moves_rows_to_other_partitions_with_values_of_the_row_as_it_was,
    sets_an_empty_text_which_a_partition_has_as_null, updates_to_the_same_value_and_stores_what_ansi_casts,
    changes_nothing_where_nothing_matches, deletes_rows_that_match_and_null_does_not, merges,
    refuses_two_source_rows_for_one_row, refuses_what_cannot_be_stored, overwrites_rows_that_match,
    overwrites_the_partitions_that_rows_are_in, compacts, Kept.read_by_the_door, overwrites_everything,
    merges_whatever_a_seed_chooses, deletes_everything, Kept.read_by_the_door,
]  # fmt: skip
