"""Dataclasses made by `deltaskip.records`, beside those of the standard library."""

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from deltaskip import records

OPTIONS: list[dict[str, Any]] = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "repr": False},
    {"frozen": True, "slots": True, "order": True},
]


def classes(make: Callable[..., Any]) -> list[type]:
    """Classes without fields, with one, with several, with fields left out, with methods of their own, and derived."""

    @make
    class Empty:
        pass

    @make
    class One:
        a: Any

    @make
    class Several:
        a: Any
        b: Any = 1
        c: Any = dataclasses.field(default=2, compare=False)
        d: Any = dataclasses.field(default=3, repr=False, hash=False)

    @make
    class WithEq:
        a: Any

        def __eq__(self, other: object) -> bool:
            return True

    @make
    class WithHash:
        a: Any

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "mine"

    @make
    class Derived(One):
        b: Any = 7

    @make
    class Listing:
        e: Any = dataclasses.field(default_factory=list)
        f: Any = dataclasses.field(default=4, kw_only=True)
        g: Any = dataclasses.field(default=5, init=False)

        def __post_init__(self) -> None:
            self.e.append(0)

    return [Empty, One, Several, WithEq, WithHash, Derived, Listing]


def answers(made: list[type]) -> list[Any]:
    """What can be seen of instances of the classes: comparisons, hashes, texts, copies, and refusals."""
    empty, one, several, with_eq, with_hash, derived, listing = made
    nan, other_nan = math.nan, float("nan")
    values = [
        empty(), one(1), one(2), one(nan), one(other_nan), one((1, "x")), several(1), several(1, 2), several(1, 1, 9),
        several(1, 1, 2, 9), several(a=[1]), with_eq(1), with_eq(2), with_hash(1), with_hash(2),
        derived(1), derived(1, 8),
    ]  # fmt: skip
    found: list[Any] = [each == other for each in values for other in values]
    found += [repr(each).rpartition(".")[2] if "object at" not in repr(each) else "object" for each in values]
    for each in values:
        found.append(_outcome(lambda each=each: len({each, copy.copy(each)})))
        found.append(_outcome(lambda each=each: setattr(each, "a", 3)) is None)
        found.append(_outcome(lambda each=each: str(dataclasses.asdict(each))))
        found.append(each.__match_args__)
    found.append(_outcome(lambda: one(1) < one(2)))
    found += [_outcome(lambda: several(1, 2, 3, 4, 5)), _outcome(lambda: several(b=1))]
    found += [str(inspect.signature(each)) for each in (empty, one, several, derived)]
    found += [
        listing().e,
        listing() == listing(),
        listing(e=[1], f=2).f,
        _outcome(lambda: listing([1], 2)),
        listing().g,
    ]
    found.append(_outcome(lambda: one()))
    found.append([field.name for field in dataclasses.fields(derived)])
    found.append(dataclasses.replace(derived(1), b=9).b)
    return found


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (TypeError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_dataclasses_as_those_of_the_standard_library(options: dict[str, Any]) -> None:
    ours = classes(records.dataclass(**options) if options else records.dataclass)
    assert answers(ours) == answers(classes(dataclasses.dataclass(**options)))


@records.dataclass(frozen=True, slots=True)
class Pickled:
    """A class that can be imported."""

    a: int
    b: tuple[int, ...] = ()


def test_records_can_be_pickled_and_are_deep_in_one_another() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))
    nested: Any = Pickled(0)
    other: Any = Pickled(0)
    for _ in range(200):
        nested, other = Pickled(nested), Pickled(other)
    assert nested == other
    assert hash(nested) == hash(other)


def test_an_unsafe_hash_is_refused() -> None:
    with pytest.raises(TypeError, match="unsafe_hash"):
        records.dataclass(unsafe_hash=True)
