"""The public surface: what `deltaskip` exports, what importing it loads, and how it refuses wrong arguments."""

import ast
import builtins
import dataclasses
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip import errors
from deltaskip.txn.transaction import Transaction
from tests.each import each
from tests.looped import looped
from tests.txn.tables import append, file, make_table

# Classes that public annotations name and that are not exported, with the reason.
NOT_EXPORTED = {
    "Transform": "deltaskip.transforms has it beside its subclasses",
    "Transaction": "importing deltaskip does not import the code that writes",
    "MergeBuilder": "importing deltaskip does not import the code that writes",
    "TableTransaction": "importing deltaskip does not import the code that writes",
    "Node": "predicates are written as SQL or with deltaskip.col; the tree is for deltaskip.sparkexpr",
    "Lane": "the kernels' own",
    "Snapshot": "a version as the modules that read and write it know it",
    "FileGroup": "how an engine reads the files of a change data feed",
    "Reads": "how an engine reads the files of a change data feed",
    "CompiledPredicate": "a predicate as the modules of skipping evaluate it",
    "CollationName": "the parts of a name as the collations that are made from it know them",
    "Matrix": "the data of a plot",
    "Tree": "an alias of Branch, int and bool",
}
FOREIGN = {"Any", "Mapping", "Sequence", "Iterator", "Callable", "Literal", "Self", "None", "True", "False", "datetime"}


def members() -> Iterator[tuple[str, str]]:
    """Each public function, method, property and field, with its return annotation as text."""
    for name in ds.__all__:
        found = getattr(ds, name)
        if inspect.isfunction(found):
            yield name, str(inspect.get_annotations(found).get("return"))
        elif inspect.isclass(found) and not issubclass(found, BaseException):
            for attribute, member in vars(found).items():
                function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                function = function.func if isinstance(function, cached_property) else function
                if inspect.isfunction(function) and not attribute.startswith("_"):
                    yield f"{name}.{attribute}", str(inspect.get_annotations(function).get("return"))
            if dataclasses.is_dataclass(found):
                yield from ((f"{name}.{each.name}", str(each.type)) for each in dataclasses.fields(found))


def test_exports_are_sorted_and_exist() -> None:
    assert len(set(ds.__all__)) == len(ds.__all__)
    for name in ds.__all__:
        assert hasattr(ds, name)


def test_every_class_that_a_public_method_returns_is_exported() -> None:
    missing = {
        (member, name)
        for member, annotation in members()
        for name in re.findall(r"(?<![\w.'\"])([A-Z]\w+)", re.sub(r"Literal\[[^]]*\]", "", annotation))
        if name not in ds.__all__ and name not in FOREIGN | set(NOT_EXPORTED)
    }
    assert not missing


def test_every_error_and_warning_is_exported_with_one_builtin_base() -> None:
    for name in errors.__all__:
        error = getattr(errors, name)
        assert getattr(ds, name) is error
        if error is ds.DeltaSkipError:
            continue
        own = [base for base in error.__bases__ if hasattr(builtins, base.__name__)]
        above = [base for base in error.__bases__ if base not in own]
        if issubclass(error, Warning):
            assert (own, above) == ([UserWarning], [])
        else:
            assert issubclass(error, ds.DeltaSkipError)
            # A subclass of another error inherits its builtin base.
            assert len(above) == 1 and len(own) == (above[0] is ds.DeltaSkipError), name


