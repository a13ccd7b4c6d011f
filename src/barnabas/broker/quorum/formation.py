"""How a cluster begins, and how a node with an empty directory becomes part of one.

Every node that belongs to no cluster asks the configured voters who they are (DescribeQuorum). If
one belongs to a cluster already, the node joins that: as a voter if its own directory is among the
voters, else as an observer. Otherwise the voter with the lowest id founds the cluster, once it has
heard from every other one, twice: all answers of the second round are later than all of the first,
so if they are the same, there was a moment at which all voters were who they say and belonged to no
cluster. Hence a node that has lost its disk never founds a second cluster in addition to the one
that the others are in, not even if all but one of them are down.

An answer from a voter's address is ignored if it is from another node, and a node does not join a
cluster in which another node has its id: a mistyped address must not make a node join the wrong
cluster, as that can't be undone.

A single founder costs nothing, as all voters must be up anyway.
"""

import logging
from asyncio import AbstractEventLoop, sleep
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.quorum.addresses import NamedVoter
from barnabas.broker.quorum.describe import METADATA_QUESTION, NOT_FORMED, who_answers
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.log.directory.data_directory import encode_id
from barnabas.raft import ReplicaKey, Voter, VoterSet
from barnabas.wire.endpoint import Address, Endpoint
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from barnabas.wire.messages.describe_quorum import DescribeQuorumResponse

logger = logging.getLogger(__name__)

_LANE = "raft"
_ASK_TIMEOUT_MS = 1_000
_ROUND_MS = 100
_SILENT_S = 3
_SAY_EVERY_S = 30
"""How often to log what the node is waiting for."""
_WARN_EVERY_S = 5
"""How often to log a problem that waiting does not solve."""


class Membership(NamedTuple):
    cluster_id: str
    voters: VoterSet
    """Empty for a replica that learns the voters from the log."""


class Formation:
    def __init__(
        self,
        me: ReplicaKey,
        named: Sequence[NamedVoter],
        peers: Peers,
        loop: AbstractEventLoop,
        random: Random,
    ) -> None:
        self._me = me
        self._named = {voter.node_id: voter for voter in named}
        self._others = sorted(self._named.keys() - {me.node_id})
        self._is_founder = not named or me.node_id == min(self._named)
        self._peers = peers
        self._loop = loop
        self._random = random
        self._flaws: list[str] = []
        """Problems with the settings that the last round of requests has shown."""
        self._warn_at = 0.0

    async def run(self) -> Membership:
        """Run until this node is in a cluster."""
        say_at = self._loop.time() + _SILENT_S
        while True:
            first = await self._ask_all()
            if isinstance(first, Membership):
                return first
            self._warn()
            if self._is_founder and len(first) == len(self._others):
                second = await self._ask_all()
                if isinstance(second, Membership):
                    return second
                if second == first:
                    return self._found(second)
            if self._loop.time() >= say_at:
                say_at = self._loop.time() + _SAY_EVERY_S
                missing = [self._named[node] for node in self._others if node not in first]
                who = ", ".join(f"node {node} ({host}:{port})" for node, host, port, _ in missing)
                logger.info(
                    "waiting for %s: a new cluster starts once all its voters are running",
                    who or "the others",
                )
            await sleep(_ROUND_MS / 1000)

    def _warn(self) -> None:
        if self._flaws and self._loop.time() >= self._warn_at:
            self._warn_at = self._loop.time() + _WARN_EVERY_S
            for flaw in self._flaws:
                logger.error("%s: check --voters", flaw)

    def _found(self, directories: dict[int, bytes]) -> Membership:
        directories = {**directories, self._me.node_id: self._me.directory_id}
        voters = [
            self._named[node_id].voter(directory_id)
            if node_id in self._named
            else Voter(ReplicaKey(node_id, directory_id))
            for node_id, directory_id in sorted(directories.items())
        ]
        return Membership(encode_id(self._random.randbytes(16)), VoterSet(tuple(voters)))

    async def _ask_all(self) -> Membership | dict[int, bytes]:
        """The directory ids of voters that are in no cluster, or the cluster that one of them is
        in."""
        directories: dict[int, bytes] = {}
        questions = {
            node_id: self._peers.call(
                node_id,
                METADATA_QUESTION,
                METADATA_QUESTION.MAX_VERSION,
                timeout_ms=_ASK_TIMEOUT_MS,
                lane=_LANE,
            )
            for node_id in self._others
        }
        self._flaws = []
        joined: dict[str, Membership] = {}
        try:
            for node_id, question in questions.items():
                try:
                    answer = await question
                    if not self._is(node_id, answer):
                        continue
                    membership = await self._membership(node_id, answer)
                except PeerUnavailable:
                    continue
                if membership is not None:
                    joined.setdefault(membership.cluster_id, membership)
                who = who_answers(answer)
                if who is not None and _is_new(answer):
                    directories[node_id] = who.directory_id
        finally:
            for question in questions.values():
                question.cancel()  # no caller is left for the answer if this is cancelled
        if len(joined) > 1:
            self._flaws.append(f"the voters are of different clusters, {' and '.join(joined)}")
        return joined.popitem()[1] if len(joined) == 1 else directories

    def _is(self, node_id: int, answer: DescribeQuorumResponse) -> bool:
        """Whether the node that answered at this address is `node_id`."""
        who = who_answers(answer)
        if who is None or who.node_id == node_id:
            return who is not None
        voter, of = self._named[node_id], "" if _is_new(answer) else " of another cluster"
        self._flaws.append(
            f"{voter.host}:{voter.port} is node {who.node_id}{of}, not node {node_id}"
        )
        return False

    async def _membership(self, node_id: int, answer: DescribeQuorumResponse) -> Membership | None:
        """The cluster that a node belongs to, if it is in one and knows its voters."""
        partition = only_partition(answer.topics)
        if partition is None or _is_new(answer) or not partition.current_voters:
            return None
        cluster = await self._peers.call(
            node_id,
            DescribeClusterRequest(),
            DescribeClusterRequest.MAX_VERSION,
            timeout_ms=_ASK_TIMEOUT_MS,
            lane=_LANE,
        )
        if not cluster.cluster_id or self._has_another_of_this_id(node_id, cluster):
            return None
        listeners = {node.node_id: node.listeners for node in answer.nodes}
        voters = [
            Voter(
                ReplicaKey(state.replica_id, bytes(state.replica_directory_id)),
                tuple(
                    Endpoint(at.name, at.host, at.port)
                    for at in listeners.get(state.replica_id, ())
                ),
            )
            for state in partition.current_voters
        ]
        found = VoterSet(tuple(sorted(voters)))
        return Membership(cluster.cluster_id, found if self._me in found else VoterSet())

    def _has_another_of_this_id(self, node_id: int, cluster: DescribeClusterResponse) -> bool:
        mine = self._named.get(self._me.node_id)
        for broker in cluster.brokers:
            at = Address(broker.host, broker.port)
            if (
                mine is not None
                and mine.node_id == broker.broker_id
                and at != (mine.host, mine.port)
            ):
                self._flaws.append(
                    f"node {node_id} is of a cluster whose node {mine.node_id} is up at "
                    f"{at}, not at {mine.host}:{mine.port}"
                )
                return True
        return False


def _is_new(answer: DescribeQuorumResponse) -> bool:
    """Whether the node that answers is in no cluster."""
    partition = only_partition(answer.topics)
    return partition is not None and partition.error_code == NOT_FORMED
