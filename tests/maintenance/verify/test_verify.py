"""Verification: every kind of damage is named by its rule, sound tables have no findings, and repairs hold."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.maintenance.verify.table_rules import RULES
from tests import corpus
from tests.builder import relog
from tests.each import each, refuses
from tests.maintenance.verify.damages import (
    ABOUT,
    DAMAGES,
    HARMLESS,
    Damage,
    action,
    changing,
    checkpoint_of,
    data_files,
    log_file,
    replaced_by_folder,
    rows_of,
)
from tests.maintenance.verify.sound_tables import SOUND

# deltalake does not read mapped columns, deletion vectors, V2 checkpoints, trees, shapes, other types and clones.
UNREAD = (
    "by_id", "cloned", "compacted", "for_iceberg", "in_sidecars", "in_trees", "mapped", "shapes", "vectors", "widened",
)  # fmt: skip
CASES = [(damage, name) for damage in DAMAGES for name in damage.tables]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every sound table."""
    folder = tmp_path_factory.mktemp("sound")
    for name, build in SOUND.items():
        build(folder / name)
    return folder


def damaged(sound: Path, tmp_path: Path, name: str, damage: Damage) -> Path:
    table = tmp_path / name
    shutil.copytree(sound / name, table)
    damage.act(table)
    return table


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_table_has_no_findings(sound: Path, name: str) -> None:
    found = ds.verify(sound / name, data=True)
    assert (found.findings, found.not_checked, found.exit_code) == ((), (), 0)
    assert found.checked["files"] > 0
    assert found.checked["rows"] >= 60


def test_rows_that_a_compaction_of_a_stale_table_doubles_are_named(tmp_path: Path) -> None:
    folder = str(tmp_path / "t")
    for number in range(3):
        deltalake.write_deltalake(folder, pa.table({"id": [number]}), mode="append")
    stale = deltalake.DeltaTable(folder)
    deltalake.DeltaTable(folder).optimize.compact()
    ds.DeltaTable(folder).append(pa.table({"id": [9]}))
    assert ds.verify(folder, data=True).findings == ()
    stale.optimize.compact()
    assert sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist()) == [0, 0, 1, 1, 2, 2, 9]
    [found] = ds.verify(folder, data=True)
    assert (found.rule, found.severity, found.versions, len(found.paths)) == ("files.removed-again", "warning", (5,), 3)
    assert "which version 3 had removed" in found.message and "compare it with version 4" in found.message
    ds.DeltaTable(folder).restore(4)
    assert sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 9]


@pytest.mark.long(gate=150)
@pytest.mark.parametrize(("damage", "name"), [pytest.param(d, n, id=f"{d.name}-{n}") for d, n in CASES])
def test_damage_is_named_by_its_rule(sound: Path, tmp_path: Path, damage: Damage, name: str) -> None:
    table = damaged(sound, tmp_path, name, damage)
    found = ds.verify(table, data=damage.data)
    assert damage.rule in found.rules, found
    own = [finding for finding in found if finding.rule == damage.rule]
    assert all(finding.source and finding.message.endswith((".", "…")) for finding in own)
    assert own[0].severity == RULES[damage.rule].severity
    errors = any(finding.severity == "error" for finding in found)
    assert found.exit_code == (1 if errors else 2 if found.not_checked else 0)


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("name", SOUND)
def test_damages_of_every_kind_are_named_in_every_kind_of_table(sound: Path, tmp_path: Path, name: str) -> None:
    rows = set(ds.DeltaTable(sound / name).scan().to_arrow()["id"].to_pylist())
    kinds = 0
    for damage in DAMAGES:
        if name not in ABOUT.get(damage.rule, SOUND) or name in HARMLESS.get(damage.name, ()):
            continue
        try:
            table = damaged(sound, tmp_path, name, damage)
        except (StopIteration, LookupError, ValueError, FileNotFoundError):
            # The table has no such thing.
            assert name not in damage.tables, damage.name
            shutil.rmtree(tmp_path / name)
            continue
        kinds += 1
        found = ds.verify(table, data=damage.data)
        # Beneath a checkpoint, and where a rule is not reached, it is another rule.
        assert any(finding.severity != "info" or finding.rule == damage.rule for finding in found), (damage.name, found)
        if damage.mends and found.errors:
            done = ds.verify(table, data=damage.data, repair=True)
            left = ds.verify(table, data=True)
            if not any(step.refused for step in done.repairs):
                assert not left.errors, (damage.name, done.repairs, left)
                kept = set(ds.DeltaTable(table).scan().to_arrow()["id"].to_pylist())
                assert kept < rows if damage.rule == "data.missing" else kept == rows, damage.name
                if name not in UNREAD:
                    assert set(deltalake.DeltaTable(str(table)).to_pyarrow_table()["id"].to_pylist()) == kept
        shutil.rmtree(table)
    # Most damages are to commits that this table no longer has.
    assert kinds >= (30 if name == "cleaned_up" else 60)


