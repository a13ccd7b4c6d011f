"""Leaders of assigned partitions, and how often they are looked for."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.share.share_assignment import ShareAssignment
from tests.client.share.support import PARTITION
from tests.client.virtual_time import now, run

LEADER = 1


class Metadata:
    """A cluster that names the same leader each time."""

    def __init__(self) -> None:
        self.asked_at: list[float] = []
        self.environment = SimpleNamespace(monotonic=now, random=lambda: 0.5)

    async def refresh_leaders(self, _topics: object) -> None:
        self.asked_at.append(now())
        await asyncio.sleep(0.001)

    def known_topic(self, name: str) -> Any:
        return SimpleNamespace(topic_id=PARTITION.topic_id, name=name)

    def known_leader(self, _partition: object) -> int:
        return LEADER


def test_a_partition_that_fails_again_and_again_is_not_asked_for_all_the_time() -> None:
    async def main() -> None:
        metadata = Metadata()
        loop = asyncio.get_running_loop()

        def fail_soon() -> None:
            if assignment.leaders.get(PARTITION) == LEADER:  # its fetch gets an error
                loop.call_later(0.001, assignment.doubt, [PARTITION])

        cluster = cast("ClusterClient", metadata)
        assignment = ShareAssignment(cluster, [PARTITION.topic], fail_soon)
        assignment.assign({PARTITION.topic_id: [PARTITION.partition]})
        running = asyncio.ensure_future(assignment.run())
        await asyncio.sleep(20)
        asked = len(metadata.asked_at)
        assert 10 < asked < 40
        assert metadata.asked_at[0] < 0.1, "the first time, nothing is waited for"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(main())
