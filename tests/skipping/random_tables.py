"""Random tables for the law of skipping: rows in files, statistics as careless writers leave them, and predicates.

Nothing is written but a log: pruning never opens a data file, and the oracle is given the rows.
"""

import json
import math
import random
import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.actions.partition_values import parse_partition_value, serialize_partition_value
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from tests.builder import TableBuilder, log_file, logged, protocol_of

Row = dict[tuple[str, ...], Any]

INTEGER_LIMITS = {BYTE: 1 << 7, SHORT: 1 << 15, INTEGER: 1 << 31, LONG: 1 << 63}
TYPES: tuple[DataType, ...] = (
    BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE,
    DecimalType(5, 2),
    DecimalType(18, 2),
    DecimalType(38, 8),
    BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ,
)  # fmt: skip
_LETTERS = ["a", "b", "k", "A", "é", "中", "😀", "\uffff", "\ufffd", "\x7f", " ", "%", "_", '"', "\\"]
_YEAR_1500, _YEAR_2022 = -14_831_769_600_000_000, 1_640_995_200_000_000


def random_value(rng: random.Random, type_: DataType) -> Any:
    """A value of the type, often one of a few and often near a limit, so that ties and edges are met."""
    if type_ in INTEGER_LIMITS:
        limit = INTEGER_LIMITS[type_]
        return rng.choice([rng.randint(-5, 5), rng.randint(-limit, limit - 1), -limit, limit - 1, 0])
    match type_:
        case DecimalType(precision, scale):
            most = 10**precision - 1
            near = min(300, most)
            unscaled = rng.choice([rng.randint(-near, near), rng.randint(-most, most)])
            sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
            return Decimal((sign, digits, -scale))
        case t if t in (FLOAT, DOUBLE):
            value = rng.choice(
                [float(rng.randint(-4, 4)), rng.uniform(-3, 3), math.nan, math.inf, -math.inf, -0.0, 1.1, 1e300, 5e-324]
            )
            return as_float32(value) if t == FLOAT else value
        case t if t == BOOLEAN:
            return rng.random() < 0.5
        case t if t == STRING:
            return random_text(rng)
        case t if t == BINARY:
            return bytes(rng.choices(range(256), k=rng.randint(0, 3)))
        case t if t == DATE:
            return rng.choice([rng.randint(-3, 3), rng.randint(18_990, 19_000), rng.randint(-170_000, 40_000)])
    base = rng.choice([0, _YEAR_1500, _YEAR_2022, -2_208_988_800_000_000])
    return base + rng.choice([0, 1, 999, 1000, 1001, rng.randint(-5_000, 5_000), rng.randint(-(10**11), 10**11)])


def random_text(rng: random.Random) -> str:
    """Short strings that tie, long ones that writers cut, and everything that sorts differently in UTF-16."""
    kind = rng.random()
    if kind < 0.5:
        return "".join(rng.choices(_LETTERS[:4], k=rng.randint(0, 2)))
    if kind < 0.75:
        return "".join(rng.choices(_LETTERS, k=rng.randint(0, 4)))
    return "x" * rng.choice([30, 31, 32, 33, 50, 63, 64]) + "".join(rng.choices(_LETTERS, k=rng.randint(0, 3)))


