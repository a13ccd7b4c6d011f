"""A leader that has lost contact with the controller: others may lead and commit by now."""

import asyncio

import pytest

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.runtime.clock import Clock
from barnabas.log import Log, LogConfig
from barnabas.metadata.image import PartitionImage
from tests.log.memory_disk import MemoryDisk

LIMITS = AppendLimits(
    1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False, min_insync_replicas=1
)


@pytest.mark.parametrize(("replicas", "knows"), [([1, 2], False), ([1], True)])
def test_it_does_not_know_the_end_unless_it_is_the_only_replica(
    replicas: list[int], knows: bool
) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    is_cut_off = False
    host = PartitionHost(
        1,
        loop,
        Clock(),
        1000,
        lambda _: 1,
        lambda _: None,
        lambda _: None,
        is_cut_off=lambda: is_cut_off,
    )
    log = Log.open(MemoryDisk(), "data/t-0", LogConfig(), 0)
    partition = Partition("t", 0, bytes(16), log, LIMITS, host)
    partition.apply(PartitionImage(0, replicas, [1], 1, 0, 0))
    assert partition.knows_what_is_committed
    is_cut_off = True
    assert partition.knows_what_is_committed is knows
