"""CreateTopics, versions 2-7."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.controller.topics import create_topics
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def handle(node: Node, request: CreateTopicsRequest, _: RequestContext) -> CreateTopicsResponse:
    try:
        return node.commit(create_topics(node.image, request, node.topic_policy()))
    except StorageError as error:
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(
                    topic.name,
                    error_code=ErrorCode.KAFKA_STORAGE_ERROR,
                    error_message=str(error),
                )
                for topic in request.topics
            ]
        )
