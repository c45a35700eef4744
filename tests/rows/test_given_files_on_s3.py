"""Files on an object store are converted and added, and their paths lead to them."""

import io
import json
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.errors import DataFileMissing
from deltaskip.storage import Storage
from tests.each import refuses
from tests.storage.s3 import endpoint, s3_options, store

__all__ = ["endpoint", "s3_options", "store"]


def put(storage: Storage, location: str, values: list[int]) -> None:
    content = io.BytesIO()
    pq.write_table(pa.table({"id": values}), content)
    storage.put(location, content.getvalue())


def test_a_folder_is_converted_and_files_are_added(store: tuple[Storage, str], s3_options: dict[str, str]) -> None:
    storage, base = store
    root, other = f"{base}/table", f"{base}/else where"
    for i in range(3):
        put(storage, f"{root}/p={i}/a b.parquet", [i])
    table = ds.convert_to_delta(root, "p INT", storage_options=s3_options)
    assert (table.version, table.snapshot.num_files, table.scan("p = 1").count()) == (0, 3, 1)
    put(storage, f"{root}/more/p=7/x.parquet", [7])
    put(storage, f"{other}/p=8/50%.parquet", [8])
    assert table.add_files(["more", f"{other}/p=8/50%.parquet"]).metrics["numFiles"] == 2
    log = storage.read(f"{root}/_delta_log/{1:020d}.json").decode()
    adds = [action["add"]["path"] for action in map(json.loads, log.splitlines()) if "add" in action]
    assert adds == [f"{other}/p=8/50%.parquet".replace("%", "%25").replace(" ", "%20"), "more/p=7/x.parquet"]
    [uri] = ds.DeltaTable(root, storage_options=s3_options).scan("id = 8").files()["uri"].to_pylist()
    content = storage.read(unquote(uri))
    assert pq.read_table(pa.BufferReader(content))["id"].to_pylist() == [8]
    refuses(DataFileMissing, None, table.add_files, "missing.parquet")
    refuses(DataFileMissing, None, table.add_files, "p=5")
