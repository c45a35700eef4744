"""Random conditions and expressions, in SQL and on rows of the model; SQL's logic of three values."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from deltaskip.sparkexpr.types.data_types import DATE, DOUBLE, FLOAT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DecimalType
from tests.reference.histories.columns import Column
from tests.reference.histories.model import Model, Row

EPOCH = datetime(1970, 1, 1)
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
_UNIT = {DATE: 1, TIMESTAMP: 86_400_000_000, TIMESTAMP_NTZ: 86_400_000_000}


@dataclass(frozen=True)
class Condition:
    """A condition as SQL, and whether it holds for a row."""

    sql: str
    holds: Callable[[Row], bool | None]


@dataclass(frozen=True)
class Assignment:
    """A column or nested field, the SQL of its new value, and the column's value from a row."""

    target: str
    key: str
    sql: str
    value: Callable[[Row], Any]


def literal(value: Any, column: Column) -> str:
    """A value of the model as SQL."""
    match value:
        case None:
            return "NULL"
        case bool() | int() if column.type == DATE:
            return f"DATE'{(EPOCH.date() + timedelta(days=value)).isoformat()}'"
        case int() if column.type == TIMESTAMP:
            return f"TIMESTAMP'{_instant(value)}Z'"
        case int() if column.type == TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ'{_instant(value)}'"
        case float():
            return f"double('{value!r}')".replace("inf", "Infinity").replace("nan", "NaN")
        case Decimal():
            return f"CAST('{value:f}' AS {_decimal(column)})"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
            return f"'{escaped}'"
    return str(value)


def _instant(micros: int) -> str:
    return (EPOCH + timedelta(microseconds=micros)).isoformat(" ", "microseconds")


def _decimal(column: Column) -> str:
    kind = column.type
    return f"DECIMAL({kind.precision},{kind.scale})" if isinstance(kind, DecimalType) else "DECIMAL(38,18)"


def order(value: Any) -> Any:
    """A key in the order of Spark: NaN is the largest, texts by their bytes."""
    match value:
        case float():
            return (value != value, 0.0 if value != value else value)
        case str():
            return value.encode("utf-8", "surrogatepass")
    return value


def condition(chance: random.Random, model: Model, alias: str = "", depth: int = 2) -> Condition:
    """A random condition on a table's columns."""
    kind = chance.random() if depth else 1.0
    if kind < 0.15:
        a, b = condition(chance, model, alias, depth - 1), condition(chance, model, alias, depth - 1)
        return Condition(f"({a.sql} AND {b.sql})", lambda row: _and(a.holds(row), b.holds(row)))
    if kind < 0.3:
        a, b = condition(chance, model, alias, depth - 1), condition(chance, model, alias, depth - 1)
        return Condition(f"({a.sql} OR {b.sql})", lambda row: _or(a.holds(row), b.holds(row)))
    if kind < 0.4:
        a = condition(chance, model, alias, depth - 1)
        return Condition(f"NOT {a.sql}", lambda row: _not(a.holds(row)))
    return _leaf(chance, model, alias)


def partition_condition(chance: random.Random, model: Model) -> Condition | None:
    """A condition on a partition column alone."""
    columns = [c for c in model.columns if c.partition and c.type not in (TIMESTAMP,)]
    return _compared(chance, model, chance.choice(columns), "", equal=True) if columns else None


def _leaf(chance: random.Random, model: Model, alias: str) -> Condition:
    if chance.random() < 0.45:
        modulus, rest = chance.randint(2, 7), chance.randint(0, 1)
        return Condition(f"{_name(model, 'id', alias)} % {modulus} = {rest}", lambda row: row["id"] % modulus == rest)
    if chance.random() < 0.3:
        low = chance.randint(0, max(model.next_id, 1))
        high = low + chance.randint(0, 12)
        name = _name(model, "id", alias)
        return Condition(f"({name} BETWEEN {low} AND {high})", lambda row: low <= row["id"] <= high)
    keys = ("k", "name", "v", "dec", "ts", "day", "p", "q", "gp", "w", "d", "nn")
    return _compared(chance, model, chance.choice([c for c in model.columns if c.key in keys]), alias)


