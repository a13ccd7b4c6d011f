"""DeleteTopics, versions 1-6: by name, or by id from version 6 on."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.controller.topics import delete_topics
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


def handle(node: Node, request: DeleteTopicsRequest, _: RequestContext) -> DeleteTopicsResponse:
    decision = delete_topics(node.image, request, node.topic_policy())
    try:
        return node.commit(decision)
    except StorageError as error:
        for result in decision.answer.responses:
            if result.error_code == 0:
                result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
                result.error_message = str(error)
        return decision.answer
