"""The site: it is built without compiling the package, and what people look for is found."""

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.docs.generated import PAGES, ROOT

# What people type, and the page that they should find.
SEARCHES = {
    "upsert": "recipes/", "time travel": "recipes/", "GDPR": "recipes/", "merge": "changing/", "MinIO": "recipes/",
}  # fmt: skip
WIDEST = 100
BENCHMARKS = "https://github.com/deltaskip/deltaskip/blob/main/benchmarks/README.md#"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as built from a tree without compiled kernels."""
    if not all(map(find_spec, ("mkdocs", "material", "mkdocstrings"))):
        pytest.skip("needs mkdocs: pip install -r docs/requirements.txt")
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "docs", tree / "docs", ignore=shutil.ignore_patterns("site"))
    shutil.copytree(ROOT / "deltaskip", tree / "deltaskip", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--quiet", "--strict", "-f", "docs/mkdocs.yml"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(
        [*command, "-d", str(tree / "site")], cwd=tree, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return tree / "site"


def test_the_search_finds_what_people_look_for(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    separator = re.compile(index["config"]["separator"])

    def words(entry: dict[str, Any]) -> set[str]:
        text = unescape(re.sub(r"<[^>]+>", " ", f"{entry['title']} {entry['text']}"))
        return {word.lower() for word in separator.split(text) if word}

    for search, page in SEARCHES.items():
        asked = set(search.lower().split())
        found = [entry["location"] for entry in index["docs"] if asked <= words(entry)]
        assert any(location.startswith(page) for location in found), (search, found)


def test_tables_of_two_calls_fit_the_screen_and_no_code_is_cut_on_a_narrow_one(site: Path) -> None:
    """In a browser, nothing of coming-from.md was beside the screen at 1366, 500 and 420 pixels."""
    text = (site / "coming-from" / "index.html").read_text(encoding="utf-8")
    assert text.count("<table>") == 3 == len(re.findall(r'<div class="pairs">\s*<table>', text))
    style = (site / "stylesheets" / "width.css").read_text(encoding="utf-8")
    wide, narrow = style.split("@media (max-width: 44.9375em)")[:2]
    assert re.search(r"\.pairs table:not\(\[class\]\) \{[^}]*table-layout: fixed;[^}]*width: 100%", wide)
    for code in (r"\.md-typeset pre > code", r"\.md-typeset table:not\(\[class\]\) td code"):
        assert re.search(code + r" \{[^}]*overflow-wrap: anywhere;[^}]*white-space: (pre-wrap|normal)", narrow)


def test_signatures_of_the_api_are_wrapped(site: Path) -> None:
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    signatures = re.findall(r'<div class="[^"]*doc-signature[^"]*">(.*?)</div>', text, re.DOTALL)
    lines = [unescape(re.sub(r"<[^>]+>", "", each)) for each in signatures]
    assert len(lines) > 100
    assert max(len(line) for each in lines for line in each.splitlines()) <= WIDEST


def test_claims_of_speed_link_to_their_command() -> None:
    benchmarks = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in re.findall(r"^#+ (.*)$", benchmarks, re.M)
    }
    claims = [
        line for line in (PAGES / "index.md").read_text(encoding="utf-8").splitlines() if re.search(r"\d m?s ", line)
    ]
    assert len(claims) == 3
    for claim in claims:
        [anchor] = re.findall(re.escape(BENCHMARKS) + r"([\w-]+)\)", claim)
        assert anchor in anchors, anchor
