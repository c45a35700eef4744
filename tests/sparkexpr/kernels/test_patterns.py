"""Matches of regular expressions by the kernel against its twin, over every offset and place of nulls."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.patterns import Program, joined, search
from deltaskip.sparkexpr.regex import compiled
from deltaskip.sparkexpr.regex.syntax import read
from tests.each import each, refuses
from tests.extent import extent
from tests.sparkexpr.kernels import patterns_twin as twin
from tests.sparkexpr.regex.random_patterns import Case, cases


@given(st.integers(0, 1 << 40), st.integers(0, 3), st.sampled_from([1, 2, 1 << 40]))
def test_matches_are_those_of_the_twin(seed: int, start: int, most: int) -> None:
    given_cases = cases(seed, 4)
    pattern = given_cases[0].pattern
    texts = [None, *(case.text for case in given_cases), None]
    check(pattern, texts, start, most)


def check(pattern: str, texts: list[str | None], start: int, most: int) -> None:
    known = compiled(pattern)
    groups = list(range(known.groups + 1))
    array = pa.array(["xyz"] * start + texts, pa.string())[start:]
    offsets, spans, unsure = (each.to_pylist() for each in search(array, known.program, groups, most))
    first = array.buffers()[1]
    begins = [int.from_bytes(first[4 * i : 4 * i + 4].to_pybytes(), "little") for i in range(start, len(texts) + start)]
    for at, text in enumerate(texts):
        found = spans[2 * len(groups) * offsets[at] : 2 * len(groups) * offsets[at + 1]]
        if text is None:
            assert not found and not unsure[at]
            continue
        try:
            wanted = twin.matches(read(pattern), text, most)
        except twin.Unsure:
            # The kernel begins only where the first character fits, and may find there that nothing matches.
            assert not found or not unsure[at], (pattern, text)
            continue
        assert not unsure[at], (pattern, text)
        places = [place for groups_of in wanted for group in groups for place in groups_of.get(group, (-1, -1))]
        in_bytes = [-1 if place < 0 else begins[at] + len(text[:place].encode()) for place in places]
        assert found == in_bytes, (pattern, text)


def test_many_random_patterns() -> None:
    def compared(case: Case) -> None:
        check(case.pattern, [case.text], 0, 1 << 40)

    each(cases(7, extent(300, 20_000), 1), compared)


def test_patterns_that_take_exponential_time_elsewhere_take_linear_time() -> None:
    text = pa.array(["a" * 5000 + "b"])
    for pattern in ("(a|a)*c", "(a|aa)+$", "(?:a?){0,1}a*a*a*a*a*c", "(x+x+)+y|(a+)+c", ".*.*.*=.*", "(.*)(.*)(.*)d"):
        try:
            program = compiled(pattern).program
        except ArithmeticError:
            continue
        assert search(text, program, [0], 1)[0].to_pylist() == [0, 0], pattern


def test_all_matches_of_a_long_text_take_linear_time() -> None:
    offsets, spans, _ = search(pa.array(["ab " * 100_000]), compiled(r"(\w+?)(?:x|\s)").program, [1], 1 << 40)
    assert offsets.to_pylist() == [0, 100_000]
    assert spans.to_pylist()[:4] == [0, 2, 3, 5]


def test_a_text_that_is_too_long_is_not_sure() -> None:
    pattern = compiled("x" + "a?b?c?d?" * 200)
    offsets, _, unsure = search(pa.array(["x" * 400_000, "x"]), pattern.program, [0], 1)
    assert offsets.to_pylist() == [0, 0, 1]
    assert unsure.to_pylist() == [1, 0]


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3), max_size=5))
def test_strings_are_joined_of_pieces(rows: list[list[tuple[int, int]]]) -> None:
    data = b"0123456789"
    pieces = [(min(piece), max(piece)) for row in rows for piece in row]
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    longs = [pa.array(values, pa.int64()) for values in ([a for a, _ in pieces], [b for _, b in pieces], offsets)]
    sizes, out = joined(data, *longs)
    found = pa.Array.from_buffers(pa.string(), len(rows), [None, sizes, out]).to_pylist()
    wanted = iter(data[a:b].decode() for a, b in pieces)
    assert found == ["".join(next(wanted) for _ in row) for row in rows]


def test_wrong_programs_and_pieces_are_refused() -> None:
    def refused(code: list[tuple[object, ...]]) -> None:
        refuses((ValueError, KeyError, TypeError), None, Program, code, [([(97, 97)], [])], 0, None, False)

    wrong = [("jump", 2), ("character", 1), ("save", 2), ("split", 0), ("assert", 7), ("split", -1, 0), ("none",)]
    each([[], [("jump", 0)], *([instruction, ("found",)] for instruction in wrong)], refused)
    program = compiled("a").program
    refuses(ValueError, "no such group", search, pa.array(["a"]), program, [1], 1)
    refuses(TypeError, None, search, pa.array([1]), program, [0], 1)
    one, two, far = (pa.array([value], pa.int64()) for value in (1, 2, 9))
    refuses(ValueError, "not within", joined, b"abc", one, far, pa.array([0, 1], pa.int64()))
    refuses(ValueError, "not within", joined, b"abc", two, one, pa.array([0, 1], pa.int64()))
    refuses(ValueError, "not within", joined, b"abc", one, two, pa.array([0, 2], pa.int64()))
