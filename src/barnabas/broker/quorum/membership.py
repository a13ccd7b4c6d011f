"""Changes of the voters: by command, and automatically when a voter has lost its disk.

A node with a new directory is another replica under an old id. It follows as an observer; when it
has caught up and the old replica is silent, the leader removes the old one, and the node, which is
a configured voter, asks to be added. So a replaced disk needs no operator. A voter that was removed
by command does not ask again before it is restarted.
"""

import logging
from asyncio import AbstractEventLoop, Future, sleep
from collections.abc import Callable

from barnabas.broker.net.peers import Peers
from barnabas.broker.quorum.addresses import NamedVoter
from barnabas.broker.quorum.outcome import OutcomeUnknown
from barnabas.broker.quorum.shell import RaftShell
from barnabas.raft import Proposal, Raft, RaftConfig, ReplicaKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)

logger = logging.getLogger(__name__)

_LANE = "raft-voters"
_ASK_AGAIN_MS = 200
_ATTEMPT_MS = 50
_ASK_TIMEOUT_MS = 2_000


async def change_voters(
    shell: RaftShell,
    attempt: Callable[[Raft, int], Proposal],
    timeout_ms: int,
) -> ErrorCode:
    """Run the leader's attempt until it succeeds and is committed, with retries while it has to
    wait."""
    give_up_ms = shell.steady_ms() + timeout_ms
    proposal = Proposal(ErrorCode.NONE)
    try:
        while (proposal := shell.step(attempt)).error_code is not ErrorCode.NONE:
            has_to_wait = proposal.error_code is ErrorCode.REQUEST_TIMED_OUT
            if not has_to_wait or shell.steady_ms() + _ATTEMPT_MS > give_up_ms:
                return proposal.error_code
            await sleep(_ATTEMPT_MS / 1000)
        await shell.committed()
    except OutcomeUnknown:
        # A leader that has removed itself leaves when that is committed.
        raft = shell.raft
        if raft.epoch != proposal.epoch or raft.high_watermark <= proposal.base_offset:
            return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


def remove_replaced(shell: RaftShell, me: ReplicaKey, config: RaftConfig) -> None:
    """As the leader: remove a voter whose node is back with another directory."""
    if shell.led_epoch is None:
        return
    status = shell.raft.status()
    if not status.observers:
        return
    now_ms = shell.steady_ms()
    voters = {replica.key.node_id: replica for replica in status.voters if replica.key != me}
    for observer in status.observers:
        old = voters.get(observer.key.node_id)
        if (
            old is not None
            and now_ms - old.last_fetch_ms > config.fetch_timeout_ms
            and now_ms - observer.last_fetch_ms <= config.fetch_timeout_ms
            and observer.log_end_offset >= status.high_watermark
        ):
            _remove(shell, old.key)
            return


def _remove(shell: RaftShell, key: ReplicaKey) -> None:
    proposal = shell.step(lambda raft, now_ms: raft.remove_voter(key, now_ms))
    if proposal.error_code is ErrorCode.NONE:
        logger.warning("voter %d is back with a new directory; the old one is removed", key.node_id)


class Joining:
    """Asks the leader to add this node as a voter, until it is one for the first time."""

    def __init__(
        self,
        shell: RaftShell,
        me: ReplicaKey,
        named: NamedVoter | None,
        cluster_id: str,
        peers: Peers,
        loop: AbstractEventLoop,
    ) -> None:
        self._shell = shell
        self._me = me
        self._named = named
        """None if this node is not a configured voter, so it does not ask."""
        self._cluster_id = cluster_id
        self._peers = peers
        self._loop = loop

    def begin(self) -> None:
        if self._named is not None and not self._shell.is_stopped:
            self._ask_if_possible(self._named)

    def _ask_if_possible(self, named: NamedVoter) -> None:
        raft = self._shell.raft
        if self._me in raft.voters:
            return
        leader_id = raft.leader_id
        has_voters = bool(raft.voters.voters)
        if leader_id is None or not has_voters or raft.voters.key_of(self._me.node_id) is not None:
            self._loop.call_later(_ASK_AGAIN_MS / 1000, self.begin)
            return
        request = AddRaftVoterRequest(
            self._cluster_id,
            _ASK_TIMEOUT_MS // 2,
            *self._me,
            [Listener(at.name, at.host, at.port) for at in named.voter(b"").endpoints],
        )
        answer = self._peers.call(
            leader_id, request, request.MAX_VERSION, timeout_ms=_ASK_TIMEOUT_MS, lane=_LANE
        )
        answer.add_done_callback(self._answered)

    def _answered(self, answer: "Future[AddRaftVoterResponse]") -> None:
        if not answer.cancelled():
            answer.exception()  # ignored: the log shows whether it is a voter
        self._loop.call_later(_ASK_AGAIN_MS / 1000, self.begin)
