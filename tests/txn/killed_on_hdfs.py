"""A writer on HDFS that is killed at each of its steps: python -m tests.txn.killed_on_hdfs PORT TOKEN URI FOLDER.

Each time it works on a table of its own, FOLDER/0, FOLDER/1 …, of version 0 with two files, a and b; the last one is
not killed. Prints a line for each: the step at which it was killed, or "done".
"""

import json
import os
import signal
import sys

import deltaskip as ds
from deltaskip.schema import schema_to_json
from deltaskip.storage import HadoopStorage
from deltaskip.storage.steps import observe
from tests.storage.hdfs import Cluster, serve
from tests.txn.tables import SCHEMA, file, gone, protocol_of

TOO_MANY = 50


def created(storage: HadoopStorage, root: str, **properties: str) -> str:
    """The root of a new table: version 0 has no files."""
    layout = {"format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "configuration": properties}
    metadata = {"id": "hdfs", "schemaString": schema_to_json(SCHEMA), **layout}
    text = "\n".join(json.dumps(line) for line in ({"protocol": protocol_of([])}, {"metaData": metadata}))
    storage.put_if_absent(f"{root}/_delta_log/{0:020d}.json", text.encode())
    return root


def main(cluster: Cluster, folder: str) -> None:
    """Kill a child at its first step, the next at its second, and so on, until one gets through."""
    for stop in range(TOO_MANY):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _commit(cluster, f"{folder}/{stop}", stop, writer)
        os.close(writer)
        with os.fdopen(reader) as said:
            step = said.read()
        status = os.waitpid(child, 0)[1]
        if status == 0:
            print("done")
            return
        if not os.WIFSIGNALED(status):
            sys.exit(f"the writer failed after {step!r}")
        print(step, flush=True)
    sys.exit("the writer never came to an end")


def _commit(cluster: Cluster, root: str, stop: int, writer: int) -> None:
    seen = 0

    def kill(step: str) -> None:
        nonlocal seen
        if seen == stop:
            os.write(writer, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    try:
        serve(cluster)
        created(cluster.storage(), root)
        first = ds.DeltaTable(root).transaction()
        first.add(file("a"), file("b"))
        first.commit()
        txn = ds.DeltaTable(root).transaction(read="id = 5")
        txn.remove(gone("a"))
        txn.add(file("new"))
        observe(kill)
        txn.commit()
    except BaseException as error:
        os.write(writer, repr(error).encode())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(Cluster(int(sys.argv[1]), sys.argv[2], sys.argv[3]), sys.argv[4])
