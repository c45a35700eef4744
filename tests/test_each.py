"""The loop that many tests share fails for each wrong value, and never because of none."""

import pytest

from tests.each import each


def test_every_wrong_value_is_named_and_the_others_are_checked() -> None:
    seen = []

    def check(value: int) -> None:
        seen.append(value)
        assert value % 2, "even"

    with pytest.raises(pytest.fail.Exception) as failed:
        each(range(5), check, name=lambda value: f"number {value}")
    assert seen == [0, 1, 2, 3, 4]
    assert "3 of 5 values are wrong" in str(failed.value)
    assert all(f"number {value}\n" in str(failed.value) for value in (0, 2, 4))
    assert "AssertionError: even" in str(failed.value)


def test_no_value_is_a_failure_and_none_but_skipped_ones_a_skip() -> None:
    with pytest.raises(pytest.fail.Exception, match="no value"):
        each([], print)
    with pytest.raises(pytest.skip.Exception, match="not here"):
        each([1, 2], lambda value: pytest.skip("not here"))

    def second_only(value: int) -> None:
        if value == 1:
            pytest.skip("not here")

    each([1, 2], second_only)
