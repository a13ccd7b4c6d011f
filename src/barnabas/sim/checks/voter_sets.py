"""Who votes: every node that knows a committed change of the voters knows the same one.

A snapshot has the voters of the last change before its end. What a node believes otherwise, it
replaces with the next change, so this is looked at whenever a node has taken or loaded a snapshot.
"""

from barnabas.raft import Raft, ReplicaKey
from barnabas.sim.checks.history import Violation


class VoterSets:
    def __init__(self) -> None:
        self._committed: dict[int, tuple[ReplicaKey, ...]] = {}
        """By the offset of the change."""
        self._seen: dict[int, tuple[int, int, bool]] = {}
        """By node, of its log: where it starts, and where its voters are written and committed."""

        self._written: dict[int, dict[int, tuple[ReplicaKey, ...]]] = {}
        """By node and offset, the changes in its log when it was last looked at."""

    def check(self, node_id: int, raft: Raft) -> None:
        """After each turn of a node; cheap if it has learned nothing of voters."""
        log, committed = raft._state.log, raft.high_watermark
        seen = log.start_offset, log.voters_offset, log.voters_offset < committed
        if self._seen.get(node_id) == seen:
            return
        self._seen[node_id] = seen
        for offset, voters in log._voters:
            if 0 <= offset < committed:
                known = self._committed.setdefault(offset, voters.keys)
                if known != voters.keys:
                    raise Violation(
                        f"node {node_id} has the voters {voters.keys} at {offset}, and another "
                        f"node has {known}"
                    )
        written = self._written.get(node_id, {})
        self._written[node_id] = {
            offset: voters.keys for offset, voters in log._voters if offset >= 0
        }
        before = [offset for offset in self._committed if offset < log.start_offset]
        if log.snapshot is not None and before:
            known, stored = self._committed[max(before)], log.snapshot.voters.keys
            last = max((each for each in written if each < log.start_offset), default=-1)
            if last > max(before) and written[last] == stored:
                self._committed[last] = stored  # within the turn in which it took the snapshot
            elif known != stored:
                raise Violation(
                    f"the snapshot of node {node_id} up to {log.start_offset} has the voters "
                    f"{stored}, and {known} vote since {max(before)}"
                )
