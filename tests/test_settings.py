"""Settings of the process: values are checked, documented, and put back."""

import re
from typing import Any

import pytest

import deltaskip as ds
from deltaskip import InvalidArgument, InvalidArgumentType, Options


def test_options_are_put_back_after_the_context() -> None:
    before = repr(ds.options)
    with pytest.raises(ZeroDivisionError), ds.options.changed(spark_jobs="always", log_bytes=1):
        assert (ds.options.spark_jobs, ds.options.log_bytes) == ("always", 1)
        raise ZeroDivisionError
    with pytest.raises(InvalidArgument), ds.options.changed(log_bytes=1, spark_jobs="never"):
        pytest.fail("the context was entered")
    assert repr(ds.options) == before


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("spark_job", "auto", InvalidArgument, "Did you mean spark_jobs.* The options are"),
        ("spark_jobs", "never", InvalidArgument, "must be one of 'auto', 'always', not 'never'"),
        ("log_bytes", 0, InvalidArgument, "must be 1 or greater, not 0"),
        ("listed_files", -1, InvalidArgument, "must be 0 or greater, not -1"),
        ("log_bytes", 1.5, InvalidArgumentType, "must be an int, not float"),
        ("log_bytes", True, InvalidArgumentType, "must be an int, not bool"),
    ],
)
def test_a_wrong_option_is_refused(name: str, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        setattr(Options(), name, value)


def test_every_option_is_documented() -> None:
    described = re.findall(r"^        (\w+): ", Options.__doc__ or "", re.MULTILINE)
    assert described == list(Options.__annotations__)
