"""Processes that use one catalog at the same time, and processes that are killed at each step."""

import multiprocessing
from collections.abc import Callable
from typing import Any

# The parent imports what its children need, once for all of them.
import pandas  # noqa: F401
import psycopg2  # noqa: F401
import pyarrow as pa

import deltaskip.catalogs.database.catalog_rows
import deltaskip.data_files.append
import deltaskip.data_files.data
import deltaskip.data_files.parquet_writer
import deltaskip.txn.commit_loop  # noqa: F401
from deltaskip.catalogs.database import SqlCatalog
from deltaskip.errors import DeltaSkipError
from tests.extent import TIME_LIMIT_SECONDS

Act = Callable[[SqlCatalog, int, int], Any]


def _create(catalog: SqlCatalog, turn: int, who: int) -> None:
    catalog.create_table(f"db.t{turn}", "id BIGINT", properties={"who": str(who)})


def _ctas(catalog: SqlCatalog, turn: int, who: int) -> None:
    with catalog.stage_create(f"db.t{turn}", "id BIGINT") as staged:
        staged.append(pa.table({"id": [who]}))


def _move_to_one_name(catalog: SqlCatalog, turn: int, who: int) -> None:
    catalog.rename_table(f"db.from{who}_{turn}", f"db.t{turn}")


def _move_one_table(catalog: SqlCatalog, turn: int, who: int) -> None:
    catalog.rename_table(f"db.from0_{turn}", f"db.to{who}_{turn}")


def _add_namespace(catalog: SqlCatalog, turn: int, who: int) -> None:
    catalog.create_namespace(f"ns{turn}", {"who": str(who)})


def _drop(catalog: SqlCatalog, turn: int, _who: int) -> bool:
    return catalog.drop_table(f"db.from0_{turn}")


def _drop_or_move(catalog: SqlCatalog, turn: int, who: int) -> Any:
    return _drop(catalog, turn, who) if who else _move_one_table(catalog, turn, who)


def _drop_namespace_or_fill_it(catalog: SqlCatalog, turn: int, who: int) -> Any:
    if who:
        return catalog.drop_namespace(f"ns{turn}")
    return catalog.create_table(f"ns{turn}.t", "id BIGINT").uri


def _open_first(url: str) -> Act:
    def act(_catalog: SqlCatalog, turn: int, who: int) -> None:
        SqlCatalog(f"{url}{turn}", "unused").create_namespace(f"n{who}")

    return act


_EVERY: list[Act] = [
    _create, _ctas, _move_to_one_name, _move_one_table, _add_namespace, _drop, _drop_or_move,
    _drop_namespace_or_fill_it,
]  # fmt: skip
ACTS = {each.__name__.strip("_"): each for each in _EVERY}


def race(url: str, warehouse: str, act: str, turns: int, processes: int = 2) -> list[list[str]]:
    """What each process got in each turn: its result as text, or the name of an error. All begin a turn together."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    barrier, queue = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=_work, args=(barrier, queue, url, warehouse, act, turns, who), daemon=True)
        for who in range(processes)
    ]
    for worker in workers:
        worker.start()
    said = dict(queue.get(timeout=TIME_LIMIT_SECONDS) for _ in workers)
    for worker in workers:
        worker.join(30)
    return [[said[who][turn] for who in range(processes)] for turn in range(turns)]


def _work(barrier: Any, queue: Any, url: str, warehouse: str, act: str, turns: int, who: int) -> None:
    catalog = SqlCatalog(url, warehouse)
    perform = _open_first(url) if act == "open_first" else ACTS[act]
    said = []
    for turn in range(turns):
        barrier.wait(60)
        try:
            said.append(str(perform(catalog, turn, who)))
        except DeltaSkipError as error:
            said.append(type(error).__name__)
        except BaseException as error:
            said.append(repr(error))
    queue.put((who, said))


def changing(stop: int, url: str, warehouse: str, kind: str) -> Callable[[], object]:
    """A change of a catalog, before which it has what it needs."""
    catalog = SqlCatalog(url, warehouse)
    rows = pa.table({"id": [1, 2, 3]})

    def ctas() -> None:
        with catalog.stage_create(f"db.t{stop}", "id BIGINT", properties={"new": "1"}) as staged:
            staged.append(rows)

    def rtas() -> None:
        with catalog.stage_replace(f"db.t{stop}", "id BIGINT", properties={"new": "1"}) as staged:
            staged.append(rows)

    if kind == "rtas":
        catalog.create_table(f"db.t{stop}", "old STRING").append(pa.table({"old": ["x"]}))
    changes: dict[str, Callable[[], object]] = {
        "ctas": ctas,
        "rtas": rtas,
        "drop": lambda: catalog.drop_table(f"db.old{stop}"),
        "rename": lambda: catalog.rename_table(f"db.old{stop}", f"db.t{stop}"),
    }
    return changes[kind]
