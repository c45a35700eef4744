"""Names of tables and namespaces, as callers write them."""

import deltaskip as ds
from deltaskip.catalogs.identifier import identifier_of, namespace_of
from deltaskip.data_files.sort_order import sort_order_of
from tests.each import refuses
from tests.looped import looped


@looped(
    "given, namespace, name",
    [
        ("orders", (), "orders"),
        ("db.orders", ("db",), "orders"),
        ("a.b.orders", ("a", "b"), "orders"),
        ("db.`odd.name`", ("db",), "odd.name"),
        ("`d``b`.`x y`", ("d`b",), "x y"),
        (("db", "odd.name"), ("db",), "odd.name"),
        (["a", "b", "c"], ("a", "b"), "c"),
        (ds.CatalogIdentifier(("a",), "b"), ("a",), "b"),
    ],
)
def test_names_of_tables(given: object, namespace: tuple[str, ...], name: str) -> None:
    ident = identifier_of(given)
    assert (ident.namespace, ident.name) == (namespace, name)
    assert identifier_of(str(ident)) == ident


@looped("given", ["", "a..b", "a.", ".a", "a,b", "a b", (), ("a", ""), ("a", "b\0")])
def test_text_that_is_no_name_is_refused(given: object) -> None:
    refuses(ds.InvalidArgument, "ident", identifier_of, given)


@looped("given", [None, 3, b"a", ("a", 3), {"a": 1, 2: 3}])
def test_values_that_are_no_text_are_refused(given: object) -> None:
    refuses(ds.InvalidArgumentType, "ident", identifier_of, given)


def test_names_of_namespaces() -> None:
    assert namespace_of("") == namespace_of(()) == ()
    assert namespace_of("a.`b.c`") == namespace_of(("a", "b.c")) == ("a", "b.c")


def test_sort_orders_have_the_defaults_of_spark() -> None:
    both = ds.SortOrder("id", descending=True, nulls_first=True)
    given = ["ts DESC", "`a b` nulls last", "st.x asc NULLS FIRST", both]
    assert [str(each) for each in sort_order_of(given)] == [
        "ts DESC NULLS LAST", "`a b` ASC NULLS LAST", "st.x ASC NULLS FIRST", "id DESC NULLS FIRST",
    ]  # fmt: skip
    refuses(ds.InvalidArgument, "sort_order", sort_order_of, ["a + b"])