MENDED = [(damage, name) for damage, name in CASES if damage.mends]


@pytest.mark.long(gate=40)
@pytest.mark.parametrize(("damage", "name"), [pytest.param(d, n, id=f"{d.name}-{n}") for d, n in MENDED])
def test_a_repair_leaves_the_rows_that_are_left(sound: Path, tmp_path: Path, damage: Damage, name: str) -> None:
    expected = set(ds.DeltaTable(sound / name).scan().to_arrow()["id"].to_pylist())
    table = damaged(sound, tmp_path, name, damage)
    if damage.rule == "data.missing":
        [gone] = (
            path
            for path in (sound / name).rglob("part-*.parquet")
            if not (table / path.relative_to(sound / name)).exists()
        )
        expected -= set(column_of(gone, 0))
    before = ds.verify(table, data=damage.data, repair=True, dry_run=True)
    files = sorted(path.relative_to(table) for path in table.rglob("*"))
    assert any(step.rule == damage.rule or damage.rule.startswith(("hint.", "data.")) for step in before.repairs)
    assert not any(step.done or step.refused for step in before.repairs)
    again = ds.verify(table, data=damage.data, repair=True, dry_run=True)
    assert (sorted(path.relative_to(table) for path in table.rglob("*")), again.findings) == (files, before.findings)
    found = ds.verify(table, data=damage.data, repair=True)
    assert all(step.done for step in found.repairs)
    # Nothing is deleted: a file of the log that goes is kept under another name.
    now = {path.relative_to(table) for path in table.rglob("*")}
    for path in set(files) - now:
        assert path.with_name(f"{path.name}.damaged") in now
    left = ds.verify(table, data=True)
    assert damage.rule not in left.rules
    assert not left.errors
    opened = ds.DeltaTable(table)
    assert set(opened.scan().to_arrow()["id"].to_pylist()) == expected
    commits = [entry.operation for entry in opened.history()]
    assert commits.count("FSCK") == (0 if found.repaired is None else 1)
    if name not in UNREAD:
        assert set(deltalake.DeltaTable(str(table)).to_pyarrow_table()["id"].to_pylist()) == expected


def column_of(file: Path, number: int) -> list[object]:
    rows = pq.read_table(file, partitioning=None)
    return rows.column(number).to_pylist()


def test_a_repair_refuses_what_is_not_certain(sound: Path, tmp_path: Path) -> None:
    def refused(table: Path) -> str:
        found = ds.verify(table, data=True, repair=True)
        assert found.repaired is None
        assert not any(step.done for step in found.repairs)
        return " ".join(step.refused for step in found.repairs)

    gone = tmp_path / "gone"
    shutil.copytree(sound / "plain", gone)
    for file in data_files(gone):
        file.unlink()
    assert "every file of the table is missing" in refused(gone)

    # The checksums say that the checkpoint, which no commits prove, lacks a file.
    lacking = tmp_path / "lacking"
    shutil.copytree(sound / "cleaned_up", lacking)
    rows_of(lambda found: found.remove(next(each for each in found if each["add"] is not None)))(lacking)
    assert "the checkpoint may be what is wrong" in refused(lacking)
    assert ds.verify(lacking).rules >= {"checksum.contents"}

    torn = tmp_path / "torn"
    shutil.copytree(sound / "partitioned", torn)
    checkpoint_of(torn).write_bytes(b"torn")
    for version in (0, 1):
        log_file(torn, version).unlink()
    assert "no version can be read" in refused(torn)

    # The disk of a partition is not there.
    linked = tmp_path / "linked"
    table = ds.DeltaTable.create(linked, "id BIGINT, p STRING", "p")
    table.append([{"id": 1, "p": "a"}, {"id": 2, "p": "b"}])
    (linked / "p=a").rename(tmp_path / "disk")
    (linked / "p=a").symlink_to(tmp_path / "disk")
    assert ds.verify(linked, data=True).findings == ()
    (tmp_path / "disk").rename(tmp_path / "away")
    assert "a link leads to them" in refused(linked)
    (tmp_path / "disk").mkdir()
    assert "a link leads to them" in refused(linked)

    clone = tmp_path / "clone"
    ds.DeltaTable(sound / "plain").clone(clone)
    changing(0, lambda found: action(found, "add").update(path=f"file://{tmp_path}/unmounted/x.parquet"))(clone)
    assert "outside of the table's folder" in refused(clone)


