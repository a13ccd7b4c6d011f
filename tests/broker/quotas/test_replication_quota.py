"""How fast replicas that catch up are copied."""

import asyncio

from barnabas.broker.quotas.replication_quota import ReplicationQuota
from barnabas.security.quotas.rate import QuotaWindows
from tests.client.virtual_time import VirtualTimeLoop


class Held:
    resumed = 0

    def resume_followers(self) -> None:
        self.resumed += 1


def test_a_partition_is_held_until_the_rate_is_within_its_bound() -> None:
    loop = VirtualTimeLoop()
    quota = ReplicationQuota(
        loop, lambda: int(loop.time() * 1000), QuotaWindows(11, 100), lambda: 1_000
    )

    async def scenario() -> None:
        partition = Held()
        assert not quota.holds(partition)
        quota.record(100)
        assert not quota.holds(partition), "a tenth of a second's worth, in such a window"
        quota.record(100)
        assert quota.holds(partition)
        assert 50 < quota.throttle_ms() <= 100
        await asyncio.sleep(0.05)
        assert partition.resumed == 0
        await asyncio.sleep(0.1)
        assert partition.resumed == 1
        assert not quota.holds(partition) or quota.throttle_ms() < 100
        await asyncio.sleep(0.2)
        assert not quota.holds(partition)

    loop.run_until_complete(scenario())
    loop.close()


def test_a_bound_of_nothing_holds_everything() -> None:
    loop = asyncio.new_event_loop()
    quota = ReplicationQuota(loop, lambda: 5, QuotaWindows(), lambda: 0)
    assert quota.throttle_ms() == 0
    quota.record(1)
    assert quota.throttle_ms() == 1_000
    loop.close()
