"""Cycles of cells, as the calendar has them, against loops over their cells."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.skipping.evaluate import _steps_to_hit
from deltaskip.skipping.proofs.preimage.value_sets import Cycle, ValueSet, _cells_within, meet, merged

HITS = st.lists(st.integers(0, 1), min_size=1, max_size=12).filter(any).map(bytes)


@given(HITS)
def test_steps_lead_to_the_next_hit(hits: bytes) -> None:
    around = hits + hits
    assert _steps_to_hit(hits).tolist() == [around.index(1, cell) - cell for cell in range(len(hits))]


@given(HITS, st.integers(1, 4), st.integers(-3, 3), st.integers(0, 3), st.integers(-40, 40), st.integers(1, 40))
def test_cells_of_a_span_are_the_hits(hits: bytes, grain: int, low: int, more: int, begin: int, size: int) -> None:
    cycle = Cycle(grain, low, low + more, hits)
    first, last = (begin + cycle.low) // grain, (begin + size - 1 + cycle.high) // grain
    found = [
        (cell * grain - cycle.high, (cell + 1) * grain - cycle.low)
        for cell in range(first, last + 1)
        if hits[cell % len(hits)]
    ]
    assert _cells_within(cycle, ((begin, begin + size),)) == merged(found)


@given(st.data(), st.integers(2, 20))
def test_cycles_of_the_same_cells_meet_in_their_common_hits(data: st.DataObject, cells: int) -> None:
    one, other = (bytes(data.draw(st.lists(st.integers(0, 1), min_size=cells, max_size=cells))) for _ in range(2))
    spans = ((-(1 << 60), 1 << 60),)
    met = meet(ValueSet(spans, cycles=(Cycle(1, 0, 0, one),)), ValueSet(spans, cycles=(Cycle(1, 0, 0, other),)))
    both = (np.frombuffer(one, np.uint8) & np.frombuffer(other, np.uint8)).tobytes()
    assert met.cycles == ((Cycle(1, 0, 0, both),) if any(both) else ()) and bool(met.spans) == any(both)
