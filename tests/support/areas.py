"""The areas of the tests: the folders below tests/, with what a run of each costs.

The order is the one in which they start: what takes longest first, so that all workers end at about
the same time, and the pure tests last, which fill the gaps.
"""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

REST_S = {
    "spark": 420,
    "mirror": 0,
    "connect": 70,
    "cluster": 240,
    "foreign_clients": 60,
    "examples": 60,
    "sim": 0,
    "console": 60,
    "app": 0,
    "changes": 0,
    "api": 0,
    "hostile": 0,
    "cli": 0,
    "backup": 0,
    "embedded": 0,
    "ops": 0,
    "fuzz": 0,
    "broker": 0,
    "client": 0,
    "benchmarks": 0,
    "structure": 40,
}
"""About how many seconds two cores need for what CI runs of an area beyond `make test`: what is
neither in the quick tier nor long."""
LOOSE = "structure"
"""The files that are in no folder."""


def area_of(node_id: str) -> str:
    """The area of a test, or of a file below tests/."""
    parts = node_id.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else LOOSE


def all_areas() -> list[str]:
    folders = sorted(each.name for each in TESTS.iterdir() if any(each.rglob("test_*.py")))
    later = [name for name in folders if name not in REST_S]
    return [*(name for name in REST_S if name in folders), *later, LOOSE]


def paths(areas: list[str]) -> list[str]:
    """What pytest is given to run them."""
    found: list[str] = []
    for area in areas:
        found += sorted(map(str, TESTS.glob("test_*.py"))) if area == LOOSE else [str(TESTS / area)]
    return found
