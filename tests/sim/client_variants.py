"""The client library with a rule broken."""

from unittest.mock import patch

from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.eager_rebalancer import EagerRebalancer
from barnabas.sim import run
from tests.sim.variant import Variant

original_begin = EagerRebalancer._begin


def _begin_without_interruption(self: EagerRebalancer) -> None:
    with patch.object(DeliveryQueue, "interrupt", lambda _: None):
        original_begin(self)


VARIANTS: dict[str, Variant] = {
    "deliver messages of a partition before it is assigned": Variant(
        [
            patch.object(EagerRebalancer, "_begin", _begin_without_interruption),
            patch.object(run, "_REAL_CLIENT", 1.0),
        ]
    ),
}
