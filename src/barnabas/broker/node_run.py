"""Starts a node, lets it leave the cluster, and closes it."""

import logging
from asyncio import sleep

from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.metadata.image import CLUSTER_METADATA

logger = logging.getLogger(__name__)

_TURNS_TO_ANSWER = 3
"""Turns of the event loop that a decided answer takes to its socket: encoding, order, writing."""
_TURNS_TO_STORE = 1000
"""More turns of the event loop than any Produce request is stored in."""
_TURNS_TO_DELETE = 2
"""Turns of the event loop until the deletion of a topic's files is given to the executor."""
_VOTERS_TIMEOUT_S = 10.0
"""How long a node of a new cluster waits for the other voters."""


async def start_node(node: Node) -> None:
    """Join the cluster; returns when this node serves its partitions.

    Raises `StorageError`.
    """
    await node.quorum.start()
    node.lost_replicas.start()
    node.lifecycle.start()
    await node.lifecycle.unfenced.wait()
    await node.in_step()
    node.isr_changes.start(node.partitions.led)
    node.partitions.set_strays_aside(keep={CLUSTER_METADATA})
    voters = {key.node_id for key in node.quorum.voters.keys}
    members = {*node.image.brokers, *voters}
    await node.credentials.ensure_secret(is_alone=members == {node.node_id})
    await _wait_for_voters(node)


async def _wait_for_voters(node: Node) -> None:
    """Wait until every voter has been unfenced once.

    A fenced broker leads nothing: a topic created earlier would have its leaders on the other
    nodes, and would keep them. A voter that was unfenced before and is down now is not waited for.
    """
    deadline = node.loop.time() + _VOTERS_TIMEOUT_S
    while node.loop.time() < deadline:
        if all(node.image.was_unfenced(key.node_id) for key in node.quorum.voters.keys):
            return
        await sleep(0.02)


async def leave_cluster(node: Node) -> None:
    """Hand over the partitions led here, if another node can lead them."""
    others = any(
        not broker.fenced for broker in node.image.brokers.values() if broker.id != node.node_id
    )
    membership = node.config.membership
    if others and node.lifecycle.unfenced.is_set() and membership.controlled_shutdown_enable:
        await node.lifecycle.leave(membership.controlled_shutdown_max_wait_ms)


async def close_node(node: Node) -> None:
    """Answer waiting group members, then flush and close everything."""
    node.connections.stop_accepting_requests()
    node.groups.close()
    node.transactions.close()
    node.share_group_states.close()
    node.share_partitions.close()
    node.share_coordinator.close()
    for _ in range(_TURNS_TO_STORE):
        if not node.split_productions:
            break
        await sleep(0)
    for _ in range(_TURNS_TO_ANSWER):
        await sleep(0)
    node.connections.close()
    await node.lifecycle.stop()
    node.lost_replicas.close()
    node.controller.stopped()
    if node.first_features is not None:
        node.first_features.cancel()
    await node.isr_changes.close()
    await node.fetchers.close()
    await node.quorum.close()
    node.peers.close()
    node.follower.close()
    for _ in range(_TURNS_TO_DELETE):
        await sleep(0)
    await node.flusher.close()
    node.recompression.close()
    node.threads.close()
    if node.partitions.close():
        _record_clean_shutdown(node)
    node.data.close()


def _record_clean_shutdown(node: Node) -> None:
    try:
        node.lifecycle.closed_well()
    except StorageError as error:
        logger.error(
            "can't record a clean shutdown; the next start will not trust this disk: %s", error
        )
