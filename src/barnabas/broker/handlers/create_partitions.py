"""CreatePartitions, versions 0-3."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.controller.growth import create_partitions
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)


def handle(
    node: Node, request: CreatePartitionsRequest, _: RequestContext
) -> CreatePartitionsResponse:
    decision = create_partitions(node.image, request)
    try:
        return node.commit(decision)
    except StorageError as error:
        for result in decision.answer.results:
            if result.error_code == 0:
                result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
                result.error_message = str(error)
        return decision.answer
