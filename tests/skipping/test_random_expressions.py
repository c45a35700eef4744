"""The files of random predicates over all functions: one with a row that matches is kept."""

import itertools
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from tests.extent import extent, seed
from tests.sparkexpr.random_expressions import ZONES, Maker, Rows

TABLES = extent(2, 40)
PREDICATES = extent(40, 300)


def test_files_with_rows_that_match_random_predicates_are_kept(tmp_path: Path) -> None:
    skipped = 0
    for number in range(TABLES):
        chance, zone = random.Random(seed() + number), ZONES[number % len(ZONES)]
        rows = Rows.of(chance)
        files = rows.files(tmp_path / str(number), 1 + number % 2)
        for made, node in itertools.islice(Maker(chance, zone, True, rows.schema).predicates(), PREDICATES):
            wanted = [value == ("True",) for value in rows.by_row(node, zone)]
            kept = files.kept(made.sql, zone, True)
            if kept is None:
                continue
            lost = [at for at, (match, there) in enumerate(zip(wanted, kept, strict=True)) if match and not there]
            assert not lost, f"{made.sql} [{zone}, seed {number}] is TRUE of {rows.each[lost[0]]}"
            skipped += len(kept) - sum(kept)
    assert skipped > 2 * TABLES * PREDICATES


def test_a_quotient_of_more_than_64_bits_prunes_nothing(tmp_path: Path) -> None:
    data = pa.table({"d": pa.array([Decimal("127.9")], pa.decimal128(38, 18))})
    table = ds.DeltaTable.create(tmp_path, data.schema)
    pq.write_table(data, tmp_path / "a.parquet")
    table.add_files(["a.parquet"])
    # The value is Spark's.
    for where in ("= 6406356919280730112", "< 6406356919280730113", "> 0"):
        assert table.scan(f"d div 0.00000000000000000001BD {where}").to_arrow().num_rows == 1, where
    assert not len(table.scan("d div 2BD = 64").files())


def test_a_choice_within_a_lambda_function_is_made_for_each_element(tmp_path: Path) -> None:
    data = pa.table({"d": pa.array([Decimal("0.25")], pa.decimal128(4, 2)), "i": [1]})
    table = ds.DeltaTable.create(tmp_path, data.schema)
    pq.write_table(data, tmp_path / "a.parquet")
    table.add_files(["a.parquet"])
    zipped = "zip_with(array(d), array(1, 2), (x, y) -> {}(x, y))"
    for where in (
        f"CAST({zipped.format('coalesce')} AS STRING) = '[0.25, 2.00]'",
        f"CAST({zipped.format('greatest')} AS STRING) = '[1.00, 2.00]'",
        "CAST(transform(array(i), x -> CASE WHEN x = 1 THEN 5 ELSE x END) AS STRING) = '[5]'",
    ):
        assert table.scan(where).to_arrow().num_rows == 1, where
