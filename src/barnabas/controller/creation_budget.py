"""How many partitions the cluster creates: so many a second, and more at once for a while.

A token bucket, as Kafka's quota of controller mutations is: it fills with time up to the burst, and
a request is accepted while something is left, though it may take more than that. The next one waits
until the debt is paid. Soft state: a new controller begins with a full bucket.
"""


class CreationBudget:
    __slots__ = ("_at_ms", "_spent")

    def __init__(self, now_ms: int) -> None:
        self._at_ms = now_ms
        self._spent = 0.0

    def wait_ms(self, per_second: int, burst: int, now_ms: int) -> int:
        """For how long nothing may be created; 0: go on."""
        passed_ms = max(0, now_ms - self._at_ms)
        self._spent = max(0.0, self._spent - passed_ms * per_second / 1000)
        self._at_ms += passed_ms
        too_much = self._spent - burst
        return 0 if too_much < 0 else int(too_much * 1000 / per_second) + 1

    def spend(self, count: int) -> None:
        self._spent += count