def as_float32(value: float) -> float:
    """`value` rounded to a 32-bit float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@dataclass(frozen=True, slots=True)
class Writer:
    """What a writer does to statistics. `engine` is its commitInfo.engineInfo."""

    engine: str | None
    records_nan: bool = True
    decimals_as_doubles: bool = False
    cuts_at: int | None = 32
    tie_breaker: str = "\U0010ffff"
    cuts_bytes: bool = False
    millisecond_stamps: bool = True
    wide: bool = False
    drops: float = 0.0


WRITERS = (
    Writer("Apache-Spark/4.1.4 Delta-Lake/4.4.0"),
    Writer("Apache-Spark/3.2.0 Delta-Lake/1.2.1", tie_breaker="\ufffd"),
    Writer("Apache-Spark/4.1.4 Delta-Lake/4.4.0", wide=True),
    Writer("delta-rs:py-1.6.6", records_nan=False, decimals_as_doubles=True, cuts_at=None, millisecond_stamps=False),
    Writer("delta-rs:py-0.9", records_nan=False, decimals_as_doubles=True, cuts_at=50, tie_breaker="", cuts_bytes=True),
    Writer(None, records_nan=False, cuts_at=64, tie_breaker="", cuts_bytes=True, drops=0.3),
    Writer("someone", drops=0.6, decimals_as_doubles=True, records_nan=False, tie_breaker=""),
)


@dataclass(frozen=True, slots=True)
class RandomTable:
    """Where the log lies, the schema, and the rows of each file by its path."""

    path: Path
    schema: StructType
    partition_columns: tuple[str, ...]
    files: dict[str, list[Row]]


def random_table(rng: random.Random, path: Path, max_files: int = 6) -> RandomTable:
    """Columns c0… of random types (some in a struct), one or no partition column, files of up to four rows.

    The log is JSON commits only, or begins with a checkpoint that holds struct statistics, their text, or both.
    """
    types = rng.sample(TYPES, k=rng.randint(1, 4))
    fields = [StructField(f"c{i}", t) for i, t in enumerate(types)]
    if rng.random() < 0.4:
        fields.append(
            StructField("s", StructType((StructField("in.ner", rng.choice(TYPES)), StructField("b", STRING))))
        )
    partition = ()
    if rng.random() < 0.4:
        fields.append(StructField("p", rng.choice([t for t in TYPES if t != BINARY])))
        partition = ("p",)
    schema = StructType(tuple(fields))
    files: dict[str, list[Row]] = {}
    commits: list[tuple[Writer, list[dict[str, Any]]]] = []
    for number in range(rng.randint(1, max_files)):
        writer = rng.choice(WRITERS)
        rows, add = _random_file(rng, schema, partition, writer, f"f{number}.parquet")
        files[add["path"]] = rows
        commits.append((writer, [add]))
    _write_log(path, schema, partition, commits)
    if rng.random() < 0.5:
        in_checkpoint = rng.randint(1, len(commits))
        write_checkpoint(path, schema, partition, in_checkpoint, rng)
    return RandomTable(path, schema, partition, files)


def leaf_fields(schema: StructType) -> list[tuple[tuple[str, ...], DataType]]:
    """Paths and types of the columns that are not structs."""
    found: list[tuple[tuple[str, ...], DataType]] = []
    for field in schema.fields:
        if isinstance(field.type, StructType):
            found.extend(((field.name, inner.name), inner.type) for inner in field.type.fields)
        else:
            found.append(((field.name,), field.type))
    return found


def _random_file(
    rng: random.Random, schema: StructType, partition: tuple[str, ...], writer: Writer, name: str
) -> tuple[list[Row], dict[str, Any]]:
    shared: Row = {}
    texts: dict[str, str | None] = {}
    for column in partition:
        type_ = next(f.type for f in schema.fields if f.name == column)
        value = None if rng.random() < 0.2 else random_value(rng, type_)
        if value == "" or (isinstance(value, int) and type_ in (TIMESTAMP, TIMESTAMP_NTZ) and value < 0):
            value = None
        shared[(column,)] = value
        texts[column] = serialize_partition_value(value, type_)
    leaves = [(p, t) for p, t in leaf_fields(schema) if p not in shared]
    few = {p: [random_value(rng, t) for _ in range(rng.randint(1, 3))] for p, t in leaves}
    nulls = {p: rng.choice([0.0, 0.0, 0.3, 1.0]) for p, _ in leaves}
    rows: list[Row] = []
    for _ in range(rng.randint(1, 4)):
        row: Row = {p: None if rng.random() < nulls[p] else rng.choice(few[p]) for p, _ in leaves}
        rows.append({**row, **shared})
    add: dict[str, Any] = {
        "path": name, "partitionValues": texts, "size": 100, "modificationTime": 0, "dataChange": True,
    }  # fmt: skip
    if rng.random() < 0.95:
        add["stats"] = _stats(rng, rows, leaves, writer)
    return rows, add


def _stats(rng: random.Random, rows: list[Row], leaves: list[tuple[tuple[str, ...], DataType]], writer: Writer) -> str:
    groups: dict[str, Any] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    for path, type_ in leaves:
        values = [row[path] for row in rows]
        present = [v for v in values if v is not None]
        if rng.random() >= writer.drops:
            _put(groups["nullCount"], path, str(len(values) - len(present)))
        bounds = _bounds(present, type_, writer)
        for group, text in zip(("minValues", "maxValues"), bounds, strict=True):
            if text is not None and rng.random() >= writer.drops:
                _put(groups[group], path, text)
    parts = [f'"{group}":{_render(members)}' for group, members in groups.items()]
    if rng.random() >= writer.drops / 2:
        parts.insert(0, f'"numRecords":{len(rows)}')
    if writer.wide:
        parts.append('"tightBounds":false')
    return "{" + ",".join(parts) + "}"


def _put(members: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    for name in path[:-1]:
        members = members.setdefault(name, {})
    members[path[-1]] = text


def _render(members: dict[str, Any]) -> str:
    inner = (f"{json.dumps(k)}:{_render(v) if isinstance(v, dict) else v}" for k, v in members.items())
    return "{" + ",".join(inner) + "}"


def _bounds(present: list[Any], type_: DataType, writer: Writer) -> tuple[str | None, str | None]:
    """JSON texts of minimum and maximum, as the writer would put them."""
    if type_ in (BINARY, BOOLEAN):
        return None, None
    numbers = [v for v in present if v == v]
    if type_ in (FLOAT, DOUBLE) and not writer.records_nan:
        present = numbers
    if not present:
        return None, None
    order = _text_key if type_ == STRING else _number_key
    low, high = min(present, key=order), max(present, key=order)
    if writer.wide and type_ in INTEGER_LIMITS:
        limit = INTEGER_LIMITS[type_]
        low, high = max(low - 3, -limit), min(high + 3, limit - 1)
    return _json_bound(low, type_, writer, False), _json_bound(high, type_, writer, True)


def _text_key(value: str) -> bytes:
    return value.encode()


def _number_key(value: Any) -> tuple[bool, Any]:
    return (value != value, value if value == value else 0)


def _json_bound(value: Any, type_: DataType, writer: Writer, high: bool) -> str | None:
    if type_ == STRING:
        text = _cut(value, writer, high)
        return None if text is None else json.dumps(text, ensure_ascii=False)
    if isinstance(type_, DecimalType):
        return repr(float(value)) if writer.decimals_as_doubles else str(value)
    if type_ in (FLOAT, DOUBLE):
        if value != value or value in (math.inf, -math.inf):
            return json.dumps({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"))
        return _shortest_float(value) if type_ == FLOAT else repr(value)
    if type_ == DATE:
        return json.dumps(serialize_partition_value(value, DATE))
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        micros = value // 1000 * 1000 if writer.millisecond_stamps else value
        text = str(serialize_partition_value(micros, TIMESTAMP)).rstrip("Z")
        return json.dumps(text + ("Z" if type_ == TIMESTAMP else ""))
    return str(value)


def _shortest_float(value: float) -> str:
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if as_float32(float(text)) == value:
            return text
    return repr(value)


def _cut(value: str, writer: Writer, high: bool) -> str | None:
    if writer.cuts_at is None:
        return value
    cut = value.encode()[: writer.cuts_at].decode(errors="ignore") if writer.cuts_bytes else value[: writer.cuts_at]
    if cut == value or not high:
        return cut
    return cut + writer.tie_breaker


def _write_log(
    path: Path, schema: StructType, partition: tuple[str, ...], commits: list[tuple[Writer, list[dict[str, Any]]]]
) -> None:
    builder = TableBuilder(path, schema, partition, protocol=protocol_of(["timestampNtz", "deletionVectors"]))
    for writer, adds in commits:
        builder.commit(*({"add": add} for add in adds), engine=writer.engine)


def write_checkpoint(
    path: Path, schema: StructType, partition: tuple[str, ...], commits: int, rng: random.Random
) -> None:
    """A classic checkpoint of the first `commits` commits, in small row groups; their commit files go."""
    actions: list[dict[str, Any]] = []
    for version in range(commits):
        file = log_file(path, version)
        actions += [action for action in logged(path, version) if "commitInfo" not in action]
        if rng.random() < 0.5:
            file.unlink()
    layout = rng.choice(["struct", "text", "both", "mixed"])
    rows = [_checkpoint_row(action, schema, layout, rng) for action in actions]
    rng.shuffle(rows)
    arrow = checkpoint_schema(schema, partition, with_struct=layout != "text", with_text=layout != "struct")
    table = pa.Table.from_pylist(rows, arrow)
    pq.write_table(table, log_file(path, commits - 1, "checkpoint.parquet"), row_group_size=rng.choice([1, 2, 100]))


def checkpoint_schema(schema: StructType, partition: tuple[str, ...], with_struct: bool, with_text: bool) -> pa.Schema:
    """Columns of a checkpoint, cut down to what the tests' actions hold."""
    text_map = pa.map_(pa.string(), pa.string())
    add: list[tuple[str, pa.DataType]] = [
        ("path", pa.string()),
        ("partitionValues", text_map),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
    ]
    if with_text:
        add.append(("stats", pa.string()))
    if with_struct:
        data = StructType(tuple(f for f in schema.fields if f.name not in partition))
        bounds = arrow_type(data)
        counts = _counts_type(data)
        parsed = [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)]
        parsed.append(("tightBounds", pa.bool_()))
        add.append(("stats_parsed", pa.struct(parsed)))
    features = pa.list_(pa.string())
    protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
    metadata = [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", text_map)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", text_map),
    ]
    return pa.schema(
        [
            ("protocol", pa.struct([*protocol, ("readerFeatures", features), ("writerFeatures", features)])),
            ("metaData", pa.struct(metadata)),
            ("add", pa.struct(add)),
        ]
    )


