"""Every member of every action in a commit, missing or with values that it must not have."""

import json
import warnings
from pathlib import Path
from typing import Any

from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr.types import LONG, STRING, StructField, StructType
from tests.builder import TableBuilder, add, bounds, log_file, metadata, protocol_of, remove
from tests.extent import WHOLE
from tests.log.mutated_tables import use
from tests.looped import looped

COLUMNS = {"id": LONG, "p": STRING}
VECTOR = {"storageType": "u", "pathOrInlineDv": "0" * 20, "offset": 1, "sizeInBytes": 1, "cardinality": 1}
FILE = {"partitionValues": {"p": "x"}, "tags": {"a": "b"}, "baseRowId": 1, "defaultRowCommitVersion": 1}
ACTIONS: list[dict[str, Any]] = [
    {"protocol": protocol_of(["deletionVectors", "inCommitTimestamp", "domainMetadata"])},
    metadata(StructType(tuple(StructField(name, type_) for name, type_ in COLUMNS.items())), ["p"],
        {"delta.enableInCommitTimestamps": "true"}, name="n", description="d", createdTime=1),
    add("f", bounds(5, id=(1, 2)), deletionVector=VECTOR, clusteringProvider="c", **FILE),
    remove("g", extendedFileMetadata=True, size=1, deletionVector=VECTOR, **FILE),
    {"txn": {"appId": "a", "version": 1, "lastUpdated": 1}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    {"commitInfo": {"timestamp": 1, "inCommitTimestamp": 1, "operation": "WRITE", "operationParameters": {},
        "txnId": "x", "engineInfo": "e", "operationMetrics": {}, "userId": "u", "userName": "n"}},
    {"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False}},
]  # fmt: skip
MISSING = "is missing"
VALUES: list[Any] = [MISSING, None, -1, 2**63, "", "x", "\ud800", "1" * 5000, [None], {"a": None}]
MEMBERS = [(name, member) for action in ACTIONS for name, members in action.items() for member in members]


@looped("name, member", MEMBERS)
def test_a_hostile_member_raises_only_deltaskip_errors(tmp_path: Path, name: str, member: str) -> None:
    table = TableBuilder(tmp_path / "t", COLUMNS, ["p"])
    table.commit(add("e", bounds(5, id=(1, 2)), partitionValues={"p": "x"}))
    # In the gate each value with some members and each member with some values.
    values = VALUES if WHOLE else [*VALUES, *VALUES][MEMBERS.index((name, member)) % len(VALUES) :][:1]
    for value in values:
        actions = json.loads(json.dumps(ACTIONS))
        members = next(action[name] for action in actions if name in action)
        if value is MISSING:
            del members[member]
        else:
            members[member] = value
        text = "".join(json.dumps(action) + "\n" for action in actions)
        log_file(table.path, 1).write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for act, read in use(table.path, ("id > 1 AND p = 'x'",)):
                if act in ("checkpoint", "clean up"):
                    continue
                try:
                    read()
                except DeltaSkipError as error:
                    assert str(tmp_path) in str(error), f"{act} of {value!r}: {error}"
