"""Metrics that clients have pushed to this node, under the clients' own names."""

from collections import defaultdict

from barnabas.broker.runtime.slices import Slices
from barnabas.broker.telemetry.telemetry import Telemetry
from barnabas.metrics.exposition import Samples, counter, escaped, gauge
from barnabas.metrics.metric import Kind, Metric

_SLICE = 500

_INSTANCES = gauge(
    "barnabas_client_metrics_instances", "Client instances that have a subscription, or ask for one"
)
_SERIES = gauge("barnabas_client_metrics_series", "Series of metrics that clients have pushed")
_PUSHES = counter("barnabas_client_metrics_pushes_total", "Pushes of clients")
_REFUSED = counter(
    "barnabas_client_metrics_refused_pushes_total",
    "Pushes that were refused: too early, too large, or not readable",
)
_LEFT_OUT = counter(
    "barnabas_client_metrics_left_out_total",
    "Values that clients pushed and for which there was no room, or no valid name",
    alarm="growing: let subscriptions name fewer metrics or clients",
)
METRICS = (_INSTANCES, _SERIES, _PUSHES, _REFUSED, _LEFT_OUT)


def collect(telemetry: Telemetry, samples: Samples) -> Slices[None]:
    telemetry.expire()
    series = telemetry.series
    samples.add(_INSTANCES, telemetry.instance_count)
    samples.add(_SERIES, len(series))
    samples.add(_PUSHES, telemetry.pushes)
    samples.add(_REFUSED, telemetry.refused)
    samples.add(_LEFT_OUT, series.left_out)
    lines: defaultdict[str, list[str]] = defaultdict(list)
    kinds: dict[str, Kind] = {}
    for number, (key, is_counter, value) in enumerate(series.samples(), 1):
        kinds.setdefault(key.name, Kind.COUNTER if is_counter else Kind.GAUGE)
        pairs = ",".join(f'{name}="{escaped(text)}"' for name, text in key.labels)
        lines[key.name].append(f"{key.name}{{{pairs}}} {value:.15g}\n")
        if number % _SLICE == 0:
            yield
    for name, kind in kinds.items():
        metric = Metric(name, kind, "Pushed by clients; see the client's documentation")
        samples.of(metric).extend(lines[name])
