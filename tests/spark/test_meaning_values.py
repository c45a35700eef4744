"""The settings on which the meaning of an expression depends are those that change a value of Spark.

The table is `SETTINGS` of `deltaskip.sparkexpr.meaning_settings`: rows with a `key` and the values `understood`.
`UNRELATED` has keys that change no expression. `SessionMeaning.of(zone, ansi, settings).node(text, schema)` is the node
of a text, in which the parts that the settings change are SessionExpressions.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr import meaning
from deltaskip.sparkexpr import meaning_settings as settings
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.evaluation import left_to_spark
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import each
from tests.extent import WHOLE, extent, seed, some
from tests.looped import looped
from tests.spark.meaning_values import COLUMNS, TEXTS, ZONE, Expressions, recorded, settings_to_try, unknown_keys

SCHEMA = parse_columns(COLUMNS)
_GATE_SETTINGS, _GATE_TEXTS = 2, 24


def evaluated(text: str, ansi: bool, **given: str) -> bool:
    """Whether deltaskip gives the whole text a value of its own under these settings."""
    try:
        node = meaning.SessionMeaning.of(ZONE, ansi, given).node(text, SCHEMA)
        return left_to_spark(bind_expression(node, SCHEMA)) is None
    except DeltaSkipError:
        return False


def understood(key: str, value: str) -> bool:
    """Whether the values of deltaskip are those under this value of a setting, although it may be no default."""
    return any(row.key == key and value.lower() in row.understood for row in settings.SETTINGS)


def known_keys() -> set[str]:
    """The settings in deltaskip's table, and those on which it says that no expression depends."""
    return {row.key for row in settings.SETTINGS} | settings.UNRELATED


@cache
def evaluated_usually(ansi: bool) -> tuple[str, ...]:
    return tuple(text for text in TEXTS if evaluated(text, ansi))


@pytest.mark.spark
def test_every_setting_of_spark_is_in_the_table_or_cannot_matter(spark: Any) -> None:
    assert unknown_keys(spark, known_keys(), settings.PREFIXES) == []


@looped(
    "ansi, key, value, text",
    [
        (ansi == "true", key, value, text)
        for ansi, found in recorded().items()
        for setting, texts in found.items()
        for key, _, value in [setting.partition("=")]
        for text in texts
    ],
)
def test_what_changes_under_a_setting_is_not_evaluated_under_it(ansi: bool, key: str, value: str, text: str) -> None:
    assert understood(key, value) or not evaluated(text, ansi, **{key: value})


def test_most_texts_keep_their_meaning_under_a_setting() -> None:
    """A table by which nothing is known would be right, and of no use."""
    texts = some(evaluated_usually(True), 40)
    for row in settings.SETTINGS:
        others = {"true", "false"} - set(row.understood)
        kept = [text for text in texts if evaluated(text, True, **{row.key: min(others, default="?")})]
        assert row.whole or len(kept) > 0.6 * len(texts), row.key


@pytest.mark.spark
@pytest.mark.parametrize("ansi", extent([True], [True, False]))
def test_no_other_setting_changes_a_value_of_spark(spark: Any, ansi: bool) -> None:
    draw = random.Random(seed())
    texts, given = list(evaluated_usually(ansi)), settings_to_try(spark)
    if not WHOLE:
        texts, given = draw.sample(texts, _GATE_TEXTS), draw.sample(given, _GATE_SETTINGS)
    expressions = Expressions(spark, ansi)
    usual = expressions.values(texts)

    def check(setting: tuple[str, str]) -> None:
        key, value = setting
        changed = () if understood(key, value) else expressions.changed(usual, key, value)
        assert [text for text in changed if evaluated(text, ansi, **{key: value})] == []

    each(given, check, lambda setting: "=".join(setting))