def _compared(chance: random.Random, model: Model, column: Column, alias: str, equal: bool = False) -> Condition:
    name, key = _name(model, column.key, alias), column.key
    values = [row[key] for row in model.rows.values() if row[key] is not None and not _far(row[key], column)]
    if not values or chance.random() < 0.2:
        return Condition(f"{name} IS NULL", lambda row: row[key] is None)
    chosen = chance.choice(values)
    text = literal(chosen, column)
    operator = "=" if equal else chance.choice(["=", "=", "<", ">=", "<=>", "IN"])
    if operator == "IN":
        other = chance.choice(values)
        sql = f"{name} IN ({text}, {literal(other, column)})"
        wanted = (order(chosen), order(other))
        return Condition(f"({sql})", lambda row: None if row[key] is None else order(row[key]) in wanted)
    if operator == "<=>":
        return Condition(f"({name} <=> {text})", lambda row: row[key] is not None and order(row[key]) == order(chosen))
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda a, b: a == b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b
    }  # fmt: skip
    test = tests[operator]
    return Condition(
        f"({name} {operator} {text})", lambda row: None if row[key] is None else test(order(row[key]), order(chosen))
    )


def assignments(chance: random.Random, model: Model, alias: str = "", most: int = 3) -> list[Assignment]:
    """Random assignments to different columns, never to the id."""
    columns = [c for c in model.columns if c.given and c.key != "id"]
    chosen = chance.sample(columns, chance.randint(1, min(most, len(columns))))
    return [_assignment(chance, model, column, alias) for column in chosen]


def _assignment(chance: random.Random, model: Model, column: Column, alias: str) -> Assignment:
    name, key = _name(model, column.key, alias), column.key
    draw = chance.random()
    if key == "st" and draw < 0.7:
        number = chance.randint(0, 99)
        none = {"a": None, "b": None, "deep": None}
        if draw < 0.35:
            return Assignment(f"{name}.a", key, str(number), lambda row: {**(row["st"] or none), "a": number})
        new = {"deep": {"x": number}}
        return Assignment(f"{name}.deep.x", key, str(number), lambda row: {**(row["st"] or none), **new})
    if key == "k" and draw < 0.5:
        return Assignment(name, key, f"{name} + 1", lambda row: None if row["k"] is None else row["k"] + 1)
    if key == "v" and draw < 0.5:
        return Assignment(name, key, f"{name} * 2", lambda row: None if row["v"] is None else row["v"] * 2)
    if key == "dec" and draw < 0.5:
        # Spark cannot negate a decimal of more than 34 digits.
        sql = f"if({name} < 0, NULL, {name})"
        return Assignment(name, key, sql, lambda row: None if row["dec"] is not None and row["dec"] < 0 else row["dec"])
    if column.type == STRING and draw < 0.4 and not column.partition:
        return Assignment(name, key, f"concat({name}, '+')", lambda row: None if row[key] is None else row[key] + "+")
    if column.type in (DOUBLE, FLOAT, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ) or isinstance(column.type, DecimalType):
        value = column.draw(chance)
        value = None if _far(value, column) else value
        return Assignment(name, key, literal(value, column), lambda row: value)
    if key in ("k", "p", "w", "d", "bin"):
        value = column.draw(chance)
        return Assignment(name, key, literal(value, column), lambda row: value)
    return (
        Assignment(name, key, name, lambda row: row[key])
        if column.required
        else Assignment(name, key, "NULL", lambda row: None)
    )


def _far(value: Any, column: Column) -> bool:
    """Whether a date or timestamp is in a year that literals do not have."""
    return column.type in _UNIT and value is not None and not FIRST_DAY <= value // _UNIT[column.type] <= LAST_DAY


def _name(model: Model, key: str, alias: str) -> str:
    column = model.column(key)
    assert column is not None
    return f"{alias}.{column.name}" if alias else column.name


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a
