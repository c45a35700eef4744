"""Advice in messages, which each interface gives in its own words."""

import pickle

import pytest

import deltaskip as ds
from deltaskip.cli.commands import _on_the_command_line
from deltaskip.errors import OptionAdvice, advice_in


@pytest.mark.parametrize(
    ("advice", "shown", "on_the_command_line"),
    [
        (OptionAdvice("mode", "replace"), "mode='replace'", "--mode replace"),
        (OptionAdvice("start", 5), "start=5", "--start 5"),
        (OptionAdvice("check_files", False), "check_files=False", "--no-check-files"),
        (OptionAdvice("cascade", True, "cascade=True (CASCADE in SQL)"), "cascade=True (CASCADE in SQL)", "--cascade"),
        (OptionAdvice("params", "n", "params={'n': …}"), "params={'n': …}", "--param n=VALUE"),
        (OptionAdvice("partitions", "dynamic"), "partitions='dynamic'", "partitions='dynamic'"),
        (OptionAdvice("if_exists", True), "if_exists=True", "IF EXISTS"),
    ],
)
def test_advice_is_worded_by_each_interface(advice: OptionAdvice, shown: str, on_the_command_line: str) -> None:
    error = ds.SchemaError(f"It failed: pass {advice}.").advising(advice, "no advice")
    error = pickle.loads(pickle.dumps(error))
    assert str(error) == f"It failed: pass {shown}."
    assert error.said(_on_the_command_line) == f"It failed: pass {on_the_command_line}."
    around = ds.PredicateError(f"Around. {error}")
    around.__cause__ = error
    assert around.said(_on_the_command_line) == f"Around. It failed: pass {on_the_command_line}."
    with (
        pytest.raises(ds.PredicateError, match="pass other words"),
        advice_in({(advice.option, advice.value): "other words"}),
    ):
        raise around
