"""Overwrites of the partitions that the new rows have."""

import datetime
import itertools
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from deltaskip import DeltaTable
from deltaskip.actions import AddFile, decode_path
from deltaskip.sparkexpr.types import arrow_schema
from tests.dml.tables import actions_of, ids_of, info_of, made, rows
from tests.each import each


class TestDynamic:
    def test_rule_36_the_partitions_of_the_new_rows_are_replaced_and_null_is_one(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",))
        table.overwrite(rows([30, 32]), partitions="dynamic")
        assert ids_of(table) == [1, 4, 7, 10, 30, 32]
        info = info_of(table)
        assert info["operationParameters"]["isDynamicPartitionOverwrite"] == "true"
        assert "predicate" not in info["operationParameters"]

    def test_rule_36_no_rows_replace_nothing(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",))
        assert table.overwrite(rows([]), partitions="dynamic").version is None
        assert len(ids_of(table)) == 12

    def test_rule_36_a_table_without_partitions_loses_all_rows(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        table.overwrite(rows([30]), partitions="dynamic")
        assert ids_of(table) == [30]
        assert "isDynamicPartitionOverwrite" not in info_of(table)["operationParameters"]

    def test_rule_16_an_instant_in_two_spellings_is_one_partition(self, tmp_path: Path) -> None:
        table = DeltaTable.create(tmp_path / "t", "id BIGINT, ts TIMESTAMP", ["ts"])
        noon = datetime.datetime(2024, 3, 10, 12, tzinfo=datetime.UTC)
        times = pa.array([noon], pa.timestamp("us", "UTC"))
        table.append(pa.table({"id": [1], "ts": times}))
        add = actions_of(table)["add"][0]
        assert add["partitionValues"] == {"ts": "2024-03-10T12:00:00.000000Z"}
        # Another writer spells the same instant in local time.
        file = AddFile.from_json(add)
        for spelling in ("2024-03-10 12:00:00", "2024-03-10 12:00:00.000000"):
            name = f"{len(spelling)}.parquet"
            (tmp_path / "t" / name).write_bytes((tmp_path / "t" / decode_path(add["path"])).read_bytes())
            with table.transaction() as txn:
                txn.add(replace(file, partition_values={"ts": spelling}, path=name))
            table.refresh()
        assert ids_of(table) == [1, 1, 1]
        table.overwrite(pa.table({"id": [2], "ts": times}), partitions="dynamic")
        assert ids_of(table) == [2]

    def test_many_partitions_of_two_columns(self, tmp_path: Path) -> None:
        table = DeltaTable.create(tmp_path / "t", "id BIGINT, a INT, b STRING", ["a", "b"])
        every = [(i, i // 10, "xyz"[i % 3] if i % 4 else None) for i in range(200)]

        def of(rows: list[tuple[int, int, str | None]]) -> pa.Table:
            return pa.table(
                {
                    "id": [r[0] for r in rows],
                    "a": pa.array([r[1] for r in rows], pa.int32()),
                    "b": pa.array([r[2] for r in rows], pa.string()),
                }
            )

        table.append(of(every))
        new = [(1000 + i, a, b) for i, a, b in every if i % 7 == 0 or i > 150]
        gone = {(a, b) for _, a, b in new}
        table.overwrite(of(new), partitions="dynamic")
        expected = [i for i, a, b in every if (a, b) not in gone] + [i for i, _, _ in new]
        assert ids_of(table) == sorted(expected)

    # type, the values that a writer logged, the new value, the logged values that stay
    # delta-spark 4.4.0 replaces -0.0 and 0.0 by either, and keeps "" apart from NULL.
    SAME = (
        ("DOUBLE", ("-0.0", "0.0", "0", "1.0", None), 0.0, ("1.0", None)),
        ("DOUBLE", ("-0.0", "0.0", "0E0", "1E0"), -0.0, ("1E0",)),
        ("FLOAT", ("-0.0", "0.0", "0.1"), -0.0, ("0.1",)),
        ("DOUBLE", ("1E1", "10.0", "10", "1.0"), 10.0, ("1.0",)),
        ("DOUBLE", ("NaN", "nan", "Infinity"), math.nan, ("Infinity",)),
        ("INT", ("1", "01", "+1", "1.0", "11", None, ""), 1, ("11", None, "")),
        ("INT", ("1", None, ""), None, ("1",)),
        ("DECIMAL(5,2)", ("1", "1.0", "01.00", "1E0", "0.1"), Decimal("1.00"), ("0.1",)),
        ("BOOLEAN", ("True", "true", "1", "yes", "false"), True, ("false",)),
        ("DATE", ("2024-01-02", "2024-1-2", "2024-01-03"), datetime.date(2024, 1, 2), ("2024-01-03",)),
        ("STRING", ("", None, "a", "A", "a "), None, ("", "a", "A", "a ")),
        # An empty string is written as NULL, as by delta-spark.
        ("STRING", ("", None, "a"), "", ("", "a")),
        ("STRING", ("", None, "a", "A", "a "), "a", ("", None, "A", "a ")),
        ("BINARY", ("", None, "a", "A"), None, ("", "a", "A")),
        ("BINARY", ("", None, "a", "A"), b"a", ("", None, "A")),
        ("CHAR(3)", ("a", "a  ", "ab", None), "a", ("ab", None)),
    )

    def test_partitions_are_the_same_by_value_however_a_writer_spells_them(self, tmp_path: Path) -> None:
        numbers = itertools.count()

        def check(case: tuple[str, tuple[str | None, ...], object, tuple[str | None, ...]]) -> None:
            type_, logged, value, stay = case
            folder = tmp_path / f"{next(numbers)}"
            table = DeltaTable.create(folder, f"id BIGINT, p {type_}", ["p"])
            new = pa.table({"id": [-1], "p": pa.array([value], arrow_schema(table.schema).field("p").type)})
            table.append(new)
            file = AddFile.from_json(actions_of(table)["add"][0])
            content = (folder / decode_path(file.path)).read_bytes()
            table.delete()
            with table.transaction() as txn:
                for number, text in enumerate(logged):
                    (folder / f"{number}.parquet").write_bytes(content)
                    txn.add(replace(file, partition_values={"p": text}, path=f"{number}.parquet"))
            table.refresh()
            table.overwrite(new, partitions="dynamic")
            left = [path for path in table.scan().files()["path"].to_pylist() if "/" not in path]
            assert sorted(left) == [f"{number}.parquet" for number, text in enumerate(logged) if text in stay]

        each(self.SAME, check)
