"""A process that commits to a table again and again: python -m tests.txn.writer TABLE NAME COMMITS.

Prints the version of each commit, one a line, in its order.
"""

import sys

import deltaskip as ds
from tests.txn.tables import file


def main(folder: str, name: str, commits: int) -> None:
    """Commit so many blind appends of one file each."""
    table = ds.DeltaTable(folder)
    for number in range(commits):
        txn = table.refresh().transaction(look_up_files=False)
        txn.add(file(f"{name}-{number}"))
        txn.set_app_version(name, number)
        print(txn.commit(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
