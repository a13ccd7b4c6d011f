"""The producer id and epoch that a batch is sent under."""

from typing import NamedTuple


class ProducerIdentity(NamedTuple):
    """What identifies a producer's batches to brokers, with their sequence numbers."""

    producer_id: int
    producer_epoch: int
    transactional: bool = False


ANONYMOUS = ProducerIdentity(-1, -1)
