"""Names among relations: what Spark's AttributeSeq.resolve finds, and what is left unknown or ambiguous."""

import pytest

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.schema.relations import Relation, UnknownName, qualifier_length, resolve_among, unqualified_text
from deltaskip.sparkexpr.types.data_types import LONG, STRING, ArrayType, StructField, StructType
from deltaskip.sparkexpr.types.resolve import AmbiguousName, InsideCollection
from tests.each import refuses
from tests.looped import looped


def struct(**fields: object) -> StructType:
    return StructType(tuple(StructField(name, type_) for name, type_ in fields.items()))


TARGET = struct(id=LONG, v=STRING, s=struct(id=LONG, x=LONG), t=struct(v=STRING, w=STRING))
SOURCE = struct(id=LONG, k=LONG, t=struct(id=LONG, z=LONG), a=ArrayType(struct(b=LONG), True))
SIDES = (Relation(TARGET, (("t",),)), Relation(SOURCE, (("s",),)))


@looped(
    "name, side, path",
    [
        ("t.id", 0, ("id",)),
        ("T.ID", 0, ("id",)),
        ("s.id", 1, ("id",)),
        ("k", 1, ("k",)),
        ("v", 0, ("v",)),
        # The struct `s` of the target is not the source, but the source has no `x`.
        ("s.x", 0, ("s", "x")),
        ("t.s.x", 0, ("s", "x")),
        ("t.t.w", 0, ("t", "w")),
        ("s.t.z", 1, ("t", "z")),
        ("x", None, UnknownName),
        ("foo.id", None, UnknownName),
        ("s.zz.id", None, PredicateError),
        ("id", None, AmbiguousName),
        # Both sides have a struct `t`, and no side is named so that it has these columns.
        ("t.w", None, AmbiguousName),
        ("s.t.w", None, PredicateError),
        ("t.id.x", None, PredicateError),
        ("s.a.b", None, InsideCollection),
    ],
)
def test_a_name_belongs_to_the_side_that_spark_finds(name: str, side: int | None, path: object) -> None:
    parts = tuple(name.split("."))
    if side is None:
        refuses(path, None, resolve_among, SIDES, parts)
        return
    number, found = resolve_among(SIDES, parts)
    assert (number, found.logical) == (side, path)


def test_a_quoted_name_is_one_part() -> None:
    refuses(UnknownName, r"no column `t.id`; did you mean", resolve_among, SIDES, ("t.id",))


def test_qualifiers_of_several_parts_go_before_shorter_ones() -> None:
    wide = Relation(struct(t=struct(id=LONG), id=LONG), (("db", "t"), ("t",)))
    assert resolve_among([wide], ("db", "t", "id"))[1].logical == ("id",)
    assert resolve_among([wide], ("t", "t", "id"))[1].logical == ("t", "id")
    assert resolve_among([wide], ("t", "id"))[1].logical == ("id",)


def test_a_frame_of_unknown_names_may_have_any_but_those_of_others() -> None:
    sides = (SIDES[0], Relation(SOURCE, None))
    assert resolve_among(sides, ("u", "id"))[0] == 1
    assert resolve_among(sides, ("c", "b", "k"))[0] == 1
    assert resolve_among(sides, ("t", "id"))[0] == 0
    # A struct of the target, or a column of a DataFrame of that name.
    refuses(AmbiguousName, None, resolve_among, sides, ("s", "id"))
    refuses(UnknownName, None, resolve_among, sides, ("u", "nothing"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foo.id", "foo of foo.id is neither the name of a table nor a column: did you mean t.id or s.id?"),
        ("u.idd", "There is no column u.idd; did you mean u.id?"),
        ("foo.qqq", "the known names are t and s."),
        ("kk", "did you mean s.k?"),
        ("zzzz", "the columns are t.id, t.v"),
    ],
)
def test_an_unknown_name_suggests_others(name: str, message: str) -> None:
    third = (Relation(struct(id=LONG, j=LONG), (("u",),)),) if name.startswith("u.") else ()
    with pytest.raises(UnknownName) as caught:
        resolve_among((*SIDES, *third), tuple(name.split(".")))
    assert message in str(caught.value)
    assert isinstance(caught.value, SchemaError)


@looped(
    "text, found",
    [
        ("t.id = 3", "id = 3"),
        ("T.`Id` > t . v", "`Id` >  v"),
        ("t.w = 'x'", "t.w = 'x'"),
        ("t.t.w = 'x'", "t.w = 'x'"),
        ("db.t.id = 1", "id = 1"),
        ("count(t.*)", "count(*)"),
        ("t.zz", "t.zz"),
        ("s.id + x.t.id", "s.id + x.t.id"),
        ("f(a).t.id", "f(a).t.id"),
        ("'t.id' = \"t.v\"", "'t.id' = \"t.v\""),
        ("t.id 'open", "t.id 'open"),
    ],
)
def test_a_qualifier_is_taken_away_where_it_is_one(text: str, found: str) -> None:
    assert unqualified_text(text, TARGET, [("t",), ("db", "t")]) == found


def test_a_name_of_nothing_loses_its_qualifier_unless_it_begins_with_a_column() -> None:
    assert qualifier_length(("e", "zz"), TARGET, [("e",)]) == 1
    assert qualifier_length(("t", "zz"), TARGET, [("t",)]) == 0
    assert qualifier_length(("zz",), TARGET, [("zz",)]) == 0
