"""Whatever a library, the system or a file below a public function does, an error of this package leaves it.

It names the table, and nothing of the failed job remains. `faults.py` has what is raised, and where.
"""

import functools
import inspect
import json
import shutil
import signal
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import sqlalchemy

import deltaskip as ds
from deltaskip import stats
from deltaskip.cli import main
from deltaskip.doors import door, is_door
from deltaskip.redaction import keep_secret
from deltaskip.storage.local import LocalStorage
from tests.each import refuses
from tests.faults import ERRORS, PLACES, Below

Act = Callable[[Path], object]

# Values, whose methods call nothing: `tests/test_hostile_arguments.py` holds what they raise.
VALUES = {
    "AddCdcFile", "AddFile", "CollationId", "CommitInfo", "DeletionVectorDescriptor", "FileSizes", "Format",
    "GeographyType", "GeometryType", "History", "LeafReport", "Metadata", "OptimizeResult", "Options", "Protocol",
    "RecomputePlan", "RemoveFile", "ScanMetrics", "Sidecar", "SortOrder", "StructType", "TableCoverage",
    "TableDetail", "UnknownType", "VacuumResult",
    # Protocols, whose implementations are marked.
    "Collation", "TableCatalog", "TransactionalTableCatalog",
}  # fmt: skip


def rows(first: int, last: int) -> pa.Table:
    ids = range(first, last)
    return pa.table({"id": pa.array(ids, pa.int64()), "p": ["ab"[i % 2] for i in ids]})


def table(folder: Path) -> ds.DeltaTable:
    return ds.DeltaTable(folder / "t")


def warehouse(folder: Path) -> ds.TableCatalog:
    return ds.catalog(f"warehouse:{folder / 'wh'}")


def database(folder: Path) -> ds.TableCatalog:
    return ds.catalog(f"sql:sqlite:///{folder / 'c.db'}", warehouse=str(folder / "sw"))


def merged(folder: Path) -> object:
    builder = table(folder).merge(rows(8, 14), "t.id = s.id", source_alias="s", target_alias="t")
    return builder.when_matched_delete().when_not_matched_insert_all().execute()


READS: dict[str, Act] = {
    "open": table,
    "to_arrow": lambda folder: table(folder).scan("id > 5").to_arrow(),
    "to_batches": lambda folder: list(table(folder).scan("id > 5").to_batches()),
    "files": lambda folder: table(folder).scan("id > 5").files(stats=True),
    "explain": lambda folder: str(table(folder).scan("id > 5").explain()),
    "history": lambda folder: table(folder).history(),
    "detail": lambda folder: table(folder).detail(),
    "changes": lambda folder: list(table(folder).changes(0).to_batches()),
    "warehouse": lambda folder: warehouse(folder).load_table("db.t"),
    "database": lambda folder: database(folder).load_table("db.t").scan().to_arrow(),
    "tables": lambda folder: list(warehouse(folder).list_tables("db")),
}
MORE_READS: dict[str, Act] = {
    "count": lambda folder: table(folder).scan("id > 5").count(),
    "head": lambda folder: table(folder).scan("id > 3").head(3),
    "pieces": lambda folder: [piece.to_arrow() for piece in table(folder).scan().pieces(2)],
    "file_batches": lambda folder: list(table(folder).scan("id > 1").file_batches()),
    "files_since": lambda folder: table(folder).files_since(1),
    "recompute_plan": lambda folder: table(folder).recompute_plan(),
    "stats": lambda folder: str(table(folder).stats()),
    "an older version": lambda folder: ds.DeltaTable(folder / "t", version=1).scan().to_arrow(),
    "exists": lambda folder: ds.DeltaTable.exists(folder / "t"),
    "pandas": lambda folder: ds.read_pandas(folder / "t"),
    "dry vacuum": lambda folder: table(folder).vacuum(dry_run=True),
    "verify": lambda folder: ds.verify(folder / "t", data=True),
    "namespaces": lambda folder: list(warehouse(folder).list_namespaces()),
    "database tables": lambda folder: list(database(folder).list_tables("db")),
    "describe": lambda folder: warehouse(folder).sql(None, "DESCRIBE TABLE EXTENDED db.t"),
}
WRITES: dict[str, Act] = {
    "append": lambda folder: table(folder).append(rows(30, 34)),
    "overwrite": lambda folder: table(folder).overwrite(rows(0, 4)),
    "delete": lambda folder: table(folder).delete("id = 5"),
    "update": lambda folder: table(folder).update({"id": "id + 100"}, "id = 7"),
    "merge": merged,
    "alter": lambda folder: table(folder).alter_sql("ADD COLUMN c INT"),
    "optimize": lambda folder: table(folder).optimize(),
    "restore": lambda folder: table(folder).restore(version=1),
}


