"""What a version of the product with a broken rule is."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Variant(NamedTuple):
    """What is done instead, and in which kind of runs it is most likely to be seen."""

    patches: list[Any]
    emphasis: str | None = None
    first_seed: int = 0
    """Where to begin, to save time: earlier ones were tried, and do not show it."""
    schedule: Callable[[int], None] | None = None
    """Faults at chosen moments instead of those that a seed draws; see `schedules`."""
