"""Seeded damage to the log of a table: bytes, lines, JSON values, Parquet columns, names and kinds of files."""

import json
import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.log.hostile_values import Raw, dumped, hostile

_SPARSE_BYTES = (5 << 20, 3 << 30, 1 << 40)


def mutate(table: Path, rng: random.Random) -> list[str]:
    """Damage the log in one to three ways; returns what was done, and to which file."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        file = _any_file(table, rng)
        if file is None:
            break
        way = rng.choice(_ways_of(file))
        try:
            what = way(file, rng)
        except _NOT_APPLICABLE as error:
            what = f"nothing ({type(error).__name__})"
        done.append(f"{way.__name__.strip('_')} {file.relative_to(table)}: {what}")
    return done


# What Arrow and Python raise if a damaged file cannot be damaged further in that way.
_NOT_APPLICABLE = (
    pa.ArrowException, ValueError, TypeError, KeyError, IndexError, OSError, NotImplementedError, AttributeError,
    OverflowError, RecursionError,
)  # fmt: skip

Way = Callable[[Path, random.Random], str]


def _any_file(table: Path, rng: random.Random) -> Path | None:
    files = sorted(
        path for path in table.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20
    )
    files = [
        path for path in files if path.suffix in (".json", ".parquet", ".crc", ".bin") or path.name.startswith("_last")
    ]
    if not files:
        return None
    # Few files are checkpoints and hints, which have the most kinds of damage.
    weights = [4 if path.suffix == ".parquet" or "checkpoint" in path.name else 1 for path in files]
    return rng.choices(files, weights)[0]


def _ways_of(file: Path) -> Sequence[Way]:
    usual = [_flip, _cut, _zeros, _extend, _kind, _name]
    if file.suffix == ".parquet":
        return [
            *usual,
            *[_parquet_value] * 8,
            *[_parquet_type] * 6,
            *[_parquet_field] * 4,
            _parquet_rows,
            _parquet_footer,
        ]
    if file.suffix == ".bin":
        return usual
    return [*usual, *[_json_value] * 14, *[_json_member] * 5, *[_lines] * 3, _raw_line, _raw_bytes]


def _flip(file: Path, rng: random.Random) -> str:
    data = bytearray(file.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.choice((1, 1, 2, 8)))]
    if rng.random() < 0.4:
        # The footer of Parquet, the last line of JSON.
        places = [max(0, len(data) - 1 - place % 600) for place in places]
    for place in places:
        data[place] = rng.choice((data[place] ^ 1 << rng.randrange(8), 0, 0xFF, 0x7F, 0x80))
    file.write_bytes(data)
    return f"bytes {places}"


def _cut(file: Path, rng: random.Random) -> str:
    size = rng.randrange(file.stat().st_size)
    os.truncate(file, size)
    return f"at {size}"


def _zeros(file: Path, rng: random.Random) -> str:
    data = bytearray(file.read_bytes())
    at, length = rng.randrange(len(data)), rng.choice((1, 4, 100, 10_000))
    data[at : at + length] = bytes([rng.choice((0, 0xFF))]) * len(data[at : at + length])
    file.write_bytes(data)
    return f"{length} at {at}"


def _extend(file: Path, rng: random.Random) -> str:
    size = rng.choice(_SPARSE_BYTES)
    os.truncate(file, max(size, file.stat().st_size))
    return f"to {size}"


def _kind(file: Path, rng: random.Random) -> str:
    kind = rng.choice(
        ("nothing", "directory", "FIFO", "socket", "dangling link", "loop", "zero", "empty", "folder link")
    )
    file.unlink()
    match kind:
        case "directory":
            file.mkdir()
        case "FIFO":
            os.mkfifo(file)
        case "socket":
            os.mknod(file, stat.S_IFSOCK | 0o600)
        case "dangling link":
            file.symlink_to("nowhere")
        case "loop":
            file.symlink_to(file.name)
        case "zero":
            file.symlink_to("/dev/zero")
        case "folder link":
            file.symlink_to(".")
        case "empty":
            file.touch()
    return kind


def _name(file: Path, rng: random.Random) -> str:
    digits, rest = file.name[:20], file.name[20:]
    version = int(digits) if digits.isdigit() else 0
    names = [
        f"{version + rng.choice((1, 2, 5, 10**9)):020d}{rest}",
        f"{rng.choice((2**63 - 1, 2**63, 10**20 - 1)):020d}{rest}",
        f"{version:020d}.{version + rng.choice((0, 1, 9, 2**62)):020d}.compacted.json",
        f"{version:020d}.checkpoint.{rng.randrange(3):010d}.{rng.randrange(3):010d}.parquet",
        f"{version:020d}.checkpoint.{'0' * 36}.{rng.choice(('json', 'parquet'))}",
        f"{version:020d}.crc",
        "_last_checkpoint",
    ]
    target = file.with_name(rng.choice(names))
    act = rng.choice((shutil.copyfile, shutil.copyfile, shutil.move))
    act(file, target)
    return f"{act.__name__} to {target.name}"


def _json_lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _write_json(file: Path, values: Sequence[Any]) -> None:
    file.write_bytes("".join(dumped(value) + "\n" for value in values).encode("utf-8", "surrogatepass"))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _changed(value: Any, path: Sequence[Any], change: Callable[[Any], Any]) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = change(value[path[-1]])


def _inside(value: Any, rng: random.Random) -> Any:
    """A hostile value in place of this one, or inside it if it is the text of JSON."""
    if isinstance(value, str) and value[:1] in ("{", "[") and rng.random() < 0.8:
        parsed = json.loads(value)
        _changed(parsed, rng.choice(list(_places(parsed))), lambda inner: _inside(inner, rng))
        return dumped(parsed)
    return hostile(rng)


def _json_value(file: Path, rng: random.Random) -> str:
    lines = _json_lines(file)
    path = rng.choice(list(_places(lines)))
    _changed(lines, path, lambda value: _inside(value, rng))
    _write_json(file, lines)
    return str(path)


def _json_member(file: Path, rng: random.Random) -> str:
    lines = _json_lines(file)
    path = rng.choice([path for path in _places(lines) if isinstance(path[-1], str)])
    place: Any = lines
    for key in path[:-1]:
        place = place[key]
    value = place.pop(path[-1])
    act = rng.choice(("removed", "renamed", "doubled", "added"))
    if act == "renamed":
        place[path[-1].upper()] = value
    elif act == "doubled":
        place[path[-1]] = Raw(f"{dumped(value)},{json.dumps(path[-1])}:{dumped(hostile(rng))}")
    elif act == "added":
        place[path[-1]] = value
        place[rng.choice(("partitionValues", "stats", "deletionVector", "tags", "baseRowId", "unknown", ""))] = hostile(
            rng
        )
    _write_json(file, lines)
    return f"{act} {path}"


def _lines(file: Path, rng: random.Random) -> str:
    lines = file.read_bytes().splitlines(keepends=True)
    at = rng.randrange(len(lines))
    act = rng.choice(("doubled", "removed", "moved", "merged", "halved"))
    line = lines.pop(at)
    if act == "doubled":
        lines[at:at] = [line, line]
    elif act == "moved":
        lines.append(line)
    elif act == "merged":
        lines.insert(at, line.rstrip(b"\n"))
    elif act == "halved":
        lines.insert(at, line[: len(line) // 2] + b"\n")
    file.write_bytes(b"".join(lines))
    return f"{act} {at}"


def _raw_line(file: Path, rng: random.Random) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    line = dumped(
        {
            rng.choice(
                (
                    "add", "remove", "metaData", "protocol", "txn", "domainMetadata", "commitInfo", "cdc", "sidecar",
                    "checkpointMetadata", "unknown",
                )
            ): hostile(rng)
        }
    )  # fmt: skip
    lines.insert(rng.randrange(len(lines) + 1), line)
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return line[:60]


def _raw_bytes(file: Path, rng: random.Random) -> str:
    data = file.read_bytes()
    at = rng.randrange(len(data))
    inserted = rng.choice(
        (b"\xff", b"\xed\xa0\x80", b"\0", b"\xc0\x80", b"\r", b"\xef\xbb\xbf", b"\\ud800", b"\\", b'"', b"\\u0000")
    )
    file.write_bytes(data[:at] + inserted + data[at:])
    return f"{inserted!r} at {at}"


def _parquet(file: Path) -> tuple[list[dict[str, Any]], pa.Schema]:
    table = pq.read_table(file)
    return table.to_pylist(), table.schema


def _write_parquet(file: Path, rows: list[dict[str, Any]], schema: pa.Schema, rng: random.Random) -> None:
    """Write the rows; text is written as bytes, which need not be UTF-8."""
    as_bytes = pa.schema([pa.field(field.name, _binary(field.type)) for field in schema])
    columns = [pa.array([_encoded(row.get(field.name)) for row in rows], field.type) for field in as_bytes]
    columns = [_relabelled(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pq.write_table(
        pa.Table.from_arrays(columns, schema=schema),
        file,
        row_group_size=rng.choice((1, 2, 1000)),
        use_dictionary=rng.random() < 0.5,
        write_statistics=rng.random() < 0.7,
        store_schema=rng.random() < 0.3,
        compression=rng.choice(("snappy", "none", "zstd")),
    )


def _relabelled(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """The array with its bytes called text, without a check."""
    buffers = column.buffers()
    return _from_buffers(type_, len(column), iter(buffers))


def _from_buffers(type_: pa.DataType, length: int, buffers: Iterator[pa.Buffer | None]) -> pa.Array:
    if pa.types.is_struct(type_):
        own = [next(buffers)]
        children = [_from_buffers(field.type, length, buffers) for field in type_]
        return pa.Array.from_buffers(type_, length, own, children=children)
    if pa.types.is_map(type_):
        own = [next(buffers), next(buffers)]
        next(buffers)
        count = _last_offset(own[1], length)
        entries = pa.struct([type_.key_field, type_.item_field])
        keys, items = (_from_buffers(t, count, buffers) for t in (type_.key_type, type_.item_type))
        child = pa.Array.from_buffers(entries, count, [None], children=[keys, items])
        return pa.Array.from_buffers(type_, length, own, children=[child])
    if pa.types.is_list(type_):
        own = [next(buffers), next(buffers)]
        child = _from_buffers(type_.value_type, _last_offset(own[1], length), buffers)
        return pa.Array.from_buffers(type_, length, own, children=[child])
    count = 1 if pa.types.is_null(type_) else 3 if pa.types.is_string(type_) or pa.types.is_binary(type_) else 2
    return pa.Array.from_buffers(type_, length, [next(buffers) for _ in range(count)])


def _last_offset(offsets: pa.Buffer | None, length: int) -> int:
    assert offsets is not None
    return int.from_bytes(memoryview(offsets)[4 * length : 4 * length + 4], "little")


def _binary(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_string(type_):
        return pa.binary()
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _binary(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_binary(type_.key_type), _binary(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(_binary(type_.value_type))
    return type_


def _encoded(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return {name: _encoded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_encoded(inner) for inner in value]
    return tuple(map(_encoded, value)) if isinstance(value, tuple) else value


_BYTES = (b"\xff", b"a\xffb", b"\xed\xa0\x80", b"\0", b"", b"\xc0\x80" * 50)


def _parquet_value(file: Path, rng: random.Random) -> str:
    rows, schema = _parquet(file)
    # Pairs of maps are tuples, which hold text to replace.
    rows = json.loads(json.dumps(rows, default=str)) if rng.random() < 0 else rows
    listed = [_as_lists(row) for row in rows]
    paths = [path for path in _places(listed) if _at(listed, path) is not None]
    path = rng.choice(paths)
    old = _at(listed, path)
    if isinstance(old, str) and rng.random() < 0.6:
        new: Any = rng.choice(_BYTES) if rng.random() < 0.5 else str(_inside(old, rng))
    elif isinstance(old, bool):
        new = not old
    elif isinstance(old, int):
        new = rng.choice((0, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)))
    else:
        new = None
    _changed(listed, path, lambda _: new)
    _write_parquet(file, [_as_pairs(row) for row in listed], schema, rng)
    return f"{path} {str(new)[:40]!r}"


def _as_lists(value: Any) -> Any:
    """Tuples as lists with a mark, so that paths lead into them."""
    if isinstance(value, tuple):
        return {"\0key": value[0], "\0value": value[1]}
    if isinstance(value, dict):
        return {name: _as_lists(inner) for name, inner in value.items()}
    return [_as_lists(inner) for inner in value] if isinstance(value, list) else value


def _as_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        if "\0key" in value:
            return (value["\0key"], value["\0value"])
        return {name: _as_pairs(inner) for name, inner in value.items()}
    return [_as_pairs(inner) for inner in value] if isinstance(value, list) else value


def _at(value: Any, path: Sequence[Any]) -> Any:
    for key in path:
        value = value[key]
    return value


_TYPES = (
    pa.string(),
    pa.int64(),
    pa.int32(),
    pa.int8(),
    pa.bool_(),
    pa.float64(),
    pa.binary(),
    pa.list_(pa.string()),
    pa.struct([("x", pa.string())]),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.decimal128(20, 2),
    pa.map_(pa.string(), pa.string()),
    pa.map_(pa.int64(), pa.string()),
    pa.list_(pa.struct([("key", pa.string())])),
)


def _parquet_type(file: Path, rng: random.Random) -> str:
    """Give one column, at any depth, another type; values that do not fit are null."""
    table = pq.read_table(file)
    names: list[str] = []

    def change(field: pa.Field) -> pa.Field:
        names.append(field.name)
        if pa.types.is_struct(field.type) and field.type.num_fields and rng.random() < 0.75:
            fields = list(field.type)
            at = rng.randrange(len(fields))
            fields[at] = change(fields[at])
            return pa.field(field.name, pa.struct(fields))
        return pa.field(field.name, rng.choice(_TYPES))

    fields = list(table.schema)
    at = rng.randrange(len(fields))
    fields[at] = change(fields[at])
    rows = [{**row, fields[at].name: _fitted(row[fields[at].name], fields[at].type)} for row in table.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), file)
    return f"{'.'.join(names)}: {fields[at].type}"[:150]


def _fitted(value: Any, type_: pa.DataType) -> Any:
    if isinstance(value, dict) and pa.types.is_struct(type_):
        return {field.name: _fitted(value.get(field.name), field.type) for field in type_}
    try:
        pa.array([value], type_)
    except _NOT_APPLICABLE:
        try:
            pa.array([str(value)], type_)
        except _NOT_APPLICABLE:
            return None if value is None else _DEFAULTS.get(str(type_))
        return None if value is None else str(value)
    return value


_DEFAULTS: dict[str, Any] = {
    "int64": 1, "int32": 1, "int8": 1, "bool": True, "double": 1.5,
    "list<element: string>": ["a"],
}  # fmt: skip


def _parquet_field(file: Path, rng: random.Random) -> str:
    """Drop or rename a column at any depth."""
    table = pq.read_table(file)
    act = rng.choice(("drop", "rename", "double", "nest"))

    def changed(fields: list[tuple[pa.Field, pa.Array]]) -> list[tuple[pa.Field, pa.Array]]:
        at = rng.randrange(len(fields))
        field, values = fields[at]
        if pa.types.is_struct(field.type) and field.type.num_fields > 1 and rng.random() < 0.75:
            inner = changed(list(zip(list(field.type), values.flatten(), strict=True)))
            array = pa.StructArray.from_arrays(
                [a for _, a in inner], fields=[f for f, _ in inner], mask=values.is_null()
            )
            fields[at] = (pa.field(field.name, array.type), array)
        elif act == "drop":
            del fields[at]
        elif act == "rename":
            fields[at] = (field.with_name(rng.choice(("x", field.name.upper(), "", "a.b"))), values)
        elif act == "double":
            fields.insert(at, fields[at])
        else:
            fields[at] = (
                pa.field(field.name, pa.struct([field])),
                pa.StructArray.from_arrays([values], fields=[field]),
            )
        return fields

    columns = [column.combine_chunks() for column in table.columns]
    found = changed(list(zip(list(table.schema), columns, strict=True)))
    pq.write_table(pa.Table.from_arrays([a for _, a in found], schema=pa.schema([f for f, _ in found])), file)
    return act


def _parquet_rows(file: Path, rng: random.Random) -> str:
    rows, schema = _parquet(file)
    act = rng.choice(("doubled", "removed", "merged", "shuffled", "none"))
    at, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    if act == "doubled":
        rows.append(rows[at])
    elif act == "removed":
        del rows[at]
    elif act == "merged":
        rows[at] = {name: value if value is not None else rows[other][name] for name, value in rows[at].items()}
    elif act == "shuffled":
        rng.shuffle(rows)
    else:
        rows = []
    _write_parquet(file, rows, schema, rng)
    return act


def _parquet_footer(file: Path, rng: random.Random) -> str:
    """Flip bits of the footer: counts, offsets and sizes of row groups and pages."""
    data = bytearray(file.read_bytes())
    size = int.from_bytes(data[-8:-4], "little")
    for _ in range(rng.choice((1, 2, 5, 20))):
        data[len(data) - 8 - rng.randrange(1, size)] = rng.choice((0, 0xFF, 0x7F, rng.randrange(256)))
    if rng.random() < 0.1:
        data[-8:-4] = rng.choice((0, 2**31 - 1, 2**32 - 1, size + 1)).to_bytes(4, "little")
    file.write_bytes(data)
    return f"{size} bytes"
