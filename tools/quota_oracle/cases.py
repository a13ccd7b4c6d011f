"""Questions for a real Kafka's metrics of quotas, and how its answers were obtained.

Each block of the output is one client:

    R BOUND WINDOWS WINDOW_MS    begins a rate
    T BOUND WINDOWS WINDOW_MS    begins a token bucket
    V TIME_MS VALUE              records a value

Times begin at 100 s: at time 0, and never again, a bucket of Kafka is empty. Kafka adds the value
measured after each V, and the throttle time. With kafka-clients 4.3.0 in libs/:

    python tools/quota_oracle/cases.py |
    java -cp 'libs/*' tools/quota_oracle/AskQuotaMetrics.java \\
        > tests/security/quotas/kafka_answers.txt
"""

from collections.abc import Iterator
from random import Random

_CLIENTS = 60
_VALUES = 40
_PAUSES_MS = (0, 0, 1, 7, 50, 300, 999, 1000, 1001, 2500, 10_000, 11_000, 12_500, 40_000)


def lines(seed: int = 11) -> Iterator[str]:
    random = Random(seed)
    for _ in range(_CLIENTS):
        bound = random.choice((1, 5, 100, 1024, 1_000_000))
        windows = random.choice(("11 1000", "11 1000", "2 500", "1 1000"))
        yield f"{random.choice('RT')} {bound} {windows}"
        pauses = random.sample(_PAUSES_MS, 4)
        now_ms = 100_000
        for _ in range(_VALUES):
            yield f"V {now_ms} {random.choice((0, 1, bound, bound * 3, bound * 12))}"
            now_ms += random.choice(pauses)


if __name__ == "__main__":
    print("\n".join(lines()))
