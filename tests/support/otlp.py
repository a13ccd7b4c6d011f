"""Metrics as clients push them, built with OpenTelemetry's own classes."""

from collections.abc import Mapping

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

DELTA, CUMULATIVE = 1, 2


class Payload:
    def __init__(self) -> None:
        self._data = MetricsData()
        self._metrics = self._data.resource_metrics.add().scope_metrics.add().metrics

    def gauge(self, name: str, value: float, attributes: Mapping[str, str] | None = None) -> None:
        point = self._metrics.add(name=name).gauge.data_points.add(as_double=value)
        for key, text in (attributes or {}).items():
            point.attributes.add(key=key).value.string_value = text

    def total(
        self,
        name: str,
        value: int,
        attributes: Mapping[str, int] | None = None,
        *,
        temporality: int = DELTA,
    ) -> None:
        metric = self._metrics.add(name=name)
        metric.sum.aggregation_temporality = temporality
        metric.sum.is_monotonic = True
        point = metric.sum.data_points.add(as_int=value, time_unix_nano=1_700_000_000_000_000_000)
        for key, number in (attributes or {}).items():
            point.attributes.add(key=key).value.int_value = number

    def histogram(self, name: str) -> None:
        self._metrics.add(name=name).histogram.data_points.add(count=3)

    @property
    def encoded(self) -> bytes:
        return bytes(self._data.SerializeToString())
