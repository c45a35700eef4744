"""Every pair of a transaction and a commit that came first: which conflict, which do not, and what the error says."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

import deltaskip as ds
from deltaskip.actions import Protocol
from deltaskip.errors import CommitConflict, SchemaError, TableNotFound
from deltaskip.log.checkpoint.checkpoint_opening import open_checkpoint
from deltaskip.sparkexpr.types import DOUBLE, LONG, StructField, StructType
from deltaskip.txn.transaction import Transaction
from tests.each import refuses
from tests.looped import looped
from tests.txn.tables import actions, append, file, gone, make_table, paths, vector

pytestmark = pytest.mark.usefixtures("without_look_ups")

FEATURES = ["domainMetadata", "deletionVectors", "rowTracking", "appendOnly"]
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.rowTrackingSuspended": "true"}

Act = Callable[[Transaction], None]


def act(**does: object) -> Act:
    """What a transaction does, by name: read, read_files, add, remove, again, domain, app …"""

    def run(txn: Transaction) -> None:
        for name, value in does.items():
            match name, value:
                case "read", str():
                    txn.read(value)
                case "read_files", list():
                    txn.read_files(value)
                case "add", list():
                    txn.add(*(file(path, low, low + 9) for path, low in value))
                case "again", list():
                    txn.add(*(file(path, data_change=False) for path in value))
                case "compact", list():
                    txn.add(*(file(path, low, low + 9, data_change=False) for path, low in value))
                case "remove", list():
                    txn.remove(*(gone(path) for path in value))
                case "drop", list():
                    txn.remove(*(gone(path, data_change=False) for path in value))
                case "vector", str():
                    txn.remove(gone(value))
                    txn.add(file(value, deletion_vector=vector("1")))
                case "domain", str():
                    txn.set_domain(value, "{}")
                case "app", str():
                    txn.set_app_version(value, 1)
                case "read_app", str():
                    txn.read_app(value)
                case "properties", dict():
                    old = txn.snapshot.metadata
                    txn.set_metadata(replace(old, configuration={**old.configuration, **value}))
                case "protocol", list():
                    txn.set_protocol(Protocol(3, 7, ("deletionVectors",), tuple(value)))
                case _:
                    raise AssertionError(name)

    return run


# Files a (ids 0-9) and b (10-19) are there before. Each row: the winner, the transaction, the kind of conflict under
# Serializable and under WriteSerializable.
PAIRS: dict[str, tuple[Act, Act, str | None, str | None]] = {
    "append, append": (act(add=[("c", 20)]), act(add=[("d", 20)]), None, None),
    "append, append of the same path": (act(add=[("c", 20)]), act(add=[("c", 20)]), "add-add", "add-add"),
    "append, write after reading its rows": (act(add=[("c", 20)]), act(read="id = 25", add=[("d", 20)]), "append",
        None),
    "append, write after reading other rows": (act(add=[("c", 20)]), act(read="id = 5", add=[("d", 20)]), None, None),
    "append, write after reading all": (act(add=[("c", 20)]), act(read="true", add=[("d", 20)]), "append", None),
    "append, write after reading what a column without statistics says": (act(add=[("c", 20)]),
        act(read="name = 'x'", add=[("d", 20)]), "append", None),
    "read and append, write after reading its rows": (act(read="id = 5", add=[("c", 20)]),
        act(read="id = 25", add=[("d", 20)]), "append", "append"),
    "read and append, write after reading other rows": (act(read="id = 5", add=[("c", 20)]),
        act(read="id = 5", add=[("d", 20)]), None, None),
    "append, compaction after reading all": (act(add=[("c", 20)]), act(read="true", drop=["a"], compact=[("a2", 0)]),
        None, None),
    "compaction of others, write after reading all of one": (act(drop=["b"], compact=[("b2", 10)]),
        act(read="id = 5", add=[("d", 20)]), None, None),
    "compaction, write after reading": (act(drop=["a"], compact=[("a2", 0)]), act(read="id = 5", add=[("d", 20)]),
        "delete-read", "delete-read"),
    "delete, append": (act(remove=["a"]), act(add=[("d", 20)]), None, None),
    "delete, write after reading it": (act(remove=["a"]), act(read="id = 5", add=[("d", 20)]), "delete-read",
        "delete-read"),
    "delete, write after reading it by name": (act(remove=["a"]), act(read_files=["./a"], add=[("d", 20)]),
        "delete-read", "delete-read"),
    "delete, write after reading another": (act(remove=["a"]), act(read="id = 15", add=[("d", 20)]), None, None),
    "delete, write after reading another by name": (act(remove=["a"]), act(read_files=["b"], add=[("d", 20)]), None,
        None),
    "delete, delete": (act(remove=["a"]), act(remove=["%61"]), "delete-delete", "delete-delete"),
    "delete, delete of another": (act(remove=["a"]), act(remove=["b"]), None, None),
    "delete, statistics": (act(remove=["a"]), act(again=["a"]), "delete-delete", "delete-delete"),
    "delete, statistics of another": (act(remove=["a"]), act(again=["b"]), None, None),
    "deletion vector, delete": (act(vector="a"), act(remove=["a"]), "delete-delete", "delete-delete"),
    "deletion vector, statistics": (act(vector="a"), act(again=["a"]), "delete-delete", "delete-delete"),
    "deletion vector, write after reading": (act(vector="a"), act(read="id = 5", add=[("d", 20)]), "delete-read",
        "delete-read"),
    "statistics, delete": (act(again=["a"]), act(remove=["a"]), None, None),
    "statistics, write after reading": (act(again=["a"]), act(read="true", add=[("d", 20)]), None, None),
    "statistics, statistics": (act(again=["a"]), act(again=["a"]), "add-add", "add-add"),
    "statistics, deletion vector": (act(again=["a"]), act(vector="a"), "add-add", "add-add"),
    "metadata, append": (act(properties={"x": "y"}), act(add=[("d", 20)]), "metadata", "metadata"),
    "metadata, metadata": (act(properties={"x": "y"}), act(properties={"z": "y"}), "metadata", "metadata"),
    "append, metadata": (act(add=[("c", 20)]), act(properties={"x": "y"}), None, None),
    "protocol, append": (act(protocol=[*FEATURES, "vacuumless"][:4]), act(add=[("d", 20)]), "protocol", "protocol"),
    "append, protocol": (act(add=[("c", 20)]), act(protocol=FEATURES), None, None),
    "append, metadata after reading its rows": (act(add=[("c", 20)]), act(read="id = 25", properties={"x": "y"}),
        "append", "append"),
    "append, metadata and write after reading its rows": (act(add=[("c", 20)]),
        act(read="id = 25", properties={"x": "y"}, add=[("d", 20)]), "append", "append"),
    "append, metadata after reading other rows": (act(add=[("c", 20)]), act(read="id = 5", properties={"x": "y"}), None,
        None),
    "append, protocol after reading all": (act(add=[("c", 20)]), act(read="true", protocol=FEATURES), "append", None),
    "append, domain after reading its rows": (act(add=[("c", 20)]), act(read="id = 25", domain="x"), "append", None),
    "append, domain after reading other rows": (act(add=[("c", 20)]), act(read="id = 5", domain="x"), None, None),
    "append, application after reading its rows": (act(add=[("c", 20)]), act(read="id = 25", app="x"), "append", None),
    "append, compaction and domain after reading all": (act(add=[("c", 20)]),
        act(read="true", drop=["a"], compact=[("a2", 0)], domain="x"), "append", None),
    "read and append, domain after reading its rows": (act(read="id = 5", add=[("c", 20)]),
        act(read="id = 25", domain="x"), "append", "append"),
    "delete, metadata after reading it": (act(remove=["a"]), act(read="id = 5", properties={"x": "y"}), "delete-read",
        "delete-read"),
    "delete, domain after reading it": (act(remove=["a"]), act(read="id = 5", domain="x"), "delete-read",
        "delete-read"),
    "delete, domain": (act(remove=["a"]), act(domain="x"), None, None),
    "compaction, delete": (act(drop=["a"], compact=[("a2", 0)]), act(remove=["a"]), "delete-delete", "delete-delete"),
    "compaction, append": (act(drop=["a"], compact=[("a2", 0)]), act(add=[("d", 20)]), None, None),
    "compaction, compaction": (act(drop=["a"], compact=[("a2", 0)]), act(drop=["a"], compact=[("a3", 0)]),
        "delete-delete", "delete-delete"),
    "compaction, statistics": (act(drop=["a"], compact=[("a2", 0)]), act(again=["a"]), "delete-delete",
        "delete-delete"),
    "compaction, metadata": (act(drop=["a"], compact=[("a2", 0)]), act(properties={"x": "y"}), None, None),
    "deletion vector, deletion vector": (act(vector="a"), act(vector="a"), "delete-delete", "delete-delete"),
    "deletion vector, deletion vector of another": (act(vector="a"), act(vector="b"), None, None),
    "deletion vector, write after reading other rows": (act(vector="a"), act(read="id = 15", add=[("d", 20)]), None,
        None),
    "deletion vector, append": (act(vector="a"), act(add=[("d", 20)]), None, None),
    "metadata, delete": (act(properties={"x": "y"}), act(remove=["a"]), "metadata", "metadata"),
    "metadata, domain": (act(properties={"x": "y"}), act(domain="x"), "metadata", "metadata"),
    "metadata, application": (act(properties={"x": "y"}), act(app="x"), "metadata", "metadata"),
    "metadata, statistics": (act(properties={"x": "y"}), act(again=["a"]), "metadata", "metadata"),
    "protocol, protocol": (act(protocol=FEATURES), act(protocol=FEATURES), "protocol", "protocol"),
    "protocol, metadata": (act(protocol=FEATURES), act(properties={"x": "y"}), "protocol", "protocol"),
    "domain, append": (act(domain="x"), act(add=[("d", 20)]), None, None),
    "domain, metadata": (act(domain="x"), act(properties={"x": "y"}), None, None),
    "application, append": (act(app="x"), act(add=[("d", 20)]), None, None),
    "application, same application": (act(app="x"), act(app="x"), "transaction", "transaction"),
    "application, other application": (act(app="x"), act(app="y"), None, None),
    "application, write after reading its version": (act(app="x"), act(read_app="x", add=[("d", 20)]), "transaction",
        "transaction"),
    "domain, same domain": (act(domain="x"), act(domain="x"), "domain", "domain"),
    "domain, other domain": (act(domain="x"), act(domain="y"), None, None),
}  # fmt: skip


def meet(folder: Path, winner: Act, loser: Act, isolation: str | None) -> str | None:
    properties = PROPERTIES if isolation is None else {**PROPERTIES, "delta.isolationLevel": isolation}
    table = make_table(folder, properties, FEATURES)
    append(table, file("a", 0, 9), file("b", 10, 19))
    table.refresh()
    first, second = table.transaction(operation="FIRST"), table.transaction(operation="SECOND")
    winner(first)
    loser(second)
    assert first.commit() == 2
    try:
        assert second.commit() == 3
    except CommitConflict as conflict:
        assert str(folder) in str(conflict)
        assert "version" in str(conflict)
        assert "repeat the operation" in str(conflict)
        assert not (folder / "_delta_log" / f"{3:020d}.json").exists()
        return conflict.kind
    return None


@pytest.mark.parametrize("level", [None, "WriteSerializable"])
@looped("pair", PAIRS)
def test_a_pair_under_each_level(tmp_path: Path, level: str | None, pair: str) -> None:
    winner, loser, serializable, write_serializable = PAIRS[pair]
    expected = serializable if level is None else write_serializable
    assert meet(Path(mkdtemp(dir=tmp_path)) / "t", winner, loser, level) == expected


def test_an_add_that_does_not_say_whether_it_brings_rows_brings_some(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    txn = table.transaction(read="id = 5")
    txn.add(file("mine", 100, 109))
    members = {name: value for name, value in file("other").to_json().items() if name != "dataChange"}
    commit = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    commit.write_text(json.dumps({"add": members}) + "\n")
    refuses(CommitConflict, "added other, which may contain rows that match the predicate id = 5", txn.commit)


def test_an_unknown_isolation_level_is_refused(tmp_path: Path) -> None:
    txn = make_table(tmp_path / "t", {"delta.isolationLevel": "Chaos"}).transaction()
    txn.add(file("a"))
    refuses(SchemaError, r"delta\.isolationLevel of .* is 'Chaos'; set it to Serializable", txn.commit)


def test_the_message_names_the_table_the_version_the_file_and_the_cure(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, *(file(name) for name in "abcde"))
    txn = table.refresh().transaction(operation="DELETE")
    txn.remove(*(gone(name) for name in "abcde"))
    other = table.transaction()
    other.remove(*(gone(name) for name in "abcd"))
    other.commit()
    with pytest.raises(CommitConflict) as raised:
        txn.commit()
    assert str(raised.value) == (
        f"Another writer committed version 2 of {tmp_path}/t and removed a, b, c and 1 more file, which this commit "
        f"removes or adds, after version 1 was read for DELETE: commit the other actions after "
        f"leave_out(*error.paths), or read the table again and repeat the operation."
    )
    assert (raised.value.kind, raised.value.paths) == ("delete-delete", ("a", "b", "c", "d"))


def test_after_a_conflict_over_some_files_the_rest_can_be_committed(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"), file("b"))
    txn = table.refresh().transaction(operation="RECOMPUTE STATISTICS")
    txn.add(file("a", 3, 4, data_change=False), file("b", 3, 4, data_change=False))
    other = table.transaction()
    other.remove(gone("a"))
    other.commit()
    with pytest.raises(CommitConflict) as raised:
        txn.commit()
    txn.leave_out(*raised.value.paths)
    assert txn.commit() == 3
    assert paths(tmp_path / "t") == ["b"]
    assert ds.DeltaTable(tmp_path / "t").scan(where="id = 5").paths() == []


def test_many_winners_are_checked_each_once(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    txn = table.transaction(read="id = 5")
    txn.add(file("mine", 100, 109))
    for number in range(5):
        append(table, file(f"f{number}", 10, 19))
    late = table.transaction(read="id = 15")
    late.add(file("late"))
    assert txn.commit() == 6
    refuses(CommitConflict, r"added f0, f1, f2 and 2 more files.*the predicate id = 15", late.commit)


def test_a_nan_that_a_writer_may_have_left_out_of_its_bounds_conflicts(tmp_path: Path) -> None:
    schema = StructType((StructField("x", DOUBLE), StructField("id", LONG)))
    table = make_table(tmp_path / "t", schema=schema)
    bounds = '{"numRecords":10,"minValues":{"x":1.0},"maxValues":{"x":2.0},"nullCount":{"x":0}}'
    above, below = table.transaction(read="x > 5"), table.transaction(read="x < 0")
    append(table, file("a", stats=bounds))
    for txn, name in ((above, "b"), (below, "c")):
        txn.add(file(name))
    refuses(CommitConflict, "x > 5", above.commit)
    assert below.commit() == 2


def test_a_gap_in_the_winners_stops_the_commit(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    txn = table.transaction(read="id = 5")
    txn.add(file("mine"))
    for number in range(3):
        append(table, file(f"f{number}", 10, 19))
    (tmp_path / "t" / "_delta_log" / f"{1:020d}.json").rename(tmp_path / "kept")
    refuses(ds.CorruptLog, r"00000000000000000001\.json", txn.commit)
    assert not (tmp_path / "t" / "_delta_log" / f"{4:020d}.json").exists()


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_a_checkpoint_cleaned_up_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str) -> None:
    # A larger checkpoint is not read when it is opened.
    monkeypatch.setattr("deltaskip.log.loading._opened", open_checkpoint)
    table = make_table(tmp_path / "t", {"delta.checkpointPolicy": policy}, ["v2Checkpoint"])
    append(table, file("a"))
    table.refresh().checkpoint()
    late = ds.DeltaTable(tmp_path / "t").transaction(read="id = 5")
    late.add(file("a", data_change=False))
    append(table, file("b", 50, 59))
    table.refresh().checkpoint()
    for old in [*(tmp_path / "t" / "_delta_log").rglob("*")]:
        if old.is_file():
            os.utime(old, (1_000_000_000, 1_000_000_000))
    table.clean_up_log()
    with pytest.raises(CommitConflict, match="was deleted by log cleanup") as raised:
        late.commit()
    assert raised.value.kind == "cleaned up"
    assert paths(tmp_path / "t") == ["a", "b"]


@pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning")
def test_another_table_at_the_path_is_named(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    append(table, file("a"))
    txn = table.refresh().transaction()
    txn.add(file("mine"))
    log = tmp_path / "t" / "_delta_log"
    text = (log / f"{0:020d}.json").read_text().replace("11111111", "99999999")
    (log / f"{0:020d}.json").write_text(text)
    commit = log / f"{1:020d}.json"
    commit.write_text(commit.read_text() + "\n")
    refuses(TableNotFound, "replaced by another table", txn.commit)


def test_row_ids_follow_the_high_water_mark_of_the_winner(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {}, ["rowTracking", "domainMetadata"])
    first, second = table.transaction(), table.transaction()
    first.add(file("a"))
    second.add(file("b"))
    assert (first.commit(), second.commit()) == (1, 2)
    [a], [b] = actions(tmp_path / "t", 1, "add"), actions(tmp_path / "t", 2, "add")
    assert (a["baseRowId"], b["baseRowId"], b["defaultRowCommitVersion"]) == (0, 10, 2)
    assert ds.DeltaTable(tmp_path / "t").domains == {"delta.rowTracking": '{"rowIdHighWaterMark":19}'}
