"""The tables of the tiers name tests that exist; the innermost folder decides."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support import tier
from tests.support.quick_pipelines import QUICK_PIPELINES

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("place", "extracts"), [*tier.EXTRACTS.items(), *tier.THOROUGH_TESTS.items()]
)
def test_what_is_named_exists(place: str, extracts: Sequence[str]) -> None:
    for extract in extracts:
        file, *names = f"{place}/{extract}".replace(".py/", ".py::").split("::")
        text = (TESTS / file).read_text() if names else ""
        assert (TESTS / file).exists(), f"{file} is named, and does not exist"
        for name in names:
            function = re.escape(name.partition("[")[0])
            assert re.search(rf"^\s*(async )?(def|class) {function}\b", text, re.MULTILINE), (
                f"{file}: {name}"
            )


TABLE: Mapping[str, tuple[str, ...]] = {
    "spark": ("test_a.py", "sink/test_b.py::test_one"),
    "spark/source": (),
    "console/test_c.py": ("test_two[x]",),
}


@pytest.mark.parametrize(
    ("node_id", "runs"),
    [
        ("tests/log/test_z.py::test_any", True),
        ("tests/spark/test_a.py::test_any", True),
        ("tests/spark/test_ab.py::test_any", False),
        ("tests/spark/sink/test_b.py::test_one[17]", True),
        ("tests/spark/sink/test_b.py::test_one_more", False),
        ("tests/spark/source/test_a.py::test_any", False),
        ("tests/console/test_c.py::test_two[x]", True),
        ("tests/console/test_c.py::test_two[y]", False),
        ("tests/console/test_d.py::test_two[y]", True),
    ],
)
def test_the_innermost_folder_decides(
    node_id: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tier, "EXTRACTS", TABLE)
    assert tier.is_in_quick_tier(node_id) is runs


def test_a_test_can_be_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier, "THOROUGH_TESTS", {"log/test_z.py": ["test_one", "test_two[x]"]})
    left = [
        name
        for name in ("test_one[3]", "test_one_more", "test_two[x]", "test_two[y]")
        if not tier.is_in_quick_tier(f"tests/log/test_z.py::{name}")
    ]
    assert left == ["test_one[3]", "test_two[x]"]


def test_no_test_is_both_chosen_and_left_out() -> None:
    chosen = set(QUICK_PIPELINES)
    for place, extracts in tier.EXTRACTS.items():
        chosen |= {f"{place}{'::' if place.endswith('.py') else '/'}{each}" for each in extracts}
    left = {f"{file}::{test}" for file, tests in tier.THOROUGH_TESTS.items() for test in tests}
    assert not {name for name in left if {name, name.partition("[")[0]} & chosen}