def _counts_type(data: StructType) -> pa.DataType:
    return pa.struct(
        [(f.name, _counts_type(f.type) if isinstance(f.type, StructType) else pa.int64()) for f in data.fields]
    )


def _checkpoint_row(action: dict[str, Any], schema: StructType, layout: str, rng: random.Random) -> dict[str, Any]:
    row = {name: dict(value) for name, value in action.items()}
    if "metaData" in row:
        row["metaData"]["configuration"] = []
        row["metaData"]["format"] = {"provider": "parquet", "options": []}
    if "add" in row:
        add = row["add"]
        add["partitionValues"] = list(add["partitionValues"].items())
        text = add.get("stats")
        if layout in ("struct", "both") or (layout == "mixed" and rng.random() < 0.5):
            add["stats_parsed"] = None if text is None else _parsed(json.loads(text, parse_float=Decimal), schema)
        if layout == "struct" or (layout == "mixed" and "stats_parsed" in add):
            add.pop("stats", None)
    return row


def _parsed(stats: dict[str, Any], schema: StructType) -> dict[str, Any]:
    """What a checkpoint's writer makes of statistics text: each bound as its column's type, or null."""
    return {
        "numRecords": stats.get("numRecords"),
        "minValues": _typed(stats.get("minValues", {}), schema),
        "maxValues": _typed(stats.get("maxValues", {}), schema),
        "nullCount": stats.get("nullCount", {}),
        "tightBounds": stats.get("tightBounds"),
    }


