"""Guards of creating, changing and deleting topics."""

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import MESSAGES, TOPIC_DENIED, Needs, Part, Verdict, refusing
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import SLICE, Slicer, Slices, split
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)


def create_topics(
    _: Needs, request: CreateTopicsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """CREATE on the cluster, or on each topic.

    The settings of a new topic are shown with DESCRIBE_CONFIGS on it.
    """
    refused: list[CreatableTopicResult] = []
    if not access.cluster(AclOperation.CREATE, log=False):
        request.topics, denied = yield from split(
            request.topics, lambda topic: access.topic(AclOperation.CREATE, topic.name)
        )
        refused = yield from Slicer(context.version).each(
            dict.fromkeys(topic.name for topic in denied),
            lambda name: CreatableTopicResult(
                name, error_code=TOPIC_DENIED, error_message="Authorization failed."
            ),
        )

    def finish(response: CreateTopicsResponse) -> Slices[CreateTopicsResponse]:
        for number, topic in enumerate(response.topics, 1):
            if not number % SLICE:
                yield
            if not topic.error_code and not access.topic(
                AclOperation.DESCRIBE_CONFIGS, topic.name, log=False
            ):
                topic.topic_config_error_code = TOPIC_DENIED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = None
        response.topics += refused
        return response

    return Part(request, finish) if request.topics else CreateTopicsResponse(topics=refused)


def create_partitions(
    _: Needs, request: CreatePartitionsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """ALTER on each topic."""
    request.topics, denied = yield from split(
        request.topics, lambda topic: access.topic(AclOperation.ALTER, topic.name)
    )
    if not denied:
        return None

    finish = refusing(
        "results",
        dict.fromkeys(topic.name for topic in denied),
        lambda name: CreatePartitionsTopicResult(name, TOPIC_DENIED, MESSAGES[TOPIC_DENIED]),
        context,
    )
    if not request.topics:
        return (yield from finish(CreatePartitionsResponse()))
    return Part(request, finish)


def delete_topics(
    node: Needs, request: DeleteTopicsRequest, access: RequestAccess, __: RequestContext
) -> Slices[Verdict]:
    """DELETE on the cluster, or on each topic.

    The name of a topic that was given by its id is told to those who may describe it. Without
    DELETE on the cluster, an id is unknown until this node can tell whose topic it is.
    """
    if access.cluster(AclOperation.DELETE, log=False):
        return None
    refused: list[DeletableTopicResult] = []

    def may_delete(topic: DeleteTopicState) -> bool:
        name = topic.name
        if name is None:
            image = node.image.topics_by_id.get(topic.topic_id)
            if image is None:
                # The controller may know it, but asks for no rights: it trusts this node.
                refused.append(
                    DeletableTopicResult(
                        None, topic.topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "unknown topic id"
                    )
                )
                return False
            name = image.name
        if access.topic(AclOperation.DELETE, name):
            return True
        may_name = topic.name is not None or access.topic(AclOperation.DESCRIBE, name, log=False)
        refused.append(
            DeletableTopicResult(
                name if may_name else None, topic.topic_id, TOPIC_DENIED, MESSAGES[TOPIC_DENIED]
            )
        )
        return False

    request.topics, _denied = yield from split(request.topics, may_delete)
    request.topic_names, _denied_names = yield from split(
        request.topic_names, lambda name: may_delete(DeleteTopicState(name))
    )
    if not refused:
        return None

    def finish(response: DeleteTopicsResponse) -> DeleteTopicsResponse:
        response.responses += refused
        return response

    is_left = request.topics or request.topic_names
    return Part(request, finish) if is_left else finish(DeleteTopicsResponse())
