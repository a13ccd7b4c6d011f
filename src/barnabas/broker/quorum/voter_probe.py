"""Asks the voters who they are, and explains why there is no controller."""

from asyncio import Future, gather
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.quorum.describe import METADATA_QUESTION, who_answers
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.raft import ReplicaKey
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest

ResponseT = TypeVar("ResponseT", bound=Response)

_LANE = "voter-probe"
_ASK_TIMEOUT_MS = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a voter reports of itself."""

    key: ReplicaKey
    cluster_id: str
    """Empty if it is in no cluster."""
    voters: Collection[ReplicaKey] = ()
    """The voters that it knows."""


@dataclass(frozen=True, slots=True)
class VoterProbe:
    me: Answer
    addresses: Mapping[int, str]
    """The addresses of all other voters."""
    answers: Mapping[int, Answer]
    """The answers of voters that responded, by the id under which they were asked."""

    @property
    def is_in_another_cluster(self) -> bool:
        """Whether all others answer, and belong to another cluster."""
        return bool(self.addresses) and len(self._foreign) == len(self.addresses)

    @property
    def _foreign(self) -> list[int]:
        return [
            node_id
            for node_id, answer in sorted(self.answers.items())
            if answer.cluster_id not in ("", self.me.cluster_id)
        ]

    def __str__(self) -> str:
        """What prevents the election of a controller."""
        foreign = self._foreign
        silent = sorted(self.addresses.keys() - self.answers.keys())
        obstacles = []
        if foreign:
            belong = "belongs" if len(foreign) == 1 else "belong"
            obstacles.append(
                f"{self._named(foreign)} {belong} to another cluster than this node's data: "
                "check --data and --voters"
            )
        obstacles += [
            f"{self.addresses[node_id]} is node {answer.key.node_id}, not node {node_id}: "
            "check --voters"
            for node_id, answer in sorted(self.answers.items())
            if answer.key.node_id != node_id and node_id not in foreign
        ]
        lost = self._without_their_disks(foreign)
        if lost:
            count = len(self.addresses) + 1
            nodes, what = "node", "an empty directory: restore what it had"
            if len(lost) > 1:
                nodes, what = "nodes", "empty directories: restore what they had"
            obstacles.append(
                f"{count - len(silent)} of {count} voters answer, but {nodes} "
                f"{' and '.join(map(str, lost))} came back with {what}, or rebuild "
                "the cluster from one that is left: barnabas cluster recover --data DIR"
            )
        if silent:
            obstacles.append(f"waiting for {self._named(silent)}")
        return "; ".join(obstacles) or "all voters answer, and are about to elect a controller"

    def _without_their_disks(self, foreign: Collection[int]) -> list[int]:
        """Voters that answer with a new directory id, if they are so many that there is no
        majority."""
        own = [self.me, *(a for node_id, a in self.answers.items() if node_id not in foreign)]
        voters = max((set(answer.voters) for answer in own), key=len)
        keys = {answer.key for answer in own}
        if len(voters) - len(voters - keys) > len(voters) // 2:
            return []
        answering = {key.node_id for key in keys}
        return sorted(key.node_id for key in voters - keys if key.node_id in answering)

    def _named(self, node_ids: Iterable[int]) -> str:
        return ", ".join(f"node {node_id} ({self.addresses[node_id]})" for node_id in node_ids)


async def probe_voters(me: Answer, node_ids: Iterable[int], peers: Peers) -> VoterProbe:
    """Ask all of these nodes except this one."""
    others = sorted(set(node_ids) - {me.key.node_id})
    answers = await gather(*(_ask(node_id, peers) for node_id in others))
    return VoterProbe(
        me,
        {node_id: _address(node_id, peers) for node_id in others},
        {
            node_id: answer
            for node_id, answer in zip(others, answers, strict=True)
            if answer is not None
        },
    )


def _address(node_id: int, peers: Peers) -> str:
    at = peers.address_of(node_id)
    return "at an unknown address" if at is None else f"{at[0]}:{at[1]}"


async def _ask(node_id: int, peers: Peers) -> Answer | None:
    def ask(question: Request[ResponseT]) -> "Future[ResponseT]":
        return peers.call(
            node_id, question, question.MAX_VERSION, timeout_ms=_ASK_TIMEOUT_MS, lane=_LANE
        )

    try:
        quorum = await ask(METADATA_QUESTION)
        cluster = await ask(DescribeClusterRequest())
    except PeerUnavailable:
        return None
    key, partition = who_answers(quorum), only_partition(quorum.topics)
    if key is None or partition is None:
        return None  # it is starting or stopping
    voters = [
        ReplicaKey(v.replica_id, bytes(v.replica_directory_id)) for v in partition.current_voters
    ]
    return Answer(key, cluster.cluster_id, voters if cluster.cluster_id else ())
