"""The evaluator and the preimages against Spark's answers at the edges of types (tests.sparkexpr.edges)."""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from deltaskip.skipping.proofs.leaf_values import leaf_values
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, holds
from deltaskip.sparkexpr import EvaluationError, Undecided
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.functions import FUNCTIONS, REPLACED, function_table
from deltaskip.sparkexpr.functions.shapes import SHAPES
from deltaskip.sparkexpr.nodes import Compare, FieldRef, IsNull, Literal, Node, Not
from deltaskip.sparkexpr.preimages.ordinals import ordinal_of
from deltaskip.sparkexpr.types.data_types import BOOLEAN, STRING, ArrayType, DataType
from deltaskip.sparkexpr.types.json import simple_string
from tests.each import each
from tests.extent import extent
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import (
    ARGUMENTS,
    ERROR,
    VERSIONS,
    Case,
    answers,
    bound,
    calls,
    cases,
    decoded,
    encoded,
    stored,
)

TYPES = list(EDGES)
# Preimages of every case take half a minute: the gate computes those of a part of the cases.
EACH = extent(75, 1)
EVALUATED = extent(9, 1)


def test_the_evaluator_has_spark_s_answers_or_none() -> None:
    def check(mode: str, type_: DataType) -> None:
        agreed = refused = 0
        wrong: list[str] = []
        for case, node, edge, answer in answered(type_, mode, EVALUATED):
            try:
                value = evaluate(node, {("c",): edge}, case.zone)
            except EvaluationError as error:
                refused += answer != ERROR
                # Spark's optimizer takes casts of a compared date or timestamp away.
                if answer != ERROR and not isinstance(error, Undecided) and not isinstance(node, Compare):
                    # Without ANSI mode, Spark has a value in place of an error.
                    wrong += [f"{case.key} of {edge!r}: {error}, in Spark {answer}"] * (mode == "on")
                continue
            agreed += answer != ERROR
            found = encoded(value, type_of(node) or BOOLEAN)
            if found != answer:
                wrong.append(f"{case.key} of {edge!r}: {found}, in Spark {answer}")
        assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:40])
        # With ANSI off, only answers that differ are compared.
        assert mode == "off" or agreed > 3 * refused, (agreed, refused)

    each(itertools.product(["on", "off"], TYPES), lambda case: check(*case))


def test_types_are_those_of_spark() -> None:
    known = answers()
    bound_cases = [(case, node) for case in cases() if case.key in known and (node := bound(case)) is not None]
    types = [(case.key, simple_string(type_of(node) or BOOLEAN), known[case.key]["type"]) for case, node in bound_cases]
    assert len(types) > len(known) / 2
    assert [found for found in types if found[1] != found[2]] == []


def test_preimages_contain_the_edges_that_have_the_answer() -> None:
    def check(type_: DataType) -> None:
        wrong: list[str] = []
        found: dict[tuple[str, str | None], list[tuple[str, Any]]] = {}
        for mode in ("on", "off"):
            for case, node, edge, answer in answered(type_, mode, EACH):
                if answer == ERROR:
                    continue
                admitted = found.get((case.key, answer))
                if admitted is None:
                    predicates = true_predicates(node, answer)
                    admitted = [(kind, leaf_values(predicate, case.zone)) for kind, predicate in predicates]
                    found[case.key, answer] = admitted
                kinds = [kind for kind, values in admitted if values is not None and not contains(values, edge)]
                wrong += [f"{case.key} of {edge!r} is {answer}: {kind}" for kind in kinds]
        assert not wrong, f"{len(wrong)}: " + "\n".join(wrong[:40])

    each(TYPES, check, simple_string)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_of_a_later_version_only_what_differs_is_stored(version: str) -> None:
    assert 0 < len(stored(version)) < len(answers()) / 20
    assert not [key for key, known in stored(version).items() if known == answers().get(key)]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_no_row_is_lost_where_a_later_version_differs(version: str) -> None:
    wrong: list[str] = []
    compared = 0
    for mode in ("on", "off"):
        for case, node, edge, answer in differing(version, mode):
            compared += 1
            # The earlier version's answer is right for it: where the later one raises, it returns no row either.
            if answer == ERROR:
                continue
            try:
                value = evaluate(node, {("c",): edge}, case.zone)
            except EvaluationError:
                pass
            else:
                found = encoded(value, type_of(node) or BOOLEAN)
                wrong += [f"{case.key} of {edge!r}: {found}, in Spark {answer}"] if found != answer else []
            for kind, predicate in true_predicates(node, answer):
                values = leaf_values(predicate, case.zone)
                if values is not None and not contains(values, edge):
                    wrong.append(f"{case.key} of {edge!r} is {answer}: {kind}")
    assert compared and not wrong, f"{len(wrong)} of {compared}: " + "\n".join(wrong[:40])


