"""Cases of the validator: a table, what a transaction does to it, and the rule that refuses it, or that none does."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import AddFile, DeletionVectorDescriptor, Protocol
from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr.types import LONG, StructField, StructType, schema_to_json
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.validation.commit_rules import RULES
from tests.each import each
from tests.txn.tables import SCHEMA, make_table

Act = Callable[[Transaction], object]


@dataclass(frozen=True)
class Case:
    """act is refused by `rule`, or committed if that is None, in a table with these properties, features and files.

    says: a part of the message. before: a commit that comes first.
    """

    act: Act
    rule: str | None = None
    says: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] = ()
    schema: StructType = SCHEMA
    partition_by: Sequence[str] = ()
    files: Sequence[AddFile] = ()
    actions: Sequence[Mapping[str, Any]] = ()
    protocol: Mapping[str, Any] | None = None
    before: Act | None = None


def check_each(cases: Mapping[str, Case], folder: Path) -> None:
    """Check cases by name, each in a folder of its own."""
    each(cases, lambda name: check(cases[name], Path(mkdtemp(dir=folder))))


def check(case: Case, folder: Path) -> None:
    """The commit is refused by the case's rule, with its table and name, and writes nothing; or it succeeds."""
    old = [*case.actions, *({"add": each.to_json()} for each in case.files)]
    table = make_table(folder / "t", case.properties, case.features, case.schema, case.partition_by, old, case.protocol)
    if case.before is not None:
        with table.transaction() as first:
            case.before(first)
        table.refresh()
    version = table.version
    txn = table.transaction()
    if case.rule is None:
        case.act(txn)
        assert txn.commit() == version + 1
        ds.DeltaTable(table.snapshot.root).scan().paths()
        return
    with pytest.raises(DeltaSkipError) as raised:
        case.act(txn)
        txn.commit()
    message = str(raised.value)
    assert f"(rule {case.rule})" in message and case.rule in RULES, message
    assert case.says in message and str(folder / "t") in message, message
    assert getattr(raised.value, "rule", case.rule) == case.rule
    assert ds.DeltaTable(table.snapshot.root).version == version


def changed(
    schema: StructType | None = None,
    partition_by: Sequence[str] | None = None,
    without: Sequence[str] = (),
    **members: Any,
) -> Act:
    """Set the metadata with this schema and these properties beside those that are there. members: of the action."""
    properties = members.pop("properties", {})

    def act(txn: Transaction) -> None:
        old = txn.snapshot.metadata
        kept = {name: text for name, text in old.configuration.items() if name not in without}
        action = replace(
            old,
            configuration={**kept, **properties},
            schema_string=old.schema_string if schema is None else schema_to_json(schema),
            partition_columns=old.partition_columns if partition_by is None else tuple(partition_by),
        )
        txn.set_metadata(replace(action, **members))

    return act


def features(*writer: str, reader: Sequence[str] | None = (), versions: tuple[int, int] = (3, 7)) -> Act:
    """Set a protocol with these features."""
    listed = None if reader is None else tuple(reader)
    return lambda txn: txn.set_protocol(Protocol(*versions, listed, tuple(writer)))


def column(name: str, type_: Any = LONG, nullable: bool = True, **metadata: Any) -> StructField:
    """A column; __ within a key stands for a dot."""
    return StructField(name, type_, nullable, _dotted(metadata))


def mapped(name: str, number: int, physical: str | None = None, type_: Any = LONG, **metadata: Any) -> StructField:
    """A column with an id and a physical name."""
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or f"col-{name}"}
    return StructField(name, type_, True, {**keys, **_dotted(metadata)})


def stats(rows: Any = 10, **members: Any) -> str:
    """The text of statistics."""
    return json.dumps({"numRecords": rows, **members})


def vector(cardinality: int, name: str = "1") -> DeletionVectorDescriptor:
    """A deletion vector that is never read."""
    return DeletionVectorDescriptor("u", f"ab{name:0>18}", 40, cardinality, 1)


def _dotted(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key if key.startswith("__") else key.replace("__", "."): value for key, value in metadata.items()}
