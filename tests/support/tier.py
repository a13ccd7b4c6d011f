"""Which tests belong to which tier: `make test` (quick) or `make test-all` (everything).

A folder that is not listed in `EXTRACTS` is quick as a whole. Of a listed folder `make test` runs
only the tests named there: those that prove the most per second. A test anywhere that takes long
is marked with `@pytest.mark.long`, and a test that needs the machine to itself with
`@pytest.mark.alone`: those run one by one after all others. Of the tests with a real Spark, `make
test` runs those in `quick_pipelines.py`.

`pytest` alone runs everything it is given; `pytest --quick` leaves out what `make test` does.
"""

import os
from collections.abc import Iterable, Mapping

import pytest

from tests.support.quick_pipelines import QUICK_PIPELINES

_VARIABLE = "BARNABAS_TEST_QUICK"

EXTRACTS: Mapping[str, tuple[str, ...]] = {
    # Every command of a page is a process.
    "examples/test_documents.py": (
        "test_every_snippet_about_clusters_runs_with_three_nodes[README.md]",
        "test_a_snippet_that_fails_or_prints_something_else_is_noticed",
        "test_handlers_say_which_versions_they_serve",
    ),
}
"""Folders or files below tests/, and the tests that `make test` runs of each, by node id."""


def is_quick() -> bool:
    """Whether this is a run of `make test`: fewer seeds, fewer examples."""
    return os.environ.get(_VARIABLE) == "1"


def set_quick() -> None:
    os.environ[_VARIABLE] = "1"  # workers and modules that are about to be imported look there


def is_in_quick_tier(node_id: str) -> bool:
    """By the table; markers are looked at elsewhere."""
    for place, extract in EXTRACTS.items():
        inside = node_id.removeprefix(f"tests/{place}")
        if inside != node_id:
            inside = inside.lstrip("/:")
            return any(_begins(inside, each) for each in extract)
    return True


def _begins(node_id: str, prefix: str) -> bool:
    rest = node_id.removeprefix(prefix)
    return rest != node_id and rest[:1] in ("", "/", ":", "[")


def split(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """What the quick tier runs, and what it leaves out."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        is_long = item.get_closest_marker("long") is not None
        is_kept = not is_long and is_in_quick_tier(item.nodeid) and not _is_left_pipeline(item)
        (kept if is_kept else left).append(item)
    return kept, left


def needs_session(item: pytest.Item) -> bool:
    """Whether it uses the Spark session that tests of a worker share."""
    return isinstance(item, pytest.Function) and "spark" in item.fixturenames


def _is_left_pipeline(item: pytest.Item) -> bool:
    if not needs_session(item) and item.get_closest_marker("drivers") is None:
        return False
    inside = item.nodeid.removeprefix("tests/")
    return not any(_begins(inside, each) for each in QUICK_PIPELINES)


def examples(usual: int) -> int:
    """How many examples Hypothesis tries: few in `make test`, which tries the same every time."""
    return max(5, usual // 5) if is_quick() else usual
