"""Frames of APIs that do not exist, from a client with a quota."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.broker.net.dispatcher import Dispatcher
from barnabas.broker.net.throttling import Throttling
from barnabas.broker.quotas.throttle_times import ThrottleTimes
from barnabas.wire.primitives import WireError


class Throttled:
    """A client that is over its quota."""

    request = None

    def request_throttle_ms(self, _now_ms: int) -> int:
        return 1_000


def test_their_throttle_times_are_not_counted() -> None:
    times = ThrottleTimes()
    quotas = SimpleNamespace(
        client=lambda *_: Throttled(),
        now_ms=lambda: 0,
        now_s=lambda: 0.0,
        throttle_times=times,
        limits=SimpleNamespace(has_clients=True),
    )
    connection = SimpleNamespace(
        principal=SimpleNamespace(name="ada"),
        mute=lambda *_: None,
        peer=None,
        awaited_quota=True,
        has_signed_in=True,
    )
    dispatcher: Dispatcher[Any] = Dispatcher(None, [])
    throttling = Throttling(dispatcher, cast("Any", quotas))
    frame = (30_000).to_bytes(2) + bytes(6) + b"\xff\xff"
    with pytest.raises(WireError, match="30000"):
        throttling.dispatch(memoryview(frame), cast("Any", connection))
    assert not times.by_key