def test_the_stub_lists_every_name_once_and_type_checkers_see_the_same_names() -> None:
    stub = ast.parse(Path(ds.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    [listed] = [ast.literal_eval(n.value) for n in stub.body if isinstance(n, ast.Assign)]
    assert sorted(imported) == sorted(listed) == ds.__all__ == dir(ds)


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="DeltaTabel"):
        ds.DeltaTabel  # type: ignore[attr-defined]  # noqa: B018


# What a first plan of a table on a local disk does not need, and what takes longest to import.
_NOT_PLANNING = {
    "click", "deltaskip.sparkexpr.collations.spark_data", "deltaskip.sparkexpr.evaluation.columns",
    "deltaskip.sparkexpr.functions.function_table", "deltaskip.log.checkpoint.write",
    "deltaskip.skipping.explain.explain", "deltaskip.skipping.proofs.generated", "deltaskip.spark",
    "deltaskip.stats.footer", "deltaskip.storage.hadoop", "deltaskip.storage.remote", "deltaskip.table.detail",
    "deltaskip.transforms", "deltaskip.txn.transaction", "email", "icu", "obstore", "pandas", "pyarrow.dataset",
    "pyarrow.fs", "pyarrow.parquet", "pyspark", "rich", "sqlalchemy", "sqlglot", "ssl",
}  # fmt: skip


def test_a_plan_loads_what_it_needs_and_importing_the_package_loads_nothing_of_it(folder: Path) -> None:
    code = """
import sys, deltaskip
print(*sorted(sys.modules), flush=True)
deltaskip.DeltaTable(sys.argv[1]).scan("id >= 5 AND id < 7 AND name = 'b'").files()
print(*sorted(sys.modules), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    imported, planned = (set(line.split()) for line in done.stdout.splitlines())
    assert {name.partition(".")[0] for name in imported} & {"numpy", "pyarrow", "sqlglot"} == set()
    assert {name for name in imported if name.startswith("deltaskip")} == {"deltaskip"}
    assert "deltaskip.skipping.scan" in planned
    assert not planned & _NOT_PLANNING


_OPERATIONS = """
import os, sys
import pyarrow as pa
import deltaskip as ds
from deltaskip.sparkexpr.values.arrow_values import arrow_array

def rows(first, end):
    texts = [f"v{number}" for number in range(first, end)]
    columns = [arrow_array(list(range(first, end)), pa.int64()), arrow_array(texts, pa.string())]
    return pa.Table.from_arrays(columns, names=["id", "s"])

path = sys.argv[1]
table = lambda: ds.DeltaTable(path)
properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
operations = {
    "create": lambda: ds.DeltaTable.create(path, "id BIGINT, s STRING", properties=properties),
    "append": lambda: table().append(rows(0, 50)),
    "update": lambda: table().update({"s": "upper(s)"}, "id > 3 AND s LIKE 'v%'"),
    "delete": lambda: table().delete("id = 2"),
    "merge": lambda: table().merge(rows(40, 100), "t.id = s.id", "s", "t")
        .when_matched_update_all().when_not_matched_insert_all().execute(),
    "optimize": lambda: table().optimize(),
    "z-order": lambda: table().optimize(zorder_by=["id"]),
    "read": lambda: table().scan("id > 3").to_arrow(),
    "explain": lambda: str(table().scan("id > 3").explain()),
    "history": lambda: table().history(),
    "changes": lambda: table().changes(1).to_arrow(),
    "overwrite": lambda: table().overwrite(rows(0, 5), where="id < 10"),
    "restore": lambda: table().restore(1),
    "checkpoint": lambda: table().checkpoint(),
    "recompute": lambda: table().recompute_stats(),
    "stats": lambda: str(table().stats()),
    "alter": lambda: table().alter(ds.SetProperty("a.b", "c")),
    "top": lambda: table().scan("id > 1").top(2, by="id").to_arrow(),
}
for name, operation in operations.items():
    process = os.fork()
    if not process:
        operation()
        os._exit("pandas" in sys.modules)
    assert os.waitpid(process, 0)[1] == 0, f"{name} imports pandas, or fails"
"""


def test_operations_do_not_import_pandas_as_pyarrow_does_for_python_values(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPERATIONS, tmp_path / "t"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with one file and a checkpoint; tests only read it."""
    root = tmp_path_factory.mktemp("public") / "t"
    append(make_table(root), file("a"))
    ds.DeltaTable(root).checkpoint()
    return root


OPENING: dict[str, tuple[Callable[[Path], Any], type[Exception]]] = {
    "table=None": (lambda _: ds.DeltaTable(None), ds.InvalidArgumentType),
    "table=5": (lambda _: ds.DeltaTable(5), ds.InvalidArgumentType),
    "table=b''": (lambda path: ds.DeltaTable(bytes(path)), ds.InvalidArgumentType),
    "table=null character": (lambda path: ds.DeltaTable(f"{path}\0"), ds.InvalidArgument),
    "version='3'": (lambda path: ds.DeltaTable(path, version="3"), ds.InvalidArgumentType),
    "version=1.5": (lambda path: ds.DeltaTable(path, version=1.5), ds.InvalidArgumentType),
    "version=True": (lambda path: ds.DeltaTable(path, version=True), ds.InvalidArgumentType),
    "version=-1": (lambda path: ds.DeltaTable(path, version=-1), ds.InvalidArgument),
    "version=10**30": (lambda path: ds.DeltaTable(path, version=10**30), ds.VersionNotFound),
    "timestamp=5": (lambda path: ds.DeltaTable(path, timestamp=5), ds.InvalidArgumentType),
    "timestamp=date": (lambda path: ds.DeltaTable(path, timestamp=date(2026, 1, 1)), ds.VersionNotFound),
    "timestamp='yesterday'": (lambda path: ds.DeltaTable(path, timestamp="yesterday"), ds.InvalidArgument),
    "timestamp=1999": (lambda path: ds.DeltaTable(path, timestamp=datetime(1999, 1, 1)), ds.VersionNotFound),
    "both": (lambda path: ds.DeltaTable(path, 0, datetime(2026, 1, 1, tzinfo=UTC)), ds.InvalidArgument),
    "storage_options=[]": (lambda path: ds.DeltaTable(path, storage_options=["a"]), ds.InvalidArgumentType),
    "storage_options={1: 'a'}": (lambda path: ds.DeltaTable(path, storage_options={1: "a"}), ds.InvalidArgumentType),
    "storage_options={'a': 1}": (lambda path: ds.DeltaTable(path, storage_options={"a": 1}), ds.InvalidArgumentType),
}


def test_sources_that_are_not_compiled_say_so(tmp_path: Path) -> None:
    package = Path(ds.__file__).parent
    shutil.copytree(package, tmp_path / "deltaskip", ignore=shutil.ignore_patterns("*.so", "*.pyx", "__pycache__"))
    command = [sys.executable, "-c", "import deltaskip; deltaskip.DeltaTable"]
    ran = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    said = (
        f"ImportError: deltaskip is imported from its sources in {tmp_path}, where it is not compiled: start Python in"
    )
    assert ran.stderr.splitlines()[-1].startswith(said)


@looped("name", OPENING)
def test_wrong_arguments_of_a_table_are_refused(folder: Path, name: str) -> None:
    call, error = OPENING[name]
    with pytest.raises(error) as caught:
        call(folder)
    assert type(caught.value) is error
    assert str(caught.value)[-1] == "."


def test_both_a_version_and_a_timestamp_name_the_table(folder: Path) -> None:
    with pytest.raises(ds.InvalidArgument) as caught:
        ds.DeltaTable(folder, version=0, timestamp="2026-01-01")
    assert str(caught.value) == f"Specify either version or timestamp, not both (table {folder})."


def test_credentials_of_the_wrong_type_are_not_shown(folder: Path) -> None:
    with pytest.raises(ds.InvalidArgumentType) as caught:
        ds.DeltaTable(folder, storage_options={"key": b"secret"})
    assert "secret" not in str(caught.value)


class Odd:
    """A value that no function accepts."""


WRONG: tuple[Any, ...] = (
    Odd(),
    None, 5, 1.5, True, "no such thing", "\ud800", b"x",
    [1],
    {"a": 1},
    -1,
    10**30,
    datetime(2026, 1, 1),
)  # fmt: skip

METHODS: dict[str, Callable[[ds.DeltaTable, Any], Any]] = {
    "DeltaTable.scan(where)": lambda t, x: t.scan(where=x).files(),
    "DeltaTable.scan(columns)": lambda t, x: t.scan(columns=x).files(),
    "DeltaTable.scan(columns=[x])": lambda t, x: t.scan(columns=[x]).files(),
    "DeltaTable.scan(limit)": lambda t, x: t.scan(limit=x).files(),
    "DeltaTable.scan(time_zone)": lambda t, x: t.scan(where="id = 1", time_zone=x).files(),
    "DeltaTable.scan(collation_version)": lambda t, x: t.scan(where="id = 1", collation_version=x).files(),
    "DeltaTable.history(limit)": lambda t, x: t.history(limit=x),
    "DeltaTable.transaction(read)": lambda t, x: t.transaction(read=x),
    "DeltaTable.transaction(operation)": lambda t, x: t.transaction(operation=x),
    "DeltaTable.transaction(parameters)": lambda t, x: t.transaction(parameters=x),
    "DeltaTable.retire_collation_version(collation)": lambda t, x: t.retire_collation_version(x, "77.1"),
    "DeltaTable.retire_collation_version(version)": lambda t, x: t.retire_collation_version("icu.UNICODE_CI", x),
    "DeltaTable.recompute_stats(spark)": lambda t, x: t.recompute_stats(x),
    "DeltaTable.recompute_stats(columns)": lambda t, x: t.recompute_stats(None, columns=x),
    "DeltaTable.recompute_stats(collations)": lambda t, x: t.recompute_stats(None, collations=x),
    "DeltaTable.recompute_stats(collation_versions)": lambda t, x: t.recompute_stats(None, collation_versions=x),
    "DeltaTable.recompute_stats(mode)": lambda t, x: t.recompute_stats(None, mode=x),
    "DeltaTable.changes(start)": lambda t, x: t.changes(x),
    "DeltaTable.changes(end)": lambda t, x: t.changes(0, x),
    "DeltaTable.changes(where)": lambda t, x: t.changes(0, where=x),
    "DeltaTable.changes(columns)": lambda t, x: t.changes(0, columns=x),
    "DeltaTable.changes(allow_out_of_range)": lambda t, x: t.changes(0, allow_out_of_range=x),
    "DeltaTable.changes(time_zone)": lambda t, x: t.changes(0, time_zone=x),
    "DeltaTable.changes(collation_version)": lambda t, x: t.changes(0, collation_version=x),
    "DeltaTable.changes(params)": lambda t, x: t.changes(0, where="id = :x", params=x),
    "DeltaTable.changes(strict)": lambda t, x: t.changes(0, strict=x),
    "DeltaTable.changes(ansi)": lambda t, x: t.changes(0, ansi=x),
    "Scan.files(columns)": lambda t, x: t.scan().files(columns=x),
    "Scan.files(columns=[x])": lambda t, x: t.scan().files(columns=[x]),
    "Scan.to_spark(spark)": lambda t, x: t.scan().to_spark(x),
    "Scan.to_spark(metadata)": lambda t, x: t.scan().to_spark(None, x),
    "Scan.min(column)": lambda t, x: t.scan().min(x),
    "Scan.max(column)": lambda t, x: t.scan().max(x),
    "Explain.save_plot(path)": lambda t, x: t.scan("id = 1").explain().save_plot(x),
    "Transaction.read(where)": lambda t, x: begun(t).read(x),
    "Transaction.read_files(paths)": lambda t, x: begun(t).read_files(x),
    "Transaction.read_app(app_id)": lambda t, x: begun(t).read_app(x),
    "Transaction.add(file)": lambda t, x: begun(t).add(x),
    "Transaction.add_again(file)": lambda t, x: begun(t).add_again(x),
    "Transaction.remove(file)": lambda t, x: begun(t).remove(x),
    "Transaction.add_cdc(file)": lambda t, x: begun(t).add_cdc(x),
    "Transaction.set_metadata(metadata)": lambda t, x: begun(t).set_metadata(x),
    "Transaction.set_protocol(protocol)": lambda t, x: begun(t).set_protocol(x),
    "Transaction.set_domain(domain)": lambda t, x: begun(t).set_domain(x, "{}"),
    "Transaction.set_domain(configuration)": lambda t, x: begun(t).set_domain("d", x),
    "Transaction.remove_domain(domain)": lambda t, x: begun(t).remove_domain(x),
    "Transaction.set_app_version(app_id)": lambda t, x: begun(t).set_app_version(x, 1),
    "Transaction.set_app_version(version)": lambda t, x: begun(t).set_app_version("app", x),
    "Transaction.set_metrics(metrics)": lambda t, x: begun(t).set_metrics(x),
    "Transaction.leave_out(path)": lambda t, x: begun(t).leave_out(x),
    "col(name)": lambda _, x: ds.col(x),
    "lit(value)": lambda _, x: ds.lit(x),
    "ColumnExpr.isin(values)": lambda _, x: ds.col("id").isin(x),
    "ColumnExpr.between(lower)": lambda _, x: ds.col("id").between(x, 5),
    "ColumnExpr.like(pattern)": lambda _, x: ds.col("name").like(x),
    "ColumnExpr.ilike(pattern)": lambda _, x: ds.col("name").ilike(x),
    "ColumnExpr.startswith(prefix)": lambda _, x: ds.col("name").startswith(x),
    "ColumnExpr.endswith(suffix)": lambda _, x: ds.col("name").endswith(x),
    "ColumnExpr.contains(part)": lambda _, x: ds.col("name").contains(x),
    "ColumnExpr.rlike(pattern)": lambda _, x: ds.col("name").rlike(x),
    "ColumnExpr.cast(type)": lambda _, x: ds.col("name").cast(x),
    "ColumnExpr.collate(collation)": lambda _, x: ds.col("name").collate(x),
    "ColumnExpr ==": lambda t, x: t.scan(ds.col("id") == x).files(),
    "ColumnExpr <": lambda t, x: t.scan(ds.col("id") < x).files(),
    "ColumnExpr &": lambda t, x: t.scan((ds.col("id") == 1) & x).files(),
    "collation(identifier)": lambda _, x: ds.collation(x),
    "register_icu(path)": lambda _, x: ds.register_icu(x),
    "Collation.sort_keys(values)": lambda _, x: ds.collation("icu.UNICODE_CI").sort_keys(x),
    "Collation.min_max(values)": lambda _, x: ds.collation("icu.UNICODE_CI").min_max(x),
    "Collation.compare(values)": lambda _, x: ds.collation("icu.UNICODE_CI").compare(x, x),
    "Collation.key(value)": lambda _, x: ds.collation("icu.UNICODE_CI").key(x),
    "CollationId.parse(text)": lambda _, x: ds.CollationId.parse(x),
    "CollationId.named(text)": lambda _, x: ds.CollationId.named(x),
}


def begun(table: ds.DeltaTable) -> Transaction:
    """A transaction that is never committed."""
    return table.transaction()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@looped("name", METHODS)
def test_wrong_arguments_raise_only_deltaskip_errors(folder: Path, name: str) -> None:
    def passed(value: Any) -> None:
        try:
            METHODS[name](table, value)
        except ds.DeltaSkipError as error:
            assert str(error)

    table = ds.DeltaTable(folder)
    each(WRONG, passed, ascii)
