"""Hostile arguments for every function, cast, literal and predicate: `python -m tests.sparkexpr.hostile KIND…`.

Each step is printed before it runs. A step that takes too long or too much memory ends the process (tests.sparkexpr.
test_bounded), and any error that is not below DeltaSkipError ends it, too.
"""

import functools
import itertools
import math
import operator
import resource
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from deltaskip.actions import PartitionValueError, parse_partition_value
from deltaskip.errors import DeltaSkipError
from deltaskip.skipping.proofs.rewrite import rewrite
from deltaskip.sparkexpr import col, lit, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.coerce import castable, type_of
from deltaskip.sparkexpr.column import ColumnExpr
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.types.json import simple_string
from tests.extent import extent
from tests.sparkexpr.edges import CAST_TARGETS, calls

KINDS = ("functions", "casts", "patterns", "literals", "nesting", "partition values")
CPU_SECONDS = extent(15, 60)
MEMORY_BYTES = 4 << 30
MOST_CHARACTERS = 1 << 25

LARGE = extent(50_000, 250_000)
_INSTANTS = [-(2**63), 2**63 - 1, 0]

VALUES: dict[t.DataType, list[Any]] = {
    t.BOOLEAN: [True],
    t.BYTE: [-128, 127],
    t.SHORT: [-(2**15), 2**15 - 1],
    t.INTEGER: [-(2**31), 2**31 - 1],
    t.LONG: _INSTANTS,
    t.FLOAT: [math.nan, math.inf, 1.401298464324817e-45, 3.4028234663852886e38],
    t.DOUBLE: [math.nan, -math.inf, 5e-324, 1.7976931348623157e308],
    t.DecimalType(38, 0): [Decimal(10**38 - 1), Decimal(1 - 10**38)],
    t.DecimalType(38, 38): [Decimal((0, (1,), -38)), Decimal((1, (9,) * 38, -38))],
    t.STRING: [
        "",
        "a" * LARGE,
        "\u00df" * LARGE,
        "\u0130" * LARGE,
        "0" * 5000 + "7",
        "9" * LARGE,
        "9" * LARGE + "x",
        "." + "9" * LARGE + "x",
        " " * LARGE + "7",
        "1e999999999",
        "1e-999999999",
        "1e" + "9" * 5000,
        "1e-" + "0" * 5000 + "1",
        "0." + "0" * LARGE + "1e" + str(LARGE + 1),
        "0x" + "f" * LARGE + "z",
        "9" * LARGE + "-01-01",
        "2024-01-01 00:00:00." + "9" * LARGE,
        "2024-01-01 00:00:00+" + "0" * LARGE,
        "2024-01-01 00:00:00 " + "A" * LARGE,
    ],
    t.BINARY: [b"\xff" * LARGE],
    t.DATE: [-(2**31), 2**31 - 1],
    t.TIMESTAMP: _INSTANTS,
    t.TIMESTAMP_NTZ: _INSTANTS,
}

CALLS: dict[str, tuple[str, ...]] = {
    "round": ("round({c}, -10000000)", "round({c}, 10000000)", "round({c}, -2147483648)"),
    "floor": ("floor({c}, -10000000)", "floor({c}, 10000000)"),
    "ceil": ("ceil({c}, -10000000)", "ceil({c}, 10000000)"),
    "replace": (
        f"replace({{c}}, 'a', '{'b' * 1000}')",
        f"replace({{c}}, 'aa', '{'b' * 1000}')",
        "replace(" * 20 + "{c}" + f", 'a', '{'a' * 100}')" * 20,
        f"replace({{c}}, '{'a' * 1000}b', 'c')",
    ),
    "concat": ("concat(" + ", ".join(["{c}"] * 1000) + ")",),
    "locate": (f"locate('{'a' * 100_000}b', {{c}})",),
    "contains": (f"contains({{c}}, '{'a' * 100_000}b')",),
    "date_format": (f"date_format({{c}}, '{'yyyy' * 10_000}')",),
}
"""Calls of a function beside those of the grid of edges; {c} is the column."""

PATTERNS = [
    "%a" * 20_000 + "b",
    "%" + "_" * 20_000 + "b",
    "%_a" * 10_000 + "b",
    "%" * 60_000,
    "%a" * 1_000_000,
    "%" + "aa_" * 20 + "%" + "b",
    "\\\\%" * 10_000,
    f"a{{{'9' * 5000}}}",
    f"a{{1,{'9' * 5000}}}",
]

