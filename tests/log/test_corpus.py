"""Every snapshot of the shared corpus, against what delta-spark read."""

import json
import warnings
from typing import Any

import pytest

from deltaskip.actions import canonical_path, dv_ids
from deltaskip.errors import CorruptLog, DeltaSkipError, UnsupportedFeature, VersionNotFound
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.sparkexpr.types import StructType, parse_schema
from deltaskip.storage import open_storage
from tests import corpus
from tests.corpus import CorpusTable
from tests.each import each, refuses

LOADABLE = ("read", "snapshot-only", "reject-or-read")


def load(table: CorpusTable, version: int | None = None) -> Snapshot:
    storage, root = open_storage(table.path)
    return load_snapshot(storage, root, version)


def described(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot's state in the manifest's words."""
    metadata = snapshot.metadata
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol.to_json(),
        "metadata": {"id": metadata.id, "name": metadata.name, "description": metadata.description,
            "createdTime": metadata.created_time},
        "partition_columns": list(snapshot.partition_columns),
        "properties": dict(snapshot.properties),
        "txns": sorted([txn.app_id, txn.version] for txn in snapshot.txns.values()),
        "domains": {name: domain.configuration for name, domain in snapshot.domains.items()},
        "in_commit_timestamp": snapshot.in_commit_timestamp,
    }  # fmt: skip


def expected_state(expected: dict[str, Any]) -> dict[str, Any]:
    state = {name: expected[name] for name in ("version", "partition_columns", "properties", "domains")}
    state["protocol"] = expected["protocol"]
    state["metadata"] = expected["metadata"]
    state["txns"] = sorted(expected["txns"])
    state["in_commit_timestamp"] = expected.get("in_commit_timestamp")
    return state


def sorted_features(state: dict[str, Any]) -> dict[str, Any]:
    features = {name: sorted(v) if isinstance(v, list) else v for name, v in state["protocol"].items()}
    return {**state, "protocol": features}


def listed_files(snapshot: Snapshot) -> list[dict[str, Any]]:
    adds = snapshot.adds()
    adds = adds.append_column("dv", dv_ids(adds["deletion_vector"]))
    files = []
    for row in adds.to_pylist():
        stats = None if row["stats"] is None else json.loads(row["stats"])
        vector = row["deletion_vector"] or {}
        files.append(
            {
                "path": row["path"],
                "size": row["size"],
                "partition_values": dict(row["partition_values"]),
                "num_records": None if stats is None else stats.get("numRecords"),
                "dv": row["dv"],
                "dv_cardinality": vector.get("cardinality"),
                "baseRowId": row["base_row_id"],
                "defaultRowCommitVersion": row["default_row_commit_version"],
            }
        )
    return sorted(files, key=lambda file: file["path"])


@corpus.each_table(*LOADABLE, where=lambda table: bool(table.versions))
def test_every_version_is_what_delta_spark_read(table: CorpusTable) -> None:
    def check(expected: dict[str, Any]) -> None:
        snapshot = load(table, expected["version"])
        each(CHECKS, lambda check: check(snapshot, expected), lambda check: check.__name__)

    each(table.versions, check, lambda expected: expected["version"])
    assert load(table).version == table.entry["latest"]


@corpus.each_table(where=lambda table: bool(table.entry.get("unloadable_versions")))
def test_a_version_that_the_reference_cannot_load_is_not_invented(table: CorpusTable) -> None:
    for unloadable in table.entry["unloadable_versions"]:
        refuses(VersionNotFound, r"versions \d+ to \d+ can be opened", load, table, unloadable["version"])


def check_state(snapshot: Snapshot, expected: dict[str, Any]) -> None:
    assert sorted_features(described(snapshot)) == sorted_features(expected_state(expected))


def check_schema(snapshot: Snapshot, expected: dict[str, Any]) -> None:
    wanted = StructType(()) if expected["schema"] is None else parse_schema(json.dumps(expected["schema"]))
    assert snapshot.schema == wanted


def check_files(snapshot: Snapshot, expected: dict[str, Any]) -> None:
    files = listed_files(snapshot)
    wanted = [{name: file.get(name) for name in files[0]} for file in expected["files"]] if files else []
    assert len(files) == expected["num_files"]
    for file, other in zip(files, wanted, strict=True):
        if other["num_records"] is None:
            # Statistics of which the reference kept nothing may still say something here.
            file["num_records"] = None
        if file["path"].startswith("/"):
            # The reference qualifies an absolute path of the log with the file system's scheme.
            file["path"], other["path"] = canonical_path(file["path"]), canonical_path(other["path"])
        assert file == other


def check_checksum(snapshot: Snapshot, expected: dict[str, Any]) -> None:
    """It holds where there is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snapshot.verify()


CHECKS = (check_state, check_schema, check_files, check_checksum)


REJECTED = {
    "craft__ckpt_part_missing_logs_gone": (CorruptLog, "00000000000000000025.checkpoint.0000000002.0000000003.parquet"),
    "craft__reader_version_99": (UnsupportedFeature, "reader version 99"),
    "craft__truncated_commit": (CorruptLog, "00000000000000000002.json"),
    "craft__unknown_reader_feature": (UnsupportedFeature, "fooFromTheFuture"),
    "craft__v2_sidecar_missing": (CorruptLog, "00000000000000000013.checkpoint.0000000001.0000000004"),
    "craft__version_gap": (CorruptLog, "00000000000000000001.json"),
    "deltars__err-table_c": (CorruptLog, "00000000000000000012.json"),
    "deltars__err-table_d": (UnsupportedFeature, "catalogOwned"),
    "deltars__err-table_e": (UnsupportedFeature, "catalogOwned"),
    "deltars__err-table_i": (UnsupportedFeature, "catalogOwned"),
    "deltars__simple_table_features": (UnsupportedFeature, "reader version 5"),
    "golden__deltalog-invalid-protocol-version": (UnsupportedFeature, "reader version 99"),
    "golden__deltalog-state-reconstruction-without-metadata": (CorruptLog, "metaData"),
    "golden__deltalog-state-reconstruction-without-protocol": (CorruptLog, "protocol"),
    "golden__versions-not-contiguous": (CorruptLog, "00000000000000000001.json"),
    "kerneljava__catalog-owned-preview": (UnsupportedFeature, "catalogManaged"),
    "kernelrs__catalog_managed_0": (UnsupportedFeature, "catalogManaged"),
}


@corpus.each_table("reject")
def test_a_table_that_must_be_refused_is_refused_for_the_right_reason(table: CorpusTable) -> None:
    error, named = REJECTED[table.name]
    with pytest.raises(error, match=named.replace(".", r"\.")) as raised:
        load(table)
    assert str(table.path) in str(raised.value)


def test_a_checkpoint_without_its_commit_is_read() -> None:
    snapshot = load(corpus.table("deltars__table-with-domain-metadata"))
    assert snapshot.version == 108
    assert len(snapshot.adds()) > 0
    assert snapshot.domains


def test_a_path_with_an_unencoded_colon_is_read() -> None:
    snapshot = load(corpus.table("kernelrs__timestamp-partitioned-table"))
    assert snapshot.adds(["path"]).num_rows == 1


def test_a_table_with_a_geometry_column_is_loaded_or_refused_by_name() -> None:
    table = corpus.table("kernelrs__table-with-geo")
    try:
        snapshot = load(table)
    except DeltaSkipError as error:
        assert isinstance(error, UnsupportedFeature)
        assert "geospatial" in str(error)
    else:
        assert snapshot.schema.fields
