"""Handing out producer ids, a block at a time so that most of them need no write."""

from barnabas.controller.decision import Decision
from barnabas.metadata.image import MetadataImage
from barnabas.wire.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE = 1000


def allocate_producer_ids(image: MetadataImage, node_id: int) -> Decision[range]:
    """The next block; whoever gets it may use its ids after the record is persisted."""
    first = image.next_producer_id
    record = ProducerIdsRecord(broker_id=node_id, next_producer_id=first + BLOCK_SIZE)
    return Decision([record], range(first, first + BLOCK_SIZE))
