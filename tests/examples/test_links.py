"""The pages at the root and in docs/ link to headings, and name source files, that exist.

So do messages and docstrings of the sources, which name pages and sometimes a heading of one.

`make site` checks the same for the site. This test needs no generator, and follows the rules by
which a repository browser names a heading.
"""

import re
from pathlib import Path

import pytest

from tests.examples.documents import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SOURCE = re.compile(
    r"`((?:src|tests|tools|benchmarks|examples|aio|broker|cli|client|controller|coordination|embedded"
    r"|groups|log|metadata|raft|records|replication|sim|spark|sync|transactions|wire)/"
    r"(?:[\w-]+/)*(?:[\w-]+\.\w+)?)`"
)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NAMED_PAGE = re.compile(r"docs/[\w/-]+\.md")
_NAMED_HEADING = re.compile(r"(docs/[\w/-]+\.md), '([^']+)'")


def prose(text: str) -> str:
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings: a heading that appears again gets a number."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(prose(text)):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(f"{kept}-{seen[kept]}" if kept in seen else kept)
        seen[kept] = seen.get(kept, 0) + 1
    return found


def broken_links(page: Path, text: str) -> list[str]:
    broken = []
    for link in _LINK.findall(prose(text)):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        known = target.exists()
        if known and anchor:
            known = anchor in anchors(text if target == page else target.read_text())
        if not known:
            broken.append(link)
    return broken


def missing_files(text: str) -> list[str]:
    """Modules and packages, `log/storage.py` or `broker/net/`, that are not where a page says."""
    homes = (ROOT, ROOT / "src" / "barnabas")
    named = [path for path in _SOURCE.findall(prose(text)) if "NAME" not in path]
    return [path for path in named if not any((home / path).exists() for home in homes)]


def missing_pages(text: str) -> list[str]:
    """Pages, and headings after a page (`docs/cli.md, 'Groups'`), that a source names in vain."""
    named = _NAMED_PAGE.findall(text)
    missing = [path for path in named if not (ROOT / path).exists()]
    for path, heading in _NAMED_HEADING.findall(text):
        page = ROOT / path
        if page.exists() and f"# {heading}\n" not in page.read_text():
            missing.append(f"{path}, {heading}")
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_source_file_that_is_named_exists(page: Path) -> None:
    assert missing_files(page.read_text()) == []


def test_every_page_that_a_source_names_exists() -> None:
    folders = [ROOT / name for name in ("src", "tests", "tools", "benchmarks", "examples")]
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    sources = [path for path in sources if path != Path(__file__)]
    missing = {str(path.relative_to(ROOT)): missing_pages(path.read_text()) for path in sources}
    assert {path: pages for path, pages in missing.items() if pages} == {}


def test_missing_pages_are_found() -> None:
    text = (
        "docs/cli.md, docs/attic.md, see docs/connect.md, 'Who can run code', docs/cli.md, 'Attic'"
    )
    assert missing_pages(text) == ["docs/attic.md", "docs/cli.md, Attic"]


def test_missing_files_are_found() -> None:
    text = "`log/storage.py`, `src/kernel/`, `tests/log/`, `log/cellar.py`, `broker/attic/`, `a/b`"
    assert missing_files(text) == ["log/cellar.py", "broker/attic/"]


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "tools" / "site.toml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs")).replace("README.md", "index.md")
        assert f'"{name}"' in navigation, name


def test_broken_links_are_found() -> None:
    text = """# A page

## What can't be read: `x`

[1](#a-page) [2](#what-cant-be-read-x) [3](docs/cli.md#groups) [4](docs) [5](https://nowhere/#x)
[6](#b-page) [7](docs/cli.md#gruops) [8](docs/nothing.md)

```sh
[9](in-code.md)
```
"""
    broken = broken_links(ROOT / "README.md", text)
    assert broken == ["#b-page", "docs/cli.md#gruops", "docs/nothing.md"]