def test_a_function_has_one_row() -> None:
    counted = Counter(name for name, _ in function_table._ROWS)
    # Those of arrays extend the rows of text.
    assert {name for name, count in counted.items() if count > 1} == {"concat", "concat_ws", "reverse"}


def test_every_function_and_type_is_in_the_grid() -> None:
    assert set(ARGUMENTS) <= {*FUNCTIONS, *REPLACED}
    texts = {case.sql for case in cases()}
    missing = [
        name
        for name in set(FUNCTIONS) - set(SHAPES)
        if not any(text.replace("{c}", "c") in texts for text in calls(name))
    ]
    # No text calls it, see expr.padding.
    missing.remove("padded()")
    assert not missing
    known = answers()
    unknown = [case.key for case in cases() if case.key not in known]
    assert len(unknown) < len(known) / 20, unknown[:20]


def answered(type_: DataType, mode: str, each: int = 1) -> Iterator[tuple[Case, Node, Any, Any]]:
    """Cases of a type with its bound expression, an edge, and Spark's answer there with ANSI on or off.

    each: only every so many cases.
    """
    first = answers()
    for case in [case for case in cases() if case.type == type_][::each]:
        known = first.get(case.key)
        node = bound(case, mode == "on") if known is not None else None
        if node is None or known is None or known["type"] != simple_string(type_of(node) or BOOLEAN):
            continue
        if mode == "off" and "off" not in known:
            continue
        for edge, answer, on in zip(EDGES[type_], known.get(mode, known["on"]), known["on"], strict=True):
            if mode == "on" or answer != on:
                yield case, node, edge, answer


def differing(version: str, mode: str) -> Iterator[tuple[Case, Node, Any, Any]]:
    """Cases as `answered`, where the answer of a later version is not the one that the first version has."""
    first = answers()
    for case in [case for case in cases() if case.key in stored(version)]:
        known, before, node = stored(version)[case.key], first.get(case.key), bound(case, mode == "on")
        if known is None or node is None or known["type"] != simple_string(type_of(node) or BOOLEAN):
            continue
        was = [None] * len(EDGES[case.type]) if before is None else before.get(mode, before["on"])
        for edge, answer, earlier in zip(EDGES[case.type], known.get(mode, known["on"]), was, strict=True):
            if before is None or answer != earlier:
                yield case, node, edge, answer


def true_predicates(node: Node, answer: str | None) -> Iterator[tuple[str, Node]]:
    """Predicates that are TRUE for a row whose value of `node` is `answer`."""
    type_ = type_of(node)
    assert type_ is not None
    if answer is None:
        yield "IS NULL", IsNull(node)
        return
    yield "IS NOT NULL", Not(IsNull(node))
    if isinstance(type_, ArrayType):
        # Their texts do not tell where an element ends.
        return
    if type_ == STRING and any("\udc80" <= character <= "\udcff" for character in answer):
        # Bytes that are not UTF-8: no literal has them.
        return
    literal = Literal(decoded(answer, type_), type_)
    yield "=", Compare("=", node, literal)


def contains(found: tuple[FieldRef, ValueSet], edge: Any) -> bool:
    """Whether the values that a predicate admits contain the edge."""
    column, values = found
    at = ordinal_of(column.type, edge)
    return at is None or holds(values, at)
