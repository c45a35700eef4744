"""A writer of its own process: python -m tests.maintenance.optimize.writer TABLE WHAT SECONDS SEED.

WHAT is `append`, which adds rows with new ids; `delete`, which deletes single ids; or `optimize`. Prints, as JSON, the
ids that it appended and deleted, and how often a conflict was named.
"""

import json
import random
import sys
import time

from deltaskip import DeltaTable
from deltaskip.errors import CommitConflict
from tests.dml.tables import rows


def main(path: str, what: str, seconds: float, seed: int) -> None:
    """Write until the time is over."""
    chance = random.Random(seed)
    appended: list[int] = []
    deleted: list[int] = []
    conflicts = commits = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        table = DeltaTable(path)
        try:
            if what == "append":
                first = seed * 1_000_000 + len(appended)
                if table.append(rows(range(first, first + 5))).version is not None:
                    appended += range(first, first + 5)
            elif what == "delete":
                target = chance.randrange(600)
                if table.delete(f"id = {target}").version is not None:
                    deleted.append(target)
            else:
                chosen = [(), ("id",), ("id", "x")][chance.randrange(3)]
                commits += len(table.optimize(zorder_by=chosen, target_file_bytes=30_000).versions)
        except CommitConflict:
            conflicts += 1
    print(json.dumps({"appended": appended, "deleted": deleted, "conflicts": conflicts, "commits": commits}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
