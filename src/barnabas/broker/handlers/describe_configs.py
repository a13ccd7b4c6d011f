"""DescribeConfigs, versions 1-4: settings of topics, brokers, groups and subscriptions to client
metrics, and where each comes from; the loggers of a broker have their levels.

What a broker was started with is known to that broker alone, so it is asked.
"""

from asyncio import sleep
from collections.abc import Iterable
from typing import Protocol

from barnabas.broker.control.controller_calls import LANE
from barnabas.broker.logs.logger_levels import logger_levels
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.runtime.slices import Slicer
from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.configs import (
    LOGGER_RESOURCE,
    SOURCE_BROKER_LOGGER,
    DescribedConfig,
    TopicDefaults,
    described_broker_configs,
    described_client_metrics,
    described_configs,
    described_group_configs,
)
from barnabas.controller.decision import Refusal
from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from barnabas.wire.primitives import cut

_OF_BROKER = (BROKER_RESOURCE, LOGGER_RESOURCE)
_BY_ANY_NAME = {
    GROUP_RESOURCE: "the name of the group",
    CLIENT_METRICS_RESOURCE: "the name of the subscription to client metrics",
}

_ASK_TIMEOUT_MS = 3_000
_WEIGHT = 100
"""A topic has some dozen settings."""


class Needs(Protocol):
    """What this handler asks of the node."""

    config: BrokerConfig
    image: MetadataImage
    node_id: int
    peers: Peers


async def handle(
    node: Needs, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    is_sent_on = context.connection.peer is not None
    slicer = Slicer(context.version)
    response = DescribeConfigsResponse()
    # Once each, however often one is named: a name takes a few bytes, its settings some thousand.
    asked = {(one.resource_type, one.resource_name): one for one in request.resources}
    for resource in asked.values():
        other = None if is_sent_on else _other_broker(node, resource)
        result = (
            _describe(node, resource, request)
            if other is None
            else await _ask(node, other, resource, request)
        )
        response.results.append(slicer.part(result))
        if slicer.is_due(_WEIGHT):
            await sleep(0)
    return response


def _other_broker(node: Needs, resource: DescribeConfigsResource) -> int | None:
    name = resource.resource_name
    if resource.resource_type not in _OF_BROKER or not name.isdecimal():
        return None
    return int(name) if int(name) in node.image.brokers.keys() - {node.node_id} else None


async def _ask(
    node: Needs, broker_id: int, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    question = DescribeConfigsRequest(
        [resource], request.include_synonyms, request.include_documentation
    )
    try:
        answer = await node.peers.call(
            broker_id, question, question.MAX_VERSION, timeout_ms=_ASK_TIMEOUT_MS, lane=LANE
        )
        return answer.results[0]
    except PeerUnavailable as error:
        return DescribeConfigsResult(
            ErrorCode.REQUEST_TIMED_OUT, str(error), resource.resource_type, resource.resource_name
        )


def _describe(
    node: Needs, resource: DescribeConfigsResource, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        configs = _configs(node, resource)
    except Refusal as refusal:
        result.error_code = refusal.error_code
        result.error_message = refusal.message
        return result
    wanted = frozenset(resource.configuration_keys or ())
    result.configs = [
        _entry(config, request) for config in configs if not wanted or config.name in wanted
    ]
    return result


def _configs(node: Needs, resource: DescribeConfigsResource) -> Iterable[DescribedConfig]:
    name = resource.resource_name
    settings = node.config.settings
    if resource.resource_type == TOPIC_RESOURCE:
        if name not in node.image.topics:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return described_configs(
            name, node.image.topic_configs(name), TopicDefaults(node.image, settings)
        )
    if resource.resource_type in _OF_BROKER:
        if name not in ("", str(node.node_id)):
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"there is no broker {name!r}",
            )
        if resource.resource_type == LOGGER_RESOURCE:
            return map(_logger, logger_levels())
        return described_broker_configs(node.image, settings)
    if resource.resource_type in _BY_ANY_NAME:
        if not name:
            raise Refusal(
                ErrorCode.INVALID_REQUEST, f"{_BY_ANY_NAME[resource.resource_type]} is empty"
            )
        if resource.resource_type == GROUP_RESOURCE:
            return described_group_configs(node.image, settings, name)
        return described_client_metrics(node.image, name)
    raise Refusal(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {resource.resource_type} have no settings here",
    )


def _logger(logger: tuple[str, str]) -> DescribedConfig:
    name, level = logger
    config = ConfigDef(name, ConfigType.STRING, None, "Level of this logger")
    return DescribedConfig(config, False, level, SOURCE_BROKER_LOGGER, [])


def _entry(
    config: DescribedConfig, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    is_sensitive = config.config.type is ConfigType.PASSWORD

    def shown(value: str | None) -> str | None:
        """The values in a node's file may be longer than an answer can carry."""
        return None if is_sensitive or value is None else cut(value)

    return DescribeConfigsResourceResult(
        name=config.name,
        value=shown(config.value),
        is_sensitive=is_sensitive,
        read_only=config.read_only,
        config_source=config.source,
        synonyms=(
            [
                DescribeConfigsSynonym(synonym.name, shown(synonym.value), synonym.source)
                for synonym in config.synonyms
            ]
            if request.include_synonyms
            else []
        ),
        config_type=config.config.type,
        documentation=config.config.doc if request.include_documentation else None,
    )
