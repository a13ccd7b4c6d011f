"""The text format of Prometheus, version 0.0.4."""

from collections.abc import Iterator

from barnabas.metrics.histogram import Histogram
from barnabas.metrics.metric import Kind, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""Those that Kafka's own metrics have."""
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def escaped(text: str) -> str:
    """As the value of a label."""
    return text.translate(_ESCAPES)


def labels(**values: str | int) -> str:
    """`{name="value",...}`."""
    return f"{{{_pairs(values)}}}"


def _pairs(values: dict[str, str | int]) -> str:
    return ",".join(f'{name}="{escaped(str(value))}"' for name, value in values.items())


class Samples:
    """The samples of one scrape, by metric."""

    def __init__(self) -> None:
        self._lines: dict[Metric, list[str]] = {}

    def of(self, metric: Metric) -> list[str]:
        """The lines of a metric, for many samples: `NAME{LABELS} VALUE` and a line feed."""
        lines = self._lines.get(metric)
        if lines is None:
            lines = self._lines[metric] = []
        return lines

    def add(self, metric: Metric, value: float, **label_values: str | int) -> None:
        shown = labels(**label_values) if label_values else ""
        self.of(metric).append(f"{metric.name}{shown} {value}\n")

    def add_quantiles(
        self, metric: Metric, histogram: Histogram, scale: float = 1.0, **label_values: str | int
    ) -> None:
        """A summary; `scale` turns seconds into the unit of the metric."""
        lines = self.of(metric)
        for share in _QUANTILES:
            value = histogram.recent_quantile(share) * scale
            shown = _pairs({**label_values, "quantile": f"{share:g}"})
            lines.append(f"{metric.name}{{{shown}}} {value:.6g}\n")
        shown = labels(**label_values) if label_values else ""
        lines.append(f"{metric.name}_sum{shown} {histogram.sum * scale:.9g}\n")
        lines.append(f"{metric.name}_count{shown} {histogram.count}\n")

    def add_histogram(
        self, metric: Metric, histogram: Histogram, **label_values: str | int
    ) -> None:
        lines = self.of(metric)
        below = 0
        for bound, count in zip((*histogram.bounds, "+Inf"), histogram.counts, strict=True):
            below += count
            upto = bound if isinstance(bound, str) else f"{bound:g}"
            shown = _pairs({**label_values, "le": upto})
            lines.append(f"{metric.name}_bucket{{{shown}}} {below}\n")
        shown = labels(**label_values) if label_values else ""
        lines.append(f"{metric.name}_sum{shown} {histogram.sum:.9g}\n")
        lines.append(f"{metric.name}_count{shown} {below}\n")

    def encoded(self) -> Iterator[bytes]:
        """The text, one part for each metric; large ones take a millisecond or two."""
        for metric, lines in self._lines.items():
            head = f"# HELP {metric.name} {_help(metric)}\n# TYPE {metric.name} {metric.kind}\n"
            yield head.encode() + "".join(lines).encode()


def _help(metric: Metric) -> str:
    return metric.meaning.replace("\\", r"\\").replace("\n", r"\n")


def counter(name: str, meaning: str, *label_names: str, alarm: str = "") -> Metric:
    return Metric(name, Kind.COUNTER, meaning, label_names, alarm)


def gauge(name: str, meaning: str, *label_names: str, alarm: str = "") -> Metric:
    return Metric(name, Kind.GAUGE, meaning, label_names, alarm)
