"""Statistics of files, compared with the rows that the files have.

# PROTOCOL, Per-file Statistics
"""

import json
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.reference.histories.conditions import order
from tests.reference.histories.log_rules import LogRules, on_disk
from tests.reference.histories.model import Model
from tests.reference.rows import plain_rows

TEXT_LENGTH = 32


def statistics_problems(folder: Path, rules: LogRules, places: Sequence[tuple[str, int]], model: Model) -> list[str]:
    """What is wrong with the statistics of the files that the newest commits added.

    places: File and position of every row that delta-spark reads.
    """
    live: dict[str, list[int]] = {}
    for file, position in places:
        live.setdefault(file, []).append(position)
    problems = []
    for add in rules.new_adds:
        if rules.active.get(add["path"]) is not add:
            continue
        file = on_disk(folder, add["path"])
        found = [*_file_problems(add, file, live.get(str(file), []), rules)]
        problems += [f"statistics of {add['path']}: {problem}\n  {add.get('stats')}" for problem in found]
    total = Counter(str(on_disk(folder, path)) for path in rules.active)
    if set(live) - set(total):
        problems.append(f"rows of files that are not there: {set(live) - set(total)}")
    return problems


def _file_problems(add: Mapping[str, Any], file: Path, live: Sequence[int], rules: LogRules) -> Iterator[str]:
    statistics = json.loads(add.get("stats") or "{}", parse_float=Decimal)
    table = pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
    marked = (add.get("deletionVector") or {}).get("cardinality", 0)
    if statistics.get("numRecords", table.num_rows) != table.num_rows:
        yield f"numRecords is not {table.num_rows}"
    if len(set(live)) != table.num_rows - marked:
        yield f"{table.num_rows} rows, of which {marked} are marked, but {len(set(live))} are read"
    ours = "deltaskip" in rules.written_by[add["path"]].lower()
    if not ours:
        return
    if "numRecords" not in statistics:
        yield "no numRecords"
    schema = json.loads(rules.metadata["schemaString"])
    partitions = set(rules.metadata["partitionColumns"])
    tight = statistics.get("tightBounds", True)
    rows = plain_rows(table)
    for path, kind in _leaves(schema, table.schema, partitions):
        values = [_at(row, path) for row in rows]
        null_count, low, high = (_at(statistics.get(name), path) for name in ("nullCount", "minValues", "maxValues"))
        where = ".".join(path)
        if null_count is not None:
            yield from _null_count_problems(where, null_count, values, live, tight)
        yield from _bound_problems(where, kind, low, high, [v for v in values if v is not None], null_count is not None)


def _null_count_problems(where: str, found: int, values: list[Any], live: Sequence[int], tight: bool) -> Iterator[str]:
    nulls = sum(value is None for value in values)
    if tight and found != nulls:
        yield f"nullCount of {where} is {found}, not {nulls}"
    among = [values[i] is None for i in live] if len(live) < len(values) else [value is None for value in values]
    if (found == 0 and any(among)) or (found == len(values) and not all(among)):
        yield f"nullCount of {where} is {found}, but {sum(among)} of {len(among)} rows are NULL"


def _bound_problems(
    where: str, kind: pa.DataType, low: Any, high: Any, values: list[Any], counted: bool
) -> Iterator[str]:
    if not values:
        if low is not None or high is not None:
            yield f"bounds {low} and {high} of {where}, which has only NULL"
        return
    read = _reader(kind)
    if read is None:
        if low is not None or high is not None:
            yield f"bounds {low} and {high} of {where}, which is {kind}"
        return
    keys = [order(value) for value in values]
    actual_low, actual_high = values[keys.index(min(keys))], values[keys.index(max(keys))]
    not_a_number = any(value != value for value in values)
    if counted and low is None and not (not_a_number or _far(kind, actual_low)):
        yield f"no minimum of {where}, which has {actual_low!r}"
    if low is not None and not _is_bound(kind, read(low), actual_low, upper=False):
        yield f"minimum of {where} is {low!r}, of the rows {actual_low!r}"
    if high is not None and not _is_bound(kind, read(high), actual_high, upper=True):
        yield f"maximum of {where} is {high!r}, of the rows {actual_high!r}"
    long_text = isinstance(actual_high, str) and len(actual_high) > TEXT_LENGTH
    if counted and high is None and not (not_a_number or long_text or _far(kind, actual_high)):
        yield f"no maximum of {where}, which has {actual_high!r}"


def _far(kind: pa.DataType, value: Any) -> bool:
    """Whether a date or timestamp is in a year that texts of dates do not have."""
    unit = 1 if pa.types.is_date(kind) else 86_400_000_000 if pa.types.is_timestamp(kind) else 0
    return bool(unit) and not -719_162 <= value // unit <= 2_932_896


def _is_bound(kind: pa.DataType, found: Any, actual: Any, *, upper: bool) -> bool:
    """Whether a bound is as near to the value as the protocol lets it be."""
    if pa.types.is_timestamp(kind):
        return bool(found == actual // 1000 * 1000)
    if isinstance(actual, str) and len(actual) > TEXT_LENGTH:
        near = found.startswith(actual[:TEXT_LENGTH]) and len(found) <= TEXT_LENGTH + 2
        return near and (order(found) >= order(actual) if upper else order(found) <= order(actual))
    return bool(order(found) == order(actual))


def _reader(kind: pa.DataType) -> Any:
    """Gives the value of a bound in JSON; None for types without bounds."""
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_float32(kind):
        return lambda text: struct.unpack("f", struct.pack("f", float(text)))[0]
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_decimal(kind):
        return Decimal
    if pa.types.is_string(kind):
        return str
    if pa.types.is_date(kind):
        return lambda text: micros_of(text + "T00:00:00Z") // 86_400_000_000
    return micros_of if pa.types.is_timestamp(kind) else None


def micros_of(text: str) -> int:
    """Microseconds of a timestamp in ISO 8601; without a zone as if in UTC."""
    match = re.fullmatch(
        r"([+-]?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d)(?::(\d\d))?)?", text
    )
    assert match is not None, text
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    micros = int((match[7] or "0").ljust(6, "0"))
    offset = 0
    if match[8]:
        offset = (int(match[9]) * 60 + int(match[10])) * 60 + int(match[11] or 0)
        offset = -offset if match[8] == "-" else offset
    seconds = _days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds * 1_000_000 + micros


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 in the proleptic Gregorian calendar."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _leaves(
    schema: Mapping[str, Any], file: pa.Schema, partitions: set[str]
) -> Iterator[tuple[list[str], pa.DataType]]:
    """Physical paths of the leaves outside of arrays and maps that a file has, with their types in the file."""

    def below(fields: Any, there: Any, path: list[str]) -> Iterator[tuple[list[str], pa.DataType]]:
        for field in fields:
            name = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
            index = there.get_field_index(name)
            if index < 0 or (not path and field["name"] in partitions):
                continue
            kind = there.field(index).type
            if pa.types.is_struct(kind):
                yield from below(field["type"]["fields"], kind, [*path, name])
            else:
                yield [*path, name], kind

    yield from below(schema["fields"], file, [])


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
