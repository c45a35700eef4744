"""Statistics computed out of the corpus' data files against those that delta-spark wrote into its logs."""

from datetime import UTC
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.log.deletion_vectors import read_deletion_vectors
from deltaskip.sparkexpr.types.data_types import TIMESTAMP, DataType, StructType
from deltaskip.stats import compute
from deltaskip.storage import parse_location
from tests import corpus
from tests.stats.logged import compared, logged_stats
from tests.stats.rowwise import parsed, statistics

# Tables whose logs and files differ for a reason that is not the writer's rule, so they are not compared.
NOT_COMPARED = {
    "craft__stats_odd_values": "edited by hand",
    "craft__stats_partial": "edited by hand",
    "craft__stats_wide_bounds": "edited by hand",
    "gen__stats_cols_2": "the columns with statistics were chosen anew after files were written",
    "golden__data-skipping-change-stats-collected-across-versions": "the columns were chosen anew",
    "gen__type_widening": "statistics of files from before the type was widened",
    "golden__type-widening": "statistics of files from before the type was widened",
    "golden__data-skipping-basic-stats-all-types-checkpoint": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-id": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-name": "timestamps in a zone other than UTC",
    "golden__kernel-timestamp-PST": "timestamps in a zone other than UTC",
    "kernelrs__parsed-stats": "statistics of a column that its files lack",
}


def has_stats_of_delta_spark(table: corpus.CorpusTable) -> bool:
    return table.name not in NOT_COMPARED and bool(logged_stats(table.path))


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("mode", ["auto", "scan"])
@corpus.each_table("read", where=has_stats_of_delta_spark)
def test_statistics_are_those_of_delta_spark(table: corpus.CorpusTable, mode: Any) -> None:
    for path, found, expected in compared(table.path, mode):
        assert found == expected, path


def has_deleted_rows(table: corpus.CorpusTable) -> bool:
    """Whether a file of the latest version has a deletion vector; mapped columns have other names in the files."""
    mapped = any(tag.startswith("column-mapping") for tag in table.exercises)
    return not mapped and any(file.get("dv") for file in table.versions[0]["files"])


@corpus.each_table("read", where=has_deleted_rows)
def test_deleted_rows_are_left_out_as_the_rows_say(table: corpus.CorpusTable) -> None:
    opened = ds.DeltaTable(table.path)
    snapshot = opened.snapshot
    files = opened.scan().files().filter(pc.is_valid(pc.field("deletion_vector")))
    assert len(files) and snapshot.mapping_mode == "none"
    vectors = read_deletion_vectors(snapshot.storage, snapshot.table_root, files["deletion_vector"].combine_chunks())
    fields = [field for field in snapshot.schema.fields if field.name not in snapshot.partition_columns]
    for file, vector in zip(files.to_pylist(), vectors, strict=True):
        assert vector is not None
        stored = pq.read_table(parse_location(file["uri"]), coerce_int96_timestamp_unit="us", partitioning=None)
        rows = [{field.name: _value(row.get(field.name), field.type) for field in fields} for row in stored.to_pylist()]
        found = compute(
            [file["uri"]],
            snapshot.schema,
            deletion_vectors=[vector],
            partition_columns=snapshot.partition_columns,
            properties=snapshot.properties,
        )
        expected = statistics(rows, StructType(tuple(fields)), frozenset(vector.to_pylist()))
        assert parsed(found["stats"][0].as_py()) == {**expected, "tightBounds": True}


def _value(value: Any, type_: DataType) -> Any:
    """INT96 comes without a zone, and is an instant."""
    if type_ == TIMESTAMP and value is not None and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
