"""AllocateProducerIds: blocks of producer ids, so that most ids need no write."""

from barnabas.controller.decision import Decision
from barnabas.controller.draft import Draft
from barnabas.controller.registrations import epoch_error
from barnabas.metadata.image import MetadataImage
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.metadata_records import ProducerIdsRecord

BLOCK_SIZE = 1000


def allocate_producer_ids(image: MetadataImage, node_id: int) -> Decision[range]:
    """The next block; its ids may be used after the record is committed."""
    first = image.next_producer_id
    record = ProducerIdsRecord(broker_id=node_id, next_producer_id=first + BLOCK_SIZE)
    return Decision([record], range(first, first + BLOCK_SIZE))


def allocate(draft: Draft, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    """The next block, for a broker with a current epoch."""
    error = epoch_error(draft.image, request.broker_id, request.broker_epoch)
    if error:
        return AllocateProducerIdsResponse(error_code=error)
    first = draft.image.next_producer_id
    draft.write(ProducerIdsRecord(request.broker_id, request.broker_epoch, first + BLOCK_SIZE))
    return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
