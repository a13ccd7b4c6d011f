"""An operator who removes voters and adds others, whatever else goes on.

A configured voter that was removed asks to be added when it starts again.
"""

from barnabas.raft import ReplicaKey
from barnabas.sim.checks.history import Violation
from barnabas.sim.client import TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

_TIMEOUT_MS = 1_000
_MOST_WAIT_MS = 1_500


class VoterOperator:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._simulator = cluster.simulator
        self._client = cluster.client("quorum-operator")

    def begin(self) -> None:
        self._client.run(self._run())

    async def _run(self) -> None:
        client = self._client
        while not client.is_stopping:
            await client.pause(100, _MOST_WAIT_MS)
            try:
                await self._change()
            except TryAgain as error:
                self._simulator.remark("quorum-operator: %s", error)

    async def _change(self) -> None:
        """Add a node that does not vote, or remove one that does; one is enough to vote."""
        random = self._client.random
        nodes = list(self._cluster.nodes())
        newest = max(nodes, key=lambda node: node.quorum.end_offset, default=None)
        if newest is None:
            return
        voters = sorted(newest.quorum.voters.keys)
        others = [node.quorum.me for node in nodes if node.quorum.me not in voters]
        if others and (len(voters) == 1 or random.random() < 0.6):
            await self._add(random.choice(others))
        elif len(voters) > 1:
            await self._remove(random.choice(voters))

    async def _add(self, key: ReplicaKey) -> None:
        self._simulator.say(f"voter {key.node_id} is to be added")
        request = AddRaftVoterRequest(None, _TIMEOUT_MS, *key)
        answer = await self._client.call(self._client.any_node(), request)
        self._check(ErrorCode(answer.error_code), "a voter is added")

    async def _remove(self, key: ReplicaKey) -> None:
        self._simulator.say(f"voter {key.node_id} is to be removed")
        request = RemoveRaftVoterRequest(None, *key)
        answer = await self._client.call(self._client.any_node(), request)
        self._check(ErrorCode(answer.error_code), "a voter is removed")

    def _check(self, code: ErrorCode, what: str) -> None:
        self._simulator.remark("%s: %s", what, code.name)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            raise Violation(f"{code.name} where {what}")
        if code is ErrorCode.NONE:
            self._simulator.reach(f"quorum: {what}")
