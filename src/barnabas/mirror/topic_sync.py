"""Brings the topics of the target in line with those of the source."""

from collections.abc import Collection, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.client.admin.configs import (
    ConfigEntry,
    ConfigSource,
    ResourceType,
    alter_what_is_known,
    describe_configs,
)
from barnabas.client.admin.topics import (
    BROKER_DEFAULT,
    create_partitions,
    create_topic,
    delete_topics,
)
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, NotAuthorized, TopicExists
from barnabas.mirror.flow import Flow
from barnabas.mirror.named_client import said_in
from barnabas.mirror.names import remote_topic
from barnabas.mirror.topic_plan import TopicPlan, TopicShape, flows, plan_topics
from barnabas.quantities import some
from barnabas.wire.errors import ErrorCode


class TopicShapes(NamedTuple):
    """Topics of a cluster, by name; and those whose settings may not be read, with the reason."""

    found: dict[str, TopicShape]
    unread: dict[str, NotAuthorized]


async def topic_shapes(cluster: ClusterClient, names: Collection[str]) -> TopicShapes:
    """These topics with their own settings, as far as they exist and may be read."""
    unread: dict[str, NotAuthorized] = {}
    if not names:
        return TopicShapes({}, unread)
    found = await cluster.refresh(names)
    present = {name: each for name, each in found.items() if not each.error_code}
    described = {}
    if present:
        described = await describe_configs(
            cluster, ResourceType.TOPIC, list(present), refused=unread
        )
    shapes = {
        name: TopicShape(
            len(each.partitions),
            _own(described[name]) if name in described else None,
            each.topic_id,
        )
        for name, each in present.items()
    }
    return TopicShapes(shapes, unread)


def _own(entries: Iterable[ConfigEntry]) -> dict[str, str]:
    return {
        entry.name: entry.value
        for entry in entries
        if entry.source is ConfigSource.TOPIC and entry.value is not None
    }


def _unread(cluster: str, unread: Mapping[str, NotAuthorized]) -> list[str]:
    """One problem for all topics whose settings are needed, and may not be read."""
    if not unread:
        return []
    first = next(iter(unread.values()))
    return [f"settings of {some(sorted(unread))} in {cluster} are not compared: {first}"]


async def sync_topics(
    source: ClusterClient, target: ClusterClient, flow: Flow, copied_before: Mapping[str, str]
) -> TopicPlan:
    """Decide and carry out; returns the plan, with what could not be done among its problems.

    Topics whose partitions are missing in the target do not flow.
    """
    listed = await source.refresh(None)
    wanted = [name for name in listed if flows(flow, name)]
    here, unread_here = await topic_shapes(source, wanted)
    written = {remote_topic(flow, name) for name in wanted} | set(copied_before.values())
    there, unread_there = await topic_shapes(target, written)
    plan = plan_topics(flow, here, there, copied_before)
    if not flow.sync_configs:  # then only topics that are created need them
        unread_there = {}
        unread_here = {
            name: error
            for name, error in unread_here.items()
            if remote_topic(flow, name) in plan.create
        }
    plan.problems += _unread(flow.source.name, unread_here)
    plan.problems += _unread(flow.target.name, unread_there)
    for name, shape in plan.create.items():
        await _attempt(flow, plan, name, _create(target, flow, plan, name, shape))
    for name, count in plan.grow.items():
        if not await _attempt(flow, plan, name, create_partitions(target, name, count)):
            _leave_out(plan, name)
    for name, configs in plan.alter.items():
        await _alter(target, plan, name, configs)
    if plan.delete:
        for name, refused in (await delete_topics(target, plan.delete)).items():
            if refused is not None:
                where = f"topic {name} of {flow.target.name}"
                plan.problems.append(f"{where} is not deleted: {refused}")
    return plan


async def _create(
    target: ClusterClient, flow: Flow, plan: TopicPlan, name: str, shape: TopicShape
) -> None:
    replicas = flow.replication_factor or BROKER_DEFAULT
    try:
        await create_topic(target, name, partitions=shape.partitions, replication_factor=replicas)
    except TopicExists:
        return  # since a moment ago
    await _alter(target, plan, name, shape.configs or {})


async def _alter(
    target: ClusterClient, plan: TopicPlan, name: str, configs: Mapping[str, str]
) -> None:
    """Set what the target knows, and name the rest."""
    refused = await alter_what_is_known(target, ResourceType.TOPIC, name, configs)
    for key, error in refused.items():
        plan.problems.append(f"setting {key}={configs[key]} of topic {name} is left out: {error}")


async def _attempt(flow: Flow, plan: TopicPlan, name: str, work: Coroutine[Any, Any, None]) -> bool:
    """Note what is refused, and go on with other topics."""
    try:
        await work
    except BrokerError as error:
        if error.retriable or error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        said = said_in(flow.target.name, error)
        plan.problems.append(f"topic {name} of {flow.target.name}: {said}")
        _leave_out(plan, name)
        return False
    return True


def _leave_out(plan: TopicPlan, name: str) -> None:
    plan.flowing = {here: there for here, there in plan.flowing.items() if there != name}
