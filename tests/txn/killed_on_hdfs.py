"""A writer on HDFS that is killed at each of its steps: python -m tests.txn.killed_on_hdfs PORT TOKEN URI FOLDER.

Each time it works on a table of its own, FOLDER/0, FOLDER/1 …, of version 0 without files and version 1 with two, a and
b; the last one is not killed. Prints a line for each: the step at which it was killed, or "done".
"""

import sys

import deltaskip as ds
from deltaskip.txn.transaction import Transaction
from tests.storage.hdfs import Cluster, serve
from tests.txn.killed import kill_at_each_step, replacing
from tests.txn.tables import file, put_table

TOO_MANY = 50


def main(cluster: Cluster, folder: str) -> None:
    """Kill one writer after the other."""

    def begin(stop: int) -> Transaction:
        serve(cluster)
        root = put_table(cluster.storage(), f"{folder}/{stop}")
        first = ds.DeltaTable(root).transaction(look_up_files=False)
        first.add(file("a"), file("b"))
        first.commit()
        return replacing(root)

    kill_at_each_step(begin, TOO_MANY)


if __name__ == "__main__":
    main(Cluster(int(sys.argv[1]), sys.argv[2], sys.argv[3]), sys.argv[4])
