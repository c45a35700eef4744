"""What a table's features ask of a commit, and whether this package does it; checked before anything is written.

# PROTOCOL, Table Features: "to write a table, writers must implement and respect all features listed in
# writerFeatures"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from deltaskip.errors import UnsupportedFeature
from deltaskip.features.registry import FEATURES, TableProtocol, has_feature
from deltaskip.schema.types import ArrayType, DataType, MapType, StructField, StructType

__all__ = ["WRITER_VERSION", "Change", "check_writable", "is_true"]

WRITER_VERSION = 7


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does, as far as features care.

    adds_rows, removes_rows: some add, some remove has dataChange. sets_deletion_vectors: some add brings a deletion
    vector that its file did not have. sets_domains: some action is a domainMetadata.
    """

    adds_rows: bool = False
    removes_rows: bool = False
    sets_deletion_vectors: bool = False
    sets_domains: bool = False


def check_writable(
    protocol: TableProtocol, properties: Mapping[str, str], schema: StructType, where: str, change: Change
) -> None:
    """Returns where a commit that does `change` may be written to the table; raises where it may not.

    where: begins the message: "Version 7 of /data/events".
    Raises UnsupportedFeature, which lists every writer feature that is in the way.
    """
    if protocol.min_writer_version > WRITER_VERSION:
        raise UnsupportedFeature(
            f"{where} needs Delta writer version {protocol.min_writer_version}, and deltaskip writes versions up to "
            f"{WRITER_VERSION}; write to it with a newer client."
        )
    features = _features(protocol)
    unknown = sorted(name for name in features if name not in FEATURES)
    active = [name for name in features if name in FEATURES and _is_active(name, properties, schema)]
    missing = [*unknown, *(name for name in active if FEATURES[name].writes in ("not yet", "no"))]
    if missing:
        raise UnsupportedFeature(
            f"{where} needs the writer feature{_s(missing)} {', '.join(missing)}, which deltaskip cannot write; write "
            f"to it with a client that can, or remove them with ALTER TABLE … DROP FEATURE."
        )
    unchecked = [name for name in active if FEATURES[name].writes == "no new rows"]
    if unchecked and change.adds_rows:
        raise UnsupportedFeature(
            f"{where} has the writer feature{_s(unchecked)} {', '.join(unchecked)}, whose rules for new rows deltaskip "
            f"cannot enforce; add rows with Spark, here only commits without new rows can be made."
        )
    _check_rules(protocol, properties, active, where, change)


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Whether a boolean table property is set to true."""
    return properties.get(name, "false").strip().lower() == "true"


def _check_rules(
    protocol: TableProtocol, properties: Mapping[str, str], active: list[str], where: str, change: Change
) -> None:
    if "appendOnly" in active and change.removes_rows:
        raise UnsupportedFeature(
            f"{where} is append-only (table feature appendOnly), so no rows can be removed; set delta.appendOnly to "
            f"false first."
        )
    if "changeDataFeed" in active and change.adds_rows and change.removes_rows:
        raise UnsupportedFeature(
            f"{where} keeps a change data feed (table feature changeDataFeed), and deltaskip does not write the change "
            f"data of a commit that both adds and removes rows; make this change with Spark."
        )
    # PROTOCOL, Deletion Vectors: the feature must be supported and the property set for new ones to be written.
    if change.sets_deletion_vectors and not (
        has_feature(protocol, "deletionVectors") and is_true(properties, "delta.enableDeletionVectors")
    ):
        raise UnsupportedFeature(
            f"{where} does not take deletion vectors: enable the table feature deletionVectors by setting "
            f"delta.enableDeletionVectors to true."
        )
    if change.sets_domains and not has_feature(protocol, "domainMetadata"):
        raise UnsupportedFeature(
            f"{where} does not have the writer feature domainMetadata, so no domain can be set: enable it first."
        )


def _features(protocol: TableProtocol) -> list[str]:
    """Every feature that the table has, those that its plain version implies included."""
    listed = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    return sorted(listed | {name for name in FEATURES if has_feature(protocol, name)})


def _is_active(name: str, properties: Mapping[str, str], schema: StructType) -> bool:
    """Whether the table uses a feature that it has; True for features whose use shows nowhere."""
    if name in _PROPERTY:
        return is_true(properties, _PROPERTY[name])
    if name in _FIELD_KEY:
        return any(key.startswith(_FIELD_KEY[name]) for field in _fields(schema) for key in field.metadata)
    return _OTHERWISE.get(name, _always)(properties)


def _always(_properties: Mapping[str, str]) -> bool:
    return True


def _has_constraint(properties: Mapping[str, str]) -> bool:
    return any(key.startswith("delta.constraints.") for key in properties)


_OTHERWISE: Mapping[str, Callable[[Mapping[str, str]], bool]] = {"checkConstraints": _has_constraint}
_PROPERTY = {
    "appendOnly": "delta.appendOnly",
    "changeDataFeed": "delta.enableChangeDataFeed",
    "icebergCompatV1": "delta.enableIcebergCompatV1",
    "icebergCompatV2": "delta.enableIcebergCompatV2",
    "icebergCompatV3": "delta.enableIcebergCompatV3",
}
_FIELD_KEY = {
    "invariants": "delta.invariants",
    "columnInvariants": "delta.invariants",
    "generatedColumns": "delta.generationExpression",
    "identityColumns": "delta.identity.",
}


def _fields(type_: DataType) -> Iterator[StructField]:
    """Every field at any depth."""
    match type_:
        case StructType(fields):
            for field in fields:
                yield field
                yield from _fields(field.type)
        case ArrayType(element):
            yield from _fields(element)
        case MapType(key, value):
            yield from _fields(key)
            yield from _fields(value)
        case _:
            return


def _s(names: list[str]) -> str:
    return "s" if len(names) > 1 else ""