LITERALS = [
    "1e1000000BD",
    "1e-1000000BD",
    "1e99999999999BD",
    "-1e1000000BD",
    "0e1000000BD",
    "1e999999999",
    "1e-999999999",
    "1e999999999D",
    "1e99999999999999999999999D",
    "1e999999F",
    "1e-999999999F",
    "1" * 5000,
    "0" * 5000 + "7",
    "1" * 5000 + "L",
    "0" * 5000 + "7Y",
    "1" * 5000 + "D",
    "1e" + "9" * 5000,
    "0." + "0" * 5000 + "1",
    "0." + "0" * 5000 + "1BD",
    "1" * LARGE,
    "1" * LARGE + "F",
    f"'{'a' * 10 * LARGE}'",
    f"'{'a' * LARGE}{chr(92) * 2 * LARGE}'",
    f"X'{'0' * LARGE}'",
    f"DATE'{'9' * LARGE}-01-01'",
    f"TIMESTAMP'2024-01-01 00:00:00.{'9' * LARGE}'",
    "power(10, 1000000000)",
    "repeat('a', 2147483647)",
    "lpad('a', 2147483647, 'b')",
    "rpad('a', 2147483647, 'b')",
    "space(2147483647)",
    "bround(1, -10000000)",
    "size(sequence(1, 9223372036854775807))",
    "factorial(20000)",
    f"to_number('{'9' * 10 * LARGE}', '999')",
    f"try_to_number('{'9,' * LARGE}', '{'9' * 38}')",
    f"format_string('%{'9' * 5000}d', 1)",
    f"format_string('%.{'0' * 5000}1f', 1D)",
    f"format_string('%{'9' * 5000}$d', 1)",
    "shiftleft(1L, 2147483647)",
    *(f"CAST('{text}' AS {type_})" for text in VALUES[t.STRING][4:12] for type_ in ("INT", "DOUBLE", "DECIMAL(38,10)")),
    *(f"TRY_CAST('{text}' AS {type_})" for text in VALUES[t.STRING][4:12] for type_ in ("TINYINT", "DECIMAL(38,38)")),
]

DEPTHS = extent((90, 3000), (90, 1000, 10_000))
NESTED = {
    "not": ("NOT ", "i = 1", ""),
    "parentheses": ("(", "i = 1", ")"),
    "casts": ("CAST(", "i", " AS INT)"),
    "and in parentheses": ("(i = 1 AND ", "i = 1", ")"),
    "or in parentheses": ("(i = 1 OR ", "i = 1", ")"),
    "or and and": ("(i = 1 OR (i = 2 AND ", "i = 1", "))"),
    "signs": ("- ", "i", ""),
    "sums": ("", "i", " + 1"),
    "case": ("CASE WHEN i = 1 THEN 1 ELSE ", "i", " END"),
    "coalesce": ("coalesce(", "i", ", 1)"),
    "in": ("i IN (1, ", "i", ")"),
    "case conditions": ("CASE WHEN ", "i = 1", " THEN true ELSE false END"),
}

_TABLE = t.StructType(
    tuple(
        t.StructField(name, type_)
        for name, type_ in {
            "i": t.INTEGER,
            "l": t.LONG,
            "d": t.DOUBLE,
            "f": t.FLOAT,
            "n": t.DecimalType(38, 10),
            "s": t.STRING,
            "dt": t.DATE,
            "p": t.STRING,
        }.items()
    )
)


