"""Whatever is passed for whichever parameter, only errors of this package come out, and they name what is wrong."""

import warnings
from itertools import cycle
from pathlib import Path

import pytest

import deltaskip as ds
from tests.each import each
from tests.extent import extent
from tests.hostile_arguments import HOSTILE, Call, calls, make, value_of

CALLS = list(calls())
# What a message calls the parameter where it is not its name.
WORDS = {
    "where": ("predicate", "literal", "column", "date", "where"),
    "read": ("predicate", "literal", "column", "where"),
    "params": ("params", "where"),
    "transforms": ("transforms", "partitioned by"),
    "literal": ("value to compare",),
    "left": ("value to compare",),
    "right": ("value to compare",),
    "prefix": ("value to compare", "literal"),
    "by": ("by", "column", "order", "text"),
    # The files of the table are not there.
    "plain": ("plain", "data file"),
    "shape": ("value to compare", "literal"),
    "distance": ("value to compare", "literal"),
    "suffix": ("value to compare", "literal"),
    "part": ("value to compare", "literal"),
    "value": ("value", "literal", "decimal"),
    "text": ("collation", "identifier"),
    "lower": ("literal",),
    "upper": ("literal",),
    "other": ("literal", "other"),
    "values": ("literal", "values"),
    "pattern": ("literal", "pattern"),
    "mins": ("array", "mins"),
    "maxs": ("array", "maxs"),
    "collations": ("collation",),
    "collation_versions": ("collation",),
    "path": ("path", "pass another"),
    "table": ("table", "cannot read", "cannot write", "scheme"),
    "timestamp": ("timestamp", "version at"),
    "column": ("column", "maximum", "minimum", "predicate"),
    "files": ("file", "path"),
    "fields": ("field", "struct"),
    "json": ("json", ".", "missing"),
    "name": ("name", "type", "column"),
    "collation": ("collation", "does not list"),
    "version": ("version",),
    "type": ("type",),
    "element": ("element",),
    "identifier": ("identifier", "collation"),
    "type_": ("type",),
    "type ": ("type",),
    "key": ("key",),
    "schema": ("schema", "type", "column"),
    "columns": ("column",),
    "mapping_mode": ("mapping",),
    "keep_collations": ("schema",),
    "domain": ("domain",),
    "paths": ("path", "file"),
    "partition_schema": ("schema", "column", "type"),
    "batch": ("data", "column"),
    "batch_id": ("batch_id", "txn.version"),
    "partition_values": ("partition column",),
    "escape": ("escape", "literal"),
    "data": ("data", "column"),
    "rows": ("rows", "column"),
    "partition_by": ("partition",),
    "zorder_by": ("z-order",),
    "cluster_by": ("cluster", "column"),
    "properties": ("properties", "property"),
    "statement": ("statement", "sql text"),
    "feature": ("feature",),
    "user_metadata": ("user_metadata", "changes"),
    "truncate_history": ("truncate_history", "feature"),
    "property": ("property",),
    "spark": ("sql text",),
    "queries": ("predicate", "column", "where", "queries"),
    "target_file_bytes": ("queries",),
    "min_skipped": ("queries",),
    "on": ("column",),
    "net": ("net", "not recorded"),
}
# What needs a session before anything else.
READS_FILES = (
    "TableScan.aggregate", "TableScan.count", "DeltaTable.update", "DeltaTable.replace_partitioning",
    "DeltaTable.recompute_stats",
)  # fmt: skip
OF_A_SESSION = (
    ".recompute_stats", ".to_spark", ".files_to_spark", ".read_stream", "install_catalog", "register_format",
    "register_view", "sql",
)  # fmt: skip


@pytest.fixture
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("hostile"))


def test_the_whole_public_surface_takes_part() -> None:
    named = {call.name.partition(".")[0] for call in CALLS}
    assert {"DeltaTable", "Scan", "Explain", "AddFile", "Metadata", "Transaction", "col", "stats"} <= named
    assert len(CALLS) > 180 and len(HOSTILE) > 55


def check(call: Call, names: list[str], table: Path) -> None:
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call.run(table, value_of(name))
        except ds.DeltaSkipError as error:
            text = str(error)
            assert text and len(text) < 1000 + 2 * len(str(HOSTILE[name]) if name == "long text" else ""), (name, text)
            assert "\n" not in text or name == "line break", (name, text)
            # An expression of columns refuses by itself to be a list or a condition.
            if name == "col" and text.startswith(("A column expression", "A predicate has no truth value")):
                continue
            # Before anything else there must be a folder of files, or a session.
            if call.name == "convert_to_delta" and text.startswith(("There is no folder", "The folder", "Cannot read")):
                continue
            if call.name in ("scan_polars", "read_pandas", "verify") and text.startswith("There is no table"):
                continue
            # The files of the table, which these read, do not exist.
            if call.name in READS_FILES and text.startswith(("The log of", "The data file", "Version ")):
                continue
            # A value that is allowed leads to the rows, which do not fit the table.
            if call.name == "write" and "has no column id" in text:
                continue
            if name == "nested" and "nested too deeply" in text:
                continue
            # Such a scan refuses the method, whatever is passed.
            if call.name.startswith("DistributedScan.") and text.startswith("A scan with engine='spark'"):
                continue
            if call.name.endswith(OF_A_SESSION) and text.startswith("spark must be"):
                continue
            assert any(word in text.lower() for word in (call.parameter, *WORDS.get(call.parameter, ()))), (name, text)
        except Exception as error:
            pytest.fail(f"{call.name}({call.parameter}={name}) raises {type(error).__name__}: {str(error)[:200]}")


@pytest.mark.parametrize("owner", ["DeltaTable", "others"])
def test_only_errors_of_the_package_come_out_and_name_the_argument(
    owner: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The gate passes an eighth of the values for each parameter, others for the next one.
    parts = cycle([list(HOSTILE)[extent(slice(part, None, 8), slice(None))] for part in range(8)])
    passed = [
        (call, names)
        for call, names in zip(CALLS, parts, strict=False)
        if (call.name.partition(".")[0] == "DeltaTable") == (owner == "DeltaTable")
    ]
    each(passed, lambda pair: check(*pair, table), lambda pair: f"{pair[0].name}({pair[0].parameter})")
