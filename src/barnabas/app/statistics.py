"""What a handler has done so far."""

from dataclasses import dataclass, field

from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.histogram import DELAYS_S, Histogram
from barnabas.metrics.metric import Kind, Metric

HANDLED = counter("barnabas_app_handled_total", "Records that a handler has finished", "handler")
FAILED = counter("barnabas_app_failed_total", "Attempts that raised an exception", "handler")
RETRIED = counter("barnabas_app_retried_total", "Further attempts, and retry topics", "handler")
DEAD = counter("barnabas_app_dead_letters_total", "Records that were given up", "handler")
RUNNING = gauge("barnabas_app_in_flight", "Records that were read and are not finished", "handler")
LAG = gauge("barnabas_app_lag", "Records behind the end of the partitions", "handler")
SECONDS = Metric(
    "barnabas_app_handle_seconds", Kind.HISTOGRAM, "Time of one call of a handler", ("handler",)
)


@dataclass
class HandlerStatistics:
    """Counts since the start."""

    handled: int = 0
    failed: int = 0
    retried: int = 0
    dead_letters: int = 0
    in_flight: int = 0
    lag: int = 0
    seconds: Histogram = field(default_factory=lambda: Histogram(DELAYS_S))

    def add_to(self, samples: Samples, name: str) -> None:
        """For a scrape."""
        for metric, value in (
            (HANDLED, self.handled),
            (FAILED, self.failed),
            (RETRIED, self.retried),
            (DEAD, self.dead_letters),
            (RUNNING, self.in_flight),
            (LAG, self.lag),
        ):
            samples.add(metric, value, handler=name)
        samples.add_histogram(SECONDS, self.seconds, handler=name)
