"""Symlink manifests: one for each partition, with the paths of its files, and kept up to date where a table says so."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import InvalidArgument, MaintenanceWarning, UnsupportedFeature
from tests.dml.tables import files_below
from tests.each import refuses

ENABLED = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}


def manifests(folder: Path) -> dict[str, list[str]]:
    """The lines of each manifest by its folder."""
    root = folder / "_symlink_format_manifest"
    found = root.rglob("manifest")
    return {str(path.parent.relative_to(root)): path.read_text(encoding="utf-8").splitlines() for path in found}


def data(*values: str | None) -> pa.Table:
    return pa.table({"id": pa.array(range(len(values)), pa.int32()), "p": pa.array(values, pa.string())})


def expected(folder: Path) -> dict[str, list[str]]:
    """What delta-spark writes: the folders and files as they are called on disk."""
    files = [path for path in files_below(folder) if path.endswith(".parquet")]
    found: dict[str, list[str]] = {}
    for path in sorted(files):
        found.setdefault(path.rpartition("/")[0] or ".", []).append(f"file:{folder}/{path}")
    return found


def test_a_manifest_of_each_partition_names_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "t ü%20"
    table = DeltaTable.create(folder, "id INT, p STRING", ["p"])
    table.append(data("a b%é", "x/y", None, "x/y"))
    table.append(data("a b%é"))
    done = table.generate()
    assert {name: sorted(lines) for name, lines in manifests(folder).items()} == expected(folder)
    assert set(manifests(folder)) == {"p=a b%25é", "p=x%2Fy", "p=__HIVE_DEFAULT_PARTITION__"}
    assert done.version == 2 and len(done.written) == 3 and done.deleted == ()
    assert done.written[0] == "_symlink_format_manifest/p=__HIVE_DEFAULT_PARTITION__/manifest"


def test_manifests_of_partitions_that_are_gone_are_deleted(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p STRING, q INT", ["p", "q"])
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "p": ["a", "b"], "q": pa.array([1, 2], pa.int32())}))
    table.generate()
    table.delete("p = 'a'")
    done = table.generate()
    assert done.deleted == ("_symlink_format_manifest/p=a/q=1/manifest",)
    assert not (tmp_path / "t" / "_symlink_format_manifest" / "p=a").exists()
    table.delete()
    assert table.generate().written == () and manifests(tmp_path / "t") == {}


def test_a_table_without_partitions_has_one_which_may_be_empty(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p STRING")
    table.append(data("a"))
    assert table.generate().written == ("_symlink_format_manifest/manifest",)
    assert manifests(tmp_path / "t") == expected(tmp_path / "t")
    table.delete()
    table.generate()
    assert manifests(tmp_path / "t") == {".": []}


def test_tables_whose_rows_files_do_not_tell_are_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "v", "id INT, p STRING", properties={"delta.enableDeletionVectors": "true"})
    table.append(data("a", "b"))
    table.generate()
    table.delete("id = 1")
    refuses(UnsupportedFeature, "has a deletion vector", table.generate)
    mapped = DeltaTable.create(tmp_path / "m", "id INT, p STRING", properties={"delta.columnMapping.mode": "name"})
    refuses(UnsupportedFeature, "columns are mapped", mapped.generate)
    refuses(InvalidArgument, "mode must be", table.generate, "other")


def test_commits_keep_them_up_to_date_where_the_table_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = DeltaTable.create(folder, "id INT, p STRING", ["p"], properties=ENABLED)
    table.append(data("a", "b"))
    assert manifests(folder) == expected(folder)
    untouched = folder / "_symlink_format_manifest" / "p=b" / "manifest"
    untouched.write_text("as it was")
    table.append(data("a", "c"))
    assert set(manifests(folder)) == {"p=a", "p=b", "p=c"} and len(manifests(folder)["p=a"]) == 2
    assert untouched.read_text() == "as it was", "the commit did not change the partition"
    table.delete("p = 'b'")
    assert set(manifests(folder)) == {"p=a", "p=c"}
    table.alter_sql("SET TBLPROPERTIES (delta.compatibility.symlinkFormatManifest.enabled = false)")
    table.append(data("d"))
    assert set(manifests(folder)) == {"p=a", "p=c"}


def test_a_manifest_that_cannot_be_written_is_a_warning_about_a_commit_that_succeeded(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p STRING", properties=ENABLED)
    shutil.rmtree(tmp_path / "t" / "_symlink_format_manifest")
    (tmp_path / "t" / "_symlink_format_manifest").write_text("a file in the way")
    with pytest.warns(MaintenanceWarning, match="Version 1 of .* symlink manifests"):
        table.append(data("a"))
    assert table.version == 1