def transacted(folder: Path) -> None:
    with table(folder).transaction() as txn:
        txn.append(rows(40, 42))
        txn.append(rows(50, 52))


def staged(folder: Path) -> None:
    catalog: Any = warehouse(folder)
    with catalog.stage_create_or_replace("db.t", "id BIGINT, p STRING") as replaced:
        replaced.append(rows(0, 3))


MORE_WRITES: dict[str, Act] = {
    "transaction": transacted,
    "dynamic overwrite": lambda folder: table(folder).overwrite(rows(0, 4), partitions="dynamic"),
    "overwrite where": lambda folder: table(folder).overwrite(rows(0, 1), where="p = 'a'"),
    "z-order": lambda folder: table(folder).optimize(zorder_by=["id"]),
    "constraint": lambda folder: table(folder).alter_sql("ADD CONSTRAINT c CHECK (id > -5)"),
    "feature": lambda folder: table(folder).add_feature("rowTracking"),
    "recompute_stats": lambda folder: table(folder).recompute_stats(resume=False),
    "add_files": lambda folder: ds.DeltaTable(folder / "other").add_files(["extra.parquet"]),
    "convert": lambda folder: ds.convert_to_delta(folder / "parquet"),
    "clone": lambda folder: table(folder).clone(folder / "clone"),
    "create": lambda folder: ds.DeltaTable.create(folder / "new", "id BIGINT"),
    "replace": lambda folder: ds.DeltaTable.create(folder / "t", "id BIGINT, p STRING", mode="replace"),
    "checkpoint": lambda folder: table(folder).checkpoint(),
    "clean_up_log": lambda folder: table(folder).clean_up_log(),
    "vacuum": lambda folder: table(folder).vacuum(),
    "vacuum lite": lambda folder: table(folder).vacuum(lite=True),
    "warehouse create": lambda folder: warehouse(folder).create_table("db.n", "id INT"),
    "warehouse staged": staged,
    "warehouse alter": lambda folder: warehouse(folder).alter_table("db.t", [ds.AddColumn("more", "INT")]),
    "warehouse rename": lambda folder: warehouse(folder).rename_table("db.t", "db.u"),
    "warehouse drop": lambda folder: warehouse(folder).drop_table("db.t"),
    "warehouse namespace": lambda folder: warehouse(folder).create_namespace("other"),
    "warehouse statement": lambda folder: warehouse(folder).sql(None, "DELETE FROM db.t WHERE id = 1"),
    "database create": lambda folder: database(folder).create_table("db.n", "id INT"),
    "database rename": lambda folder: database(folder).rename_table("db.t", "db.u"),
    "database drop": lambda folder: database(folder).drop_table("db.t"),
    "database namespace": lambda folder: database(folder).create_namespace("other"),
}
DATABASE = [(sqlalchemy.engine.Connection, "execute"), (sqlalchemy.engine.Engine, "begin")]
# What may be there after an error: a commit that VACUUM has begun, a checkpoint that nothing points to.
LEFT = {"vacuum": ".json", "vacuum lite": ".json", "checkpoint": ".checkpoint.parquet"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a checkpoint, deletion vectors and a change feed; a warehouse; a catalog in a database."""
    folder = tmp_path_factory.mktemp("doors") / "base"
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    ds.DeltaTable.create(folder / "t", "id BIGINT, p STRING", ["p"], properties=properties).append(rows(0, 10))
    table(folder).append(rows(10, 20))
    table(folder).delete("id = 3")
    table(folder).checkpoint()
    table(folder).append(rows(20, 30))
    for cat in (warehouse(folder), database(folder)):
        cat.create_namespace("db")
        cat.create_table("db.t", "id BIGINT, p STRING").append(rows(0, 4))
    ds.DeltaTable.create(folder / "other", "id BIGINT, p STRING")
    (folder / "parquet").mkdir()
    for path in (folder / "other" / "extra.parquet", folder / "parquet" / "1.parquet"):
        pq.write_table(rows(0, 4), path)
    return folder


def fresh(base: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(base, folder))


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def calls_of(act: Act, places: list[Any], folder: Path) -> int:
    below = Below(places)
    with below.running():
        act(folder)
    return below.calls


def errors_from(number: int, count: int) -> list[str]:
    """Some of the errors, others for each number."""
    names = list(ERRORS)
    return [names[(number * count + i) % len(names)] for i in range(count)]


def is_named(error: ds.DeltaSkipError) -> None:
    text = str(error)
    assert text and any(name in text for name in ("/w/", "/base/", "db.t")), repr(error)
    assert "\n" not in text and len(text) < 1_000, text


def failures(
    act: Act, places: Mapping[str, list[Any]], folder: Callable[[], Path], first: int, errors: int = 1
) -> Iterator[tuple[tuple[str, int, str], Path, set[str], ds.DeltaSkipError]]:
    """Let the first, the middle and the last call of each kind below an act fail.

    Yields which call failed in which way, the folder, the files that were in it before, and the error that came out.

    Args:
        act: The act.
        places: The functions of each kind.
        folder: Returns the folder for each time.
        first: Chooses the errors.
        errors: How many errors a call has in turn.
    """
    number = first
    for kind, below in places.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.MaintenanceWarning)
            calls = calls_of(act, below, folder())
        for at in sorted({0, calls // 2, calls - 1} & set(range(calls))):
            number += 1
            for name in errors_from(number, errors):
                place = folder()
                before = files_of(place)
                try:
                    with warnings.catch_warnings(), Below(below, at, ERRORS[name]).running():
                        warnings.simplefilter("ignore", ds.MaintenanceWarning)
                        act(place)
                except ds.DeltaSkipError as error:
                    is_named(error)
                    yield (kind, at, name), place, before, error


def test_every_public_function_and_class_is_a_door() -> None:
    import deltaskip.delta as delta

    public = {name: getattr(ds, name) for name in ds.__all__ if name not in VALUES}
    for name in ("DeltaTable", "DeltaTableBuilder", "DeltaMergeBuilder", "DeltaOptimizeBuilder"):
        public[f"delta.{name}"] = getattr(delta, name)
    for url in ("warehouse:/none", "sql:sqlite:////none", "unity:http://none"):
        public[url] = type(ds.catalog(url))
    public["stats.compute"] = stats.compute
    found = 0
    for name, each in public.items():
        if inspect.isfunction(each):
            assert is_door(each), name
            found += 1
        elif inspect.isclass(each) and not issubclass(each, BaseException):
            for member in (member for member in dir(each) if not member.startswith("_")):
                made = inspect.getattr_static(each, member)
                if inspect.isroutine(made) or isinstance(made, property | classmethod | staticmethod):
                    assert is_door(made), f"{name}.{member}"
                    found += 1
    assert found > 200


@pytest.mark.parametrize(
    ("acts", "kinds", "errors", "least"),
    [(READS, ("reads", "system", "parquet reader"), 2, 60), (MORE_READS, ("reads", "system"), 1, 20)],
    ids=["reads", "more reads"],
)
def test_reads_let_no_other_error_out(
    base: Path, tmp_path: Path, acts: dict[str, Act], kinds: tuple[str, ...], errors: int, least: int
) -> None:
    folder, places = fresh(base, tmp_path / "w"), {kind: PLACES[kind] for kind in kinds}
    raised = [list(failures(act, places, lambda: folder, 9 * i, errors)) for i, act in enumerate(acts.values())]
    assert sum(map(len, raised)) > least


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("door_", WRITES)
def test_writes_let_no_other_error_out_and_leave_nothing(base: Path, tmp_path: Path, door_: str) -> None:
    raised, first = 0, list(WRITES).index(door_)
    for where, folder, before, error in failures(WRITES[door_], PLACES, lambda: fresh(base, tmp_path / "w"), first):
        raised += 1
        # What could not be deleted stays.
        if where[0] != "deletes":
            assert files_of(folder) == before, (where, error)
        assert table(folder).version == 4
    assert raised >= 3


@pytest.mark.long(gate=4)
@pytest.mark.parametrize("door_", MORE_WRITES)
def test_other_writes_let_no_other_error_out_and_leave_none_or_are_done(base: Path, tmp_path: Path, door_: str) -> None:
    raised, first, places = 0, list(MORE_WRITES).index(door_), {**PLACES, "database": DATABASE}
    for where, folder, before, error in failures(
        MORE_WRITES[door_], places, lambda: fresh(base, tmp_path / "w"), first
    ):
        raised += 1
        done = "but cannot be read now: open it" in str(error)
        if not done and where[0] != "deletes":
            after = files_of(folder)
            ending = LEFT.get(door_)
            more = {path for path in after - before if ending is None or not path.endswith((ending, ".crc"))}
            assert (before - after, more) == (set(), set()), (where, error)
    assert raised > 0


@pytest.mark.parametrize("kind", ["arrow", "std"])
def test_a_commit_that_is_there_is_never_an_error(base: Path, tmp_path: Path, kind: str) -> None:
    """A caller that repeats it would write its rows twice."""
    given = rows(30, 34)
    places = {"arrow": [(pc, "take"), (pc, "filter"), (pc, "equal"), (pa, "array"), (pa, "nulls")],
              "std": [(json, "loads"), (json, "dumps")]}[kind]  # fmt: skip

    def act(folder: Path) -> None:
        table(folder).append(given)

    calls = calls_of(act, places, fresh(base, tmp_path / "w"))
    for at in range(0, calls, 5 if kind == "arrow" else 1):
        folder = fresh(base, tmp_path / "w")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with Below(places, at, ERRORS["KeyError"]).running():
                    act(folder)
            except ds.DeltaSkipError as error:
                assert table(folder).version == 4, (at, error)


def test_files_of_a_dropped_table_that_cannot_be_deleted_are_a_warning(base: Path, tmp_path: Path) -> None:
    for catalog in (warehouse, database):
        folder = fresh(base, tmp_path / "w")
        below = Below(PLACES["deletes"][1:4], 0, ERRORS["EACCES"])
        said = pytest.warns(ds.MaintenanceWarning, match=r"dropped from the catalog .* could not be deleted")
        with said, below.running():
            assert catalog(folder).drop_table("db.t")
        assert below.raised and not catalog(folder).table_exists("db.t")


def test_a_version_that_cannot_be_read_after_the_commit_is_a_warning(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where the version is not made of the commit's own text.
    monkeypatch.setattr("deltaskip.txn.commit_loop.advanced", lambda *given: None)
    folder = fresh(base, tmp_path / "w")
    opened = table(folder)
    below = Below(PLACES["reads"])
    with below.running():
        opened.append(rows(30, 34))
    folder = fresh(base, tmp_path / "w")
    opened = table(folder)
    last = Below(PLACES["reads"], below.calls - 1, ERRORS["EIO"])
    with pytest.warns(ds.MaintenanceWarning, match=r"has succeeded.*open the table again") as caught, last.running():
        assert opened.append(rows(30, 34)).version == 5
    assert caught[0].filename == __file__
    assert table(folder).version == 5
    assert opened.append(rows(34, 36)).version == 6


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("what", ["nothing", "half", "noise", "one byte less"])
def test_short_and_garbled_reads_are_errors_of_the_package(
    base: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fresh(base, tmp_path / "w")
    spoilt = {
        "nothing": lambda data: b"",
        "half": lambda data: bytes(data[: len(data) // 2]),
        "noise": lambda data: bytes(byte ^ 0xA5 for byte in bytes(data)),
        "one byte less": lambda data: bytes(data[:-1]),
    }[what]
    raised = 0
    for method in ("read", "read_range"):
        real = getattr(LocalStorage, method)
        for name, act in (READS | WRITES).items():
            if name in WRITES:
                fresh(base, folder)
            with monkeypatch.context() as patched, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                patched.setattr(LocalStorage, method, lambda *args, real=real: spoilt(real(*args)))
                try:
                    act(folder)
                except ds.DeltaSkipError as error:
                    raised += 1
                    assert not isinstance(error, ds.UnexpectedError), (name, method, error)
    assert raised


def test_faults_of_a_database_name_the_catalog(base: Path, tmp_path: Path) -> None:
    folder = fresh(base, tmp_path / "w")
    with sqlite3.connect(folder / "c.db") as connection:
        connection.execute("BEGIN EXCLUSIVE")
        held = ds.catalog(f"sql:sqlite:///{folder / 'c.db'}?timeout=0", warehouse=str(folder / "sw"))
        refuses(ds.CatalogError, "locked", held.load_table, "db.t")
        connection.rollback()
    (folder / "c.db").write_bytes(b"no database" * 500)
    for act in ("load_table", "drop_table", "table_exists"):
        with pytest.raises(ds.CatalogError, match=r"c\.db"):
            getattr(database(folder), act)("db.t")


def test_the_command_line_prints_a_sentence_for_every_fault(base: Path, tmp_path: Path, capsys: Any) -> None:
    folder = fresh(base, tmp_path / "w")
    for number, command in enumerate((["files"], ["history"], ["detail"], ["explain", "id > 5"], ["stats"])):
        for name in errors_from(number, 5):
            with Below(PLACES["reads"], 0, ERRORS[name]).running():
                assert main([command[0], str(folder / "t"), *command[1:]]) in (1, 2)
            text = capsys.readouterr().err
            assert text.startswith("deltaskip: error: ") and text.count("\n") == 1, text
            assert "Traceback" not in text and "internal error" not in text, text


def test_a_file_that_ends_too_early_is_no_interrupt_of_the_command(base: Path, tmp_path: Path, capsys: Any) -> None:
    folder = fresh(base, tmp_path / "w")
    with Below([(json, "loads")], 0, ERRORS["EOFError"]).running():
        assert main(["diff", str(folder / "t"), "1", "2"]) == 1
    assert "deltaskip: error: " in capsys.readouterr().err


def test_what_a_door_lets_through() -> None:
    class Ended(BaseException):
        """Like an interrupt."""

    @door
    def fails(error: BaseException) -> Iterator[int]:
        yield 1
        raise error

    for passed in (KeyboardInterrupt(), SystemExit(), Ended(), UserWarning("turned into an error"),
                   ds.StorageError("own")):  # fmt: skip
        with pytest.raises(type(passed)) as caught:
            list(fails(passed))
        assert caught.value is passed
    expected: list[tuple[Exception, type[ds.DeltaSkipError]]] = [
        (MemoryError(), ds.OutOfMemory), (OSError(28, "full"), ds.StorageError),
        (RecursionError(), ds.InvalidArgument), (pa.ArrowInvalid("x"), ds.UnexpectedError),
        (RuntimeError("can't start new thread"), ds.StorageError),
    ]  # fmt: skip
    for foreign, wanted in expected:
        with pytest.raises(wanted) as caught:
            list(fails(foreign))
        assert caught.value.__cause__ is foreign and caught.value.__context__ is None


def test_a_call_that_does_not_fit_is_an_error_of_the_arguments(tmp_path: Path) -> None:
    package: Any = ds
    made: Any = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    catalog: Any = warehouse(tmp_path)
    calls: list[Callable[[], object]] = [
        lambda: made.append(rows(0, 1), shema_mode="merge"), lambda: made.append(), lambda: made.history(limi=3),
        lambda: made.scan("id = 1", [], 1, 2, 3, 4, 5), package.DeltaTable, lambda: package.DeltaTable.create("x"),
        catalog.load_table, package.read_pandas, lambda: made.scan().to_arrow(1), lambda: made.merge(rows(0, 1)),
        lambda: made.optimize(zorder="id"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ds.InvalidArgumentType, match="argument") as caught:
            call()
        assert isinstance(caught.value, TypeError) and "Its arguments are" in str(caught.value)
    # An argument of the right name, with which the function fails, is no such error.
    with Below(PLACES["reads"], 0, lambda: TypeError("of a library")).running(), pytest.raises(ds.UnexpectedError):
        ds.DeltaTable(tmp_path / "t")


def test_messages_are_bounded_and_keep_their_beginning_and_end() -> None:
    secret = "sEcr3t-9f27-value"
    keep_secret(secret)

    @door
    def fails(text: str) -> None:
        raise ds.StorageError(f"Cannot read /data/t: {text}; restore the file.")

    for before in (0, 9_970, 9_990, 10_000, 19_970, 20_000, 499_000):
        with pytest.raises(ds.StorageError) as caught:
            fails("x" * before + f" {secret} " + "x" * (500_000 - before))
        text = str(caught.value)
        assert len(text) < 13_000 and text.startswith("Cannot read /data/t: ") and text.endswith("; restore the file.")
        assert not any(secret[:at] in text for at in range(8, len(secret)))


def test_a_panic_of_a_library_in_rust_does_not_pass(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")

    def panics(*_: object) -> object:
        objects = polars.DataFrame({"o": polars.Series([object()], dtype=polars.Object)})
        return objects.to_struct("s")

    ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    with pytest.raises(BaseException, match="nested objects") as panic:
        panics()
    assert not isinstance(panic.value, Exception)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalStorage, "read", panics)
        with pytest.raises(ds.UnexpectedError, match=r"PanicException.*nested objects") as caught:
            ds.DeltaTable(tmp_path / "t")
    assert type(caught.value.__cause__) is type(panic.value)


def test_an_object_whose_constructor_failed_is_not_asked_for_its_name(tmp_path: Path) -> None:
    with Below(PLACES["reads"], 0, ERRORS["KeyError"]).running(), pytest.raises(ds.UnexpectedError, match="/w/t"):
        ds.DeltaTable(tmp_path / "w" / "t")


class _Late(Exception):
    """A program's own error."""


@pytest.mark.parametrize("place", ["read", "list_from", "open_input", "put_if_absent"])
def test_what_a_signal_handler_raises_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    class Handler:
        def method(self, number: int, frame: object) -> None:
            raise error

        __call__ = method

    def function(number: int, frame: object) -> None:
        raise error

    def called(_: object, *given: object, **named: object) -> None:
        signal.raise_signal(signal.SIGUSR1)

    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.checkpointInterval": "1"})
    for number in range(2):
        table.append(pa.table({"id": [number]}))
    acts: tuple[Callable[[], object], ...] = (
        lambda: ds.DeltaTable(tmp_path / "t").scan(where="id = 1").to_arrow(),
        lambda: list(ds.DeltaTable(tmp_path / "t").scan().to_batches()),
        lambda: ds.DeltaTable(tmp_path / "t").append(pa.table({"id": [3]})),
    )
    handlers = (function, Handler().method, Handler(), functools.partial(function))
    # Each handle lists the log.
    monkeypatch.setattr("deltaskip.log.loading._remembered", lambda *given: None)
    monkeypatch.setattr(type(table.snapshot.storage), place, called)
    for kind in (_Late, TimeoutError, ValueError, MemoryError, KeyError, OSError, RuntimeError):
        for number, handler in enumerate(handlers):
            error = kind("late")
            former = signal.signal(signal.SIGUSR1, handler)
            try:
                with pytest.raises(kind) as caught:
                    for act in acts[number % 3 :] + acts[: number % 3]:
                        act()
            finally:
                signal.signal(signal.SIGUSR1, former)
            assert caught.value is error


def test_an_error_that_is_handled_is_none_of_a_signal(tmp_path: Path) -> None:
    def handler(number: int, frame: object) -> None:
        raise _Late

    former = signal.signal(signal.SIGUSR1, handler)
    try:
        try:
            signal.raise_signal(signal.SIGUSR1)
        except _Late:
            refuses(ds.TableNotFound, None, ds.DeltaTable, tmp_path / "missing")
    finally:
        signal.signal(signal.SIGUSR1, former)
