"""CI chooses what it tests by what a change can reach: a fault there must not be left out."""

import pytest

from tests.reach import reached_areas
from tests.support.areas import all_areas

pytestmark = pytest.mark.xdist_group("reach")  # one worker, so that the imports are read once


@pytest.mark.parametrize(
    ("changed", "nearest"),
    [
        ("src/barnabas/raft/log.py", "raft"),
        ("src/barnabas/spark/sink/options.py", "spark"),
        ("tests/groups/test_group_model.py", "groups"),
        ("docs/quickstart.md", "examples"),
        ("src/json_kernel/scan.c", "spark"),
        ("src/avro_kernel/program.c", "formats"),
        ("ops/compose.yaml", "ops"),
    ],
)
def test_the_area_of_a_change_comes_first(changed: str, nearest: str) -> None:
    reached = reached_areas([changed])
    assert reached[nearest] == min(reached.values())


def test_what_everybody_imports_reaches_everybody_that_starts_a_node() -> None:
    reached = reached_areas(["src/barnabas/log/log.py"])
    assert {"log", "broker", "cluster", "foreign_clients", "spark", "sim", "cli"} <= reached.keys()


def test_what_is_on_top_reaches_nothing_below_it() -> None:
    reached = reached_areas(["src/barnabas/console/__init__.py"])
    assert "console" in reached
    assert not {"raft", "log", "groups", "records"} & reached.keys()


def test_the_settings_of_the_tests_reach_all() -> None:
    assert list(reached_areas(["pyproject.toml"])) == all_areas()
