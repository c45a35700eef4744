"""Which files make up a version."""

import pytest

from deltaskip.errors import CorruptLog, VersionNotFound
from deltaskip.log import LogSegment
from deltaskip.log.compaction import cover
from deltaskip.log.segment import candidate_segments, read_listing
from deltaskip.storage import FileInfo
from tests.each import refuses
from tests.log.builder import UUID
from tests.looped import looped


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


CLASSIC = "checkpoint.parquet"
FOUR = [*commits(0, 1, 2, 3, 4), name(1, CLASSIC), name(3, CLASSIC)]
# Names, the version that is wanted; and what is found: its version, its checkpoint, its commits.
SHAPES: dict[str, tuple[list[str], int | None, tuple[int, int | None, list[str]]]] = {
    "every commit without a checkpoint": (commits(0, 1, 2), None, (2, None, commits(0, 1, 2))),
    "commits after the newest checkpoint": (FOUR, None, (4, 3, commits(4))),
    "an older version has an older checkpoint": (FOUR, 2, (2, 1, commits(2))),
    "a version with a checkpoint": (FOUR, 3, (3, 3, [])),
    "a version before every checkpoint": (FOUR, 0, (0, None, commits(0))),
    "a checkpoint newer than every commit": ([name(8, CLASSIC)], None, (8, 8, [])),
    "an incomplete checkpoint of several parts": (
        [*commits(0, 1, 2), name(1, "checkpoint.0000000001.0000000002.parquet")], None, (2, None, commits(0, 1, 2))),
    "parts of two checkpoints of one version": (
        [*commits(0, 1), *(name(1, f"checkpoint.000000000{parts}.parquet") for parts in ("1.0000000002",
        "3.0000000003"))], None, (1, None, commits(0, 1))),
    "a version before a gap": (commits(0, 1, 3), 1, (1, None, commits(0, 1))),
    "a gap before the newest checkpoint": ([*commits(0, 1, 4, 5), name(4, CLASSIC)], None, (5, 4, commits(5))),
    "compactions where every commit is there": (
        [*commits(0, 1, 2, 3), compacted(0, 2), compacted(1, 3)], None, (3, None, commits(0, 1, 2, 3))),
}  # fmt: skip


@looped("case", SHAPES)
def test_the_files_of_a_version(case: str) -> None:
    names, wanted, expected = SHAPES[case]
    assert shape(best(*names, wanted=wanted)) == expected


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


@looped(
    "names, wanted, missing",
    [
        (commits(0, 2), None, 1),
        (commits(0, 1, 2, 5, 9), None, 3),
        ([*commits(3, 5), name(3, CLASSIC)], None, 4),
        ([*commits(0, 1, 2, 3, 6), name(2, CLASSIC)], None, 4),
        ([*commits(0, 1, 5), compacted(2, 3)], None, 4),
        ([*commits(0, 9223372036854775807)], None, 1),
        (commits(3, 4), None, 0),
        # A compaction that begins before the checkpoint, and one that has more than the version.
        ([*commits(4, 6), name(4, CLASSIC), compacted(3, 5)], None, 5),
        ([*commits(0, 3), compacted(1, 2)], 1, 1),
    ],
)
def test_a_gap_names_the_first_missing_commit(names: list[str], wanted: int | None, missing: int) -> None:
    refuses(CorruptLog, rf"{name(missing)} \(version {missing}\) is missing", best, *names, wanted=wanted)


def test_a_log_that_lost_its_beginning_names_the_missing_part_of_its_checkpoint() -> None:
    with pytest.raises(CorruptLog, match=r"00000000000000000003\.checkpoint\.0000000002\.0000000002\.parquet"):
        best(*commits(4), name(3, "checkpoint.0000000001.0000000002.parquet"))


@pytest.mark.parametrize("wanted", [-1, 0, 1, 7, 99])
def test_a_version_outside_the_log_names_the_range(wanted: int) -> None:
    names = [*commits(1, 2, 3, 4, 5, 6), name(2, "checkpoint.parquet")]
    refuses(VersionNotFound, rf"no version {wanted}: versions 2 to 6 can be opened", best, *names, wanted=wanted)


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


@pytest.mark.parametrize("beyond", [compacted(2, 4), compacted(0, 4), compacted(1, 2), compacted(0, 2**63 - 1)])
def test_a_compaction_beyond_the_last_commit_makes_no_version(beyond: str) -> None:
    assert shape(best(*commits(0, 1), beyond)) == (1, None, commits(0, 1))
    refuses(VersionNotFound, "versions 0 to 1 can be opened", lambda: best(*commits(0, 1), beyond, wanted=2))
