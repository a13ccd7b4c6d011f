"""The time that a request takes is that of the node's clock."""

from collections.abc import Callable

from barnabas.broker.quotas.limited_client import LimitedClient, LimitedRate
from barnabas.broker.quotas.request_quota import RequestQuota
from barnabas.security.quotas.rate import QuotaWindows, Rate


class Unmuted:
    def mute(self, throttle_ms: int, now_ms: Callable[[], int]) -> None:
        raise AssertionError(f"muted for {throttle_ms} ms at {now_ms()}")


def test_work_is_measured_by_the_clock_of_the_node() -> None:
    windows, rate = QuotaWindows(), Rate(0)
    client = LimitedClient(windows, windows, None, None, LimitedRate(10.0, rate), None)
    now_s = [5.0]
    quota = RequestQuota(client, Unmuted(), lambda: int(now_s[0] * 1_000), lambda: now_s[0])
    now_s[0] += 0.5
    quota.paused()

    def step(seconds: float) -> None:
        now_s[0] += seconds

    now_s[0] += 1  # nobody works on the request
    quota.timed(step)(0.25)
    now_ms = int(now_s[0] * 1_000)
    used = rate.per_second(now_ms, windows) * rate.window_ms(now_ms, windows) / 1_000
    assert abs(used - 75) < 1e-6, "percent of a second"
