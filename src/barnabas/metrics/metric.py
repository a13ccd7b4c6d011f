"""One metric: its name, its type, what it means, and when it is a reason to wake somebody."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    """Quantiles of the last one to two minutes, and `_count` and `_sum` since the start."""
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    alarm: str = ""
    """When to wake somebody; empty if never for this one alone."""
