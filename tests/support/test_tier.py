"""The table of the tiers names tests that exist, and chooses by the innermost folder."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import tier

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("place", tier.EXTRACTS)
def test_what_make_test_runs_exists(place: str) -> None:
    for extract in tier.EXTRACTS[place]:
        file, *names = f"{place}/{extract}".replace(".py/", ".py::").split("::")
        text = (TESTS / file).read_text() if names else ""
        assert (TESTS / file).exists(), f"{file} is in EXTRACTS, and does not exist"
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
