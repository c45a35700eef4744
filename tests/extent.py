"""How much of a long test runs: a part in the gate, everything with `bash .ci/test --all`.

`@pytest.mark.long(gate=2)`: the gate runs two of the test's cases, chosen as `some` does. `@pytest.mark.long`, of a
test that has no smaller form: it runs none. `conftest.py` does so for every test. A fixture that prepares all cases at
once must take `some` of them itself.
"""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

WHOLE = os.environ.get("DELTASKIP_TESTS") == "all"
"""Everything runs; `.ci/test --all` sets the variable."""

TIME_LIMIT_SECONDS = 3600 if WHOLE else 1000
"""Of a process that a test starts: it ends what hangs, and says nothing of speed."""

T = TypeVar("T")


def extent(gate: T, whole: T) -> T:
    """What the gate uses and what the whole run uses, such as a number of seeds or bytes."""
    return whole if WHOLE else gate


def seed() -> int:
    """Of random cases: the gate has the same ones each time, so that only the code decides, the whole run new ones."""
    return random.randrange(1 << 30) if WHOLE else 7


def some(values: Iterable[T], count: int) -> list[T]:
    """Every value in the whole run; in the gate the first, the last and others between them at even distances."""
    found = list(values)
    if WHOLE or len(found) <= count:
        return found
    if count < 2:
        return found[:count]
    return [found[place * (len(found) - 1) // (count - 1)] for place in range(count)]
