"""Asks a leader where the epochs of partitions began, with OffsetForLeaderEpoch."""

from collections import defaultdict
from collections.abc import Iterable

from barnabas.broker.follower.replica_session import Followed, Key
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.replication import EpochEnd, EpochHistory
from barnabas.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

_LANE = "epochs"
"""Its own connection: the fetches on the other one wait at the leader for records."""
_TIMEOUT_MS = 3_000


async def ask_epochs(
    peers: Peers, leader_id: int, followed: Iterable[Followed]
) -> dict[Key, list[tuple[int, int]]]:
    """The epochs that each replica does not know yet, with their starts.

    Without the partitions for which the leader returned an error.
    """
    left = {
        each.key: (each, EpochHistory(each.partition.log.latest_epoch, each.leader_epoch))
        for each in followed
    }
    found = {key: history.starts() for key, (_, history) in left.items() if history.is_complete}
    while left := {key: each for key, each in left.items() if not each[1].is_complete}:
        named: defaultdict[str, list[OffsetForLeaderPartition]] = defaultdict(list)
        for (_, index), (each, history) in left.items():
            named[each.partition.topic] += [
                OffsetForLeaderPartition(index, each.leader_epoch, epoch)
                for epoch in history.next_epochs()
            ]
        request = OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic(topic, asked) for topic, asked in named.items()]
        )
        try:
            response = await peers.call(
                leader_id,
                request,
                OffsetForLeaderEpochRequest.MAX_VERSION,
                timeout_ms=_TIMEOUT_MS,
                lane=_LANE,
            )
        except PeerUnavailable:
            return found
        answers: defaultdict[tuple[str, int], list[EpochEnd]] = defaultdict(list)
        refused: set[tuple[str, int]] = set()
        for topic in response.topics:
            for answer in topic.partitions:
                place = topic.topic, answer.partition
                answers[place].append(EpochEnd(answer.leader_epoch, answer.end_offset))
                if answer.error_code:
                    refused.add(place)
        for key, (each, history) in tuple(left.items()):
            place = each.partition.topic, key[1]
            if place in refused or place not in answers:
                del left[key]
                continue
            history.answered(answers[place])
            if history.is_complete:
                found[key] = history.starts()
    return found
