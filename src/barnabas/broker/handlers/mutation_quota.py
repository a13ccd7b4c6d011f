"""`controller_mutation_rate`: how many partitions a client may create and delete.

The node that the client asks counts, before it asks the controller. Clients ask the controller
itself, so that is the rate of the whole cluster, unless a client goes to all nodes.

From the versions of `_STRICT_FROM` on, a topic is refused with THROTTLING_QUOTA_EXCEEDED if the
client has used up its rate; the topics before it in the request are changed. Earlier versions know
no such error: all topics are changed, and the client is throttled afterwards. Topics that Metadata
creates count too; a client that has used up its rate is told that they have no leader yet.
"""

from copy import copy
from typing import Any

from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.quotas.request_quota import RequestQuota
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

Mutation = CreateTopicsRequest | CreatePartitionsRequest | DeleteTopicsRequest
MUTATIONS = (CreateTopicsRequest, CreatePartitionsRequest, DeleteTopicsRequest)
_STRICT_FROM: dict[type[Mutation], int] = {
    CreateTopicsRequest: 6,
    CreatePartitionsRequest: 3,
    DeleteTopicsRequest: 5,
}
_Topic = CreatableTopic | CreatePartitionsTopic | DeleteTopicState


async def create_on_demand(
    quota: RequestQuota | None,
    creation: TopicCreation,
    names: list[str],
    default_partitions: int,
) -> dict[str, int]:
    """Create topics that Metadata asks for; returns the error code of each.

    The client has to retry for those that its rate does not allow yet.
    """
    errors: dict[str, int] = {}
    accepted = []
    for name in names:
        if quota is not None and quota.mutation_throttle_ms():
            errors[name] = ErrorCode.LEADER_NOT_AVAILABLE
            continue
        accepted.append(name)
        if quota is not None:
            quota.take_mutations(default_partitions)
    if not accepted:
        return errors
    created = await creation.create_for_client(accepted)
    if quota is not None:
        quota.take_mutations(-default_partitions * sum(map(bool, created.values())))
    return errors | created


class MutationQuota:
    """One request of a client."""

    def __init__(
        self,
        quota: RequestQuota,
        image: MetadataImage,
        default_partitions: int,
        request: Mutation,
        version: int,
    ) -> None:
        self._quota = quota
        self._image = image
        self._default_partitions = default_partitions
        self._is_strict = version >= _STRICT_FROM[type(request)]
        self._is_test = getattr(request, "validate_only", False)
        self._taken: dict[str | bytes, int] = {}
        self._refused: list[_Topic] = []
        self.accepted = self._accept(request)
        """The request without the topics that are refused."""
        refusal = CONTROLLER_APIS[type(request)].refuse
        self._refusal = refusal(
            _with_topics(request, self._refused),
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
            "The throttling quota has been exceeded.",
        )

    def _accept(self, request: Mutation) -> Mutation:
        accepted: list[_Topic] = []
        for topic in request.topics:
            if self._is_strict and self._quota.mutation_throttle_ms():
                self._refused.append(topic)
                continue
            accepted.append(topic)
            count = self._partitions(topic)
            self._quota.take_mutations(count)
            self._taken[_key(topic)] = count
        return _with_topics(request, accepted)

    def _partitions(self, topic: _Topic) -> int:
        """How many partitions are created or deleted."""
        if isinstance(topic, CreatableTopic):
            asked = len(topic.assignments) or topic.num_partitions
            return self._default_partitions if asked < 0 else asked
        if isinstance(topic, CreatePartitionsTopic):
            found = self._image.topics.get(topic.name)
            return 0 if found is None else max(0, topic.count - len(found.partitions))
        if topic.name is None:
            found = self._image.topics_by_id.get(topic.topic_id)
        else:
            found = self._image.topics.get(topic.name)
        return 0 if found is None else len(found.partitions)

    def respond(self, response: Response | None) -> Response:
        """Complete the controller's response; None if all topics are refused."""
        for result in [] if response is None else _results(response):
            if result.error_code or self._is_test:
                self._quota.take_mutations(-self._taken.get(_key(result), 0))
        if self._refused or not self._is_strict:
            throttle_ms = self._quota.mutation_throttle_ms()
            if throttle_ms:
                self._quota.throttle(throttle_ms)
        if response is None:
            return self._refusal
        _results(response).extend(_results(self._refusal))
        return response


def _key(topic: Any) -> str | bytes:
    key: str | bytes = topic.name or topic.topic_id
    return key


def _with_topics(request: Mutation, topics: list[Any]) -> Mutation:
    request = copy(request)
    request.topics = topics
    return request


def _results(response: Response) -> list[Any]:
    """A result for each topic."""
    if isinstance(response, CreateTopicsResponse):
        return response.topics
    if isinstance(response, CreatePartitionsResponse):
        return response.results
    assert isinstance(response, DeleteTopicsResponse)
    return response.responses
