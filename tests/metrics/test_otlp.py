"""Reading what clients push: as OpenTelemetry's own library writes it, and anything else."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metrics.otlp import InvalidOtlp, Point, PointKind, points_of
from tests.support.otlp import CUMULATIVE, Payload


def test_gauges_and_sums() -> None:
    payload = Payload()
    payload.gauge("a.latency.avg", 1.5, {"node_id": "3", "b": "ü"})
    payload.total("a.requests.total", 7, {"node.id": 300})
    payload.total("a.bytes.total", -9, temporality=CUMULATIVE)
    payload.histogram("a.histogram")
    assert points_of(payload.encoded, 10) == (
        [
            Point("a.latency.avg", PointKind.GAUGE, (("b", "ü"), ("node_id", "3")), 1.5),
            Point("a.requests.total", PointKind.DELTA, (("node.id", "300"),), 7.0),
            Point("a.bytes.total", PointKind.CUMULATIVE, (), -9.0),
        ],
        False,
    )


def test_only_so_many_points_are_read() -> None:
    payload = Payload()
    for number in range(20):
        payload.gauge(f"m{number}", number)
    found, more = points_of(payload.encoded, 5)
    assert [point.value for point in found] == [0, 1, 2, 3, 4]
    assert more


def test_what_is_cut_off_is_refused() -> None:
    payload = Payload()
    payload.gauge("name", 1.0, {"key": "text"})
    whole = payload.encoded
    for size in range(1, len(whole)):
        with pytest.raises(InvalidOtlp):
            points_of(whole[:size], 10)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InvalidOtlp):
        points_of(data, 100)