def steps(kind: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Names and actions."""
    match kind:
        case "functions":
            yield from _calls()
        case "casts":
            for type_ in VALUES:
                for target in CAST_TARGETS:
                    for text in ("CAST", "TRY_CAST"):
                        if castable(type_, target):
                            sql = f"{text}({{c}} AS {simple_string(target)})"
                            yield f"{sql} {simple_string(type_)}", functools.partial(_evaluated, sql, type_)
        case "patterns":
            for pattern in PATTERNS:
                for sql in (f"{{c}} LIKE '{pattern}'", f"{{c}} ILIKE '{pattern}'", f"{{c}} RLIKE '{pattern}'"):
                    yield f"{sql[:60]} {len(sql)}", functools.partial(_evaluated, sql, t.STRING)
            yield "catastrophic", functools.partial(_evaluated, "{c} RLIKE '(a+)+$b'", t.STRING)
        case "literals":
            columns = ("i", "l", "d", "f", "n", "s", "dt", "p")
            for number, text in enumerate(LITERALS):
                for column in extent(columns[number % 8 :: 5], columns):
                    yield f"{column} = {text[:60]} {len(text)}", functools.partial(_planned, f"{column} = {text}")
            for value in (10**100_000, Decimal("1e1000000"), Decimal("1e-1000000"), Decimal(10**10_000), "a" * 10**7):
                yield f"lit {type(value)}", lambda value=value: _planned(col("i") == lit(value))
        case "nesting":
            for name, (before, inner, after) in NESTED.items():
                for depth in DEPTHS:
                    sql = before * depth + inner + after * depth
                    sql = sql if "=" in inner else f"{sql} = 1"
                    yield f"{name} {depth}", functools.partial(_planned, sql)
            yield from _chains()
        case "partition values":
            for text in VALUES[t.STRING]:
                for type_ in VALUES:
                    yield f"{text[:40]} {simple_string(type_)}", functools.partial(_partition_value, text, type_)


def _calls() -> Iterator[tuple[str, Callable[[], object]]]:
    others = itertools.cycle(VALUES)
    for name in FUNCTIONS:
        for number, sql in enumerate((*CALLS.get(name, ()), *calls(name))):
            for type_ in extent({next(others), *([t.STRING] if number < 4 else [])}, VALUES):
                yield f"{sql[:60]} {simple_string(type_)}", functools.partial(_evaluated, sql, type_)


def _chains() -> Iterator[tuple[str, Callable[[], object]]]:
    # Not through `normalize`: one leaf for each value of a column takes its time.
    many = 25_000
    for combine in (operator.and_, operator.or_):
        legs = [col("i") == k for k in range(many)]
        yield f"{combine} of {many}", lambda c=combine, legs=legs: functools.reduce(c, legs).node
        yield (
            f"{combine} of {many}, from the right",
            lambda c=combine, legs=legs: functools.reduce(lambda a, b: c(b, a), legs).node,
        )
    planned = extent(5000, many)
    yield f"AND of {planned}", lambda: _planned(" AND ".join(f"i = {k}" for k in range(planned)))
    yield f"OR of {many // 5}", lambda: _planned(" OR ".join(f"i = {k}" for k in range(many // 5)))
    for name, step in _STEPS.items():
        for depth in DEPTHS:
            yield f"{name} {depth}", lambda step=step, depth=depth: _planned(_repeated(step, depth))


_STEPS: dict[str, Callable[[ColumnExpr], ColumnExpr]] = {
    "python not": operator.invert,
    "python and, or": lambda x: (x & (col("i") == 2)) | (col("i") == 3),
    "python sums": lambda x: (x.cast("int") + 1) == 1,
    "python twice": lambda x: (x & x) | ~x,
    "python doubled": lambda x: x & x,
    "python in": lambda x: x.isin(True, x),
}


def _repeated(step: Callable[[ColumnExpr], ColumnExpr], depth: int) -> ColumnExpr:
    found = col("i") == 1
    for _ in range(depth):
        found = step(found)
    return found


def _planned(where: str | ColumnExpr) -> None:
    node = parse_sql(where) if isinstance(where, str) else where.node
    rewrite(normalize(bind(node, _TABLE, ["p"])), _TABLE, "none", "UTC", ["p"])


def _evaluated(sql: str, type_: t.DataType) -> None:
    node = _bound(sql, type_)
    if node is None or type_of(node) is None:
        return
    for value in VALUES[type_]:
        try:
            found = evaluate(node, {("c",): value})
        except DeltaSkipError as error:
            assert len(str(error)) < 2000, "the message contains the value"
            continue
        size = len(found) if isinstance(found, str | bytes) else 0
        assert size < MOST_CHARACTERS, size


def _bound(sql: str, type_: t.DataType) -> Node | None:
    schema = t.StructType((t.StructField("c", type_),))
    try:
        return bind_expression(parse_sql(sql.replace("{c}", "c")), schema)
    except DeltaSkipError as error:
        assert len(str(error)) < 5000, "the message contains the text"
        return None


def _partition_value(text: str, type_: t.DataType) -> None:
    try:
        parse_partition_value(text, type_, "UTC")
    except PartitionValueError as error:
        assert len(str(error)) < 2000, "the message contains the value"


def main() -> None:
    """Run every step of some kinds, each kind in its time."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for kind in sys.argv[1:]:
        end = math.ceil(time.process_time()) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        for name, run in steps(kind):
            print(name, flush=True)
            try:
                run()
            except DeltaSkipError as error:
                assert len(str(error)) < 5000, "the message contains the predicate"
    print("end", flush=True)


if __name__ == "__main__":
    main()
