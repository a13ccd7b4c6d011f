"""The areas of the tests: the folders below tests/, with what a run of each costs.

The order is the one in which they start: what takes longest first, so that all workers end at about
the same time, and the pure tests last, which fill the gaps.
"""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

REST_S = {
    "spark": 450,
    "mirror": 15,
    "connect": 115,
    "cluster": 245,
    "foreign_clients": 65,
    "examples": 75,
    "sim": 60,
    "console": 90,
    "app": 10,
    "changes": 30,
    "api": 35,
    "hostile": 110,
    "cli": 20,
    "backup": 5,
    "embedded": 20,
    "ops": 10,
    "fuzz": 0,
    "broker": 0,
    "client": 20,
    "benchmarks": 5,
    "wire": 20,
    "controller": 10,
    "groups": 5,
    "security": 5,
    "raft": 5,
    "structure": 50,
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
