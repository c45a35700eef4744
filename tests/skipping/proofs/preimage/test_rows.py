"""The preimage of every row of the table of functions, held against the row evaluator at the edges of types."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltaskip.skipping.proofs.leaf_values import leaf_values
from deltaskip.skipping.proofs.preimage.value_sets import holds
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Call, Compare, IsNull, Literal, Node, Not, walk
from deltaskip.sparkexpr.preimages.ordinals import domain_of, ordinal_of, value_at
from deltaskip.sparkexpr.types.data_types import FLOAT, STRING, DataType
from tests.each import each
from tests.extent import extent, seed
from tests.skipping.proofs.preimage.test_preimage import value_of
from tests.skipping.random_tables import TYPES, random_value
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import Case, bound, cases

INVERTED = [name for name, row in FUNCTIONS.items() if row.preimage is not None]


def of_rows() -> list[Case]:
    """The cases of the grid whose outermost function has a preimage."""
    found = []
    for case in cases():
        node = bound(case)
        if isinstance(node, Call) and node.name in INVERTED and domain_of(case.type) and domain_of(type_of(node)):
            found.append(case)
    return found


@pytest.fixture(scope="module")
def grid() -> list[Case]:
    return of_rows()


def test_every_row_with_a_preimage_is_in_the_grid(grid: list[Case]) -> None:
    called = {
        part.name for case in grid for part in walk(bound(case) or Literal(None, STRING)) if isinstance(part, Call)
    }
    assert set(INVERTED) - called == set()


@settings(max_examples=extent(60, 6000), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 48))
def test_an_argument_with_a_wanted_result_is_in_the_preimage(grid: list[Case], chance: int) -> None:
    rng = random.Random(chance)
    wrong, _ = checked(rng, rng.choice(grid))
    assert not wrong, f"seed {chance}: {wrong[0]}"


def test_every_row_prunes_by_some_of_its_calls(grid: list[Case]) -> None:
    of_name: dict[str, list[Case]] = {}
    for case in grid:
        node = bound(case)
        assert isinstance(node, Call)
        of_name.setdefault(node.name, []).append(case)

    def check(name: str) -> None:
        for place, case in enumerate(of_name[name]):
            wrong, narrow = checked(random.Random(place), case)
            assert not wrong, wrong[0]
            if narrow:
                return
        raise AssertionError(f"No call of {name} restricts its argument.")

    # Patterns of the grid have no beginning that is known.
    each([name for name in INVERTED if name != "rlike"], check)


@pytest.mark.long
def test_every_preimage_of_the_grid_has_its_arguments(grid: list[Case]) -> None:
    chance = seed()
    found = [checked(random.Random(chance + place), case)[0] for place, case in enumerate(grid[chance % 3 :: 3])]
    wrong = [each for case in found for each in case]
    assert not wrong, f"{len(wrong)} with seed {chance}: " + "\n".join(wrong[:40])


def checked(rng: random.Random, case: Case) -> tuple[list[str], bool]:
    """Arguments that are missing in preimages of the case, and whether some preimage is not the whole type."""
    node = bound(case)
    assert node is not None
    type_, result = case.type, type_of(node)
    domain = domain_of(type_)
    assert result is not None and domain is not None
    values: list[Any] = [None, *EDGES[type_], *(random_value(rng, type_) for _ in range(6) if type_ in TYPES)]
    for value in list(values) if type_ not in (STRING, FLOAT) else ():
        at = None if value is None else ordinal_of(type_, value)
        near = [] if at is None else [at + by for by in (-1, 1) if domain.low <= at + by < domain.stop]
        values += [value_at(type_, each) for each in near]
    answers = [(value, value_of(node, value, case.zone)) for value in values]
    known = [answer for _, answer in answers if answer is not None]
    leaves: list[Node] = [IsNull(node), Not(IsNull(node))]
    for wanted in rng.sample(known, min(extent(2, 4), len(known))):
        literal = Literal(wanted, result)
        leaves += [Compare(op, node, literal) for op in ("=", "!=", "<", "<=", ">", ">=", "<=>")]
    wrong: list[str] = []
    narrow = False
    for leaf in leaves:
        found = leaf_values(leaf, case.zone)
        if found is None:
            continue
        narrow = narrow or bool(found[1].spans != domain.all or found[1].cycles)
        for value, _ in answers:
            if value_of(leaf, value, case.zone) is True and not _contains(found[1], type_, value):
                wrong.append(f"{case.key} of {value!r}: {leaf}")
    return wrong, narrow


def _contains(values: Any, type_: DataType, value: Any) -> bool:
    return bool(values.null) if value is None else holds(values, ordinal_of(type_, value))
