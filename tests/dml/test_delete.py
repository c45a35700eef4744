"""Deleting rows without Spark: by predicate, all, and nothing; Delta's parameters and metrics."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import InvalidCommit, PredicateError, StorageError, UnsupportedFeature
from deltaskip.table.table_transaction import TableTransaction
from tests.dml.tables import files_below, ids_of, info_of, made, rows
from tests.each import refuses

VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}


def test_all_rows_and_none(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert table.delete("id > 100").version is None
    assert table.delete("st.a = 3 AND id = 4").version is None
    assert table.version == 1
    assert table.delete().metrics["numRemovedFiles"] == 1
    assert (ids_of(table), table.version) == ([], 2)
    assert info_of(table)["operationParameters"] == {"predicate": '["true"]'}
    table.append(rows(range(12)))
    table.delete("x > 4 AND x < 10")
    assert info_of(table)["operationParameters"] == {"predicate": '["x > 4 AND x < 10"]'}
    table.delete()
    assert table.delete().version is None


def test_the_metrics_are_those_of_delta_spark(tmp_path: Path) -> None:
    table = made(tmp_path, **VECTORS)
    table.append(rows(range(20, 24)))
    table.delete("id IN (3, 21)")
    metrics = table.delete("id IN (4, 20, 22, 23)").metrics
    assert {name: value for name, value in metrics.items() if "Bytes" not in name and name != "executionTimeMs"} == {
        "numRemovedFiles": 1, "numCopiedRows": 0, "numDeletionVectorsAdded": 1, "numDeletionVectorsRemoved": 2,
        "numDeletionVectorsUpdated": 1, "numAddedFiles": 0, "numAddedChangeFiles": 0, "numDeletedRows": 5 - 1,
    }  # fmt: skip


def test_refusals_change_nothing(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.appendOnly": "true"})
    before = files_below(tmp_path / "t")
    refuses(UnsupportedFeature, "append-only", table.delete, "id = 3")
    refuses(PredicateError, None, table.delete, "nope")
    refuses(UnsupportedFeature, "without Spark", table.delete, "to_csv(struct(p)) = 'x'")
    assert files_below(tmp_path / "t") == before


def test_padded_strings_are_compared_as_spark_pads_them(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, c CHAR(3), a ARRAY<CHAR(2)>")
    table.append(pa.table({"id": [1, 2, 3], "c": ["a", "b", "ab"], "a": [["x"], ["y"], []]}))
    assert table.scan("get(a, 0) = 'x '").to_arrow()["id"].to_pylist() == [1]
    table.delete("c BETWEEN 'a' AND 'a'")
    assert ids_of(table) == [1, 2, 3]
    table.delete("c = 'a' AND id < 10")
    assert ids_of(table) == [2, 3]
    table.delete("c IN ('ab    ', 'x')")
    assert ids_of(table) == [2]


@pytest.mark.parametrize("partition_by", [(), ("c",)])
def test_no_row_is_in_an_empty_list(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    # As pyarrow and delta-rs have it, also for NULL.
    rows = pa.table({"id": pa.array([1, 2, None], pa.int32()), "c": ["a", None, "b"], "k": ["x", "y", None]})
    for at, (operator, count) in enumerate((("in", 0), ("not in", 3))):
        for name in ("id", "c", "k"):
            where = [(name, operator, [])]
            table = DeltaTable.create(tmp_path / f"{name}{at}", "id INT, c STRING, k CHAR(3)", partition_by)
            table.append(rows)
            # pyarrow takes no empty list for a column of strings.
            assert rows.filter(pq.filters_to_expression([("id", operator, [])])).num_rows == count
            assert table.scan(where).to_arrow().num_rows == table.scan(where).count() == count
            assert table.scan([where, [("id", "=", 1)]]).count() == max(count, 1)
            assert table.update({"k": "'z'"}, where).metrics["numUpdatedRows"] == count
            table.overwrite(rows.slice(0, 0), where=where)
            assert table.scan().count() == 3 - count
            assert table.delete(where).metrics.get("numDeletedRows", 0) == 0
            refuses(PredicateError, "no column nope", table.delete, [("nope", operator, [])])


def test_a_deletion_comes_first_in_a_transaction(tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.transaction() as txn:
        assert isinstance(txn, TableTransaction)
        txn.delete("id < 10")
        txn.append(rows([50]))
    assert ids_of(table.refresh()) == [10, 11, 50]
    with pytest.raises(InvalidCommit, match="delete first, or commit"), table.transaction() as txn:
        txn.append(rows([51]))
        txn.delete("id = 10")
    assert ids_of(table.refresh()) == [10, 11, 50]


def test_rows_that_the_log_counts_and_the_file_lacks_stop_a_rewrite(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT")
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int32())}))
    commit = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    commit.write_text(commit.read_text().replace('\\"numRecords\\":3', '\\"numRecords\\":5'))
    (commit.parent / f"{1:020}.crc").unlink(missing_ok=True)
    table = DeltaTable(tmp_path / "t")
    refuses(StorageError, "2 rows were written instead of 4", table.delete, "id = 1")
    assert table.refresh().version == 1
    assert len(list((tmp_path / "t").rglob("*.parquet"))) == 1
