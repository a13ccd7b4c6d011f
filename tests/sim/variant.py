"""What a version of the product with a broken rule is."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Variant(NamedTuple):
    """What is done instead, and in which kind of runs it is most likely to be seen.

    The seed that shows it is in `pinned_seeds.json`.
    """

    patches: list[Any]
    emphasis: str | None = None
    schedule: Callable[[int], None] | None = None
    """Faults at chosen moments instead of those that a seed draws; see `schedules`."""
