"""Without the extra `cloud`, every door refuses a location in an object store at once, with the cure."""

import json
import subprocess
import sys
from pathlib import Path

from tests.docs.generated import ROOT
from tests.extent import TIME_LIMIT_SECONDS

SCRIPT = """
import json, sys, time, types
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "obstore" else PathFinder.find_spec(name, path, target)

sys.meta_path = [Without if each is PathFinder else each for each in sys.meta_path]
import pyarrow as pa
import deltaskip as ds

folder = sys.argv[1]
local = ds.DeltaTable.create(folder, "id BIGINT")
local.append(pa.table({"id": [1]}))
told = {}
for uri in sys.argv[2:]:
    doors = {
        "open": lambda: ds.DeltaTable(uri),
        "exists": lambda: ds.DeltaTable.exists(uri),
        "create": lambda: ds.DeltaTable.create(uri, "id BIGINT"),
        "clone": lambda: local.clone(uri),
        "convert": lambda: ds.convert_to_delta(uri),
        "catalog": lambda: ds.catalog(f"warehouse:{uri}").table_exists("a.b"),
    }
    for name, door in doors.items():
        start = time.monotonic()
        try:
            found = door()
            told[f"{name} {uri}"] = [0, repr(found)]
        except Exception as error:
            told[f"{name} {uri}"] = [time.monotonic() - start, f"{type(error).__name__}: {error}"]
with open(f"{folder}/_delta_log/00000000000000000002.json", "w") as commit:
    for uri in sys.argv[2:]:
        path = f"{uri}/elsewhere.parquet"
        add = {"path": path, "partitionValues": {}, "size": 9, "modificationTime": 0, "dataChange": True}
        commit.write(json.dumps({"add": add}) + "\\n")
start = time.monotonic()
try:
    ds.DeltaTable(folder).scan().to_arrow()
except Exception as error:
    told["a file of the log"] = [time.monotonic() - start, f"{type(error).__name__}: {error}"]
print(json.dumps(told))
"""
URIS = ["s3://b/t", "s3a://b/t", "gs://b/t", "abfss://c@a.dfs.core.windows.net/t", "az://c/t"]


def test_every_door_names_the_packages_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), *URIS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=TIME_LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told) == 6 * len(URIS) + 1
    for door, (seconds, text) in told.items():
        assert text.startswith("StorageError: ") and "pip install 'obstore>=" in text, (door, text)
        assert seconds < 5, door
