"""The lower case of UTF8_LCASE: Spark's own answers, and the libraries that are installed."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import CollationUnavailable
from deltaskip.sparkexpr.collations import lowercase_tables
from deltaskip.sparkexpr.collations.spark_order import lowercase_map, lowercase_table, lowercase_versions
from deltaskip.sparkexpr.kernels.lowercase import lower_key
from tests.sparkexpr.collations.make_lowercase_tables import from_library, module_of
from tests.sparkexpr.collations.spark_vectors import vectors
from tests.sparkexpr.kernels import lowercase_twin as twin

SPARK_4_1 = "77.1"


def test_lower_case_is_spark_s_for_every_vector():
    expected = vectors("utf8_lcase_lower.jsonl")
    assert len(expected) > 100
    table, lower = lowercase_table(SPARK_4_1), lowercase_map(SPARK_4_1)
    for row in expected:
        value = bytes.fromhex(row["utf8_hex"])
        assert lower_key(value, table).hex() == row["lower_hex"], row
        assert twin.key(value, lower, False).hex() == row["lower_hex"], row


def test_bytes_that_are_no_utf8_are_made_valid_as_spark_does():
    expected = vectors("invalid_utf8.jsonl")
    assert len(expected) > 10
    for row in expected:
        value = bytes.fromhex(row["bytes_hex"])
        assert value.decode("utf-8", "replace").encode().hex() == row["make_valid_hex"], row
        assert lower_key(value, lowercase_table(SPARK_4_1)).hex() == row["lower_hex"], row


@given(st.binary(max_size=30))
def test_made_valid_text_stays_as_it_is_and_has_the_same_key(value):
    valid = value.decode("utf-8", "replace").encode()
    table = lowercase_table(SPARK_4_1)
    assert lower_key(valid, table) == lower_key(value, table)


@given(st.sampled_from(lowercase_versions()), st.text(max_size=20))
def test_lower_case_of_lower_case_is_the_same(version, text):
    table = lowercase_table(version)
    once = lower_key(text.encode(), table)
    assert lower_key(once, table) == once


def test_tables_grow_with_unicode():
    sizes = {version: len(lowercase_map(version)) for version in lowercase_versions()}
    # One more than ICU's own: the final sigma.
    assert (sizes["72.1"], sizes["75.1"], sizes["77.1"], sizes["78.3"]) == (1434, 1434, 1461, 1489)
    assert 0xA7CB not in lowercase_map("75.1")
    assert lowercase_map("77.1")[0xA7CB] == 0x264
    assert lowercase_map("78.1")[0xA7CE] == 0xA7CF


@pytest.mark.parametrize(
    ("text", "lower"),
    [
        ("İ", "i\u0307"),
        ("ς", "σ"),
        ("Σ", "σ"),
        ("ß", "ß"),
        ("ẞ", "ß"),
        ("ſ", "ſ"),
        ("ı", "ı"),
        ("\u212a", "k"),
        ("\u2126", "ω"),
    ],
)
def test_special_letters_are_lowered_as_spark_does(text, lower):
    for version in lowercase_versions():
        assert lower_key(text.encode(), lowercase_table(version)).decode() == lower


@pytest.mark.parametrize("version", ["", "77", "77.1.0.0", "99.1", "60.3", "15.0"])
def test_a_version_without_a_table_is_an_error_that_names_those_with_one(version):
    for call in (lowercase_map, lowercase_table):
        with pytest.raises(CollationUnavailable, match=re.escape(f"ICU {version!r}; the available versions are 72.1")):
            call(version)


def installed_libraries() -> list[Path]:
    """libicuuc of pyicu-wheels and icu4py, where they are installed, and of the system."""
    site = Path(pytest.__file__).resolve().parents[1]
    bundled = [path for folder in ("pyicu_wheels.libs", "icu4py.libs") for path in (site / folder).glob("libicuuc*")]
    system = [path for folder in ("/usr/lib", "/usr/lib64") for path in Path(folder).glob("**/libicuuc.so.*.*")]
    return [path for path in (*bundled, *system) if path.is_file()]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("path", installed_libraries(), ids=lambda path: path.name)
def test_tables_are_those_of_the_installed_libraries(path):
    version, _, table = from_library(path)
    if version not in lowercase_versions():
        pytest.skip(f"there is no table of ICU {version}")
    # The final sigma is Spark's own rule.
    assert lowercase_map(version) == table | {0x3C2: 0x3C3}


def test_the_data_module_is_what_its_generator_writes():
    found = []
    for icu, unicode in lowercase_tables.UNICODE_OF.items():
        table = lowercase_map(icu)
        del table[0x3C2]
        found.append((icu, unicode, table))
    source = Path(lowercase_tables.__file__).read_text(encoding="utf-8")
    assert module_of(found) == source
    assert len(source.encode()) < 12_000