def lines_of(change: Callable[[list[str]], list[str]]) -> Callable[[Path], object]:
    """A change of the lines of version 2."""
    return lambda t: log_file(t, 2).write_text("".join(change(log_file(t, 2).read_text().splitlines(True))))


@pytest.mark.parametrize("checksums", ["all", "none", "of the checkpoint"])
@pytest.mark.parametrize(
    "damage",
    [
        lines_of(lambda lines: []),
        lines_of(lambda lines: ["\n"]),
        lines_of(lambda lines: lines[:-1]),
        lines_of(lambda lines: lines[:1]),
        lines_of(lambda lines: [each for each in lines if '"remove"' not in each]),
        lines_of(lambda lines: [each.replace("part-00000", "part-00009", 1) for each in lines]),
    ],
)
def test_commits_that_lost_lines_are_no_proof(tmp_path: Path, damage: Callable[[Path], object], checksums: str) -> None:
    folder = tmp_path / "t"
    table = ds.DeltaTable.create(folder, "id BIGINT", properties={"delta.enableDeletionVectors": "false"})
    table.append([{"id": each} for each in range(4)], max_records_per_file=1)
    table.overwrite([{"id": each} for each in (0, 1, 2)], where="id < 3", max_records_per_file=1)
    table.checkpoint()
    table.append([{"id": 99}])
    damage(folder)
    for file in (folder / "_delta_log").glob("*.crc"):
        if checksums == "none" or (checksums == "of the checkpoint" and file.name != log_file(folder, 2, "crc").name):
            file.unlink()
    rows = sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist())
    found = ds.verify(folder, data=True, repair=True)
    assert found.errors and "checkpoint.contents" in found.rules
    assert all(step.refused for step in found.repairs if step.action != "remove files")
    assert sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist()) == rows


