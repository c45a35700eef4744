"""A table whose adaptive metadata trees are built from its commits alone.

# RFC Adaptive Metadata, Manifest Commit Procedure
Entries are taken out of manifests only by the back references of the actions, as the RFC says.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.actions import DeletionVectorDescriptor
from deltaskip.kernels.roaring_encode import encode
from deltaskip.log.deletion_vectors import vector_location
from tests.log.checkpoint.tree_builder import ided, write_manifest

FEATURES = ["adaptiveMetadata-preview"]
COLUMNS = "id BIGINT, s STRING, part INT"


def entry_schema() -> pa.Schema:
    info = [ided(f"i{number}", number, pa.int32()) for number in (504, 505, 506, 520)]
    tracking = [ided("status", 0, pa.int32()), ided("seq", 3, pa.int64()), ided("row", 142, pa.int64())]
    vector = [
        ided("w", 155, pa.string()),
        ided("o", 144, pa.int64()),
        ided("s", 145, pa.int64()),
        ided("k", 156, pa.int64()),
    ]
    return pa.schema([
        ided("kind", 134, pa.int32()), ided("where", 100, pa.string()), ided("form", 101, pa.string()),
        ided("t", 147, tracking), ided("part", 102, [ided("p", 1000, pa.int32())]), ided("n", 103, pa.int64()),
        ided("bytes", 104, pa.int64()), ided("gone", 148, vector),
        ided("info", 150, [*info, ided("dv", 522, pa.binary()), ided("card", 523, pa.int64())]),
    ])  # fmt: skip


class Tree:
    """A table whose trees this class builds."""

    def __init__(
        self,
        path: Path,
        relative: bool = True,
        columns: str = COLUMNS,
        partition: str = "part",
        feature: str = FEATURES[0],
        interval: int = 1000,
    ) -> None:
        """relative: whether entries name deletion vectors relative to the table. interval: versions between trees."""
        properties = {
            "delta.columnMapping.mode": "id",
            "delta.enableDeletionVectors": "true",
            "delta.enableRowTracking": "true",
            "delta.enableInCommitTimestamps": "true",
            "delta.checkpointInterval": str(interval),
        }
        table = ds.DeltaTable.create(str(path), columns, partition_by=partition, properties=properties)
        self.path, self.relative = path, relative
        self.leaves: dict[str, tuple[int, int, set[int]]] = {}
        self.root: dict[str, dict[str, Any]] = {}
        log = path / "_delta_log" / f"{0:020d}.json"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            for name in ("readerFeatures", "writerFeatures"):
                if "protocol" in line:
                    line["protocol"][name] = [*line["protocol"].get(name, []), feature]
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        (path / "_delta_log" / f"{0:020d}.crc").unlink(missing_ok=True)
        self.covered = 0
        assert table.version == 0

    @property
    def table(self) -> ds.DeltaTable:
        return ds.DeltaTable(str(self.path))

    def row(self, add: dict[str, Any]) -> dict[str, Any]:
        """The entry of an add."""
        vector = add.get("deletionVector")
        gone = None
        if vector is not None:
            descriptor = DeletionVectorDescriptor.from_json(vector)
            where = vector_location(str(self.path), descriptor) or ""
            gone = {
                "w": where.removeprefix(f"{self.path}/") if self.relative else f"file:{where}",
                "o": vector["offset"], "s": vector["sizeInBytes"] + 8, "k": vector["cardinality"],
            }  # fmt: skip
        [value] = add["partitionValues"].values()
        return {
            "kind": 0, "where": add["path"], "form": "parquet",
            "t": {"status": 0, "seq": add["defaultRowCommitVersion"], "row": add["baseRowId"]},
            "part": {"p": None if value is None else int(value)}, "n": json.loads(add["stats"])["numRecords"],
            "bytes": add["size"], "gone": gone, "info": None,
        }  # fmt: skip

    def build(self, per_leaf: int) -> None:
        """Commit a tree of the newest version: what is newer than the last tree goes into its root, then to a leaf."""
        table = self.table
        for version in range(self.covered + 1, table.version + 1):
            text = (self.path / "_delta_log" / f"{version:020d}.json").read_text()
            for line in text.splitlines():
                action = json.loads(line)
                for kind in ("remove", "add"):
                    if kind in action:
                        found = action[kind]
                        reference = found.get("backReference")
                        if reference is not None:
                            positions = self.leaves[reference["manifest"]][2]
                            assert reference["pos"] not in positions, "an entry is ended twice"
                            positions.add(reference["pos"])
                        if kind == "remove":
                            self.check_remove(found)
            state = [json.loads(line) for line in text.splitlines()]
            for action in state:
                if "remove" in action:
                    self.root.pop(action["remove"]["path"], None)
            for action in state:
                if "add" in action:
                    self.root[action["add"]["path"]] = action["add"]
        folder = self.path / "metadata"
        if len(self.root) > per_leaf:
            name = f"metadata/leaf-{table.version}.parquet"
            write_manifest(self.path / name, map(self.row, self.root.values()), entry_schema())
            self.leaves[name] = ((self.path / name).stat().st_size, len(self.root), set())
            self.root = {}
        rows = [self.row(add) for add in self.root.values()]
        for name, (size, count, dead) in self.leaves.items():
            dv = {"dv": bytes(encode(pa.array(sorted(dead), pa.int64()))), "card": len(dead)} if dead else {}
            rows.append({
                "kind": 3, "where": name, "form": "parquet", "t": {"status": 1, "seq": 0, "row": None}, "part": None,
                "n": count, "bytes": size, "gone": None, "info": {"i504": 0, "i505": count, "i506": 0, "i520": 0, **dv},
            })  # fmt: skip
        root = write_manifest(folder / f"root-{table.version}.parquet", rows, entry_schema())
        content = {"path": f"metadata/{root.name}", "sizeInBytes": root.stat().st_size, "version": table.version}
        actions = [{"checkpointMetadata": {"version": table.version}}, {"contentRoot": content}]
        actions += [{"protocol": table.snapshot.protocol.to_json()}, {"metaData": table.snapshot.metadata.to_json()}]
        actions += [{"domainMetadata": each.to_json()} for each in table.snapshot.domains.values()]
        info = {
            "commitInfo": {
                "inCommitTimestamp": table.snapshot.in_commit_timestamp + 1,
                "timestamp": 1,
                "operation": "X",
            }
        }
        path = self.path / "_delta_log" / f"{table.version + 1:020d}.json"
        path.write_text(json.dumps(info) + "\n" + json.dumps({"checkpoint": actions}) + "\n")
        self.covered = table.version

    def check_remove(self, remove: dict[str, Any]) -> None:
        """# RFC Adaptive Metadata, Remove File"""
        assert "deletionTimestamp" not in remove and remove["extendedFileMetadata"] is True
        assert json.loads(remove["stats"])["numRecords"] > 0
        assert remove["size"] > 0 and len(remove["partitionValues"]) == 1
