"""Which files make up a version."""

import pytest

from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.log import LogSegment
from deltaskip.log.compaction import cover
from deltaskip.log.segment import candidate_segments, read_listing
from deltaskip.storage import FileInfo

UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


def name(version: int, suffix: str = "json") -> str:
    return f"{version:020d}.{suffix}"


def listing_of(*names: str):
    return read_listing("/t", [FileInfo(n, f"/t/_delta_log/{n}", 1, 1) for n in sorted(names)])


def commits(*versions: int) -> list[str]:
    return [name(version) for version in versions]


def compacted(start: int, end: int) -> str:
    return f"{start:020d}.{end:020d}.compacted.json"


def best(*names: str, wanted: int | None = None) -> LogSegment:
    return next(candidate_segments(listing_of(*names), wanted))


def shape(segment: LogSegment) -> tuple[int, int | None, list[str]]:
    checkpoint = None if segment.checkpoint is None else segment.checkpoint.version
    return segment.version, checkpoint, [file.file.name for file in segment.commits]


def test_without_a_checkpoint_every_commit_belongs_to_the_version() -> None:
    assert shape(best(*commits(0, 1, 2))) == (2, None, commits(0, 1, 2))


def test_commits_after_the_newest_checkpoint_belong_to_the_version() -> None:
    names = [*commits(0, 1, 2, 3, 4), name(1, "checkpoint.parquet"), name(3, "checkpoint.parquet")]
    assert shape(best(*names)) == (4, 3, commits(4))
    assert shape(best(*names, wanted=2)) == (2, 1, commits(2))
    assert shape(best(*names, wanted=3)) == (3, 3, [])
    assert shape(best(*names, wanted=0)) == (0, None, commits(0))


def test_a_checkpoint_newer_than_every_commit_is_the_latest_version() -> None:
    assert shape(best(name(8, "checkpoint.parquet"))) == (8, 8, [])


def test_an_incomplete_multi_part_checkpoint_is_ignored() -> None:
    names = [*commits(0, 1, 2), name(1, "checkpoint.0000000001.0000000002.parquet")]
    assert shape(best(*names)) == (2, None, commits(0, 1, 2))


def test_parts_of_two_checkpoints_of_one_version_are_not_mixed() -> None:
    names = [
        *commits(0, 1),
        name(1, "checkpoint.0000000001.0000000002.parquet"),
        name(1, "checkpoint.0000000003.0000000003.parquet"),
    ]
    assert best(*names).checkpoint is None


def test_the_parts_of_a_multi_part_checkpoint_stand_in_order() -> None:
    parts = [name(1, f"checkpoint.{part:010d}.0000000003.parquet") for part in (1, 2, 3)]
    checkpoint = best(*commits(1), *reversed(parts)).checkpoint
    assert checkpoint is not None
    assert [file.file.name for file in checkpoint.files] == parts


def test_one_parquet_file_is_preferred_among_checkpoints_of_one_version() -> None:
    suffixes = [
        "checkpoint.parquet",
        f"checkpoint.{UUID}.parquet",
        "checkpoint.0000000001.0000000001.parquet",
        f"checkpoint.{UUID}.json",
    ]
    segments = list(candidate_segments(listing_of(*commits(3), *[name(3, suffix) for suffix in suffixes])))
    chosen = [s.checkpoint.files[0].file.name for s in segments if s.checkpoint is not None]
    assert chosen == [name(3, suffix) for suffix in suffixes]


def test_older_checkpoints_follow_as_candidates_and_the_first_commit_is_the_last() -> None:
    names = [*commits(0, 1, 2, 3), name(1, "checkpoint.parquet"), name(2, "checkpoint.parquet")]
    found = [shape(segment)[1] for segment in candidate_segments(listing_of(*names))]
    assert found == [2, 1, None]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (commits(0, 2), 1),
        (commits(0, 1, 2, 5, 9), 3),
        ([*commits(3, 5), name(3, "checkpoint.parquet")], 4),
        ([*commits(0, 1, 2, 3, 6), name(2, "checkpoint.parquet")], 4),
        ([*commits(0, 1, 5), compacted(2, 3)], 4),
        ([*commits(0, 9223372036854775807)], 1),
    ],
)
def test_a_gap_names_the_first_missing_commit(names: list[str], missing: int) -> None:
    with pytest.raises(CorruptLog, match=rf"{name(missing)} \(version {missing}\) is missing"):
        best(*names)


