"""The areas of the tests: the folders below tests/, with what a run of each costs.

The order is the one in which they start: what takes longest first, so that all workers end at about
the same time, and the pure tests last, which fill the gaps.
"""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

_FIRST = [
    "spark",
    "mirror",
    "connect",
    "examples",
    "changes",
    "app",
    "sim",
    "cluster",
    "console",
    "foreign_clients",
    "api",
    "hostile",
    "backup",
    "cli",
    "embedded",
    "ops",
    "fuzz",
    "broker",
    "client",
    "benchmarks",
]
LOOSE = "structure"
"""The files that are in no folder."""


def area_of(node_id: str) -> str:
    """The area of a test, or of a file below tests/."""
    parts = node_id.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else LOOSE


def all_areas() -> list[str]:
    folders = sorted(each.name for each in TESTS.iterdir() if any(each.rglob("test_*.py")))
    later = [name for name in folders if name not in _FIRST]
    return [*(name for name in _FIRST if name in folders), *later, LOOSE]


def paths(areas: list[str]) -> list[str]:
    """What pytest is given to run them."""
    found: list[str] = []
    for area in areas:
        found += sorted(map(str, TESTS.glob("test_*.py"))) if area == LOOSE else [str(TESTS / area)]
    return found