def _typed(members: dict[str, Any], schema: StructType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in schema.fields:
        value = members.get(field.name)
        if value is None:
            continue
        if isinstance(field.type, StructType):
            found[field.name] = _typed(value, field.type)
        elif isinstance(field.type, DecimalType):
            found[field.name] = _typed_decimal(Decimal(value), field.type)
        elif field.type in (FLOAT, DOUBLE):
            number = float(value)
            found[field.name] = as_float32(number) if field.type == FLOAT else number
        elif field.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            found[field.name] = _typed_time(str(value), field.type)
        else:
            found[field.name] = value
    return found


def _typed_decimal(value: Decimal, type_: DecimalType) -> Decimal | None:
    """Exact, or not at all: a double that rounded the decimal is no bound in a struct column."""
    scaled = value.scaleb(type_.scale, Context(prec=100))
    fits = scaled == scaled.to_integral_value() and abs(int(scaled)) < 10**type_.precision
    # A text of few digits may be that of a double which a longer decimal was rounded to.
    exact = type_.precision <= 15 or len(value.as_tuple().digits) > 17
    return value.quantize(Decimal(1).scaleb(-type_.scale), context=Context(prec=60)) if fits and exact else None


def _typed_time(text: str, type_: DataType) -> int:
    value = parse_partition_value(text.replace("T", " ").rstrip("Z"), type_, "UTC")
    assert isinstance(value, int)
    return value
