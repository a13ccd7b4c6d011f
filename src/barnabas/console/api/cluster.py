"""Nodes, disks, the quorum, moves of replicas, settings of nodes."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.client.admin.configs import ResourceType, alter_configs, describe_configs
from barnabas.client.admin.reassignments import alter_reassignments
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.api.overview import health_of, nodes_of
from barnabas.console.api.parameters import PARTITION, TOPIC
from barnabas.console.api.topic_settings import SETTINGS, checked_settings, entry_of
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.watch.watch import Watch

NODE = Parameter("node", "integer", "Id of the node.", required=True, minimum=0)
_MOVES = 100
_EVENTS = 200


async def show_cluster(call: Call) -> dict[str, Any]:
    watch = call.cluster.watch
    await watch.look()
    facts = watch.facts
    status = None if facts is None else facts.status
    return {
        "cluster_id": call.cluster.client.cluster_id,
        "error": watch.error,
        "health": health_of(watch),
        "nodes": nodes_of(watch),
        "quorum": None if status is None or status.quorum is None else asdict(status.quorum),
        "disks": [
            {
                "node": each.node_id,
                "path": each.path,
                "error": each.error,
                "total": each.total_bytes,
                "usable": each.usable_bytes,
                "used": sum(each.sizes.values()),
                "replicas": len(each.sizes),
            }
            for each in ([] if facts is None else facts.directories)
        ],
        "moves": [
            {
                "topic": name.topic,
                "partition": name.partition,
                "replicas": move.replicas,
                "adding": move.adding,
                "removing": move.removing,
                "copies": _copies(watch, name, move.adding),
            }
            for name, move in list(({} if status is None else status.moving).items())[:_MOVES]
        ],
        "move_count": 0 if status is None else len(status.moving),
        "versions": {
            str(each.node_id): each.version for each in ([] if facts is None else facts.nodes)
        },
        "certificates": [
            {"node": each.node_id, "expires_ms": each.certificate_expires_ms}
            for each in ([] if facts is None else facts.nodes)
            if each.certificate_expires_ms is not None
        ],
    }


def _copies(watch: Watch, name: TopicPartition, adding: Sequence[int]) -> list[dict[str, int]]:
    """How many bytes each new replica has, and how many the leader has."""
    looked = watch.last
    if looked is None or name not in looked.sample.partitions:
        return []
    sizes = {
        each.node_id: each.sizes[name] for each in looked.sample.directories if name in each.sizes
    }
    whole = sizes.get(looked.sample.partitions[name].leader, 0)
    return [{"node": node, "has": sizes.get(node, 0), "of": whole} for node in adding]


async def cancel_move(call: Call) -> dict[str, Any]:
    """Call a move off: the partition goes back to the replicas that it had."""
    name = TopicPartition(call.text("topic"), call.number("partition"))
    for error in (await alter_reassignments(call.cluster.client, {name: None})).values():
        if error is not None:
            raise error
    call.cluster.watch.changed()
    return {"cancelled": str(name)}


async def problems(call: Call) -> dict[str, Any]:
    """What is wrong now, and what has happened while this console watched, bad and good."""
    watch = call.cluster.watch
    await watch.look()
    return {
        "health": health_of(watch),
        "events": [each._asdict() for each in watch.events.newest(_EVENTS)],
    }


async def node_settings(call: Call) -> dict[str, Any]:
    name = str(call.number("node"))
    entries = await describe_configs(call.cluster.client, ResourceType.BROKER, [name])
    return {"settings": [entry_of(each, BROKER_CONFIGS.get(each.name)) for each in entries[name]]}


async def change_node_settings(call: Call) -> dict[str, Any]:
    changes = checked_settings(call)
    await alter_configs(
        call.cluster.client,
        ResourceType.BROKER,
        str(call.number("node")),
        settings={name: value for name, value in changes.items() if value is not None},
        deletions=[name for name, value in changes.items() if value is None],
    )
    return {"changed": sorted(changes)}


ENDPOINTS = (
    Endpoint("GET", "/api/cluster", "Nodes, disks, quorum and moves.", show_cluster),
    Endpoint("GET", "/api/cluster/problems", "What is and was wrong.", problems),
    Endpoint(
        "POST",
        "/api/cluster/moves/cancel",
        "Call the move of a partition off.",
        cancel_move,
        body=(TOPIC, replace(PARTITION, required=True)),
        changes=True,
    ),
    Endpoint(
        "GET", "/api/cluster/nodes/{node}/settings", "Settings of a node.", node_settings, (NODE,)
    ),
    Endpoint(
        "PUT",
        "/api/cluster/nodes/{node}/settings",
        "Change settings of a node.",
        change_node_settings,
        (NODE,),
        (SETTINGS,),
        changes=True,
    ),
)
