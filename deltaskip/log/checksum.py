"""Reading the version checksum `n.crc`: the table state that a writer recorded beside a commit.

The log takes precedence. A damaged checksum is ignored, and a difference is a warning unless verification is requested.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from deltaskip.actions import Metadata, Protocol
from deltaskip.json_text import parse_json
from deltaskip.log.state_actions import StateChange
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class Checksum:
    """Contents of a `.crc`; None for missing parts. txns: version by appId. domains: configuration by name."""

    table_size_bytes: int | None
    num_files: int | None
    protocol: Protocol | None
    metadata: Metadata | None
    in_commit_timestamp: int | None
    txns: Mapping[str, int] | None
    domains: Mapping[str, str] | None


def parse_checksum(data: bytes) -> Checksum:
    """Parse the text of a `.crc`. Raises ValueError if it is damaged."""
    fields = parse_json(data)
    if not isinstance(fields, dict):
        raise ValueError("it is not a JSON object")
    protocol, metadata = fields.get("protocol"), fields.get("metadata")
    return Checksum(
        _integer(fields, "tableSizeBytes"),
        _integer(fields, "numFiles"),
        Protocol.from_json(_object(protocol)) if protocol is not None else None,
        Metadata.from_json(_object(metadata)) if metadata is not None else None,
        _integer(fields, "inCommitTimestampOpt"),
        _pairs(fields.get("setTransactions"), "appId", "version"),
        _pairs(fields.get("domainMetadata"), "domain", "configuration"),
    )


def state_differences(checksum: Checksum, state: StateChange) -> Iterator[str]:
    """Yield each difference in protocol, metadata, transactions and domains, with both values.

    Transactions and domains that only one side contains are not compared: writers omit expired and inactive ones.
    """
    if checksum.protocol is not None and state.protocol is not None:
        yield from _protocol_differences(checksum.protocol, state.protocol)
    if checksum.metadata is not None and state.metadata is not None:
        yield from _metadata_differences(checksum.metadata, state.metadata)
    for app_id, version in (checksum.txns or {}).items():
        txn = state.txns.get(app_id)
        if txn is not None:
            yield from _difference(f"txn {app_id}", version, txn.version)
    for name, configuration in (checksum.domains or {}).items():
        domain = state.domains.get(name)
        if domain is not None and not domain.removed:
            yield from _difference(
                f"domainMetadata {name}", json_or_text(configuration), json_or_text(domain.configuration)
            )


def file_differences(checksum: Checksum, num_files: int, size_bytes: int) -> Iterator[str]:
    """Yield each difference in the number and the total size of the active files, with both values."""
    if checksum.num_files is not None:
        yield from _difference("numFiles", checksum.num_files, num_files)
    if checksum.table_size_bytes is not None:
        yield from _difference("tableSizeBytes", checksum.table_size_bytes, size_bytes)


def _protocol_differences(recorded: Protocol, found: Protocol) -> Iterator[str]:
    yield from _difference("minReaderVersion", recorded.min_reader_version, found.min_reader_version)
    yield from _difference("minWriterVersion", recorded.min_writer_version, found.min_writer_version)
    yield from _difference("readerFeatures", _sorted(recorded.reader_features), _sorted(found.reader_features))
    yield from _difference("writerFeatures", _sorted(recorded.writer_features), _sorted(found.writer_features))


def _metadata_differences(recorded: Metadata, found: Metadata) -> Iterator[str]:
    yield from _difference("metaData.id", recorded.id, found.id)
    yield from _difference("partitionColumns", recorded.partition_columns, found.partition_columns)
    yield from _difference("configuration", dict(recorded.configuration), dict(found.configuration))
    if recorded.schema_string != found.schema_string:
        yield from _difference("schemaString", json_or_text(recorded.schema_string), json_or_text(found.schema_string))


def _difference(name: str, recorded: object, found: object) -> Iterator[str]:
    if recorded != found:
        yield f"{name} is {_short(recorded)} in the checksum and {_short(found)} in the log"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _sorted(features: tuple[str, ...] | None) -> list[str]:
    return sorted(features or ())


def json_or_text(text: str | None) -> Any:
    """Return the JSON value of a text, without its white space and order of keys; the text itself if it is not JSON."""
    try:
        return None if text is None else parse_json(text)
    except ValueError:
        return text


def _integer(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63):
        return value
    raise ValueError(f"{name} is not a nonnegative 64-bit integer")


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("one of its actions is not a JSON object")
    return value


def _pairs(actions: object, key: str, value: str) -> dict[str, Any] | None:
    if actions is None:
        return None
    if not isinstance(actions, list):
        raise ValueError("one of its lists of actions is not a JSON array")
    members = [_object(action) for action in actions]
    if not all(isinstance(m.get(key), str) for m in members):
        raise ValueError(f"one of its actions has no {key}")
    return {m[key]: m.get(value) for m in members}
