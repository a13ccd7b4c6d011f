"""Rates and token buckets measure what those of a real Kafka 4.3 measured.

`tools/quota_oracle/cases.py` has the format, and how the answers were obtained.
"""

from pathlib import Path

import pytest

from barnabas.security.quotas.rate import QuotaWindows, Rate
from barnabas.security.quotas.token_bucket import TokenBucket

ANSWERS = Path(__file__).with_name("kafka_answers.txt")
BEGIN_MS = 100_000


def test_every_value_and_throttle_time_is_kafkas() -> None:
    throttled = {"R": 0, "T": 0}
    for line in ANSWERS.read_text().splitlines():
        part = line.split(" ")
        if part[0] != "V":
            kind, bound = part[0], float(part[1])
            windows = QuotaWindows(int(part[2]), int(part[3]))
            rate, bucket = Rate(BEGIN_MS), TokenBucket(bound, BEGIN_MS, windows)
            continue
        now_ms, value, measured, throttle_ms = map(float, part[1:])
        now = int(now_ms)
        if kind == "T":
            bucket.take(value, bound, now, windows)
            ours = bucket.tokens(bound, now, windows), bucket.throttle_ms(bound, now, windows)
        else:
            rate.record(value, now, windows)
            ours = rate.per_second(now, windows), rate.throttle_ms(bound, now, windows)
        assert ours == (pytest.approx(measured, abs=1e-6), throttle_ms), line
        throttled[kind] += throttle_ms > 0
    assert min(throttled.values()) > 100, throttled