def test_a_version_before_a_gap_can_be_opened() -> None:
    assert shape(best(*commits(0, 1, 3), wanted=1)) == (1, None, commits(0, 1))


def test_a_gap_before_the_newest_checkpoint_does_not_matter() -> None:
    assert shape(best(*commits(0, 1, 4, 5), name(4, "checkpoint.parquet"))) == (5, 4, commits(5))


def test_a_log_that_lost_its_beginning_names_commit_0() -> None:
    with pytest.raises(CorruptLog, match=r"00000000000000000000\.json \(version 0\) is missing"):
        best(*commits(3, 4))


def test_a_log_that_lost_its_beginning_names_the_missing_part_of_its_checkpoint() -> None:
    with pytest.raises(CorruptLog, match=r"00000000000000000003\.checkpoint\.0000000002\.0000000002\.parquet"):
        best(*commits(4), name(3, "checkpoint.0000000001.0000000002.parquet"))


@pytest.mark.parametrize("wanted", [-1, 0, 1, 7, 99])
def test_a_version_outside_the_log_names_the_range(wanted: int) -> None:
    names = [*commits(1, 2, 3, 4, 5, 6), name(2, "checkpoint.parquet")]
    with pytest.raises(VersionNotFound, match=rf"no version {wanted}: versions 2 to 6 can be opened"):
        best(*names, wanted=wanted)


def test_compactions_are_left_alone_where_every_commit_is_there() -> None:
    assert shape(best(*commits(0, 1, 2, 3), compacted(0, 2), compacted(1, 3))) == (3, None, commits(0, 1, 2, 3))


def test_a_compaction_stands_in_for_missing_commits_only() -> None:
    names = [*commits(0, 1, 3, 4), compacted(1, 2), compacted(2, 3), compacted(0, 4)]
    listing = listing_of(*names)
    assert [f.file.name for f in cover(listing.commits, listing.compactions, 0, 4) or ()] in (
        [name(0), compacted(1, 2), name(3), name(4)],
        [name(0), name(1), compacted(2, 3), name(4)],
        [compacted(0, 4)],
    )


def test_compactions_stand_in_for_many_commits_but_for_the_last() -> None:
    names = [*commits(*range(9)), compacted(0, 3), compacted(1, 2), compacted(3, 6), compacted(4, 6), compacted(7, 8)]
    listing = listing_of(*names)

    def covered(most: int | None) -> list[str]:
        return [f.file.name for f in cover(listing.commits, listing.compactions, 1, 8, most) or ()]

    assert covered(None) == covered(8) == commits(*range(1, 9))
    assert covered(7) == [compacted(1, 2), compacted(3, 6), name(7), name(8)]


def test_a_compaction_that_begins_before_the_checkpoint_is_not_used() -> None:
    names = [*commits(4, 6), name(4, "checkpoint.parquet"), compacted(3, 5)]
    with pytest.raises(CorruptLog, match="version 5"):
        best(*names)


@pytest.mark.parametrize("beyond", [compacted(2, 4), compacted(0, 4), compacted(1, 2), compacted(0, 2**63 - 1)])
def test_a_compaction_beyond_the_last_commit_makes_no_version(beyond: str) -> None:
    assert shape(best(*commits(0, 1), beyond)) == (1, None, commits(0, 1))
    with pytest.raises(VersionNotFound, match="versions 0 to 1 can be opened"):
        best(*commits(0, 1), beyond, wanted=2)


def test_a_version_inside_a_compaction_s_range_without_its_commits_cannot_be_rebuilt() -> None:
    with pytest.raises(CorruptLog, match="version 1"):
        best(*commits(0, 3), compacted(1, 2), wanted=1)
