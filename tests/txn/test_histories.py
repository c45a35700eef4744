"""Random histories of several writers, checkpoints of both kinds and clean-ups: the log is what the model says."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extent import extent
from tests.txn.histories import History, Writer

pytestmark = pytest.mark.usefixtures("without_look_ups", "small_row_groups_are_copied")

# DELTASKIP_HISTORIES=2000 runs it for long.
EXAMPLES = int(os.environ.get("DELTASKIP_HISTORIES", extent("3", "8")))
WRITERS = 3

KINDS = ("append", "append", "back", "remove", "vector", "statistics", "domain", "app", "properties", "read")
fillings = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9)), min_size=1, max_size=3)
steps = st.one_of(
    st.tuples(st.just("alone"), fillings),
    st.tuples(st.just("alone"), fillings),
    # Begins the writer's transaction, on a version so far back, or commits it.
    st.tuples(st.just("turn"), st.integers(0, WRITERS - 1), st.integers(0, 2), fillings),
    st.tuples(st.just("turn"), st.integers(0, WRITERS - 1), st.integers(0, 2), fillings),
    st.tuples(st.just("checkpoint"), st.integers(0, 2)),
    st.tuples(st.just("clean up"), st.integers(0, 4)),
)
properties = st.fixed_dictionaries(
    {
        "delta.checkpointPolicy": st.sampled_from(["classic", "v2"]),
        "delta.checkpoint.writeStatsAsStruct": st.sampled_from(["true", "false"]),
        "delta.enableExpiredLogCleanup": st.just("false"),
        "delta.isolationLevel": st.sampled_from(["Serializable", "WriteSerializable"]),
    }
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(properties, st.lists(steps, min_size=12, max_size=30))
def test_the_log_is_what_its_writers_made_it(chosen: dict[str, str], schedule: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        history = History(Path(scratch, "t"), chosen)
        writers: dict[int, Writer] = {}

        def begin(back: int, acts: list[tuple[str, int]], number: int) -> Writer:
            writer = history.begin(back)
            for i, (kind, choice) in enumerate(acts):
                history.fill(writer, kind, choice, 10 * number + i)
            return writer

        assert history.commit(begin(0, [("append", 1), ("append", 2)], 0))
        for number, step in enumerate(schedule, 1):
            match step:
                case "alone", list() as acts:
                    history.commit(begin(0, acts, number))
                case "turn", int() as who, _, _ if who in writers:
                    history.commit(writers.pop(who))
                case "turn", int() as who, int() as back, list() as acts:
                    writers[who] = begin(back, acts, number)
                case "checkpoint", int() as back:
                    history.checkpoint(back)
                case "clean up", int() as keep:
                    history.clean_up(keep)
                    history.check_all()
            history.check()
        history.check_all()