def test_a_repair_leaves_what_is_no_regular_file(sound: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(sound / "partitioned", table)
    for name in ("_last_checkpoint", f"{2:020d}.checkpoint.parquet"):
        replaced_by_folder(table / "_delta_log" / name)
    found = ds.verify(table, repair=True)
    assert found.rules >= {"hint.readable", "checkpoint.readable", "log.regular-files"}
    assert {step.refused.partition(" is a ")[2] for step in found.repairs} == {"directory, not a regular file"}
    assert ds.DeltaTable(table).scan().count() == 60


def test_a_table_that_only_appends_loses_no_row(sound: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(sound / "plain", table)
    ds.DeltaTable(table).alter_sql("SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    data_files(table)[0].unlink()
    refuses(ds.UnsupportedFeature, "append-only", ds.verify, table, data=True, repair=True)
    assert ds.DeltaTable(table).version == 4


def test_a_table_that_does_not_open_is_a_finding(tmp_path: Path) -> None:
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    assert ds.verify(tmp_path / "t").rules == {"log.state"}
    (log / f"{3:020d}.json").write_text('{"commitInfo":{}}\n')
    found = ds.verify(tmp_path / "t", data=True)
    assert (found.version, bool(found), found.exit_code) == (None, False, 1)
    assert "commit.gap" in found.rules
    refuses(ds.TableNotFound, "no table to verify", ds.verify, tmp_path / "nothing")


def test_results_have_other_forms(sound: Path, tmp_path: Path) -> None:
    table = damaged(sound, tmp_path, "plain", next(each for each in DAMAGES if each.rule == "data.missing"))
    found = ds.verify(table, data=True)
    parsed = json.loads(found.to_json())
    assert parsed["exit_code"] == 1
    assert [each["rule"] for each in parsed["findings"]] == ["data.missing"]
    rows = found.to_arrow().to_pylist()
    assert [row["rule"] for row in rows] == ["data.missing"]
    assert rows[0]["paths"] == list(found.findings[0].paths)
    assert found.to_pandas()["severity"].tolist() == ["error"]
    assert "error data.missing: part-" in repr(found)
    assert len(found) == 1
    assert [each.rule for each in found.errors] == ["data.missing"]


def test_earlier_versions_are_not_looked_at(sound: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(sound / "partitioned", table)
    log_file(table, 1).write_text("damaged")
    for file in (table / "_delta_log").glob("*.crc"):
        file.unlink()
    assert "commit.readable" in ds.verify(table).rules
    assert ds.verify(table, since=2).findings == ()


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("DATE", ("", None)),
        ("BOOLEAN", ("true", "True")),
        ("DOUBLE", ("1e0", "1.0")),
        ("DOUBLE", ("nan", "NaN")),
        ("DECIMAL(9, 2)", ("1.5", "1.50")),
        ("TIMESTAMP", ("2024-01-01 00:00:00", "2024-01-01T00:00:00.000000Z")),
    ],
)
def test_partition_values_have_several_texts(tmp_path: Path, kind: str, texts: tuple[str, str | None]) -> None:
    table = ds.DeltaTable.create(tmp_path, f"id BIGINT, p {kind}", partition_by=["p"])
    table.append([{"id": 1, "p": None}])
    relog(tmp_path, lambda each: each.get("add", {}).update(partitionValues={"p": texts[0]}))
    ds.DeltaTable(tmp_path).checkpoint()
    rows_of(lambda actions: [_with_value(each, texts[1]) for each in actions])(tmp_path)
    assert ds.verify(tmp_path).errors == ()
    rows_of(lambda actions: [_with_value(each, "0.5") for each in actions])(tmp_path)
    assert "checkpoint.contents" in ds.verify(tmp_path).rules


def _with_value(action: dict[str, Any], value: object) -> dict[str, Any]:
    add = action["add"]
    return action if add is None else {**action, "add": {**add, "partitionValues": [("p", value)]}}


@pytest.mark.parametrize(
    "moment", ["1956-06-26T08:23:22.618472", "1970-01-01T00:00:00.000001", "2024-06-26T08:23:22.618472"]
)
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ"])
def test_bounds_with_microseconds_hold(tmp_path: Path, moment: str, kind: str) -> None:
    """deltalake writes microseconds, where others cut to milliseconds."""
    table = ds.DeltaTable.create(tmp_path, f"t {kind}")
    zone = UTC if kind == "TIMESTAMP" else None
    table.append([{"t": datetime.fromisoformat(moment).replace(tzinfo=zone)}])
    bound = {"t": moment + "Z" * (zone is not None)}
    stats = {"numRecords": 1, "minValues": bound, "maxValues": bound, "nullCount": {"t": 0}}
    relog(tmp_path, lambda each: each.get("add", {}).update(stats=json.dumps(stats)))
    assert ds.verify(tmp_path, data=True).errors == ()


def test_gates(sound: Path, tmp_path: Path) -> None:
    table = ds.DeltaTable(sound / "plain")
    assert table.verify(min_skipped=60, where="id = 5").findings == ()
    assert table.verify(min_skipped=60, where=["id = 5", "name = 'n5' OR p = 1"]).rules == {"gate.skipped"}
    assert table.verify(assert_stats=["id", "NAME"]).findings == ()
    bare = ds.DeltaTable.create(
        sound / "bare", "id BIGINT, x BIGINT", properties={"delta.dataSkippingNumIndexedCols": "1"}
    )
    bare.append(pa.table({"id": [1], "x": [2]}))
    assert bare.verify(assert_stats=["id", "x"]).rules == {"gate.statistics"}
    refuses(ds.InvalidArgument, "where needs min_skipped", table.verify, where="id = 5")
    refuses(ds.InvalidArgument, r"set deltaskip\.options\.journal", table.verify, min_skipped=60)
    with ds.options.changed(journal=str(tmp_path / "journal")):
        table.scan("id = 5").files()
        assert table.verify(min_skipped=60).findings == ()
        table.scan("name = 'n5' OR p = 1").files()
        assert table.verify(min_skipped=60).rules == {"gate.skipped"}
    refuses(ds.InvalidArgument, "no column", table.verify, assert_stats=["zz"])


def _polars(path: Path) -> None:
    pl.DataFrame({"id": [1, None, 3], "s": ["a", "b" * 100, None], "x": [1.5, float("nan"), -0.0]}).write_delta(
        str(path)
    )


def _deltalake(path: Path) -> None:
    times = pa.array([1_700_000_000_123_456, None, -5], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": [1, 2, 3], "ts": times, "p": ["a", "b", "c d"], "d": pa.array([1, 2, None], pa.date32())})
    deltalake.write_deltalake(str(path), rows, partition_by=["p"])
    deltalake.write_deltalake(str(path), rows, mode="append")
    opened = deltalake.DeltaTable(str(path))
    opened.delete("id = 2")
    opened.create_checkpoint()
    opened.optimize.compact()


def _duckdb(path: Path) -> None:
    extension = pytest.importorskip("duckdb_extension_delta", reason="duckdb-extension-delta is not installed (bench)")
    ds.DeltaTable.create(path, "id BIGINT, s STRING")
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    binary = next(Path(extension.__file__).parent.rglob("delta.duckdb_extension"))
    connection.execute(f"LOAD '{binary}'")
    connection.execute(f"ATTACH '{path}' AS t (TYPE delta)")
    connection.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL)")


@pytest.mark.parametrize("write", [_polars, _deltalake, _duckdb])
def test_tables_of_other_writers_have_no_findings(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "t")
    found = ds.verify(tmp_path / "t", data=True)
    assert [each for each in found if each.severity != "info"] == []
    assert found.not_checked == ()


# Tables of the corpus that violate a rule on purpose, and the rules.
_CRAFTED = {
    "craft__part_value_spellings": {"data.partition-values"},
    "craft__stats_odd_values": {"statistics.json"},
    "craft__zero_byte_commit": {"commit.empty"},
    "deltars__issue_1374": {"data.statistics"},
    "gen__collations_part": {"protocol.unlisted"},
    "golden__corrupted-last-checkpoint-kernel": {"hint.readable"},
    "kernelrs__compacted-log-files-table": {"compaction.reconciled"},
    "kernelrs__parsed-stats": {"data.statistics"},
    "spark__dbr_8_0_non_generated_columns": {"protocol.unlisted"},
    "spark__identity_test_written_by_version_5": {"protocol.unlisted"},
}


def test_sound_tables_of_the_corpus_have_no_findings() -> None:
    if not corpus.present():
        pytest.skip(corpus.ABSENT)

    def check(table: corpus.CorpusTable) -> None:
        found = ds.verify(table.path, data=True)
        rules = {finding.rule for finding in found if finding.severity != "info"}
        assert rules == _CRAFTED.get(table.name, set()), found
        assert found.not_checked == ()

    each([table for table in corpus.tables() if table.expect == "read"], check)


def test_every_rule_has_a_damage() -> None:
    shown = {damage.rule for damage in DAMAGES}
    # Shown elsewhere: by deltalake, gates, schemas that only other tests build, and files that killed writers leave.
    others = {
        *("files.removed-again", "gate.skipped", "gate.statistics", "log.state", "log.orphans", "schema.reserved"),
        *("schema.collations", "domains.collations", "iceberg.features", "iceberg.types", "iceberg.partitioning"),
    }
    assert set(RULES) - shown == others
    assert len({damage.name for damage in DAMAGES}) >= 60


def test_a_first_commit_that_is_read_in_pieces_is_whole(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    with ds.options.changed(log_piece_bytes=100, log_bytes=1):
        assert table.verify().findings == ()


def test_fields_that_swapped_their_names_are_sound(tmp_path: Path) -> None:
    inner = "STRUCT<x: INT, y: STRING>"
    table = ds.DeltaTable.create(tmp_path / "t", f"s {inner}, a ARRAY<{inner}>, m MAP<STRING, {inner}>")
    pair = {"x": 1, "y": "a"}
    type_ = pa.struct([("x", pa.int32()), ("y", pa.string())])
    maps = pa.array([[("k", pair)]], pa.map_(pa.string(), type_))
    table.append(pa.table({"s": pa.array([pair], type_), "a": pa.array([[pair]], pa.list_(type_)), "m": maps}))
    table.alter(ds.SetProperty("delta.columnMapping.mode", "name"))
    for above in ("s", "a.element", "m.value"):
        names = (("x", "z"), ("y", "x"), ("z", "y"))
        table.alter(*(ds.RenameColumn(f"{above}.{old}", new) for old, new in names))
    assert table.scan().to_arrow()["s"].to_pylist() == [{"y": 1, "x": "a"}]
    assert not table.verify(data=True).findings
