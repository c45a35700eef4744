"""Writes the lines of a commit from actions, or from columns of file actions without an object for each action."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.action_fields import DELETION_VECTOR, DELETION_VECTOR_FIELDS, TEXT_MAP, ActionFields, Field
from deltaskip.actions.file_actions import AddCdcFile, AddFile, RemoveFile
from deltaskip.actions.table_actions import (
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Sidecar,
    Txn,
)
from deltaskip.json_text import compact_json
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_true, one_chunk

_FieldAction = (
    AddFile | RemoveFile | AddCdcFile | Protocol | Metadata | Txn | DomainMetadata | CheckpointMetadata | Sidecar
)
Action = _FieldAction | CommitInfo
_TYPES: dict[str, type[Action]] = {
    "commitInfo": CommitInfo,
    **{kind.FIELDS.action: kind for kind in get_args(_FieldAction)},
}
_NAMES = {action: name for name, action in _TYPES.items()}

_BATCH_ROWS = 1 << 16
# The characters that json.dumps escapes with ensure_ascii=False.
_ESCAPED = r'[\x00-\x1f"\\]'


def to_lines(fields: ActionFields, actions: pa.Table) -> Iterator[bytes]:
    """Yield batches of lines, each line with its line end.

    Args:
        fields: The fields of the actions.
        actions: One row for each action, with the names and types of the fields as columns. Missing columns and nulls
            are not written.
    """
    present = [field for field in fields.fields if field.name in actions.column_names]
    for start in range(0, len(actions), _BATCH_ROWS):
        rows = actions.slice(start, _BATCH_ROWS)
        members = _object(present, [one_chunk(rows[field.name]) for field in present])
        lines = _joined([_text(f'{{"{fields.action}":'), members, _text("}\n")])
        _, offsets, values = lines.buffers()
        first, last = (memoryview(offsets).cast("i")[lines.offset + i] for i in (0, len(lines)))
        yield values.slice(first, last - first).to_pybytes()


def _object(fields: Sequence[Field], columns: Sequence[pa.Array]) -> pa.StringArray:
    """JSON objects with a member for each column that is not null."""
    nothing = _text("")
    members = [
        pc.fill_null(_joined([_text(f",{json.dumps(field.logged)}:"), _value(column)]), nothing)
        for field, column in zip(fields, columns, strict=True)
    ]
    return _joined([_text("{"), pc.ascii_ltrim(_joined(members), ","), _text("}")])


def _value(column: pa.Array) -> pa.StringArray:
    """The JSON text of each value; null for null."""
    if column.type == DELETION_VECTOR:
        return _struct(DELETION_VECTOR_FIELDS.fields, column)
    if pa.types.is_struct(column.type):
        return _struct([Field(each.name, each.name, each.type) for each in column.type], column)
    if column.type == TEXT_MAP:
        return _maps(column)
    return _strings(column) if pa.types.is_string(column.type) else column.cast(pa.string())


def _struct(fields: Sequence[Field], column: pa.StructArray) -> pa.StringArray:
    text = _object(fields, column.flatten())
    return text if not column.null_count else pc.if_else(column.is_valid(), text, _NULL)


def _maps(column: pa.MapArray) -> pa.StringArray:
    offsets = column.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    keys, items = (entries.slice(first, last - first) for entries in (column.keys, column.items))
    entries = _joined([_strings(keys), _text(":"), pc.fill_null(_strings(items), _text("null"))])
    lists = pa.ListArray.from_arrays(pc.subtract(offsets, offsets[0]), entries)
    text = _joined([_text("{"), pc.binary_join(lists, ","), _text("}")])
    return text if not column.null_count else pc.if_else(column.is_valid(), text, _NULL)


def _strings(column: pa.StringArray) -> pa.StringArray:
    quote = _text('"')
    quoted = _joined([quote, column, quote])
    odd = is_true(pc.match_substring_regex(column, _ESCAPED))
    if not pc.any(odd, min_count=0).as_py():
        return quoted
    escaped = [json.dumps(value, ensure_ascii=False) for value in column.filter(odd).to_pylist()]
    return pc.replace_with_mask(quoted, odd, arrow_array(escaped, pa.string()))


def _joined(texts: Sequence[pa.Array | pa.Scalar]) -> pa.StringArray:
    """The concatenated strings of each row; null if a string is null."""
    return pc.binary_join_element_wise(*texts, _text(""))


def _text(value: str | None) -> pa.StringScalar:
    return arrow_scalar(value, pa.string())


_NULL = _text(None)


def parse_action(line: Mapping[str, Any]) -> Action | None:
    """Return the action of a parsed line (or checkpoint row), or None if the line has only unknown actions.

    # PROTOCOL, Protocol Evolution: "Clients must ignore such unrecognized fields"
    Raises ValueError for a known action that is damaged, and for a line with two known actions.
    """
    found = [name for name in line if name in _TYPES and line[name] is not None]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"one line contains several actions: {', '.join(sorted(found))}")
    members = line[found[0]]
    if not isinstance(members, Mapping):
        raise ValueError(f"{found[0]} is not an object")
    return _TYPES[found[0]].from_json(members)


def to_line(action: Action) -> str:
    """Return the JSON text of the action as a line of a commit, without the line end."""
    return compact_json({_NAMES[type(action)]: action.to_json()})
