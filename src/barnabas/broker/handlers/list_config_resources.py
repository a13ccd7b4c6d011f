"""ListConfigResources, versions 0-1: what DescribeConfigs can be asked about.

Topics, brokers, the loggers of brokers, groups with settings of their own, and subscriptions to
client metrics. Version 0 asks for these only.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.controller.configs import LOGGER_RESOURCE
from barnabas.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_TYPES = (
    TOPIC_RESOURCE,
    BROKER_RESOURCE,
    LOGGER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    image: MetadataImage


def handle(
    node: Needs, request: ListConfigResourcesRequest, context: RequestContext
) -> Slices[ListConfigResourcesResponse]:
    asked = tuple(dict.fromkeys(request.resource_types)) or _TYPES
    if context.version == 0:
        asked = (CLIENT_METRICS_RESOURCE,)
    if not set(asked) <= set(_TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = chain.from_iterable(_of_type(node, resource_type) for resource_type in asked)
    resources = yield from Slicer(context.version).each(list(found), _listed)
    return ListConfigResourcesResponse(config_resources=resources)


def _of_type(node: Needs, resource_type: int) -> Iterator[tuple[str, int]]:
    if resource_type == TOPIC_RESOURCE:
        return ((name, resource_type) for name in node.image.topics)
    if resource_type in (BROKER_RESOURCE, LOGGER_RESOURCE):
        return ((str(broker_id), resource_type) for broker_id in node.image.brokers)
    return ((name, kind) for kind, name in node.image.configs if kind == resource_type)


def _listed(resource: tuple[str, int]) -> ConfigResource:
    return ConfigResource(*resource)
