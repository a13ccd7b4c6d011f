"""Rules about the number of copies broken, one at a time."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.replica.partition import Partition
from barnabas.controller import partition_changes
from barnabas.metadata.partition_image import PartitionImage
from tests.sim import schedules
from tests.sim.variant import Variant


def _without_eligible(
    _draft: Any, _topic: Any, _before: Any, after: PartitionImage, _lost: Any
) -> PartitionImage:
    return after


VARIANTS: dict[str, Variant] = {
    "acknowledge with fewer replicas than min.insync.replicas": Variant(
        [patch.object(Partition, "lacks_replicas", property(lambda _: False))], "disks"
    ),
    "forget who was in sync when too few are left": Variant(
        [
            patch.object(partition_changes, "_with_eligible", _without_eligible),
        ],
        schedule=schedules.lose_the_only_one_in_sync,
    ),
}
